//! What makes two requests the same.

mod chat;
mod demand;
mod document;
mod gemini;
mod messages;
mod openai;
mod place;
mod reason;
mod responses;
mod turns;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::{Endpoint, Wire};
pub use demand::Demand;
use document::{Document, Sink, Value};
use place::{Place, Verdict};
pub use reason::STORED_RESPONSE;
pub(crate) use responses::{LABELS, OWN_ID};
use turns::{Layout, Question, Turns};

/// Longest model, in bytes. Ids of models have less than 100; this one is kept with each request and in figures.
pub const MAX_MODEL_BYTES: usize = 256;
/// A parameter whose value is longer is kept as its digest.
const MAX_PARAMETER: usize = 256;

/// A request of an application.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Where it is asked.
    pub endpoint: Endpoint,
    /// The model, where it is in the path and not in the body.
    pub model: Option<&'a str>,
    /// The body as it came.
    pub body: &'a [u8],
    /// The headers that change the answer, such as `anthropic-version`: name in lower case, and value. `content-type` and
    /// `accept` are no part of what makes two requests the same, but say whether one is cached.
    pub headers: &'a [(&'a str, &'a str)],
    /// The query of the address, without `?`.
    pub query: Option<&'a str>,
}

/// The options of a project, and the limits of requests, for comparing requests. By default only single questions are
/// compared by meaning.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one for each setting of a project")]
pub struct Options {
    /// End users share answers: who asks is no part of what makes two requests the same.
    pub share_end_users: bool,
    /// A question after other turns is matched by meaning with those after the same turns.
    pub semantic_history: bool,
    /// A question with tools is matched by meaning with those with the same tools.
    pub semantic_tools: bool,
    /// A question with a format for its answer is matched by meaning with those with the same format.
    pub semantic_json: bool,
    /// Responses that the provider stores are taken for those that it does not store.
    pub responses_stateless: bool,
    /// A longer text is not compared by meaning, in bytes.
    pub max_text_bytes: usize,
}

/// A request that nobody can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// The member that is wrong, if it is one.
    pub param: Option<String>,
    /// OpenAI's word for what is wrong, where clients look for it.
    pub code: Option<&'static str>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Malformed {
    fn body(message: &str) -> Self {
        Self { param: None, code: None, message: message.into() }
    }

    fn member(name: &str, message: &str) -> Self {
        // A name may be as long as a body.
        let name = &name[..name.floor_char_boundary(64)];
        Self { param: Some(name.into()), code: None, message: format!("`{name}` {message}") }
    }
}

/// How far a request is answered from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The same request, or one in the same frame whose question is similar.
    Semantic,
    /// The same request only.
    Exact,
    /// Not at all: not looked up, not stored, not shared while it is under way.
    Bypass,
}

/// The form in which the application wants its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rendering {
    /// Whether it comes as server-sent events.
    pub stream: bool,
    /// With the tokens at the end of the stream, where the format leaves that to the application.
    pub usage: bool,
}

/// What the cache compares of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// How far it is answered from the cache.
    pub mode: Mode,
    /// The model, as asked for.
    pub model: String,
    /// System text, where the mode is semantic.
    pub instructions: Option<String>,
    /// What else an answer depends on, where the mode is semantic: by name, the value in canonical form, or `sha256:` and the
    /// digest of that if it is long. The turns are there without the question.
    pub parameters: BTreeMap<Box<str>, Box<str>>,
    /// SHA-256 of what is compared byte for byte: of the question, where the mode is semantic; else of the whole request in
    /// canonical form; zeros where it is bypassed.
    pub hash: [u8; 32],
    /// The question, where the mode is semantic; where it is exact, the turns as a JSON array of `[role, text]`, for people.
    pub text: String,
    /// Why it is not semantic, or why it is bypassed, as words of `X-Deja-Reason`; in order, none twice.
    pub reasons: Vec<&'static str>,
    /// The form in which the answer is wanted. It plays no part in the comparison.
    pub rendering: Rendering,
    /// In Responses: the SHA-256 of the members that the provider repeats in its answer, if there are any. Other callers who get
    /// the answer must not see them. They play no part in the comparison.
    pub labels: Option<[u8; 32]>,
    /// Whether tools of the application are in the request, so that the answer may be a call of one.
    pub has_tools: bool,
    /// What the answer has to be. The comparison covers the members that say so.
    pub demand: Demand,
}

