//! `POST /v1/cache/feedback`: admit, parse, keep what is said of an answer, tell what followed.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use deja_core::cache::Met;
use deja_core::engine::{Feedback, FeedbackEffect, FeedbackError, FeedbackTarget};
use deja_core::id::EntryId;
use deja_core::store::Admission;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::body::{at_most, boolean, invalid_json, object, read, required, string};
use crate::api::error::ApiError;
use crate::auth::{self, Base};
use crate::state::{App, RequestLimits};

/// Longest `request_id`, in bytes: as long as deja takes one for its own.
const MAX_REQUEST_BYTES: usize = 64;
/// Longest `note`, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

const UNKNOWN: &str = "No answer under this name can be judged: deja keeps the hits by meaning and the refusals of its \
                       guard, as long as their entry lives. An answer of the provider, or to the very same prompt, \
                       cannot be judged";
const OWN_PROMPT: &str =
    "this is the entry's own prompt, which it always answers; if the answer is wrong, delete the entry";
const TOO_LONG: &str =
    "a prompt as long as this is answered by its own entry only: there is nothing to judge";

/// Which answer is meant, and whether it was right: `request_id`, or `matched_cache_entry_id` and `prompt`.
// The members as they stand, so that each can be judged by name. Unknown ones are ignored.
#[derive(Deserialize, ToSchema)]
pub struct FeedbackRequest<'a> {
    /// The `X-Request-Id` of the answer; of several answers with the same one, the last is meant.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, max_length = 64, example = "5f3a9c01-9d2e4b7f01c6a835")]
    request_id: Option<&'a RawValue>,
    /// The entry that answered: `X-Deja-Entry`, or `matched_cache_entry_id` of `debug`.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, format = "uuid")]
    matched_cache_entry_id: Option<&'a RawValue>,
    /// The prompt that it answered.
    #[serde(borrow)]
    #[schema(value_type = Option<String>)]
    prompt: Option<&'a RawValue>,
    /// Whether the answer was right. For a miss that the guard caused: whether it was right to refuse the entry.
    #[serde(borrow)]
    #[schema(value_type = bool)]
    correct: Option<&'a RawValue>,
    /// Anything worth knowing, for people who look at it later.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, max_length = 1024)]
    note: Option<&'a RawValue>,
}

/// What came of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct FeedbackResponse {
    /// The entry that answered, or was refused.
    matched_cache_entry_id: String,
    /// What was judged: `hit` or `refusal`.
    judged: &'static str,
    /// `recorded`: kept, and nothing else changes. `blocked`: this prompt, and its rewordings nearer to it than to the
    /// entry's prompt, no longer get the entry. `quarantined`: that too, and the entry answers its own prompt only, until
    /// an operator releases it. `allowed`: what was blocked by an earlier word is no longer.
    effect: &'static str,
}

/// Say whether an answer was right
///
/// A wrong answer is blocked at once, on every replica: the prompt, and its rewordings that are nearer to it than to the
/// entry's prompt, no longer get this entry, which goes on answering its own prompt. The last word counts. The third wrong
/// prompt within a day puts the entry into quarantine. Feedback has a rate limit of its own, as high as that of queries.
#[utoipa::path(
    post, path = "/v1/cache/feedback", tag = "cache", request_body = FeedbackRequest<'static>,
    security(("api_key" = [])),
    responses(
        (status = 200, description = "Kept.", body = inline(FeedbackResponse)),
        (status = 400, description = "The request's shape, or nothing that can be judged.", body = crate::api::error::ErrorBody),
        (status = 401, description = "No API key, or none that is active.", body = crate::api::error::ErrorBody),
        (status = 403, description = "The key may not access this project.", body = crate::api::error::ErrorBody),
        (status = 404, description = "The project knows no such answer, or no longer.", body = crate::api::error::ErrorBody),
        (status = 429, description = "Over the rate limit; see Retry-After.", body = crate::api::error::ErrorBody),
        (status = 500, description = "deja failed; see X-Deja-Error.", body = crate::api::error::ErrorBody),
        (status = 503, description = "Overloaded or not ready; see Retry-After.", body = crate::api::error::ErrorBody),
    )
)]
pub async fn feedback(State(app): State<Arc<App>>, base: Base, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let admitted = match auth::admit_feedback(app.engine(), &head.headers, &base).await {
        Ok(admitted) => admitted,
        Err(refused) => return refused.into_response(),
    };
    let heard = hear(&app, &admitted.caller, &head.headers, body).await;
    let mut response = heard.map_or_else(IntoResponse::into_response, |heard| Json(heard).into_response());
    auth::write_limit(&admitted.limit, response.headers_mut());
    response
}

async fn hear(
    app: &App,
    caller: &Admission,
    headers: &HeaderMap,
    body: Body,
) -> Result<FeedbackResponse, ApiError> {
    let mut room = app.bodies().of(caller.project.id);
    let body = read(headers, body, app.limits(), &mut room).await?;
    let said = Said::parse(&body, app.limits()).map_err(ApiError::BadRequest)?;
    let feedback = Feedback { correct: said.correct, note: said.note.as_deref() };
    let FeedbackEffect { entry, met, labelled } =
        app.engine().feedback(caller, said.target(), feedback).await?;
    Ok(FeedbackResponse {
        matched_cache_entry_id: entry.to_string(),
        judged: if met == Met::Served { "hit" } else { "refusal" },
        effect: labelled.as_str(),
    })
}

impl From<FeedbackError> for ApiError {
    fn from(error: FeedbackError) -> Self {
        match error {
            FeedbackError::Unknown => Self::Unknown(UNKNOWN),
            FeedbackError::OwnPrompt => Self::BadRequest(OWN_PROMPT.into()),
            FeedbackError::TooLong => Self::BadRequest(TOO_LONG.into()),
            FeedbackError::Query(error) => error.into(),
        }
    }
}

/// Which answer a body means.
enum Subject {
    Request(String),
    Pair { entry: EntryId, prompt: String },
}

/// What a body says.
struct Said {
    subject: Subject,
    correct: bool,
    note: Option<String>,
}

impl Said {
    fn parse(body: &[u8], limits: &RequestLimits) -> Result<Self, String> {
        let text = object(body, "request_id and correct")?;
        let fields: FeedbackRequest<'_> = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        let correct = boolean("correct", fields.correct)?.ok_or("correct is required")?;
        let note = fields.note.map(|note| string("note", note)).transpose()?;
        at_most("note", note.as_deref().unwrap_or_default(), MAX_NOTE_BYTES)?;
        let subject = match (fields.request_id, fields.matched_cache_entry_id, fields.prompt) {
            (Some(request), None, None) => {
                let request = string("request_id", request)?;
                at_most("request_id", &request, MAX_REQUEST_BYTES)?;
                Subject::Request(request)
            }
            (None, Some(entry), prompt) => {
                let entry = string("matched_cache_entry_id", entry)?.parse();
                let prompt = required("prompt", prompt)?;
                at_most("prompt", &prompt, limits.prompt_bytes)?;
                let entry = entry.map_err(|_| "matched_cache_entry_id must be a UUID")?;
                Subject::Pair { entry, prompt }
            }
            _ => return Err("give request_id alone, or matched_cache_entry_id and prompt".into()),
        };
        Ok(Self { subject, correct, note })
    }

    fn target(&self) -> FeedbackTarget<'_> {
        match &self.subject {
            Subject::Request(name) => FeedbackTarget::Request(name),
            Subject::Pair { entry, prompt } => FeedbackTarget::Pair { entry: *entry, asked: prompt },
        }
    }
}
