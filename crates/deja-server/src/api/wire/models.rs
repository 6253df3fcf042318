//! `GET /v1/models` and `/v1/models/{id}`, and the same below `/v1beta`: the models that may be asked for, in the shape of
//! OpenAI, Anthropic or Google.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use deja_core::analytics::Surface;
use deja_core::store::Admission;
use deja_wire::{Endpoint, Wire};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::called_in;
use super::error::WireError;
use super::{below, refuse_method, respond, take_key, turn_away, wire_of};
use crate::auth::{self, Base};
use crate::feeds::providers::Model;
use crate::format::to_second;
use crate::state::App;

#[derive(Deserialize)]
pub(super) struct Named {
    id: Option<String>,
}

/// The models that the project's own providers answer, and those of the price table whose provider has credentials. To ask
/// for a model that is not listed may work: the table is as old as its prices. A key that is for some models sees those.
pub(super) async fn models(
    State(app): State<Arc<App>>,
    base: Base,
    named: Result<Path<Named>, PathRejection>,
    request: Request,
) -> Response {
    if called_in(request.uri().path()).is_some() {
        return refuse_method(&request);
    }
    let (mut head, _) = request.into_parts();
    let wire = wire_of(below(head.uri.path()), &head.headers);
    // A path that is no text names no model.
    let id = named.map_or_else(|_not_utf8| Some(String::new()), |Path(named)| named.id);
    let key = match take_key(&mut head) {
        Ok(key) => key,
        Err(error) => return error.into_response(wire),
    };
    match auth::admit(app.engine(), &key, &head.headers, &base, Surface::Other, None).await {
        Ok(admitted) => {
            let told = tell(&app, &admitted.caller, wire, id.as_deref()).await;
            respond(wire, told.map(|told| Json(told).into_response()), Some(&admitted.limit))
        }
        Err(refused) => turn_away(wire, refused),
    }
}

/// The model called `id`, or all models.
async fn tell(app: &App, caller: &Admission, wire: Wire, id: Option<&str>) -> Result<Value, WireError> {
    app.engine().count_other(caller);
    let mut models = app.providers().models(caller, endpoint_of(wire)).await?;
    models.retain(|model| caller.key.allows_model(&model.id));
    let Some(id) = id else { return Ok(list(wire, &models)) };
    if let Some(model) = models.iter().find(|model| model.id == id) {
        return Ok(shape(wire, model));
    }
    let message = format!("There is no model '{id}' here. GET {} lists what there is.", list_of(wire));
    Err(WireError::NotFound { message, cause: "not_found", code: None })
}

/// Where the models of a list are asked. OpenAI's clients have one list for all endpoints, and chat is what all of them know.
const fn endpoint_of(wire: Wire) -> Endpoint {
    match wire {
        Wire::Messages => Endpoint::Messages,
        Wire::Gemini => Endpoint::Gemini { stream: false },
        Wire::Chat | Wire::Responses => Endpoint::Chat,
    }
}

const fn list_of(wire: Wire) -> &'static str {
    if matches!(wire, Wire::Gemini) { "/v1beta/models" } else { "/v1/models" }
}

fn list(wire: Wire, models: &[Model]) -> Value {
    let data: Vec<Value> = models.iter().map(|model| shape(wire, model)).collect();
    match wire {
        Wire::Messages => {
            let id = |model: Option<&Model>| model.map(|model| model.id.clone());
            let (first, last) = (id(models.first()), id(models.last()));
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        }
        Wire::Gemini => json!({"models": data}),
        Wire::Chat | Wire::Responses => json!({"object": "list", "data": data}),
    }
}

fn shape(wire: Wire, Model { id, owner, created, .. }: &Model) -> Value {
    match wire {
        Wire::Messages => {
            json!({"type": "model", "id": id, "display_name": id, "created_at": to_second(*created).to_string()})
        }
        Wire::Gemini => {
            let methods = ["generateContent", "streamGenerateContent"];
            json!({"name": format!("models/{id}"), "baseModelId": id, "displayName": id, "supportedGenerationMethods": methods})
        }
        Wire::Chat | Wire::Responses => {
            json!({"id": id, "object": "model", "created": created.as_secs(), "owned_by": owner})
        }
    }
}
