//! `GET /livez` (the process runs) and `GET /readyz` (a query would work).

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

/// Whether a query would work
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It would.", body = Health),
    (status = 503, description = "It would not; the detail says why.", body = ErrorBody)))]
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
