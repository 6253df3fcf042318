//! `POST /v1/cache/query`: admit, parse, answer, convert.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use deja_core::analytics::Surface;
use deja_core::cache::policy::NotStored;
use deja_core::cache::{PromptHash, Refusal};
use deja_core::embedding::{Similarity, Threshold};
use deja_core::engine::{Admitted, Opinion, Query, Reply, Source};
use deja_core::id::ProjectId;
use deja_core::pricing::PriceOrigin;
use deja_core::project::Project;
use deja_core::shares::Held;
use deja_core::store::{Admission, LookUp};
use deja_core::{block_in_place_if, room_to_parse};
use deja_wire::MAX_MODEL_BYTES;
use futures::future::{Either, ready};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::body::{SHORT, at_most, boolean, invalid_json, object, read, required, string};
use crate::api::error::ApiError;
use crate::auth::{self, Base, Refused};
use crate::request_id;
use crate::state::{App, RequestLimits};

/// Names the entry of a hit.
pub(super) const ENTRY: HeaderName = HeaderName::from_static("x-deja-entry");
/// Why the guard made a miss of what was similar enough.
pub(super) const GUARD: HeaderName = HeaderName::from_static("x-deja-guard");

/// What is asked.
// The members as they stand, so that each can be judged by name. Unknown ones are ignored.
#[derive(Deserialize, ToSchema)]
pub struct QueryRequest<'a> {
    /// Text to look up and cache. Not blank.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, example = "What is the capital of France?")]
    prompt: Option<&'a RawValue>,
    /// Identifier of the LLM model.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, max_length = 256, example = "gpt-4o-mini")]
    model: Option<&'a RawValue>,
    /// Minimum similarity for a hit. A project may have another default, and a minimum that no request goes below.
    #[serde(borrow)]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1, default = 0.85)]
    similarity_threshold: Option<&'a RawValue>,
    /// Extra context that segments the cache. No context is a segment of its own; the empty string is another.
    #[serde(borrow)]
    #[schema(value_type = Option<String>)]
    context: Option<&'a RawValue>,
    /// When true, the response carries a `debug` object.
    #[serde(borrow)]
    #[schema(value_type = Option<bool>, default = false)]
    include_debug: Option<&'a RawValue>,
}

/// What is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueryResponse<'a> {
    /// True when a cached entry matched.
    cache_hit: bool,
    /// The response text.
    response: &'a str,
    /// Cosine similarity between 0 and 1; null on a miss.
    #[schema(required = true, minimum = 0, maximum = 1)]
    similarity_score: Option<f32>,
    /// Estimated saving in USD; 0 on a miss.
    #[schema(minimum = 0)]
    cost_saved: f64,
    /// `cache` on a hit; on a miss, the name of the LLM provider.
    llm_provider: &'a str,
    /// Present only when `include_debug` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DebugInfo, required = false)]
    debug: Option<DebugInfo>,
}

/// What happened on the way.
#[derive(Debug, Serialize, ToSchema)]
pub struct DebugInfo {
    /// The name of this request in the log, and for feedback.
    request_id: String,
    /// Time to compute the embedding, in milliseconds; 0 when none was needed.
    embedding_time_ms: f64,
    /// Time for the similarity search, in milliseconds.
    search_time_ms: f64,
    /// Total time, in milliseconds.
    total_time_ms: f64,
    /// Identifier (UUID) of the matched cache entry; null on a miss.
    #[schema(required = true, format = "uuid")]
    matched_cache_entry_id: Option<String>,
    /// Number of entries in the project's cache; left out in the rare case that it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    cache_entry_count: Option<u64>,
    /// Time the provider took, in milliseconds; null when none was asked.
    #[schema(required = true)]
    provider_time_ms: Option<f64>,
    /// What answered: `exact`, `semantic` or `provider`.
    matched_by: &'static str,
    /// The threshold that a hit had to reach: the one asked for, or the project's.
    threshold_used: f64,
    /// Cosine similarity of the nearest entry, between 0 and 1; null if no entry reaches the threshold or 0.75.
    #[schema(required = true)]
    nearest_similarity: Option<f32>,
    /// Members of the request that deja does not know, such as misspelt ones; 20 at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    ignored_fields: Vec<String>,
    /// Whether the answer came from a provider call that another request had begun.
    joined_request_in_flight: bool,
    /// Why the answer was not stored; null if it was, or came from the cache.
    #[schema(required = true)]
    not_stored: Option<&'static str>,
    /// Why the prompt was not searched by meaning; null if it was, or did not need to be.
    #[schema(required = true)]
    not_searched: Option<String>,
    /// The best entry that was similar enough and that the guard refused; null if there was none, and on a hit.
    #[schema(required = true)]
    guard: Option<GuardInfo>,
    /// What the project's model said where the guard was uncertain; null if it was not asked about.
    #[schema(required = true)]
    judge: Option<JudgeInfo>,
    /// Tokens of prompt and context.
    prompt_tokens: u64,
    /// Tokens of the response.
    completion_tokens: u64,
    /// Whether the tokens are an estimate.
    tokens_estimated: bool,
    /// Where the price is from: `table`, `override`, or `unknown`. An unknown price saves 0.
    price_source: &'static str,
}

