//! A request in a wire format: admitted, read, relayed, answered.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use deja_core::engine::{Relay, Relayed};
use deja_core::project::ProjectSettings;
use deja_core::provider::{Forward, Seen};
use deja_core::store::Admission;
use deja_wire::{Asked, Endpoint, Identity, Mode, Wire};
use serde::Deserialize;

use super::answer::{self, Wanted};
use super::control::Controls;
use super::error::WireError;
use super::{admitted, body};
use crate::auth::Base;
use crate::request_id;
use crate::state::{App, RequestLimits};

/// A body of up to so many bytes is read in less than a millisecond.
const SHORT: usize = 128 * 1024;
/// Members of the query that the provider gets to see.
const PASSED: [&str; 2] = ["alt", "beta"];

#[derive(Deserialize)]
pub(super) struct Called {
    /// `{model}:{method}`.
    id: String,
}

/// `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
pub(super) async fn gemini(
    State(app): State<Arc<App>>,
    base: Base,
    called: Result<Path<Called>, PathRejection>,
    request: Request,
) -> Response {
    // A path that is no text names no model.
    let id = called.map(|Path(called)| called.id).unwrap_or_default();
    let (model, stream) = match id.rsplit_once(':') {
        Some((model, "generateContent")) => (model, false),
        Some((model, "streamGenerateContent")) => (model, true),
        _ => return WireError::nowhere().into_response(Wire::Gemini),
    };
    ask(&app, &base, Endpoint::Gemini { stream }, Some(model), request).await
}

/// Answers a request for `endpoint`; `model` is the one in its path.
pub(super) async fn ask(
    app: &App,
    base: &Base,
    endpoint: Endpoint,
    model: Option<&str>,
    request: Request,
) -> Response {
    let (mut head, body) = request.into_parts();
    admitted(app, base, endpoint.wire(), &mut head, async |head, caller| {
        let read = read(app, caller, endpoint, model, head, body);
        let (relay, wanted) = app.engine().read(caller, request_id::of(&head.extensions), read).await?;
        match app.engine().relay(caller, relay).await? {
            Relayed::Hit(reply, body) => Ok(answer::hit(&wanted, &reply, body, app.engine().clock().now())),
            Relayed::Live(live) => answer::live(&wanted, live).await,
        }
    })
    .await
}

/// What a request asks for, and how it wants its answer.
async fn read(
    app: &App,
    caller: &Admission,
    endpoint: Endpoint,
    model: Option<&str>,
    head: &Parts,
    body: Body,
) -> Result<(Relay, Wanted), WireError> {
    let settings = &caller.project.settings;
    let controls = Controls::read(&head.headers, settings, app.limits())?;
    let body = body::read(app, &head.headers, body).await?;
    let query = passed(head.uri.query());
    let mut identity = identify(endpoint, model, &body, head, query.as_deref(), settings, app.limits())?;
    if endpoint == (Endpoint::Gemini { stream: true }) && query.as_deref() != Some("alt=sse") {
        // Such a stream is one array of JSON, bit by bit. It is passed on.
        (identity.mode, identity.rendering.stream) = (Mode::Bypass, false);
        identity.reasons = vec!["json_array"];
    }
    let headers = Seen::of(&head.headers);
    let forward = Forward { endpoint, model: identity.model.clone(), body, headers, query };
    let Controls { control, threshold, context, debug, pace } = controls;
    let request = Some(request_id::of(&head.extensions).to_owned());
    let relay = Relay { identity, forward, threshold, control, context, request };
    let wanted = Wanted::of(&relay, debug, pace, app.limits().keep_alive);
    Ok((relay, wanted))
}

fn identify(
    endpoint: Endpoint,
    model: Option<&str>,
    body: &[u8],
    head: &Parts,
    query: Option<&str>,
    settings: &ProjectSettings,
    limits: &RequestLimits,
) -> Result<Identity, WireError> {
    const NAMES: [&str; 3] = ["anthropic-beta", "anthropic-version", "openai-beta"];
    let mut headers = Vec::new();
    for name in NAMES {
        headers
            .extend(head.headers.get_all(name).iter().filter_map(|value| Some((name, value.to_str().ok()?))));
    }
    let asked = Asked { endpoint, model, body, headers: &headers, query };
    let identify = || deja_wire::identify(&asked, &settings.identity_options(limits.prompt_bytes));
    // 1 MB takes some 3 ms, and a hostile 32 MiB a third of a second: meanwhile other requests go on, on another thread.
    let identity = if body.len() <= SHORT { identify() } else { tokio::task::block_in_place(identify) };
    Ok(identity?)
}

/// The members of a query that pass.
fn passed(query: Option<&str>) -> Option<String> {
    let name = |member: &&str| PASSED.contains(&member.split('=').next().unwrap_or_default());
    let passed: Vec<&str> = query?.split('&').filter(name).collect();
    (!passed.is_empty()).then(|| passed.join("&"))
}
