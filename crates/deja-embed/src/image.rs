//! The weight image: one flat, aligned run of bytes that the encoder reads in place.
//!
//! The built-in model is such an image inside the binary; a model directory is turned into one at load. So
//! there is one layout, one reader and one quantiser, and starting up copies nothing.
//!
//! Layout: magic, header length (u32, little endian), JSON [`Config`], then the tensors in a fixed order, each
//! at a multiple of [`ALIGN`]. Sizes follow from the config, so no offsets are stored. Little endian.
//!
//! An image may stand on another one: it has that one's tables and first layers, and stores the other layers and a [`Head`].

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Alignment of every tensor: one cache line, one AVX-512 register.
pub(crate) const ALIGN: usize = 64;
/// Output channels that one weight panel holds: the 32-bit lanes of an AVX-512 register.
pub(crate) const PANEL: usize = 16;
/// Inputs that one dot-product instruction folds into a lane.
pub(crate) const QUAD: usize = 4;

const MAGIC: &[u8; 8] = b"DEJAEMB1";

/// How token vectors become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pooling {
    /// The mean over all tokens, special ones included.
    Mean,
    /// The first token's vector.
    Cls,
}

/// Shape of an encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Config {
    /// Name of the embedder; part of every stored entry.
    pub(crate) id: String,
    /// Width of a token vector.
    pub(crate) hidden: usize,
    /// Encoder layers.
    pub(crate) layers: usize,
    /// Attention heads.
    pub(crate) heads: usize,
    /// Width of the feed-forward part.
    pub(crate) feed_forward: usize,
    /// Words in the vocabulary.
    pub(crate) vocabulary: usize,
    /// Most tokens of one text, special ones included.
    pub(crate) window: usize,
    /// Added to the variance in layer normalisation.
    pub(crate) epsilon: f32,
    /// How token vectors become one vector.
    pub(crate) pooling: Pooling,
    /// First layers that are those of the image beneath, with its tables. 0: the image stands alone.
    #[serde(default, skip_serializing_if = "stands_alone")]
    pub(crate) beneath: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn stands_alone(beneath: &usize) -> bool {
    *beneath == 0
}

impl Config {
    /// Why the kernels cannot run this shape, if so.
    pub(crate) fn check(&self) -> Result<(), String> {
        let lanes = |name: &str, width: usize| {
            if width == 0 || !width.is_multiple_of(PANEL) || width > 1 << 16 {
                return Err(format!("{name} is {width}; supported: a multiple of {PANEL}, at most 65536"));
            }
            Ok(())
        };
        lanes("hidden_size", self.hidden)?;
        lanes("intermediate_size", self.feed_forward)?;
        if self.heads == 0 || !self.hidden.is_multiple_of(self.heads) {
            return Err(format!("{} heads do not divide a width of {}", self.heads, self.hidden));
        }
        lanes("the width of one head", self.hidden / self.heads)?;
        let count = |name: &str, n: usize, most: usize| {
            if n == 0 || n > most {
                return Err(format!("{name} is {n}; supported: 1 to {most}"));
            }
            Ok(())
        };
        count("num_hidden_layers", self.layers, 256)?;
        if self.beneath >= self.layers {
            return Err(format!("{} of {} layers are beneath", self.beneath, self.layers));
        }
        count("vocab_size", self.vocabulary, 1 << 24)?;
        count("the window", self.window, 8192)?;
        if !(self.epsilon > 0.0 && self.epsilon < 1.0) {
            return Err(format!("layer_norm_eps is {}; supported: between 0 and 1", self.epsilon));
        }
        Ok(())
    }
}

/// One linear layer, quantised per output channel: `y[n] = scale[n] * sum_k(x[k] * weights[k, n]) + bias[n]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear<'a> {
    /// Inputs.
    pub(crate) inputs: usize,
    /// Outputs.
    pub(crate) outputs: usize,
    /// `[outputs / PANEL][inputs / QUAD][PANEL][QUAD]`.
    pub(crate) weights: &'a [i8],
    /// One factor per output.
    pub(crate) scale: &'a [f32],
    /// `scale[n] * sum_k(weights[k, n])`: what an input offset of 1 adds to each output.
    pub(crate) offset: &'a [f32],
    /// Added to each output.
    pub(crate) bias: &'a [f32],
}

