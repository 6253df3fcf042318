//! Embeddings from a server instead of the built-in model.
//!
//! [`server`] knows where it is and speaks one of four formats, a file each. [`window`] finds out how deja knows that
//! a text was read to its end: one that was cut must never get a vector.
//!
//! The server is the operator's choice, so its address is not guarded.

mod gemini;
mod limiter;
mod model;
mod ollama;
mod openai;
mod server;
mod tei;
mod window;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deja_core::embed_queue::Owner;
use deja_core::embedding::{EmbedError, Embedded, Embedder, EmbedderId, Embedding};
use deja_core::id::ProjectId;
use deja_core::provider::{FailureClass, ProviderError};
use reqwest::Url;
use secrecy::SecretString;

use crate::http::{Client, ClientError, HttpSettings, Trust};
use crate::tokens::estimate;
use limiter::Limiter;
use model::{Model, Reading};
use server::Server;
use window::{Proof, find_proof, refuses_length, surely_fits};

pub use window::published_window;

/// Longest time of each call at the start: a server may load the model first, and a text beyond the window is long.
const START_DEADLINE: Duration = Duration::from_mins(1);

/// How to reach an embedding model.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// Where it is. What the path ends in says what the server speaks: `/api` is Ollama, `/embed` is
    /// text-embeddings-inference, `/v1beta` is Gemini; all others have OpenAI's `/embeddings` behind it.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// The key, if the server wants one.
    pub key: Option<SecretString>,
    /// Asks for vectors of so many components, which only some models can choose.
    pub dimensions: Option<u32>,
    /// The longest text in tokens that the model reads.
    pub window: u32,
    /// Longest time for one text, its wait and retries included.
    pub deadline: Duration,
    /// The most texts that wait for their turn.
    pub queue: usize,
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
    Call(ProviderError),
    /// The first call gave no usable vector.
    #[error("the embedding model's first answer is not a vector")]
    NoVector,
    /// The vectors have another number of components than was asked for.
    #[error(
        "the embedding model gives vectors of {given} components, not of {asked}: set embedder_dimensions \
         (DEJA_EMBEDDER_DIMENSIONS) to 0"
    )]
    Dimensions {
        /// As in the settings.
        asked: u32,
        /// As they came.
        given: usize,
    },
    /// It cuts long texts.
    #[error(
        "the embedding server cuts texts that are too long for its model, so that two long prompts would be one: it \
         gave one vector for two texts that differ behind {0} tokens. For Ollama, embedder must end in /api; for \
         text-embeddings-inference in /embed; others must be set up not to truncate"
    )]
    Cuts(u32),
}

/// An embedding model on a server.
#[derive(Debug)]
pub struct RemoteEmbedder {
    id: EmbedderId,
    reader: Arc<Reader>,
    limiter: Arc<Limiter>,
}

/// Reads texts at the server.
#[derive(Debug)]
struct Reader {
    dimension: usize,
    window: u32,
    proof: Proof,
    server: Server,
}

impl RemoteEmbedder {
    /// Reaches the model. A first call shows the number of components of its vectors, one or two more what the server
    /// does with a text that is too long.
    pub async fn connect(settings: RemoteSettings) -> Result<Self, ConnectError> {
        let RemoteSettings { url, model, key, dimensions, window, deadline, queue } = settings;
        let url = Url::parse(url.trim()).map_err(|_| ConnectError::Settings)?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || model.trim().is_empty() {
            return Err(ConnectError::Settings);
        }
        let client = Client::new(Trust::Operator, limits(START_DEADLINE.max(deadline)))?;
        let model = Model { name: model, dimensions };
        let mut server = Server::new(&url, model, key, client).ok_or(ConnectError::Settings)?;

        let first = server.read("deja").await.map_err(ConnectError::Call)?;
        let dimension = Embedding::new(first.vector).map_err(|_| ConnectError::NoVector)?.dimension();
        if let Some(asked) = dimensions.filter(|asked| *asked as usize != dimension) {
            return Err(ConnectError::Dimensions { asked, given: dimension });
        }
        let proof =
            find_proof(&server, window, first.tokens).await.map_err(|_| ConnectError::Cuts(window))?;
        tracing::info!(window, ?proof, "the embedding server is reached");
        server.upstream.client.settings = limits(deadline);
        let id = id(&url, &server.model.name, dimension);
        let reader = Arc::new(Reader { dimension, window, proof, server });
        Ok(Self { id, reader, limiter: Arc::new(Limiter::new(queue, deadline)) })
    }

