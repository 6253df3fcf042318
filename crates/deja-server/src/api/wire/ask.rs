//! A request in a wire format: admitted, read, relayed, answered.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::response::Response;
use deja_core::block_in_place_if;
use deja_core::engine::{Admitted, Relay, Relayed};
use deja_core::project::{Project, ProjectSettings};
use deja_core::provider::{AllowedHeaders, Forward};
use deja_wire::{Asked, Endpoint, Identity, Mode, Wire};
use serde::Deserialize;

use super::answer::{self, Wanted};
use super::control::Controls;
use super::error::WireError;
use super::{body, respond, take_key, turn_away};
use crate::api::body::SHORT;
use crate::auth::{self, Base};
use crate::request_id;
use crate::state::App;

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
    let Some((model, stream)) = called_in(&id) else {
        return WireError::nowhere().into_response(Wire::Gemini);
    };
    ask(&app, &base, Endpoint::Gemini { stream }, Some(model), request).await
}

/// What stands before the Gemini method that a path ends with, and whether that streams; `None` if it ends with none.
pub(super) fn called_in(path: &str) -> Option<(&str, bool)> {
    match path.rsplit_once(':')? {
        (model, "generateContent") => Some((model, false)),
        (model, "streamGenerateContent") => Some((model, true)),
        _ => None,
    }
}

/// Answers a request for `endpoint`; `model` is the one in its path.
pub(super) async fn ask(
    app: &App,
    base: &Base,
    endpoint: Endpoint,
    model: Option<&str>,
    request: Request,
) -> Response {
    let wire = endpoint.wire();
    let (mut head, body) = request.into_parts();
    let key = match take_key(&mut head) {
        Ok(key) => key,
        Err(error) => return error.into_response(wire),
    };
    let call = Call { app, endpoint, model, head: &head };
    let (early, body) = match auth::guess(app.engine(), &key, &head.headers, base) {
        Some(project) => call.read_early(project, body).await,
        None => (None, RequestBody::Coming(body)),
    };
    let wanted = early.as_ref().and_then(|(project, (relay, _))| relay.look_up(project.id));
    match auth::admit(app.engine(), &key, &head.headers, base, endpoint.into(), wanted).await {
        Ok(admitted) => {
            let limit = admitted.limit;
            respond(wire, call.answer(admitted, early, body).await, Some(&limit))
        }
        Err(refused) => turn_away(wire, refused),
    }
}

/// A request in a wire format, but for its body.
struct Call<'a> {
    app: &'a App,
    endpoint: Endpoint,
    /// The model in its path.
    model: Option<&'a str>,
    head: &'a Parts,
}

/// A request that was read before it was admitted, and the project by whose settings.
type Early = (Arc<Project>, (Relay, Wanted));

/// The body of a request, before or after it was read.
enum RequestBody {
    Coming(Body),
    Read(Result<Bytes, WireError>),
}

impl Call<'_> {
    /// Reads the body, and the request by the settings of `project`, before the request is admitted.
    async fn read_early(&self, project: Arc<Project>, body: Body) -> (Option<Early>, RequestBody) {
        let body = body::read(self.app, project.id, &self.head.headers, body).await;
        let read = match &body {
            Ok(body) => self.read(&project, RequestBody::Read(Ok(body.clone()))).await.ok(),
            Err(_) => None,
        };
        (read.map(|read| (project, read)), RequestBody::Read(body))
    }

    /// Answers the admitted request.
    async fn answer(
        &self,
        Admitted { caller, looked, .. }: Admitted,
        early: Option<Early>,
        body: RequestBody,
    ) -> Result<Response, WireError> {
        let (engine, project) = (self.app.engine(), &caller.project);
        let read = async {
            match early {
                Some((guessed, read)) if guessed.settings == project.settings => Ok(read),
                _ => self.read(project, body).await,
            }
        };
        let request = request_id::of(&self.head.extensions);
        let (relay, wanted) = engine.read(&caller, self.endpoint.into(), request, read).await?;
        match engine.relay(looked, &caller, relay).await? {
            Relayed::Hit(reply, body) => Ok(answer::hit(&wanted, &reply, body, engine.clock().now())),
            Relayed::Live(live) => answer::live(&wanted, live, engine.send_buffer(project.id)).await,
        }
    }

    /// What the request asks of a project, and how it wants its answer.
    async fn read(&self, project: &Project, body: RequestBody) -> Result<(Relay, Wanted), WireError> {
        let Self { app, endpoint, head, .. } = *self;
        let controls = Controls::read(&head.headers, &project.settings, app.limits())?;
        let body = match body {
            RequestBody::Coming(body) => body::read(app, project.id, &head.headers, body).await?,
            RequestBody::Read(body) => body?,
        };
        let query = passed(head.uri.query());
        let mut identity = self.identify(&body, query.as_deref(), &project.settings)?;
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
        &self,
        body: &[u8],
        query: Option<&str>,
        settings: &ProjectSettings,
    ) -> Result<Identity, WireError> {
        const NAMES: [&str; 5] =
            ["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"];
        let all = |name| self.head.headers.get_all(name).iter().map(move |value| (name, text(value)));
        let headers: Vec<(&str, Cow<'_, str>)> = NAMES.into_iter().flat_map(all).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        let asked = Asked { endpoint: self.endpoint, model: self.model, body, headers: &headers, query };
        let options = settings.identity_options(self.app.limits().prompt_bytes);
        // 1 MB takes some 3 ms, and a hostile 32 MiB a third of a second: meanwhile other requests go on, on another thread.
        Ok(block_in_place_if(body.len() > SHORT, || deja_wire::identify(&asked, &options))?)
    }
}

/// A header's value, which may have any bytes. Each byte is one character, so that no two values are the same.
fn text(value: &HeaderValue) -> Cow<'_, str> {
    let of_bytes = |_| value.as_bytes().iter().copied().map(char::from).collect::<String>().into();
    value.to_str().map_or_else(of_bytes, Cow::Borrowed)
}

/// The members of a query that pass.
fn passed(query: Option<&str>) -> Option<String> {
    let name = |member: &&str| PASSED.contains(&member.split('=').next().unwrap_or_default());
    let passed: Vec<&str> = query?.split('&').filter(name).collect();
    (!passed.is_empty()).then(|| passed.join("&"))
}