/// Scale and shift of one layer normalisation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm<'a> {
    /// Factor per component.
    pub(crate) gamma: &'a [f32],
    /// Addend per component.
    pub(crate) beta: &'a [f32],
}

/// The embedding tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a> {
    /// `[vocabulary][hidden]`.
    pub(crate) words: &'a [i8],
    /// One factor per word.
    pub(crate) word_scale: &'a [f32],
    /// `[window][hidden]`, the vector of segment 0 included.
    pub(crate) positions: &'a [f32],
    /// Normalisation of the sum.
    pub(crate) norm: Norm<'a>,
}

/// One encoder layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    /// Queries, keys and values side by side; queries carry the factor 1/sqrt(head width).
    pub(crate) qkv: Linear<'a>,
    /// Output of the attention.
    pub(crate) attention: Linear<'a>,
    /// After the attention.
    pub(crate) attention_norm: Norm<'a>,
    /// Into the feed-forward part.
    pub(crate) up: Linear<'a>,
    /// Out of it.
    pub(crate) down: Linear<'a>,
    /// After the feed-forward part.
    pub(crate) output_norm: Norm<'a>,
}

/// One number of a pooled vector: `sum_k(x[k] * weights[k]) + bias`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    /// One factor per component.
    pub(crate) weights: &'a [f32],
    /// Added to the sum.
    pub(crate) bias: f32,
}

/// Bytes that start at a multiple of [`ALIGN`].
enum Bytes {
    Static(&'static [u8]),
    Owned { buffer: Vec<u8>, range: Range<usize> },
}

/// A checked weight image.
pub(crate) struct Image {
    config: Config,
    bytes: Bytes,
    tables_at: usize,
    layers_at: usize,
    layer_len: usize,
    beneath: Option<Arc<Self>>,
}

impl Image {
    /// Reads an image that is part of the binary.
    pub(crate) fn from_static(bytes: &'static [u8]) -> Result<Self, String> {
        Self::read(Bytes::Static(bytes))
    }

    /// Reads an image that is part of the binary and stands on `beneath`.
    pub(crate) fn on(beneath: Arc<Self>, bytes: &'static [u8]) -> Result<Self, String> {
        let image = Self::read(Bytes::Static(bytes))?;
        let alike =
            Config { id: image.config.id.clone(), beneath: image.config.beneath, ..beneath.config.clone() };
        if image.config.beneath == 0 || image.config != alike {
            return Err("the image does not stand on this one".to_owned());
        }
        Ok(Self { beneath: Some(beneath), ..image })
    }

    fn read(bytes: Bytes) -> Result<Self, String> {
        let all = bytes.as_slice();
        if all.as_ptr().align_offset(ALIGN) != 0 {
            return Err("the image is not aligned".to_owned());
        }
        let cut = || "the image is cut short".to_owned();
        if all.get(..8) != Some(MAGIC.as_slice()) {
            return Err("this is not a weight image".to_owned());
        }
        let len = all.get(8..12).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(cut)?;
        let header = all.get(12..12 + len as usize).ok_or_else(cut)?;
        let config: Config = serde_json::from_slice(header).map_err(|e| format!("bad header: {e}"))?;
        config.check()?;

        // Walk the whole image once: afterwards no read can be out of bounds.
        let mut cursor = Cursor { bytes: all, at: (12 + len as usize).next_multiple_of(ALIGN) };
        let tables_at = cursor.at;
        if config.beneath == 0 {
            cursor.tables(&config).ok_or_else(cut)?;
        }
        let layers_at = cursor.at;
        cursor.layer(&config).ok_or_else(cut)?;
        let layer_len = cursor.at - layers_at;
        cursor.at = layers_at + (config.layers - config.beneath) * layer_len;
        if config.beneath > 0 {
            cursor.head(&config).ok_or_else(cut)?;
        }
        let end = cursor.at;
        if all.len() != end {
            return Err(format!("the image has {} bytes instead of {end}", all.len()));
        }
        Ok(Self { config, bytes, tables_at, layers_at, layer_len, beneath: None })
    }

    /// The shape.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The embedding tables.
    pub(crate) fn tables(&self) -> Option<Tables<'_>> {
        if let Some(beneath) = &self.beneath {
            return beneath.tables();
        }
        Cursor { bytes: self.bytes.as_slice(), at: self.tables_at }.tables(&self.config)
    }

