//! Embeddings from a server instead of the built-in model: OpenAI's `/embeddings`, which most servers speak, or
//! Gemini's `:batchEmbedContents`.
//!
//! The server is the operator's choice, so its address is not guarded. A text that is too long must never be
//! cut; where a server would cut it silently (Gemini does), the text is refused here.

use std::time::Duration;

use async_trait::async_trait;
use deja_core::embedding::{EmbedError, Embedded, Embedder, EmbedderId, Embedding};
use deja_core::provider::{FailureClass, ProviderError};
use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::exchange::Peer;
use crate::gemini::embeddings::GeminiEmbeddings;
use crate::http::{Client, ClientError, HttpSettings, Trust};
use crate::openai::embeddings::OpenAiEmbeddings;
use crate::tokens::estimate;

/// How to reach an embedding model.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// The API's base, such as `https://api.openai.com/v1`. One whose path ends in `/v1beta` speaks Gemini's
    /// own format, such as `https://generativelanguage.googleapis.com/v1beta`.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// The key, if the server wants one.
    pub key: Option<SecretString>,
    /// Asks for shorter vectors; only some models can.
    pub dimensions: Option<u32>,
    /// Longest time for one text, retries included.
    pub deadline: Duration,
    /// How many texts may be under way at once; more are refused.
    pub max_in_flight: usize,
}

/// Why a remote embedding model cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// Not an http or https URL, or not the name of a model.
    #[error("the embedding URL must be an http or https base URL and the model a plain name")]
    Settings,
    /// The HTTP client could not be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The first call failed.
    #[error("the embedding model did not answer a first call: {0}")]
    Call(#[source] ProviderError),
    /// The first call gave no usable vector.
    #[error("the embedding model's first answer is not a vector")]
    NoVector,
}

/// An embedding model on a server.
#[derive(Debug)]
pub struct RemoteEmbedder {
    id: EmbedderId,
    dimension: usize,
    model: String,
    wire: Wire,
    key: Option<SecretString>,
    client: Client,
    deadline: Duration,
    in_flight: Semaphore,
}

#[derive(Debug)]
enum Wire {
    OpenAi(OpenAiEmbeddings),
    Gemini(GeminiEmbeddings),
}

/// What a server made of some texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vectors {
    /// In the order of the texts.
    pub(crate) vectors: Vec<Vec<f32>>,
    /// Tokens of all texts, if the server says.
    pub(crate) tokens: Option<u64>,
}

/// Tells servers apart in errors; the host is in the embedder's id.
const NAME: &str = "embedding server";

impl RemoteEmbedder {
    /// Reaches the model with one call, which shows the number of components of its vectors.
    pub async fn connect(settings: RemoteSettings) -> Result<Self, ConnectError> {
        let RemoteSettings { url, model, key, dimensions, deadline, max_in_flight } = settings;
        let url = Url::parse(url.trim()).map_err(|_| ConnectError::Settings)?;
        let host = url.host_str().unwrap_or("").to_owned();
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || model.trim().is_empty() {
            return Err(ConnectError::Settings);
        }
        let wire = if url.path().trim_end_matches('/').ends_with("/v1beta") {
            let gemini = GeminiEmbeddings::new(&url, &model, dimensions).ok_or(ConnectError::Settings)?;
            Wire::Gemini(gemini)
        } else {
            Wire::OpenAi(OpenAiEmbeddings::new(&url, &model, dimensions))
        };
        let http = HttpSettings {
            attempt_timeout: deadline,
            total_deadline: deadline,
            max_attempts: 2,
            ..HttpSettings::default()
        };
        let client = Client::new(Trust::Operator, http)?;
        let in_flight = Semaphore::new(max_in_flight.clamp(1, Semaphore::MAX_PERMITS));
        let id = EmbedderId::new("");
        let mut this = Self { id, dimension: 0, model, wire, key, client, deadline, in_flight };
        let probe = this.vectors(&["deja"]).await.map_err(ConnectError::Call)?;
        let vector = probe.vectors.into_iter().next().and_then(|vector| Embedding::new(vector).ok());
        this.dimension = vector.ok_or(ConnectError::NoVector)?.dimension();
        this.id = EmbedderId::new(format!("remote:{host}/{}/{}", this.model, this.dimension));
        Ok(this)
    }

