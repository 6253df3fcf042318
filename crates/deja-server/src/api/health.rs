//! `GET /livez` (the process runs) and `GET /readyz` (a query would work).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deja_core::store::Store;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use utoipa::ToSchema;

use crate::api::error::ErrorBody;
use crate::app::App;

/// How long an answer of the storage is given again: anybody may ask, and to find it out is a write.
const REUSED: Duration = Duration::from_secs(1);

/// Whether storage works, found out by one check at a time.
pub struct Readiness {
    store: Arc<dyn Store>,
    tasks: TaskTracker,
    latest: Mutex<Option<Check>>,
}

#[derive(Clone)]
struct Check {
    begun: Instant,
    /// `None` until it has ended; closed from then on.
    works: watch::Receiver<Option<bool>>,
}

impl Check {
    fn holds(&self) -> bool {
        self.begun.elapsed() < REUSED || self.works.has_changed().is_ok()
    }
}

impl Readiness {
    /// Nothing is checked yet. Checks run on `tasks`, to their end if those who asked go away.
    pub fn new(store: Arc<dyn Store>, tasks: TaskTracker) -> Self {
        Self { store, tasks, latest: Mutex::default() }
    }

    async fn storage_works(&self) -> bool {
        let mut check = {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            match &*latest {
                Some(check) if check.holds() => check.clone(),
                _ => latest.insert(self.begin()).clone(),
            }
        };
        check.works.wait_for(Option::is_some).await.is_ok_and(|works| *works == Some(true))
    }

    fn begin(&self) -> Check {
        let (ended, works) = watch::channel(None);
        let store = self.store.clone();
        self.tasks.spawn(async move {
            let ready = store.ready().await;
            if let Err(error) = &ready {
                tracing::error!(error = %error, "not ready");
            }
            ended.send_replace(Some(ready.is_ok()));
        });
        Check { begun: Instant::now(), works }
    }
}

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
    let refuse =
        |detail: String| (StatusCode::SERVICE_UNAVAILABLE, Json(ErrorBody { detail })).into_response();
    if app.is_leaving() {
        return refuse("shutting down".into());
    }
    if app.readiness().storage_works().await {
        Json(Health { status: "ok" }).into_response()
    } else {
        refuse("storage is unavailable".into())
    }
}
