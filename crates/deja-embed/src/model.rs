//! A loaded model, and sessions that embed on the calling thread.

use std::path::Path;
use std::sync::Arc;

use deja_core::embedding::{EmbedError, Embedded, EmbedderId, Embedding};

use crate::directory::{self, LoadError};
use crate::encoder::{Encoder, Kernel, Scratch};
use crate::image::Image;
use crate::tokenizer::{Tokenizer, Tokens};

/// Puts the data of `include_bytes!` where the encoder can read it in place.
#[repr(C, align(64))]
pub(crate) struct Aligned<T: ?Sized>(pub(crate) T);

static WEIGHTS: &Aligned<[u8]> = &Aligned(*include_bytes!("../data/all-minilm-l6-v2.int8.bin"));
static TOKENIZER: &[u8] = include_bytes!("../data/tokenizer.json");

/// Weights and tokenizer. Cheap to clone; all clones share the weights.
#[derive(Clone)]
pub struct Model {
    image: Arc<Image>,
    tokenizer: Arc<Tokenizer>,
    id: EmbedderId,
}

impl Model {
    /// all-MiniLM-L6-v2, compiled into the binary: 384 components, a window of 256 tokens.
    pub fn builtin() -> Result<Self, LoadError> {
        let image =
            Image::from_static(&WEIGHTS.0).map_err(|problem| LoadError::new("built-in weights", problem))?;
        Self::new(image, TOKENIZER).map_err(|problem| LoadError::new("built-in tokenizer", problem))
    }

    /// The sentence-transformers model in `directory`, quantised while it loads.
    ///
    /// Supported: `BertModel` with gelu and absolute positions, widths that are multiples of 16, weights as
    /// `model.safetensors` in f32, f16 or bf16, a `tokenizer.json`, mean or CLS pooling.
    pub fn from_directory(directory: impl AsRef<Path>) -> Result<Self, LoadError> {
        let model = directory::load(directory.as_ref(), None, None)?;
        Self::new(model.image, &model.tokenizer)
            .map_err(|problem| LoadError::new(model.tokenizer_file, problem))
    }

    fn new(image: Image, tokenizer: &[u8]) -> Result<Self, String> {
        let config = image.config();
        let tokenizer = Tokenizer::new(tokenizer, config.vocabulary, config.window)?;
        let id = EmbedderId::new(config.id.as_str());
        Ok(Self { image: Arc::new(image), tokenizer: Arc::new(tokenizer), id })
    }

    /// The identity of its vectors: model, quantisation, and for a directory a digest of its content.
    pub fn id(&self) -> &EmbedderId {
        &self.id
    }

    /// The number of components of its vectors.
    pub fn dimension(&self) -> usize {
        self.image.config().hidden
    }

    /// The most tokens it reads at once, special ones included.
    pub fn window(&self) -> usize {
        self.image.config().window
    }

    /// Weights that stand on these.
    pub(crate) fn with_layers(&self, bytes: &'static [u8]) -> Result<Image, String> {
        Image::on(Arc::clone(&self.image), bytes)
    }

    /// The token ids of `text`.
    pub(crate) fn ids(&self, text: &str) -> Result<Tokens, String> {
        self.tokenizer.encode(text)
    }

    /// The weight image, as the built-in one is stored.
    pub fn image(&self) -> &[u8] {
        (*self.image).as_ref()
    }

    /// A session on the fastest kernel of this processor.
    pub fn session(&self) -> Session {
        self.session_on(Kernel::best())
    }

    /// A session on a given kernel, or on the fastest one if this processor lacks it.
    pub fn session_on(&self, kernel: Kernel) -> Session {
        Session {
            encoder: Encoder::new(Arc::clone(&self.image), kernel),
            model: self.clone(),
            scratch: Scratch::default(),
        }
    }
}

/// Quantises the model in `directory` under the name `id`: how the built-in weights were made.
pub fn convert(directory: impl AsRef<Path>, id: &str) -> Result<Vec<u8>, LoadError> {
    Ok(directory::load(directory.as_ref(), Some(id), None)?.image.as_ref().to_vec())
}

/// Quantises the reader of pairs in `directory` under the name `id`, but for the tables and the first layer, which are those of the
/// built-in model: how the weights of [`PairReader`](crate::PairReader) were made.
pub fn convert_reader(directory: impl AsRef<Path>, id: &str) -> Result<Vec<u8>, LoadError> {
    Ok(directory::load(directory.as_ref(), Some(id), Some(1))?.image.as_ref().to_vec())
}

/// Embeds on the calling thread. Holds the working memory, so keep one per thread.
pub struct Session {
    model: Model,
    encoder: Encoder,
    scratch: Scratch,
}

impl Session {
    /// The vector of `text`.
    pub fn embed(&mut self, text: &str) -> Result<Embedded, EmbedError> {
        let ids = match self.model.tokenizer.encode(text).map_err(EmbedError::Failed)? {
            Tokens::Ids(ids) => ids,
            Tokens::TooLong { at_least } => {
                return Ok(Embedded::TooLong {
                    tokens: saturated(at_least),
                    window: saturated(self.model.window()),
                });
            }
        };
        let vector = self.encode(&[&ids])?;
        let embedding = Embedding::new(vector).map_err(|e| EmbedError::Failed(e.to_string()))?;
        Ok(Embedded::Vector { embedding, tokens: saturated(ids.len()) })
    }

    /// The token ids of `text`, or `None` if it is too long for the window.
    pub fn tokenize(&self, text: &str) -> Result<Option<Vec<u32>>, EmbedError> {
        match self.model.tokenizer.encode(text).map_err(EmbedError::Failed)? {
            Tokens::Ids(ids) => Ok(Some(ids)),
            Tokens::TooLong { .. } => Ok(None),
        }
    }

    /// The pooled vectors of several tokenised texts one after another, not yet of unit length.
    pub fn encode(&mut self, texts: &[&[u32]]) -> Result<Vec<f32>, EmbedError> {
        self.encoder.encode(texts, &mut self.scratch).ok_or_else(|| {
            EmbedError::Failed("a text is empty, too long or has an unknown token id".to_owned())
        })
    }
}

fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