/// An entry that did not answer although it was similar enough.
#[derive(Debug, Serialize, ToSchema)]
pub struct GuardInfo {
    /// Always true.
    refused: bool,
    /// Cosine similarity between 0 and 1.
    similarity: f32,
    /// Identifier (UUID) of the entry.
    entry: String,
    /// What is different: `numbers`, `negation`, `opposite`, `name`, `order`, `extra condition`, `words` or `meaning`.
    reason: &'static str,
    /// How sure the guard is that one answer serves both prompts, 0 to 1.
    score: f32,
}

/// What the project's model said of an entry.
#[derive(Debug, Serialize, ToSchema)]
pub struct JudgeInfo {
    /// Identifier (UUID) of the entry.
    entry: String,
    /// `yes` (it answers), `no`, `remembered yes`, `remembered no`, `unclear`, `late` or `failed`; or why it was not
    /// asked: `over budget`, `unknown price`, `resting` (it failed several times just now) or `unavailable`.
    said: &'static str,
    /// What asking cost, in USD. It is taken off `cost_saved`.
    cost: f64,
    /// How long it took, in milliseconds.
    time_ms: f64,
}

impl From<Opinion> for JudgeInfo {
    fn from(opinion: Opinion) -> Self {
        Self {
            entry: opinion.entry.to_string(),
            said: opinion.said.as_str(),
            cost: opinion.cost.as_dollars(),
            time_ms: millis(opinion.time),
        }
    }
}

impl From<Refusal> for GuardInfo {
    fn from(refusal: Refusal) -> Self {
        Self {
            refused: true,
            similarity: refusal.similarity.get(),
            entry: refusal.entry.to_string(),
            reason: refusal.reason.as_str(),
            score: refusal.score,
        }
    }
}

/// Query the cache
///
/// Looks for an earlier prompt of the same project, model and context that is similar enough and, as far as its words
/// tell, asks the same. If there is none, asks the LLM provider and stores its answer.
#[utoipa::path(
    post, path = "/v1/cache/query", tag = "cache", request_body = QueryRequest<'static>,
    security(("api_key" = [])),
    responses(
        (status = 200, description = "Answered, from the cache or from the provider.", body = inline(QueryResponse<'static>),
            headers(("X-Deja-Entry" = String, description = "On a hit, the matched cache entry (UUID)."),
                    ("X-Deja-Guard" = String, description = "On a miss that the guard caused, what is different in the nearest prompt; see `debug.guard`."))),
        (status = 400, description = "The request's shape, or a model that is not supported.", body = crate::api::error::ErrorBody),
        (status = 401, description = "No API key, or none that is active.", body = crate::api::error::ErrorBody),
        (status = 403, description = "The key may not access this project or model.", body = crate::api::error::ErrorBody),
        (status = 429, description = "Over the rate limit; see Retry-After.", body = crate::api::error::ErrorBody),
        (status = 500, description = "The provider failed, or deja did; see X-Deja-Error.", body = crate::api::error::ErrorBody),
        (status = 503, description = "Overloaded or not ready; see Retry-After.", body = crate::api::error::ErrorBody),
    )
)]
pub async fn query(State(app): State<Arc<App>>, base: Base, request: Request) -> Response {
    let (head, body) = request.into_parts();
    match admit(&app, &base, &head, body).await {
        Ok((admitted, asked)) => {
            let limit = admitted.limit;
            let answered = answer(&app, admitted, &head, asked).await;
            let mut response = answered.unwrap_or_else(IntoResponse::into_response);
            auth::write_limit(&limit, response.headers_mut());
            response
        }
        Err(refused) => refused.into_response(),
    }
}

