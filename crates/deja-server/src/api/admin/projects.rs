//! `/admin/v1/projects`.

use std::collections::BTreeSet;

use axum::Json;
use axum::http::StatusCode;
use deja_core::admin::projects::{self, Chosen, NewProject, ProjectPatch};
use deja_core::embedding::Threshold;
use deja_core::money::NanoUsd;
use deja_core::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn, Tier};
use serde::Deserialize;
use utoipa::ToSchema;

use super::List;
use super::caller::{Caller, Path, Sent, given};
use super::openapi::Refused;
use super::refusal::Refusal;
use crate::commands::ProjectView;

/// The projects that the operator has a rank in, with what each did in the last 7 days
#[utoipa::path(
    get, path = "/admin/v1/projects", tag = "admin", operation_id = "list_projects",
    security(("access_token" = [])),
    responses((status = 200, description = "The projects, by slug.", body = inline(List<ProjectView>)), Refused)
)]
pub(super) async fn list(caller: Caller) -> Result<Json<List<ProjectView>>, Refusal> {
    Ok(List::of(projects::list(&caller.acting()).await?, ProjectView::from))
}

/// A project to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Made {
    /// The name for people; the slug is made from it.
    #[schema(min_length = 1, max_length = 100, example = "My team")]
    name: String,
    /// `free`, `pro` or `enterprise`. Another one than `free`, and a limit of its own, are for owners of deja.
    #[schema(value_type = Option<String>, example = "free")]
    tier: Option<Tier>,
    /// Requests a minute, instead of the tier's.
    #[schema(example = 50)]
    requests_per_minute: Option<u32>,
    /// Requests at once, instead of the tier's.
    #[schema(example = 60)]
    burst: Option<u32>,
}

/// Make a project
#[utoipa::path(
    post, path = "/admin/v1/projects", tag = "admin", operation_id = "create_project",
    security(("access_token" = [])), request_body = inline(Made),
    responses((status = 201, description = "The project.", body = inline(ProjectView)), Refused)
)]
pub(super) async fn create(
    caller: Caller,
    Sent(made): Sent<Made>,
) -> Result<(StatusCode, Json<ProjectView>), Refusal> {
    let Made { name, tier, requests_per_minute, burst } = made;
    let new = NewProject { name, tier: tier.unwrap_or(Tier::Free), per_minute: requests_per_minute, burst };
    let project = projects::create(&caller.acting(), new).await?;
    Ok((StatusCode::CREATED, Json(project.into())))
}

/// One project, with what it did in the last 7 days
#[utoipa::path(
    get, path = "/admin/v1/projects/{slug}", tag = "admin", operation_id = "show_project",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    responses((status = 200, description = "The project.", body = inline(ProjectView)), Refused)
)]
pub(super) async fn show(caller: Caller, Path(slug): Path<String>) -> Result<Json<ProjectView>, Refusal> {
    Ok(Json(projects::show(&caller.acting(), &slug).await?.into()))
}

/// What to change of a project: its limits, settings and thresholds. What is not given stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Changed {
    /// The name for people; the slug stays.
    #[schema(min_length = 1, max_length = 100, example = "My team")]
    name: Option<String>,
    /// `free`, `pro` or `enterprise`; for owners of deja. A new tier without a limit brings the tier's own.
    #[schema(value_type = Option<String>, example = "pro")]
    tier: Option<Tier>,
    /// Requests a minute; for owners of deja.
    #[schema(example = 50)]
    requests_per_minute: Option<u32>,
    /// Requests at once; for owners of deja.
    #[schema(example = 60)]
    burst: Option<u32>,
    /// How long answers that are stored from now on are served, in seconds; `null` until they are evicted.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<u64>, example = 86400)]
    ttl_seconds: Option<Chosen<u64>>,
    /// Entries at most.
    #[schema(example = 100_000)]
    max_entries: Option<u64>,
    /// Whether models share answers on `/v1/cache/query`. The endpoints of the wire formats always compare the model.
    #[schema(example = false)]
    share_models: Option<bool>,
    /// The threshold of queries that name none, 0 to 1; `null` is 0.85.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<f64>, example = 0.9)]
    default_threshold: Option<Chosen<Threshold>>,
    /// The least threshold, 0 to 1: queries that ask for less get this one; `null` is none.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<f64>, example = 0.8)]
    minimum_threshold: Option<Chosen<Threshold>>,
    /// `off`, `standard`, `strict` or `thorough`.
    #[schema(value_type = Option<String>, example = "standard")]
    guard: Option<Guard>,
    /// Samples of queries kept at most; 0 deletes what is there.
    #[schema(example = 1000)]
    samples: Option<u64>,
    /// Requests that the log keeps at most; 0 deletes what is there.
    #[schema(example = 10_000)]
    request_log: Option<u64>,
    /// Days that the log keeps the texts of prompts; 0 keeps hashes only.
    #[schema(example = 0)]
    request_texts_days: Option<u64>,
    /// The model that decides where the guard is uncertain; `null` is none.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "gpt-4o-mini")]
    guard_model: Option<Chosen<String>>,
    /// What that model may cost a day (UTC), in US dollars.
    #[schema(example = 0.5)]
    guard_budget_usd: Option<f64>,
    /// What applications may ask of the cache in headers, of `cache`, `threshold`, `context`, `ttl`, `debug` and `pace`.
    /// The list takes the place of the one before.
    #[schema(value_type = Option<Vec<String>>, example = json!(["cache", "threshold"]))]
    client_controls: Option<BTreeSet<ClientControl>>,
    /// Opt-ins, each of which brings more hits at a risk, of `share_end_users`, `semantic_history`, `semantic_tools`, `semantic_json`,
    /// `store_tool_calls` and `responses_stateless`. The list takes the place of the one before.
    #[schema(value_type = Option<Vec<String>>, example = json!([]))]
    opt_ins: Option<BTreeSet<OptIn>>,
    /// The tokens that a hit in a wire format reports: `stored` or `zero`.
    #[schema(value_type = Option<String>, example = "stored")]
    hit_usage: Option<HitUsage>,
    /// What becomes of a call in a wire format when all its clients hang up: `store` or `abort`.
    #[schema(value_type = Option<String>, example = "store")]
    on_hangup: Option<OnHangup>,
}

