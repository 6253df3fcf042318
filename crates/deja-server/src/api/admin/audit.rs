//! `/admin/v1/audit`.

use axum::Json;
use deja_core::admin::audit;
use deja_core::clock::{TimeRange, Timestamp};
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
    /// Only those of this action. Any other than deja's own is refused, with a list of them.
    #[param(value_type = Option<String>, example = "key.revoke")]
    action: Option<String>,
    /// Only those of this actor: an operator's e-mail address, `cli`, `system`, an API key as rows name it, or `key` for all API
    /// keys.
    #[param(value_type = Option<String>, example = "ada@example.com")]
    actor: Option<String>,
    /// Only those from this moment on.
    #[param(value_type = Option<String>, format = DateTime, example = "2035-01-31T00:00:00Z")]
    from: Option<String>,
    /// Only those before this moment.
    #[param(value_type = Option<String>, format = DateTime, example = "2035-02-28T00:00:00Z")]
    until: Option<String>,
    /// Only those of a smaller number. The number of an answer's last row gives the next page.
    #[param(value_type = Option<u64>)]
    before: Option<String>,
    /// Rows at most, 1 to 10,000; 50 if it is not given.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 10_000, example = 50)]
    limit: Option<String>,
}

fn moment(name: &str, text: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let moment = text.map(|text| text.parse::<jiff::Timestamp>().map(Timestamp::from)).transpose();
    moment.map_err(|_| Refusal::Bad(format!("{name} must be a time such as 2035-01-31T00:00:00Z")))
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
    let Wanted { project, action, actor, from, until, before, limit } = wanted;
    let limit = limit.map_or(Ok(50), |limit| limit.parse());
    let limit = limit.map_err(|_| Refusal::Bad("limit must be a whole number from 1 to 10000".into()))?;
    let before = before.map(|before| before.parse()).transpose();
    let before = before.map_err(|_| Refusal::Bad("before must be a whole number, 0 or more".into()))?;
    let within = TimeRange { from: moment("from", from)?, until: moment("until", until)? };
    let wanted = audit::AuditQuery { project, action, actor, within };
    let lines = audit::list(&caller.acting(), &wanted, before, limit).await?;
    Ok(List::of(lines, AuditView::from))
}