/// Admits a request, and gives the query that it asks, which may still have to be read. A body that cannot be read is told after
/// admission only: whoever is not admitted learns nothing else.
async fn admit<'a>(
    app: &'a App,
    base: &Base,
    head: &'a Parts,
    body: Body,
) -> Result<(Admitted, impl Future<Output = Result<Asked, ApiError>> + use<'a>), Refused> {
    let (engine, key) = (app.engine(), auth::key_of(&head.headers)?);
    let read = |project| Asked::read(app, project, &head.headers, body);
    let (wanted, asked) = match auth::guess(engine, &key, &head.headers, base) {
        None => (None, Either::Left(read)),
        Some(project) => {
            let asked = read(project.id).await;
            let wanted = asked.as_ref().ok().map(|asked| asked.look_up(&project));
            (wanted, Either::Right(asked))
        }
    };
    let admitted = auth::admit(engine, &key, &head.headers, base, Surface::Query, wanted).await?;
    let asked = match asked {
        Either::Left(read) => Either::Left(read(admitted.caller.project.id)),
        Either::Right(asked) => Either::Right(ready(asked)),
    };
    Ok((admitted, asked))
}

async fn answer(
    app: &App,
    Admitted { caller, looked, .. }: Admitted,
    head: &Parts,
    asked: impl Future<Output = Result<Asked, ApiError>>,
) -> Result<Response, ApiError> {
    let name = request_id::of(&head.extensions);
    let read = async {
        let Asked { prompt, model, threshold, context, debug, room } = asked.await?;
        let threshold = caller.project.settings.threshold(threshold);
        let request = Some(name.to_owned());
        Ok::<_, ApiError>((
            Query { prompt, model, threshold, context, request, wire: None, room: Some(Arc::new(room)) },
            (threshold, debug),
        ))
    };
    // The room is for the answer as it is written: who gets none is no hit, and not told to have saved anything.
    let written_of = |reply: &Reply, (_, debug): &(Threshold, Option<Vec<String>>)| {
        most_written(&reply.entry.answer.text, debug.as_deref())
    };
    let asked = app.engine().request(looked, &caller, name, read, written_of);
    let (reply, buffer, (threshold, debug)) = asked.await?;
    let debug = match debug {
        Some(ignored) => Some(debug_info(name, &reply, threshold, ignored, count(app, &caller).await)),
        None => None,
    };
    let response = QueryResponse {
        cache_hit: reply.is_hit(),
        response: &reply.entry.answer.text,
        similarity_score: reply.similarity().map(Similarity::get),
        cost_saved: reply.saved().as_dollars(),
        llm_provider: if reply.is_hit() { "cache" } else { &reply.entry.answer.provider },
        debug,
    };
    let json = written(caller.project.id, &response).await?;
    let json = buffer.hold(json);
    let mut response = ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response();
    if reply.is_hit() {
        let entry = HeaderValue::try_from(reply.entry.id.to_string());
        response.headers_mut().insert(ENTRY, entry.map_err(|error| ApiError::Internal(error.to_string()))?);
    }
    if let Some(refusal) = reply.refused() {
        response.headers_mut().insert(GUARD, HeaderValue::from_static(refusal.reason.as_str()));
    }
    Ok(response)
}

/// An answer as JSON. Long ones wait for room, and others go on meanwhile.
async fn written(project: ProjectId, response: &QueryResponse<'_>) -> Result<Vec<u8>, ApiError> {
    let bytes = response.response.len();
    let _room = room_to_parse(Some(project), bytes).await;
    let json = block_in_place_if(bytes > SHORT, || serde_json::to_vec(response));
    json.map_err(|error| ApiError::Internal(error.to_string()))
}