/// Tells what a request is to the cache. An error is one that no provider could read either.
pub fn identify(asked: &Asked<'_>, options: &Options) -> Result<Identity, Malformed> {
    let document = Document::read(asked.body)?;
    let body = document.root();
    let model = match asked.model {
        Some(model) => model.to_owned(),
        None => match body.get("model").map(Value::text) {
            Some(Some(model)) => model.into_owned(),
            Some(None) => return Err(Malformed::member("model", "must be a string")),
            None => return Err(Malformed::member("model", "is required")),
        },
    };
    if model.len() > MAX_MODEL_BYTES {
        return Err(Malformed::member("model", &format!("is longer than {MAX_MODEL_BYTES} bytes")));
    }
    if asked.endpoint == Endpoint::Responses {
        responses::continues(body)?;
    }
    let identity = Identity {
        mode: Mode::Bypass,
        model,
        instructions: None,
        parameters: BTreeMap::new(),
        hash: [0; 32],
        text: String::new(),
        reasons: Vec::new(),
        rendering: rendering(asked.endpoint, body),
        labels: None,
        has_tools: false,
        demand: Demand::default(),
    };
    let bypass = |reason| Ok(Identity { reasons: vec![reason], ..identity.clone() });
    let Some(layout) = layout(asked.endpoint) else { return bypass(reason::NOT_CACHED) };
    if document.too_deep {
        return bypass(reason::TOO_DEEP);
    }
    if document.ambiguous {
        return bypass(reason::AMBIGUOUS);
    }

    let mut verdict = Verdict::default();
    verdict.take(Place::Object(layout.members), body, options);
    let wire = asked.endpoint.wire();
    if matches!(wire, Wire::Chat | Wire::Responses) && openai::searches(&identity.model) {
        verdict.bypass.insert(reason::HOSTED_TOOLS);
    }
    if wire == Wire::Responses && responses::is_stored(body) && !options.responses_stateless {
        verdict.exact.insert(reason::STORED_RESPONSE);
    }
    verdict.bypass.extend(asked.headers.iter().filter_map(|(name, value)| other_form(name, value)));
    let query = query(wire, asked.query);
    if wire == Wire::Gemini && query.split('&').any(|pair| pair.split('=').next() == Some("alt")) {
        verdict.bypass.insert(reason::OTHER_OUTPUT);
    }
    if !query.is_empty() && query != "beta=true" {
        verdict.exact.insert(reason::UNKNOWN_MEMBER);
    }
    if !verdict.bypass.is_empty() {
        return Ok(Identity { reasons: verdict.bypass.into_iter().collect(), ..identity });
    }

    let labels = if wire == Wire::Responses { responses::labels(body) } else { None };
    let (has_tools, demand) = (tools(body).next().is_some(), Demand::of(wire, body));
    let identity = Identity { labels, has_tools, demand, ..identity };
    let request = Request { asked, options, layout, body, query };
    let turns = Turns::read(layout, body);
    let question = match (turns.question(options), turns.instructions(options)) {
        (Ok(question), Ok(instructions)) => Ok((question, instructions)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    };
    match question {
        Ok((question, instructions)) if verdict.exact.is_empty() => Ok(Identity {
            mode: Mode::Semantic,
            instructions,
            parameters: request.parameters(&question),
            hash: question.hash,
            text: question.text,
            ..identity
        }),
        question => {
            // Where a known reason is why there is no question, it is told alone.
            let why = question.err().filter(|why| *why != reason::NO_QUESTION || verdict.exact.is_empty());
            verdict.exact.extend(why);
            Ok(Identity {
                mode: Mode::Exact,
                hash: request.hash(),
                text: turns.transcript(options),
                reasons: verdict.exact.into_iter().collect(),
                ..identity
            })
        }
    }
}

/// What goes to the model with a question that is matched by meaning, besides that and the instructions: the turns before it, and
/// tools. As text, for counting tokens where nobody tells them.
pub fn beside_question(endpoint: Endpoint, body: &[u8]) -> String {
    let (Some(layout), Ok(document)) = (layout(endpoint), Document::read(body)) else { return String::new() };
    let body = document.root();
    with_tools(Turns::read(layout, body).earlier(), body)
}

/// What goes to the model with a request that is passed on: instructions, turns and tools; at endpoints without turns what is to
/// be completed or embedded. As text, for counting tokens where nobody tells them.
pub fn passed_text(endpoint: Endpoint, body: &[u8]) -> String {
    let Ok(document) = Document::read(body) else { return String::new() };
    let body = document.root();
    if let Some(layout) = layout(endpoint) {
        return with_tools(Turns::read(layout, body).all(), body);
    }
    let mut texts = String::new();
    for input in ["prompt", "suffix", "input"].into_iter().filter_map(|name| body.get(name)) {
        put_texts(&mut texts, input);
    }
    texts
}

/// Appends the texts of an input, which may be a list of such, or of the numbers of tokens.
fn put_texts(texts: &mut String, input: Value<'_>) {
    match input.text() {
        Some(text) => texts.push_str(&text),
        None => texts.push_str(input.scalar()),
    }
    texts.push('\n');
    input.items().for_each(|item| put_texts(texts, item));
}

/// `text` with the tools of a request behind it.
fn with_tools(mut text: String, body: Value<'_>) -> String {
    for tools in tools(body) {
        text.push('\n');
        tools.put(&mut text);
    }
    text
}

/// The lists of tools in a request that are not empty.
fn tools(body: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let lists = body.members().filter(|(name, _)| matches!(&**name, "functions" | "tools"));
    lists.map(|(_, list)| list).filter(|list| list.items().next().is_some())
}

/// The tables of an endpoint whose answers are cached.
const fn layout(endpoint: Endpoint) -> Option<&'static Layout> {
    match endpoint {
        Endpoint::Chat => Some(&chat::LAYOUT),
        Endpoint::Responses => Some(&responses::LAYOUT),
        Endpoint::Messages => Some(&messages::LAYOUT),
        Endpoint::Gemini { .. } => Some(&gemini::LAYOUT),
        Endpoint::CountTokens | Endpoint::Embeddings | Endpoint::Completions => None,
    }
}

