//! An embedding server: where it is, and which format it speaks.

use deja_core::provider::ProviderError;
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use secrecy::SecretString;
use serde_json::Value;

use super::model::{Model, Reading};
use super::{gemini, ollama, openai, tei};
use crate::exchange::{Request, Upstream};
use crate::failure::Failure;
use crate::gemini::{KEY_HEADER, method};
use crate::http::Client;
use crate::openai::endpoint;

/// What errors call every embedding server. The embedder's id has the host.
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
    /// Where the server counts the tokens of a text, if it does.
    count_url: Option<Url>,
    pub(super) model: Model,
    pub(super) upstream: Upstream,
}

impl Server {
    /// The server at `base`, whose path says which format it speaks. `None` if the model's name belongs in a path and cannot
    /// stand there.
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
        let upstream = Upstream { name: NAME.to_owned(), base_url: Ok(base.clone()), key, client };
        Some(Self { format, url, count_url, model, upstream })
    }

    /// What the server makes of `text`, which it may have cut.
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
        let headers = match self.format {
            Format::Gemini => self.upstream.key_header(KEY_HEADER, ""),
            _ => self.upstream.key_header(AUTHORIZATION, "Bearer "),
        };
        self.upstream.json(&Request { url: url.clone(), headers, body }).await
    }
}