    async fn read(&self, owner: Owner, text: &str) -> Result<Embedded, EmbedError> {
        let (reader, text) = (Arc::clone(&self.reader), text.to_owned());
        self.limiter.run(owner, async move { reader.read(&text).await }).await
    }
}

impl Reader {
    async fn read(&self, text: &str) -> Result<Embedded, EmbedError> {
        let fits = surely_fits(text, self.window);
        match self.proof {
            Proof::None if !fits => return Ok(self.too_long(text, None)),
            Proof::Asking if !fits => match self.server.count(text).await {
                Some(Ok(tokens)) if tokens <= u64::from(self.window) => {}
                Some(Err(error)) if !refuses_length(&error) => return Err(failed(&error)),
                counted => return Ok(self.too_long(text, counted.and_then(Result::ok))),
            },
            _ => {}
        }
        let reading = match self.server.read(text).await {
            Ok(reading) => reading,
            Err(error) if error.class == FailureClass::ContextLength || (!fits && refuses_length(&error)) => {
                return Ok(self.refused(text, &error.message));
            }
            Err(error) => return Err(failed(&error)),
        };
        if let Proof::Count { limit } = self.proof
            && reading.tokens.map_or(!surely_fits(text, limit), |tokens| tokens >= u64::from(limit))
        {
            return Ok(self.too_long(text, None));
        }
        self.vector(text, reading)
    }

    fn vector(&self, text: &str, reading: Reading) -> Result<Embedded, EmbedError> {
        let embedding =
            Embedding::new(reading.vector).map_err(|error| EmbedError::Failed(error.to_string()))?;
        if embedding.dimension() != self.dimension {
            let message = "the server gave a vector of another dimension than before";
            return Err(EmbedError::Failed(message.into()));
        }
        let tokens = reading.tokens.unwrap_or_else(|| estimate(text));
        Ok(Embedded::Vector { embedding, tokens: u32::try_from(tokens).unwrap_or(u32::MAX) })
    }

    /// `text` is too long, by the count of the server or an estimate.
    fn too_long(&self, text: &str, counted: Option<u64>) -> Embedded {
        let tokens = u32::try_from(counted.unwrap_or_else(|| estimate(text))).unwrap_or(u32::MAX);
        Embedded::TooLong { tokens: tokens.max(self.window.saturating_add(1)), window: self.window }
    }

    /// The server refused `text` as too long, often with numbers: "maximum context length is 8192 tokens, however you
    /// requested 10000 tokens".
    fn refused(&self, text: &str, message: &str) -> Embedded {
        let numbers = message.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
        let mut numbers = numbers.filter(|n| *n >= 64);
        match (numbers.next(), numbers.next()) {
            (Some(window), Some(tokens)) if tokens >= window => Embedded::TooLong { tokens, window },
            _ => self.too_long(text, None),
        }
    }
}

fn limits(deadline: Duration) -> HttpSettings {
    HttpSettings {
        attempt_timeout: deadline,
        total_deadline: deadline,
        max_attempts: 2,
        ..HttpSettings::default()
    }
}

/// Two servers of one machine may have two models of one name: the port and the path belong to the identity.
fn id(url: &Url, model: &str, dimension: usize) -> EmbedderId {
    let (host, port) = (url.host_str().unwrap_or(""), url.port_or_known_default().unwrap_or(0));
    let path = url.path().trim_end_matches('/');
    EmbedderId::new(format!("remote:{host}:{port}{path}/{model}/{dimension}"))
}

/// An error without the server's words, which may quote the text.
fn failed(error: &ProviderError) -> EmbedError {
    match error.class {
        FailureClass::Timeout => EmbedError::Timeout,
        FailureClass::RateLimit | FailureClass::Overloaded | FailureClass::NoRoom => EmbedError::Overloaded,
        class => EmbedError::Failed(class.code().to_owned()),
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.reader.dimension
    }

    fn window(&self) -> u32 {
        self.reader.window
    }

    async fn embed(&self, text: &str) -> Result<Embedded, EmbedError> {
        self.read(None, text).await
    }

    async fn embed_for(&self, project: ProjectId, text: &str) -> Result<Embedded, EmbedError> {
        self.read(Some(project), text).await
    }
}
