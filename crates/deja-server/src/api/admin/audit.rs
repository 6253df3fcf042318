//! `/admin/v1/audit`.

use axum::Json;
use deja_core::admin::audit;
use serde::Deserialize;
use utoipa::IntoParams;

use super::List;
use super::caller::{Caller, Query};
use super::openapi::Refused;
use super::refusal::Refusal;
use crate::commands::AuditView;

/// Which rows.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Only those in this project: its slug, or the id that its rows have if it is gone.
    #[param(value_type = Option<String>)]
    project: Option<String>,
    /// Rows at most, 1 to 10,000; 50 if it is not given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 10_000, example = 50)]
    limit: Option<String>,
}

/// The last changes, newest first
///
/// For owners.
#[utoipa::path(
    get, path = "/admin/v1/audit", tag = "admin", operation_id = "list_audit", params(Wanted),
    security(("access_token" = [])),
    responses((status = 200, description = "The changes.", body = inline(List<AuditView>)), Refused)
)]
pub(super) async fn list(
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Json<List<AuditView>>, Refusal> {
    let limit = wanted.limit.map_or(Ok(50), |limit| limit.parse());
    let limit = limit.map_err(|_| Refusal::Bad("limit must be a whole number from 1 to 10000".into()))?;
    let lines = audit::list(&caller.acting(), wanted.project.as_deref(), limit).await?;
    Ok(List::of(lines, AuditView::from))
}
