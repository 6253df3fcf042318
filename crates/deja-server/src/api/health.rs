//! `GET /livez` (the process runs) and `GET /readyz` (storage works).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::error::{ERROR_CODE, ErrorBody};
use crate::state::App;

/// Good health.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// Whether the process runs
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, description = "It runs.", body = Health)))]
pub async fn livez() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether storage works
///
/// Neither an embedding server nor an LLM provider is asked: without them deja still answers the same prompts.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It works.", body = Health),
    (status = 503, description = "It does not, or deja is shutting down: the detail says which.", body = ErrorBody)))]
pub async fn readyz(State(app): State<Arc<App>>) -> Response {
    let refuse = |detail: String| {
        let cause = [(ERROR_CODE, "unavailable")];
        (StatusCode::SERVICE_UNAVAILABLE, cause, Json(ErrorBody { detail })).into_response()
    };
    if app.is_leaving() {
        return refuse("shutting down".into());
    }
    if app.readiness().storage_works().await {
        Json(Health { status: "ok" }).into_response()
    } else {
        refuse("storage is unavailable".into())
    }
}
