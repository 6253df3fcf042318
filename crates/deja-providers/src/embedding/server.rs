//! An embedding server: where it is, and which format it speaks.

use deja_core::provider::ProviderError;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};
use secrecy::SecretString;
use serde_json::Value;

use super::model::{Model, Reading};
use super::{gemini, ollama, openai, tei};
use crate::exchange::{Peer, Request, secret_header};
use crate::failure::Failure;
use crate::gemini::{KEY_HEADER, method};
use crate::http::Client;
use crate::openai::endpoint;

/// Tells servers apart in errors; the host is in the embedder's id.
const NAME: &str = "embedding server";

/// How requests and answers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    OpenAi,
    Gemini,
    Ollama,
    Tei,
}

/// One model at one server.
#[derive(Debug)]
pub(super) struct Server {
    format: Format,
    url: Url,
    /// Where tokens are counted beforehand, where they are.
    count_url: Option<Url>,
    pub(super) model: Model,
    key: Option<SecretString>,
    pub(super) client: Client,
}

impl Server {
    /// The server at `base`, whose path says which format it speaks. `None` for a model's name that cannot stand in a
    /// path that it belongs in.
    pub(super) fn new(
        base: &Url,
        mut model: Model,
        key: Option<SecretString>,
        client: Client,
    ) -> Option<Self> {
        let path = base.path().trim_end_matches('/');
        let ends = |end: &str| path.ends_with(end);
        let (format, url, count_url) = if let Some(root_path) = path.strip_suffix(gemini::VERSION) {
            let mut root = base.clone();
            root.set_path(root_path);
            model.name = model.name.trim_start_matches("models/").to_owned();
            let count_url = method(&root, &model.name, "countTokens");
            (Format::Gemini, method(&root, &model.name, "batchEmbedContents")?, count_url)
        } else if ends("/api") {
            (Format::Ollama, endpoint(base, "embed"), None)
        } else if ends("/api/embed") {
            (Format::Ollama, base.clone(), None)
        } else if ends("/embed") {
            (Format::Tei, base.clone(), None)
        } else if ends("/embeddings") {
            (Format::OpenAi, base.clone(), None)
        } else {
            (Format::OpenAi, endpoint(base, "embeddings"), None)
        };
        Some(Self { format, url, count_url, model, key, client })
    }

    /// The vector of `text`, with which the server may have cut it.
    pub(super) async fn read(&self, text: &str) -> Result<Reading, ProviderError> {
        let body = match self.format {
            Format::OpenAi => openai::body(&self.model, text),
            Format::Gemini => gemini::body(&self.model, text),
            Format::Ollama => ollama::body(&self.model, text),
            Format::Tei => tei::body(&self.model, text),
        };
        let answer = self.ask(&self.url, body).await?;
        let reading = match self.format {
            Format::OpenAi => openai::read(answer),
            Format::Gemini => gemini::read(answer),
            Format::Ollama => ollama::read(answer),
            Format::Tei => tei::read(answer),
        };
        reading.ok_or_else(|| Failure::bad_response(NAME, "the answer is not one embedding").error)
    }

    /// How many tokens `text` has; `None` if this server does not count for others.
    pub(super) async fn count(&self, text: &str) -> Option<Result<u64, ProviderError>> {
        let url = self.count_url.as_ref()?;
        let answer = self.ask(url, gemini::count_body(text)).await;
        let missing = || Failure::bad_response(NAME, "the answer is not a number of tokens").error;
        Some(answer.and_then(|answer| gemini::read_count(&answer).ok_or_else(missing)))
    }

    async fn ask(&self, url: &Url, body: Value) -> Result<Value, ProviderError> {
        let (header, prefix): (HeaderName, _) = match self.format {
            Format::Gemini => (KEY_HEADER, ""),
            _ => (AUTHORIZATION, "Bearer "),
        };
        let headers = secret_header(header, prefix, self.key.as_ref());
        let peer = Peer { provider: NAME, client: &self.client, key: self.key.as_ref() };
        peer.json(&Request { url: url.clone(), headers, body }).await
    }
}
