//! A request in a wire format: admitted, read, relayed, answered.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use deja_core::api_key::KeyHash;
use deja_core::aside;
use deja_core::engine::{Relay, Relayed};
use deja_core::id::ProjectId;
use deja_core::project::{Project, ProjectSettings};
use deja_core::provider::{AllowedHeaders, Forward};
use deja_wire::{Asked, Endpoint, Identity, Mode, Wire};
use serde::Deserialize;

use super::answer::{self, Wanted};
use super::control::Controls;
use super::error::WireError;
use super::{admitted, body};
use crate::api::body::SHORT;
use crate::auth::{self, Base};
use crate::request_id;
use crate::state::{App, RequestLimits};

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
    let engine = app.engine();
    let begin = async |head: &Parts, key: &KeyHash| {
        let Some(project) = auth::guess(engine, key, &head.headers, base) else {
            return (None, Begun { early: None, body: Text::Coming(body) });
        };
        let body = body::read(app, project.id, &head.headers, body).await;
        let early = match &body {
            Ok(body) => {
                let body = Text::There(Ok(body.clone()));
                read(app, &project, endpoint, model, head, body).await.ok()
            }
            Err(_) => None,
        };
        let wanted = early.as_ref().and_then(|(relay, _)| relay.look_up(project.id));
        (wanted, Begun { early: early.map(|read| (project, read)), body: Text::There(body) })
    };
    admitted(
        app,
        base,
        (endpoint.wire(), endpoint.into()),
        &mut head,
        begin,
        async |head, admitted, begun| {
            let (caller, project) = (&admitted.caller, &admitted.caller.project);
            let read = async {
                match begun.early {
                    Some((guessed, read)) if guessed.settings == project.settings => Ok(read),
                    _ => read(app, project, endpoint, model, head, begun.body).await,
                }
            };
            let (relay, wanted) =
                engine.read(caller, endpoint.into(), request_id::of(&head.extensions), read).await?;
            match engine.relay(admitted.looked, caller, relay).await? {
                Relayed::Hit(reply, body) => Ok(answer::hit(&wanted, &reply, body, engine.clock().now())),
                Relayed::Live(live) => answer::live(&wanted, live, engine.send_buffer(project.id)).await,
            }
        },
    )
    .await
}

/// What there is of a request when it is admitted.
struct Begun {
    /// What it asks for, if it was read by then, and the project by whose settings it was.
    early: Option<(Arc<Project>, (Relay, Wanted))>,
    body: Text,
}

/// A body.
enum Text {
    Coming(Body),
    There(Result<Bytes, WireError>),
}

impl Text {
    async fn whole(self, app: &App, project: ProjectId, headers: &HeaderMap) -> Result<Bytes, WireError> {
        match self {
            Self::Coming(body) => body::read(app, project, headers, body).await,
            Self::There(body) => body,
        }
    }
}

/// What a request asks for, and how it wants its answer.
async fn read(
    app: &App,
    project: &Project,
    endpoint: Endpoint,
    model: Option<&str>,
    head: &Parts,
    body: Text,
) -> Result<(Relay, Wanted), WireError> {
    let settings = &project.settings;
    let controls = Controls::read(&head.headers, settings, app.limits())?;
    let body = body.whole(app, project.id, &head.headers).await?;
    let query = passed(head.uri.query());
    let mut identity = identify(endpoint, model, &body, head, query.as_deref(), settings, app.limits())?;
    if endpoint == (Endpoint::Gemini { stream: true }) && query.as_deref() != Some("alt=sse") {
        // Such a stream is one array of JSON, bit by bit. It is passed on.
        (identity.mode, identity.rendering.stream) = (Mode::Bypass, false);
        identity.reasons = vec!["json_array"];
    }
    let headers = AllowedHeaders::of(&head.headers);
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
    const NAMES: [&str; 5] = ["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"];
    // A value may have any bytes; each is one character here, so that no two values are the same.
    let text = |value: &HeaderValue| value.as_bytes().iter().copied().map(char::from).collect::<String>();
    let all = |name| head.headers.get_all(name).iter().map(move |value| (name, text(value)));
    let headers: Vec<(&str, String)> = NAMES.into_iter().flat_map(all).collect();
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let asked = Asked { endpoint, model, body, headers: &headers, query };
    let identify = || deja_wire::identify(&asked, &settings.identity_options(limits.prompt_bytes));
    // 1 MB takes some 3 ms, and a hostile 32 MiB a third of a second: meanwhile other requests go on, on another thread.
    Ok(aside(body.len() as u64 > SHORT, identify)?)
}

/// The members of a query that pass.
fn passed(query: Option<&str>) -> Option<String> {
    let name = |member: &&str| PASSED.contains(&member.split('=').next().unwrap_or_default());
    let passed: Vec<&str> = query?.split('&').filter(name).collect();
    (!passed.is_empty()).then(|| passed.join("&"))
}