fn rendering(endpoint: Endpoint, body: Value<'_>) -> Rendering {
    let is_true = |value: Option<Value<'_>>| value.is_some_and(|value| value.scalar() == "true");
    match endpoint {
        Endpoint::Gemini { stream } => Rendering { stream, usage: false },
        _ => Rendering {
            stream: is_true(body.get("stream")),
            // The second is OpenRouter's.
            usage: [("stream_options", "include_usage"), ("usage", "include")]
                .iter()
                .any(|(options, name)| is_true(body.get(options).and_then(|options| options.get(name)))),
        },
    }
}

/// Why a request with this header is not cached, where its body or its answer is to be anything but JSON.
fn other_form(name: &str, value: &str) -> Option<&'static str> {
    let names = |kinds: &[&str]| kinds.iter().any(|kind| value.to_ascii_lowercase().contains(kind));
    match name {
        "content-type" if !names(&["json"]) => Some(reason::AMBIGUOUS),
        "accept" if !names(&["json", "event-stream", "*"]) => Some(reason::OTHER_OUTPUT),
        _ => None,
    }
}

/// The query without what says only how the answer is wanted.
fn query(wire: Wire, query: Option<&str>) -> String {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let rendering = |pair: &&str| wire == Wire::Gemini && matches!(*pair, "alt=json" | "alt=sse");
    pairs.filter(|pair| !rendering(pair)).collect::<Vec<_>>().join("&")
}

/// A request that may be cached.
struct Request<'a> {
    asked: &'a Asked<'a>,
    options: &'a Options,
    layout: &'static Layout,
    body: Value<'a>,
    query: String,
}

impl Request<'_> {
    /// All but the model and the question, by name.
    fn parameters(&self, question: &Question<'_>) -> BTreeMap<Box<str>, Box<str>> {
        let mut parameters = BTreeMap::new();
        for (name, member) in self.body.members() {
            let place = (self.layout.members)(&name, member, self.options);
            if name == "model" || matches!(place, Place::Ignored) {
                continue;
            }
            let mut value = String::new();
            place::put(&mut value, place, member, Some(question.at), self.options);
            parameters.insert(name.into(), short(value));
        }
        // No member of a semantic request has such a name.
        let quoted = |text: &str| short(serde_json::Value::from(text).to_string());
        let headers = self.headers().into_iter();
        parameters.extend(headers.map(|(name, value)| (format!("header {name}").into(), quoted(&value))));
        if !self.query.is_empty() {
            parameters.insert("query".into(), quoted(&self.query));
        }
        parameters
    }

    /// SHA-256 of all of it: headers and query each as a line of JSON, and the body.
    fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.put(&serde_json::json!([self.headers(), self.query]).to_string());
        hash.put("\n");
        place::put(&mut hash, Place::Object(self.layout.members), self.body, None, self.options);
        hash.finalize().into()
    }

    /// The headers. A header that is there more than once counts as one.
    fn headers(&self) -> BTreeMap<&str, String> {
        let mut headers: BTreeMap<&str, String> = BTreeMap::new();
        let kept = self.asked.headers.iter().filter(|(name, _)| !matches!(*name, "content-type" | "accept"));
        for (name, value) in kept {
            let all = headers.entry(name).or_default();
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(value);
        }
        headers
    }
}

/// A value of a frame: long ones as their digest, which cannot be taken for JSON.
fn short(value: String) -> Box<str> {
    if value.len() <= MAX_PARAMETER {
        return value.into();
    }
    format!("sha256:{}", hex::encode(Sha256::digest(&value))).into()
}
