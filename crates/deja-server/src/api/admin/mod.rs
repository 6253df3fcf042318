//! The admin API: what the console does to projects, keys and providers, for programs of operators. Each request has a
//! personal access token, and each route calls one use case of [`deja_core::admin`], which decides what the operator may.

mod audit;
mod caller;
mod keys;
mod members;
pub mod openapi;
mod projects;
mod providers;
mod refusal;
mod shape;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::request::Parts;
use axum::routing::{delete, get, patch, put};
use deja_core::admin::Admin;
use ipnet::IpNet;
use serde::Serialize;
use utoipa::ToSchema;

use crate::console::{Console, Throttle, address};
use crate::state::App;
use refusal::Refusal;

/// What the routes work with.
pub struct AdminApi {
    admin: Arc<Admin>,
    app: Arc<App>,
    trusted_proxies: Vec<IpNet>,
    /// Slows down who sends tokens that are none.
    throttle: Throttle,
}

impl AdminApi {
    /// Over the parts of the console.
    pub fn beside(console: &Console) -> Self {
        Self {
            admin: console.admin.clone(),
            app: console.app.clone(),
            trusted_proxies: console.trusted_proxies.clone(),
            throttle: Throttle::default(),
        }
    }

    fn address(&self, head: &Parts) -> IpAddr {
        address(head, &self.trusted_proxies)
    }
}

/// Several of one kind.
#[derive(Serialize, ToSchema)]
pub(super) struct List<T> {
    data: Vec<T>,
}

impl<V> List<V> {
    fn of<T>(nouns: Vec<T>, view: impl Fn(T) -> V) -> axum::Json<Self> {
        axum::Json(Self { data: nouns.into_iter().map(view).collect() })
    }
}

/// The routes, below `/admin/v1`.
pub fn router(api: Arc<AdminApi>) -> Router {
    let routes = Router::new()
        .route("/projects", get(projects::list).post(projects::create))
        .route("/projects/{slug}", get(projects::show).patch(projects::change).delete(projects::delete))
        .route("/projects/{slug}/state", put(projects::state))
        .route("/projects/{slug}/keys", get(keys::list).post(keys::create))
        .route("/projects/{slug}/keys/{id}", delete(keys::revoke))
        .route("/projects/{slug}/providers", get(providers::list).post(providers::add))
        .route("/projects/{slug}/providers/{name}", patch(providers::change).delete(providers::remove))
        .route("/projects/{slug}/members", get(members::list))
        .route("/projects/{slug}/members/{email}", put(members::set).delete(members::remove))
        .route("/audit", get(audit::list))
        .fallback(|| async { Refusal::NotFound("there is nothing here: see /docs".into()) })
        .method_not_allowed_fallback(|| async { Refusal::MethodNotAllowed })
        .with_state(api);
    Router::new().nest("/admin/v1", routes)
}
