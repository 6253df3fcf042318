//! `/admin/v1/projects/{slug}/members`.

use axum::Json;
use axum::http::StatusCode;
use deja_core::admin::members;
use deja_core::member::Rank;
use serde::Deserialize;
use utoipa::ToSchema;

use super::List;
use super::caller::{Caller, Path, Sent};
use super::openapi::Refused;
use super::refusal::Refusal;
use crate::commands::MemberView;

/// The project's members, by address
///
/// For its editors and owners. Owners of deja own every project without a rank in it.
#[utoipa::path(
    get, path = "/admin/v1/projects/{slug}/members", tag = "admin", operation_id = "list_members",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    responses((status = 200, description = "The members.", body = inline(List<MemberView>)), Refused)
)]
pub(super) async fn list(
    caller: Caller,
    Path(slug): Path<String>,
) -> Result<Json<List<MemberView>>, Refusal> {
    Ok(List::of(members::list(&caller.acting(), &slug).await?, MemberView::from))
}

/// The rank that an operator is to have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Put {
    /// `viewer` (figures, no texts), `editor` (the daily work) or `owner`.
    #[schema(value_type = String, example = "editor")]
    rank: Rank,
}

/// Give an operator a rank in a project, in place of the one that they have
///
/// For owners of the project.
#[utoipa::path(
    put, path = "/admin/v1/projects/{slug}/members/{email}", tag = "admin", operation_id = "set_member",
    params(("slug" = String, Path, description = "The project."),
           ("email" = String, Path, description = "The address of an operator.")),
    security(("access_token" = [])), request_body = inline(Put),
    responses((status = 200, description = "The member.", body = inline(MemberView)), Refused)
)]
pub(super) async fn set(
    caller: Caller,
    Path((slug, email)): Path<(String, String)>,
    Sent(put): Sent<Put>,
) -> Result<Json<MemberView>, Refusal> {
    Ok(Json(members::set(&caller.acting(), &slug, &email, put.rank).await?.into()))
}

/// Take an operator's rank in a project away
///
/// For owners of the project.
#[utoipa::path(
    delete, path = "/admin/v1/projects/{slug}/members/{email}", tag = "admin", operation_id = "remove_member",
    params(("slug" = String, Path, description = "The project."),
           ("email" = String, Path, description = "The address of a member.")),
    security(("access_token" = [])),
    responses((status = 204, description = "They are no member any more."), Refused)
)]
pub(super) async fn remove(
    caller: Caller,
    Path((slug, email)): Path<(String, String)>,
) -> Result<StatusCode, Refusal> {
    members::remove(&caller.acting(), &slug, &email).await?;
    Ok(StatusCode::NO_CONTENT)
}