/// How many bytes an answer with this text is as JSON, at most; `ignored` are the members that its debug object names, if it has one.
fn most_written(text: &str, ignored: Option<&[String]>) -> usize {
    /// More than all members beside the text take, and those of a debug object without the names.
    const BESIDE: usize = 512;
    const DEBUG: usize = 2048;
    let quoted = |text: &str| 3 + text.bytes().map(escaped).sum::<usize>();
    let debug = ignored.map_or(0, |names| DEBUG + names.iter().map(|name| quoted(name)).sum::<usize>());
    BESIDE + debug + block_in_place_if(text.len() > SHORT, || quoted(text))
}

/// The bytes of this byte in a string of JSON.
const fn escaped(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    }
}

/// The number of the project's entries, if they can be counted now: the answer is worth more than its figures.
async fn count(app: &App, caller: &Admission) -> Option<u64> {
    let counted = app.engine().store().count(caller.project.id).await;
    counted
        .inspect_err(
            |error| tracing::warn!(error = %error, "entries could not be counted for a debug object"),
        )
        .ok()
}

/// The query of a body.
struct Asked {
    prompt: String,
    model: String,
    threshold: Option<Threshold>,
    context: Option<String>,
    /// The ignored members, if a debug object is wanted.
    debug: Option<Vec<String>>,
    /// The room that the body takes.
    room: Held,
}

impl Asked {
    async fn read(app: &App, project: ProjectId, headers: &HeaderMap, body: Body) -> Result<Self, ApiError> {
        let (limits, mut room) = (app.limits(), app.bodies().of(project));
        let body = read(headers, body, limits, &mut room).await?;
        parse(&body, limits, room).map_err(ApiError::BadRequest)
    }

    fn look_up(&self, project: &Project) -> LookUp {
        let scope = project.scope(&self.model, self.context.as_deref());
        LookUp::new(&scope, PromptHash::of(&self.prompt))
    }
}

fn parse(body: &[u8], limits: &RequestLimits, room: Held) -> Result<Asked, String> {
    let text = object(body, "prompt and model")?;
    let fields: QueryRequest<'_> = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;

    let prompt = required("prompt", fields.prompt)?;
    at_most("prompt", &prompt, limits.prompt_bytes)?;
    let model = required("model", fields.model)?;
    at_most("model", &model, MAX_MODEL_BYTES)?;
    let threshold = match fields.similarity_threshold.map(RawValue::get) {
        None => None,
        Some(number) if number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            let threshold = number.parse().ok().and_then(Threshold::new);
            Some(threshold.ok_or("similarity_threshold must be between 0 and 1")?)
        }
        Some(_) => return Err("similarity_threshold must be a number".into()),
    };
    let context = fields.context.map(|raw| string("context", raw)).transpose()?;
    if let Some(context) = &context {
        at_most("context", context, limits.context_bytes)?;
    }
    let include_debug = boolean("include_debug", fields.include_debug)?.unwrap_or(false);
    let debug = include_debug.then(|| ignored(text));
    Ok(Asked { prompt, model, threshold, context, debug, room })
}

/// Members that deja does not know. The body is read a second time, for debug objects alone.
fn ignored(text: &str) -> Vec<String> {
    const KNOWN: [&str; 5] = ["prompt", "model", "similarity_threshold", "context", "include_debug"];
    const MOST: usize = 20;
    const LONGEST: usize = 64;
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).unwrap_or_default();
    let unknown = members.into_keys().filter(|name| !KNOWN.contains(&name.as_ref()));
    unknown.take(MOST).map(|name| name.chars().take(LONGEST).collect()).collect()
}