    /// Layer `index`.
    pub(crate) fn layer(&self, index: usize) -> Option<Layer<'_>> {
        let Some(index) = index.checked_sub(self.config.beneath) else {
            return self.beneath.as_ref()?.layer(index);
        };
        let at = self.layers_at + index * self.layer_len;
        Cursor { bytes: self.bytes.as_slice(), at }.layer(&self.config)
    }

    /// The head of an image that stands on another one.
    pub(crate) fn head(&self) -> Option<Head<'_>> {
        self.beneath.as_ref()?;
        let at = self.layers_at + (self.config.layers - self.config.beneath) * self.layer_len;
        Cursor { bytes: self.bytes.as_slice(), at }.head(&self.config)
    }
}

impl AsRef<[u8]> for Image {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Static(bytes) => bytes,
            Self::Owned { buffer, range } => &buffer[range.clone()],
        }
    }
}

/// Takes tensors off the image in their fixed order.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take<T: bytemuck::Pod>(&mut self, count: usize) -> Option<&'a [T]> {
        let len = count.checked_mul(size_of::<T>())?;
        let raw = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at = (self.at + len).next_multiple_of(ALIGN);
        bytemuck::try_cast_slice(raw).ok()
    }

    fn norm(&mut self, width: usize) -> Option<Norm<'a>> {
        Some(Norm { gamma: self.take(width)?, beta: self.take(width)? })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Option<Linear<'a>> {
        Some(Linear {
            inputs,
            outputs,
            weights: self.take(inputs * outputs)?,
            scale: self.take(outputs)?,
            offset: self.take(outputs)?,
            bias: self.take(outputs)?,
        })
    }

    fn tables(&mut self, config: &Config) -> Option<Tables<'a>> {
        Some(Tables {
            words: self.take(config.vocabulary.checked_mul(config.hidden)?)?,
            word_scale: self.take(config.vocabulary)?,
            positions: self.take(config.window.checked_mul(config.hidden)?)?,
            norm: self.norm(config.hidden)?,
        })
    }

    fn head(&mut self, config: &Config) -> Option<Head<'a>> {
        let weights = self.take(config.hidden)?;
        Some(Head { weights, bias: *self.take(1)?.first()? })
    }

    fn layer(&mut self, config: &Config) -> Option<Layer<'a>> {
        let hidden = config.hidden;
        Some(Layer {
            qkv: self.linear(hidden, 3 * hidden)?,
            attention: self.linear(hidden, hidden)?,
            attention_norm: self.norm(hidden)?,
            up: self.linear(hidden, config.feed_forward)?,
            down: self.linear(config.feed_forward, hidden)?,
            output_norm: self.norm(hidden)?,
        })
    }
}

/// Appends tensors in the order in which [`Cursor`] takes them.
pub(crate) struct Writer {
    buffer: Vec<u8>,
    start: usize,
}

impl Writer {
    /// Starts an image. Room is reserved at once, since moving the buffer would lose the alignment.
    pub(crate) fn new(config: &Config) -> Result<Self, String> {
        config.check()?;
        let (hidden, wide) = (config.hidden, config.feed_forward);
        let per_layer = 4 * hidden * hidden + 2 * hidden * wide + 4 * (16 * hidden + 4 * wide) + 32 * ALIGN;
        let tables = config.vocabulary * (hidden + 4) + 4 * (config.window + 2) * hidden + 16 * ALIGN;
        let room = 4096 + tables + config.layers * per_layer;
        let mut buffer: Vec<u8> = Vec::with_capacity(room);
        let start = buffer.as_ptr().align_offset(ALIGN);
        buffer.resize(start, 0);
        let header = serde_json::to_vec(config).map_err(|e| e.to_string())?;
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&(header.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&header);
        let mut writer = Self { buffer, start };
        writer.pad();
        Ok(writer)
    }

    /// Appends one tensor.
    pub(crate) fn put<T: bytemuck::Pod>(&mut self, values: &[T]) {
        self.buffer.extend_from_slice(bytemuck::cast_slice(values));
        self.pad();
    }

    /// Checks the image as a whole.
    pub(crate) fn finish(self) -> Result<Image, String> {
        let range = self.start..self.buffer.len();
        Image::read(Bytes::Owned { buffer: self.buffer, range })
    }

    fn pad(&mut self) {
        let end = (self.buffer.len() - self.start).next_multiple_of(ALIGN);
        self.buffer.resize(self.start + end, 0);
    }
}
