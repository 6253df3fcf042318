//! `/admin/v1/projects/{slug}/keys`.

use axum::Json;
use axum::http::StatusCode;
use deja_core::admin::Hidden;
use deja_core::admin::keys::{self, Expiry, KeyWish};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::List;
use super::caller::{Caller, Path, Sent};
use super::openapi::Refused;
use super::refusal::Refusal;
use crate::commands::KeyView;

/// The project's keys, oldest first
#[utoipa::path(
    get, path = "/admin/v1/projects/{slug}/keys", tag = "admin", operation_id = "list_keys",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    responses((status = 200, description = "The keys, revoked ones included.", body = inline(List<KeyView>)), Refused)
)]
pub(super) async fn list(caller: Caller, Path(slug): Path<String>) -> Result<Json<List<KeyView>>, Refusal> {
    let by = caller.acting();
    let keys = keys::list(&by, &slug).await?;
    Ok(List::of(keys, |(key, usage)| KeyView::new(key, usage, by.now())))
}

/// A key to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKey {
    /// What it is for.
    #[schema(min_length = 1, max_length = 100, example = "checkout")]
    name: String,
    /// The models that it may ask for; an empty list means all.
    #[serde(default)]
    models: Vec<String>,
    /// When it ends. Without this it ends when it is revoked.
    #[serde(default, deserialize_with = "time")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2035-01-31T00:00:00Z")]
    expires: Option<jiff::Timestamp>,
    /// Its own limit, in requests a minute, at most its project's.
    #[schema(example = 10)]
    requests_per_minute: Option<u32>,
    /// Requests at once, at most its project's.
    #[schema(example = 12)]
    burst: Option<u32>,
}

/// A time. What the library says of a wrong one is about its parser.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<jiff::Timestamp>, D::Error> {
    let wrong = |_| D::Error::custom("invalid value, expected a time such as 2035-01-31T00:00:00Z");
    Option::deserialize(deserializer).map_err(wrong)
}

/// A key that was made.
#[derive(Serialize, ToSchema)]
pub(super) struct MadeKey {
    /// The key itself. It is shown this once.
    #[schema(value_type = String)]
    key: Hidden,
    #[serde(flatten)]
    about: KeyView,
}

/// Make a key
#[utoipa::path(
    post, path = "/admin/v1/projects/{slug}/keys", tag = "admin", operation_id = "create_key",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    request_body = inline(NewKey),
    responses((status = 201, description = "The key. It is shown this once.", body = inline(MadeKey)), Refused)
)]
pub(super) async fn create(
    caller: Caller,
    Path(slug): Path<String>,
    Sent(new): Sent<NewKey>,
) -> Result<(StatusCode, Json<MadeKey>), Refusal> {
    let NewKey { name, models, expires, requests_per_minute, burst } = new;
    let expires = expires.map(Expiry::At);
    let by = caller.acting();
    let wish = KeyWish { name, models, expires, per_minute: requests_per_minute, burst };
    let made = keys::create(&by, &slug, wish).await?;
    let key = Hidden::from(made.plain.reveal().to_owned());
    Ok((StatusCode::CREATED, Json(MadeKey { key, about: KeyView::of(made.key, by.now()) })))
}

/// Revoke a key
///
/// The very next request with it is refused, on every replica.
#[utoipa::path(
    delete, path = "/admin/v1/projects/{slug}/keys/{id}", tag = "admin", operation_id = "revoke_key",
    params(("slug" = String, Path, description = "The project."),
           ("id" = String, Path, description = "The key's id, or what listings show of it.")),
    security(("access_token" = [])),
    responses((status = 204, description = "It is revoked."), Refused)
)]
pub(super) async fn revoke(
    caller: Caller,
    Path((slug, id)): Path<(String, String)>,
) -> Result<StatusCode, Refusal> {
    keys::revoke(&caller.acting(), &id, Some(&slug)).await?;
    Ok(StatusCode::NO_CONTENT)
}