/// The debug object.
fn debug_info(
    request: &str,
    reply: &Reply,
    threshold: Threshold,
    ignored_fields: Vec<String>,
    cache_entry_count: Option<u64>,
) -> DebugInfo {
    let trace = &reply.trace;
    let (matched_by, not_stored) = match reply.source {
        Source::Exact => ("exact", None),
        Source::Semantic(_) => ("semantic", None),
        Source::Provider(stored) => ("provider", stored.err().map(NotStored::code)),
    };
    DebugInfo {
        request_id: request.to_owned(),
        embedding_time_ms: millis(trace.embedding),
        search_time_ms: millis(trace.search),
        total_time_ms: millis(trace.total),
        matched_cache_entry_id: reply.is_hit().then(|| reply.entry.id.to_string()),
        cache_entry_count,
        provider_time_ms: trace.provider.map(millis),
        matched_by,
        threshold_used: threshold.get(),
        nearest_similarity: reply.nearest_similarity().map(Similarity::get),
        ignored_fields,
        joined_request_in_flight: trace.joined,
        not_stored,
        not_searched: trace.too_long.map(|(tokens, window)| {
            format!("the prompt has {tokens} tokens or more and the embedding model reads {window}: only the same prompt can match")
        }),
        guard: reply.refused().map(GuardInfo::from),
        judge: trace.opinion.map(JudgeInfo::from),
        prompt_tokens: reply.cost.input_tokens,
        completion_tokens: reply.cost.output_tokens,
        tokens_estimated: reply.cost.estimated,
        price_source: match reply.cost.price {
            None => "unknown",
            Some(PriceOrigin::Override) => "override",
            Some(PriceOrigin::Table) => "table",
        },
    }
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn an_answer_fits_into_the_room_that_it_has() {
        let every: String = (0..=255).map(char::from).collect();
        let names = vec![every.chars().take(64).collect::<String>(); 20];
        let debug = |ignored_fields| DebugInfo {
            request_id: "r".repeat(64),
            embedding_time_ms: 12_345.678,
            search_time_ms: 12_345.678,
            total_time_ms: 12_345.678,
            matched_cache_entry_id: Some("e".repeat(36)),
            cache_entry_count: Some(u64::MAX),
            provider_time_ms: Some(12_345.678),
            matched_by: "semantic",
            threshold_used: 0.123_456_789,
            nearest_similarity: Some(0.123_456_79),
            ignored_fields,
            joined_request_in_flight: false,
            not_stored: Some("tools_not_answered"),
            not_searched: Some("n".repeat(200)),
            guard: Some(GuardInfo {
                refused: true,
                similarity: 0.123_456_79,
                entry: "e".repeat(36),
                reason: "extra condition",
                score: 0.123_456_79,
            }),
            judge: Some(JudgeInfo {
                entry: "e".repeat(36),
                said: "remembered yes",
                cost: 0.123_456_789,
                time_ms: 12_345.678,
            }),
            prompt_tokens: u64::MAX,
            completion_tokens: u64::MAX,
            tokens_estimated: false,
            price_source: "override",
        };
        for (text, ignored) in
            [("", None), (&*every, None), ("", Some(Vec::new())), (&every, Some(names.clone()))]
        {
            let most = most_written(text, ignored.as_deref());
            let response = QueryResponse {
                cache_hit: false,
                response: text,
                similarity_score: Some(0.123_456_79),
                cost_saved: 0.000_000_001,
                llm_provider: "a-provider-of-the-projects-own",
                debug: ignored.map(debug),
            };
            let json = written(ProjectId::from_bytes([3; 16]), &response).await.unwrap();
            assert!((json.len()..json.len() + 2_000).contains(&most), "{} of {most}", json.len());
        }
    }

    #[tokio::test]
    async fn a_long_answer_is_written_where_its_project_has_room() {
        let [one, other] = [1, 2].map(|number| ProjectId::from_bytes([number; 16]));
        let answer = |response| QueryResponse {
            cache_hit: true,
            response,
            similarity_score: Some(1.0),
            cost_saved: 0.0,
            llm_provider: "cache",
            debug: None,
        };
        let text = "a".repeat(1 << 20);
        let (long, short) = (answer(&text), answer("a"));
        let room = room_to_parse(Some(one), 8 << 20).await;
        let mut waiting = Box::pin(written(one, &long));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(written(one, &short).now_or_never().is_some());
        assert!(written(other, &long).now_or_never().is_some());
        drop(room);
        assert!(waiting.now_or_never().is_some_and(|json| json.unwrap().len() > text.len()));
    }
}
