//! `GET /v1/models` and `/v1/models/{id}`: the models that may be asked for, in the shape of OpenAI or Anthropic.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use deja_core::clock::Timestamp;
use deja_core::provider::ProviderKind;
use deja_wire::Wire;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::WireError;
use super::{admitted, wire_of};
use crate::auth::Base;
use crate::feeds::upstreams::Model;
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
    Path(Named { id }): Path<Named>,
    request: Request,
) -> Response {
    let (mut head, _) = request.into_parts();
    // Gemini's clients list models elsewhere.
    let wire = match wire_of(head.uri.path(), &head.headers) {
        Wire::Messages => Wire::Messages,
        _ => Wire::Chat,
    };
    admitted(&app, &base, wire, &mut head, async |_, caller| {
        let mut models = app.upstreams().models(caller).await?;
        models.retain(|model| is_asked_on(wire, model.kind) && caller.key.allows_model(&model.id));
        let Some(id) = id else { return Ok(Json(list(wire, &models)).into_response()) };
        let unknown = || format!("There is no model '{id}' here. GET /v1/models lists what there is.");
        let one = models.iter().find(|model| model.id == id);
        let one = one.ok_or_else(|| WireError::NotFound(unknown()))?;
        Ok(Json(shape(wire, one)).into_response())
    })
    .await
}

/// Whether a model of such a provider can be asked for on this wire. Google serves chat completions too.
fn is_asked_on(wire: Wire, kind: ProviderKind) -> bool {
    (wire == Wire::Messages) == (kind == ProviderKind::Anthropic)
}

fn list(wire: Wire, models: &[Model]) -> Value {
    let data: Vec<Value> = models.iter().map(|model| shape(wire, model)).collect();
    if wire == Wire::Messages {
        let id = |model: Option<&Model>| model.map(|model| model.id.clone());
        return json!({"data": data, "has_more": false, "first_id": id(models.first()), "last_id": id(models.last())});
    }
    json!({"object": "list", "data": data})
}

fn shape(wire: Wire, Model { id, owner, created, .. }: &Model) -> Value {
    if wire == Wire::Messages {
        return json!({"type": "model", "id": id, "display_name": id, "created_at": rfc3339(*created)});
    }
    json!({"id": id, "object": "model", "created": created.as_secs(), "owned_by": owner})
}

fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.as_secs()).unwrap_or_default().to_string()
}