impl Changed {
    fn patch(self) -> Result<ProjectPatch, Refusal> {
        let wrong = || Refusal::Bad("guard_budget_usd must be an amount of US dollars".into());
        let budget = self.guard_budget_usd.map(|usd| NanoUsd::from_dollars(usd).ok_or_else(wrong));
        Ok(ProjectPatch {
            name: self.name,
            tier: self.tier,
            per_minute: self.requests_per_minute,
            burst: self.burst,
            ttl: self.ttl_seconds,
            max_entries: self.max_entries,
            share_models: self.share_models,
            default_threshold: self.default_threshold,
            minimum_threshold: self.minimum_threshold,
            guard: self.guard,
            samples: self.samples,
            request_log: self.request_log,
            request_texts_days: self.request_texts_days,
            guard_model: self.guard_model.map(|chosen| chosen.value.unwrap_or_default()),
            guard_budget: budget.transpose()?,
            client_controls: self.client_controls,
            opt_ins: self.opt_ins,
            hit_usage: self.hit_usage,
            on_hangup: self.on_hangup,
        })
    }
}

/// Change limits, settings and thresholds of a project
#[utoipa::path(
    patch, path = "/admin/v1/projects/{slug}", tag = "admin", operation_id = "change_project",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    request_body = inline(Changed),
    responses((status = 200, description = "The project as it is now.", body = inline(ProjectView)), Refused)
)]
pub(super) async fn change(
    caller: Caller,
    Path(slug): Path<String>,
    Sent(changed): Sent<Changed>,
) -> Result<Json<ProjectView>, Refusal> {
    Ok(Json(projects::set(&caller.acting(), &slug, changed.patch()?).await?.into()))
}

/// Whether a project's requests are answered.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Active,
    Suspended,
}

/// The state that a project is to have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Put {
    /// `active`, or `suspended`: its requests get 403.
    #[schema(value_type = String, example = "active")]
    state: State,
}

/// Suspend a project, or make it active again
///
/// For owners of the project.
#[utoipa::path(
    put, path = "/admin/v1/projects/{slug}/state", tag = "admin", operation_id = "set_project_state",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    request_body = inline(Put),
    responses((status = 200, description = "The project as it is now.", body = inline(ProjectView)), Refused)
)]
pub(super) async fn state(
    caller: Caller,
    Path(slug): Path<String>,
    Sent(put): Sent<Put>,
) -> Result<Json<ProjectView>, Refusal> {
    let suspended = matches!(put.state, State::Suspended);
    Ok(Json(projects::set_suspended(&caller.acting(), &slug, suspended).await?.into()))
}

/// Delete a project with its keys, cache, providers and counts
///
/// For owners of the project.
#[utoipa::path(
    delete, path = "/admin/v1/projects/{slug}", tag = "admin", operation_id = "delete_project",
    params(("slug" = String, Path, description = "The project.")), security(("access_token" = [])),
    responses((status = 204, description = "It is deleted."), Refused)
)]
pub(super) async fn delete(caller: Caller, Path(slug): Path<String>) -> Result<StatusCode, Refusal> {
    projects::delete(&caller.acting(), &slug).await?;
    Ok(StatusCode::NO_CONTENT)
}