    /// The vectors of several texts in one call, in their order.
    pub async fn embed_many(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        let _permit = self.in_flight.try_acquire().map_err(|_| EmbedError::Overloaded)?;
        if let Wire::Gemini(_) = self.wire
            && let Some(text) = texts.iter().find(|text| self.may_be_cut(text))
        {
            return Ok(vec![self.too_long(text, ""); texts.len()]);
        }
        let call = timeout(self.deadline, self.vectors(texts)).await.map_err(|_| EmbedError::Timeout)?;
        let answer = match call {
            Ok(answer) => answer,
            Err(error) if error.class == FailureClass::ContextLength => {
                return Ok(texts.iter().map(|text| self.too_long(text, &error.message)).collect());
            }
            Err(error) => return Err(failed(&error)),
        };
        if answer.vectors.len() != texts.len() {
            return Err(EmbedError::Failed("the server gave another number of vectors than of texts".into()));
        }
        let tokens = answer.tokens.filter(|_| texts.len() == 1);
        let embed = |(vector, text): (Vec<f32>, &&str)| {
            let embedding = Embedding::new(vector).map_err(|error| EmbedError::Failed(error.to_string()))?;
            if embedding.dimension() != self.dimension {
                return Err(EmbedError::Failed(
                    "the server gave a vector of another dimension than before".into(),
                ));
            }
            let tokens = u32::try_from(tokens.unwrap_or_else(|| estimate(text))).unwrap_or(u32::MAX);
            Ok(Embedded::Vector { embedding, tokens })
        };
        answer.vectors.into_iter().zip(texts).map(embed).collect()
    }

    async fn vectors(&self, texts: &[&str]) -> Result<Vectors, ProviderError> {
        let peer = Peer { provider: NAME, client: &self.client, key: self.key.as_ref() };
        match &self.wire {
            Wire::OpenAi(wire) => wire.embed(peer, texts).await,
            Wire::Gemini(wire) => wire.embed(peer, texts).await,
        }
    }

    /// Whether a server that cuts silently might cut `text`: at 3 characters a token, to be on the safe side.
    fn may_be_cut(&self, text: &str) -> bool {
        estimate(text) * 4 / 3 > u64::from(self.window())
    }

    /// The longest text in tokens that the model reads, as documented; a common value for unknown models.
    fn window(&self) -> u32 {
        if self.model.contains("text-embedding-") {
            8191
        } else if self.model.ends_with("gemini-embedding-001") {
            2048
        } else {
            8192
        }
    }

    fn too_long(&self, text: &str, message: &str) -> Embedded {
        // "maximum context length is 8192 tokens, however you requested 10000 tokens"
        let numbers = message.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
        let mut numbers = numbers.filter(|n| *n >= 64);
        let window = numbers.next().unwrap_or_else(|| self.window());
        let counted = u32::try_from(estimate(text)).unwrap_or(u32::MAX);
        let tokens = numbers.find(|n| *n > window).unwrap_or_else(|| counted.max(window.saturating_add(1)));
        Embedded::TooLong { tokens, window }
    }
}

/// An error without the server's words, which may quote the text.
fn failed(error: &ProviderError) -> EmbedError {
    match error.class {
        FailureClass::Timeout => EmbedError::Timeout,
        FailureClass::RateLimit | FailureClass::Overloaded => EmbedError::Overloaded,
        class => EmbedError::Failed(class.code().to_owned()),
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, text: &str) -> Result<Embedded, EmbedError> {
        let mut answers = self.embed_many(&[text]).await?;
        answers.pop().ok_or_else(|| EmbedError::Failed("the server gave no vector".into()))
    }
}
