//! The surfaces that existing applications speak to: the formats of OpenAI, Anthropic and Gemini. An application changes its
//! base URL and its key.
//!
//! `ask` is the place to start: it admits, reads and relays a request. `body` reads it, `control` says what it asks of the
//! cache, `answer` tells what a hit is and passes live answers on, `events` is a live stream, `models` lists models, `error` is
//! the table of errors, `openapi` describes all of it.

mod answer;
mod ask;
mod body;
mod control;
mod error;
mod events;
mod models;
pub mod openapi;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use deja_core::api_key::KeyHash;
use deja_core::rate_limit::Decision;
use deja_wire::{Endpoint, Malformed, Wire};

use crate::api::error::ApiError;
use crate::auth::{self, Base, Refused};
use crate::state::App;
use error::WireError;

/// The path of each endpoint, apart from Gemini's, which have the model in their path.
const ENDPOINTS: [(&str, Endpoint); 6] = [
    ("/v1/chat/completions", Endpoint::Chat),
    ("/v1/responses", Endpoint::Responses),
    ("/v1/messages", Endpoint::Messages),
    ("/v1/messages/count_tokens", Endpoint::CountTokens),
    ("/v1/embeddings", Endpoint::Embeddings),
    ("/v1/completions", Endpoint::Completions),
];

/// All paths, for people.
const HERE: &str = "There are POST /v1/chat/completions, /v1/responses, /v1/embeddings and /v1/completions (OpenAI), \
                    /v1/messages and /v1/messages/count_tokens (Anthropic), /v1beta/models/{model}:generateContent and \
                    :streamGenerateContent (Gemini), and GET /v1/models and /v1beta/models";

/// The paths of the wire formats, each also below the base URL of a project.
pub fn router() -> Router<Arc<App>> {
    let mut router = Router::new();
    for base in ["", "/p/{slug}"] {
        for (path, endpoint) in ENDPOINTS {
            router = router.route(&format!("{base}{path}"), asked_at(endpoint));
        }
        router = router
            // Of Gemini's clients google-genai 3 says v1, others v1beta, and LiteLLM with a base URL neither.
            .route(&format!("{base}/models/{{*id}}"), post(ask::gemini));
        for version in ["v1", "v1beta"] {
            let models = format!("{base}/{version}/models");
            router = router
                .route(&format!("{models}/{{*id}}"), get(models::models).post(ask::gemini))
                .route(&models, get(models::models));
        }
    }
    router
}

fn asked_at(endpoint: Endpoint) -> MethodRouter<Arc<App>> {
    post(move |State(app): State<Arc<App>>, base: Base, request: Request| async move {
        ask::ask(&app, &base, endpoint, None, request).await
    })
}

/// The wire format whose shape errors have at the path of a request, even if nothing is there; `None` for deja's own shape.
/// `/v1/cache` is deja's own.
pub fn shape_of(request: &Request) -> Option<Wire> {
    let path = below(request.uri().path());
    let mut segments = path.split('/').skip(1);
    let is_wires = match segments.next() {
        Some("v1") => segments.next() != Some("cache"),
        Some("v1beta" | "models") => true,
        // A library whose base URL lacks the version asks there.
        _ => ENDPOINTS.iter().any(|(named, _)| named.strip_prefix("/v1") == Some(path)),
    };
    is_wires.then(|| wire_of(path, request.headers()))
}

/// The answer to a request that no handler answered: its path does not exist, or its handler panicked.
pub fn refuse(wire: Option<Wire>, error: ApiError) -> Response {
    match (wire, error) {
        (None, error) => error.into_response(),
        (Some(wire), ApiError::NotFound) => WireError::nowhere().into_response(wire),
        (Some(wire), error) => WireError::from(error).into_response(wire),
    }
}

/// The answer to a method that a path does not take. The path of a Gemini method looks like that of a model, which can be read.
pub fn refuse_method(request: &Request) -> Response {
    if ask::called_in(request.uri().path()).is_none() {
        return refuse(shape_of(request), ApiError::MethodNotAllowed);
    }
    let mut refused = refuse(Some(Wire::Gemini), ApiError::MethodNotAllowed);
    refused.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    refused
}

/// A path without the base URL of a project.
fn below(path: &str) -> &str {
    path.strip_prefix("/p/").and_then(|rest| Some(&rest[rest.find('/')?..])).unwrap_or(path)
}

/// The wire format of an answer at `path`, which is [`below`]: several formats share some paths.
fn wire_of(path: &str, headers: &HeaderMap) -> Wire {
    if path.contains("/v1/messages") || headers.contains_key("anthropic-version") {
        Wire::Messages
    } else if path.starts_with("/v1beta")
        || path.starts_with("/models/")
        || headers.contains_key("x-goog-api-key")
    {
        Wire::Gemini
    } else {
        Wire::Chat
    }
}

/// Takes the key out of a request's headers. A key in the address is refused: it would stand in every log on the way.
fn take_key(head: &mut Parts) -> Result<KeyHash, WireError> {
    let mut members = head.uri.query().unwrap_or_default().split('&');
    if members.any(|member| member.split('=').next() == Some("key")) {
        let message = "Send the key in a header (Authorization, x-api-key, x-goog-api-key or api-key): an address with a \
                       key in it ends in logs. Revoke this key if it is a real one.";
        let param = Some("key".into());
        return Err(WireError::Malformed(Malformed { message: message.into(), param, code: None }));
    }
    Ok(auth::take_key(&mut head.headers).map_err(|refused| refused.error)?)
}

/// An answer in the shape of `wire`, with the state of the limit if the limiter was asked.
fn respond(wire: Wire, answered: Result<Response, WireError>, limit: Option<&Decision>) -> Response {
    let mut response = answered.unwrap_or_else(|error| error.into_response(wire));
    if let Some(limit) = limit {
        auth::write_limit(limit, response.headers_mut());
    }
    response
}

/// The answer to a request that was not admitted.
fn turn_away(wire: Wire, Refused { error, limit }: Refused) -> Response {
    respond(wire, Err(error.into()), limit.as_ref())
}
