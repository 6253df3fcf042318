//! `/admin/v1/projects/{slug}/providers`.

use axum::Json;
use axum::http::StatusCode;
use deja_core::admin::Hidden;
use deja_core::admin::projects::Chosen;
use deja_core::admin::providers::{self, NewProvider, ProviderPatch};
use deja_core::provider::ProviderKind;
use serde::Deserialize;
use utoipa::ToSchema;

use super::List;
use super::caller::{Caller, Path, Sent, given};
use super::openapi::Refused;
use super::refusal::Refusal;
use crate::commands::ProviderView;

/// The project's own providers
#[utoipa::path(
    get, path = "/admin/v1/projects/{slug}/providers", tag = "admin", operation_id = "list_providers",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    responses((status = 200, description = "The providers, without their secrets.", body = inline(List<ProviderView>)), Refused)
)]
pub(super) async fn list(
    caller: Caller,
    Path(slug): Path<String>,
) -> Result<Json<List<ProviderView>>, Refusal> {
    Ok(List::of(providers::list(&caller.acting(), &slug).await?, ProviderView::from))
}

/// A provider to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Added {
    /// The name in responses.
    #[schema(min_length = 1, max_length = 40, example = "house")]
    name: String,
    /// What it speaks: `openai`, `anthropic` or `gemini`.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "openai")]
    kind: ProviderKind,
    /// The server's URL. deja puts the path of the kind behind it.
    #[schema(example = "https://llm.example.com/v1")]
    base_url: String,
    /// The models it answers, one or more.
    models: Vec<String>,
    /// The key, if the server wants one. It never comes back.
    #[schema(value_type = Option<String>)]
    secret: Option<Hidden>,
    /// Whether it may stand in a private network. For owners.
    #[serde(default)]
    #[schema(default = false)]
    allow_private: bool,
}

/// Add a provider of the project's own
#[utoipa::path(
    post, path = "/admin/v1/projects/{slug}/providers", tag = "admin", operation_id = "add_provider",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    request_body = inline(Added),
    responses((status = 201, description = "The provider.", body = inline(ProviderView)), Refused)
)]
pub(super) async fn add(
    caller: Caller,
    Path(project): Path<String>,
    Sent(new): Sent<Added>,
) -> Result<(StatusCode, Json<ProviderView>), Refusal> {
    let Added { name, kind, base_url, models, secret, allow_private } = new;
    let new = NewProvider { project, name, kind, base_url, models, secret, allow_private };
    let provider = providers::add(&caller.acting(), new).await?;
    Ok((StatusCode::CREATED, Json(provider.into())))
}

/// What to change of a provider; what is not given stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    /// What it speaks: `openai`, `anthropic` or `gemini`.
    #[schema(value_type = Option<String>, example = "openai")]
    kind: Option<ProviderKind>,
    /// Another host wants the secret again, because a secret is bound to its host.
    #[schema(example = "https://llm.example.com/v1")]
    base_url: Option<String>,
    /// The models it answers, one or more.
    models: Option<Vec<String>>,
    /// The key; `null` takes it away.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    secret: Option<Chosen<Hidden>>,
    /// Whether it may stand in a private network. For owners.
    #[schema(example = false)]
    allow_private: Option<bool>,
}

/// Change a provider
#[utoipa::path(
    patch, path = "/admin/v1/projects/{slug}/providers/{name}", tag = "admin", operation_id = "change_provider",
    params(("slug" = String, Path, description = "The project."), ("name" = String, Path, description = "The provider.")),
    security(("access_token" = [])), request_body = inline(Changed),
    responses((status = 200, description = "The provider as it is now.", body = inline(ProviderView)), Refused)
)]
pub(super) async fn change(
    caller: Caller,
    Path((slug, name)): Path<(String, String)>,
    Sent(changed): Sent<Changed>,
) -> Result<Json<ProviderView>, Refusal> {
    let Changed { kind, base_url, models, secret, allow_private } = changed;
    let patch = ProviderPatch { kind, base_url, models, secret, allow_private };
    Ok(Json(providers::set(&caller.acting(), &slug, &name, patch).await?.into()))
}

/// Remove a provider
#[utoipa::path(
    delete, path = "/admin/v1/projects/{slug}/providers/{name}", tag = "admin", operation_id = "remove_provider",
    params(("slug" = String, Path, description = "The project."), ("name" = String, Path, description = "The provider.")),
    security(("access_token" = [])),
    responses((status = 204, description = "It is removed."), Refused)
)]
pub(super) async fn remove(
    caller: Caller,
    Path((slug, name)): Path<(String, String)>,
) -> Result<StatusCode, Refusal> {
    providers::remove(&caller.acting(), &slug, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
