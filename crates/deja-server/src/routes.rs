//! Every URL, in order.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tower::ServiceBuilder;
use tower::util::MapRequestLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::api::admin::{self, AdminApi};
use crate::api::error::ApiError;
use crate::api::wire::{self, shape_of};
use crate::api::{feedback, health, openapi, query};
use crate::console::{self, Console};
use crate::edge::edge;
use crate::request_id::{Hashed, only_fit};
use crate::state::App;

/// The routes of the API, for people. What is not there is refused as everywhere.
fn docs() -> Router<Arc<App>> {
    let refused = async |response: Response| match response.status() {
        // 400 is a path that is no UTF-8.
        StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => ApiError::NotFound.into_response(),
        _ => response,
    };
    Router::from(SwaggerUi::new("/docs").config(Config::from("/openapi.json")))
        .route_layer(map_response(refused))
}

/// The whole router. `openapi.json` is made once: it cannot change while the process runs.
pub fn router(app: Arc<App>, console: Arc<Console>) -> Result<Router, serde_json::Error> {
    // Shared by all who read it.
    let document = Bytes::from(openapi::document()?);
    let openapi_json = move || {
        let document = document.clone();
        async move { ([(CONTENT_TYPE, "application/json")], document) }
    };
    // From the outside in.
    let passed = ServiceBuilder::new()
        .layer(MapRequestLayer::new(only_fit::<Body>))
        .layer(SetRequestIdLayer::x_request_id(Hashed))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(from_fn_with_state(Arc::clone(&app), edge));
    Ok(Router::new()
        .route("/v1/cache/query", post(query::query))
        .route("/p/{slug}/v1/cache/query", post(query::query))
        .route("/v1/cache/feedback", post(feedback::feedback))
        .route("/p/{slug}/v1/cache/feedback", post(feedback::feedback))
        // Who types the address into a browser is a person.
        .route("/", get(|| async { Redirect::to("/console") }))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/openapi.json", get(openapi_json))
        .merge(docs())
        .merge(wire::router())
        .fallback(|request: Request| async move { wire::refuse(shape_of(&request), ApiError::NotFound) })
        .method_not_allowed_fallback(|request: Request| async move { wire::refuse_method(&request) })
        .with_state(app)
        .merge(admin::router(Arc::new(AdminApi::beside(&console))))
        .merge(console::router(console))
        .layer(passed))
}
