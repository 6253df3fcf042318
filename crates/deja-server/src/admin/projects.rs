//! Projects: make, list, change, suspend, delete.

use deja_core::analytics::{Totals, hour_of};
use deja_core::embedding::Threshold;
use deja_core::id::ProjectId;
use deja_core::project::{Project, ProjectSettings, Slug};
use deja_core::rate_limit::{MAX_PER_MINUTE, Quota};
use deja_core::store::StoreError;

use super::{Acting, AdminError, Change, NewProject, ProjectView, Reply, TotalsView, name_of, shown};
use crate::moment;

/// Slugs tried for one name before giving up.
const SLUG_TRIES: u32 = 10_000;
const MAX_TTL_SECONDS: u64 = 10 * 365 * 24 * 3600;
const MAX_ENTRIES: u64 = 100_000_000;
pub(super) const WEEK_HOURS: i64 = 7 * 24;

pub(super) async fn create(context: &Acting<'_>, new: NewProject) -> Result<Reply, AdminError> {
    let name = name_of("the name", &new.name)?;
    let no_letters =
        || AdminError::Invalid(format!("the name '{}' needs a letter or digit of a-z, 0-9", shown(&name)));
    let wanted = Slug::from_name(&name).ok_or_else(no_letters)?;
    let now = context.clock.now();
    let mut project = Project {
        id: ProjectId::generate(now, &*context.entropy)?,
        slug: wanted.clone(),
        name,
        tier: new.tier,
        custom_quota: quota(new.tier.quota(), new.per_minute, new.burst)?,
        suspended: false,
        settings: ProjectSettings::default(),
        created: now,
    };
    for number in 2..SLUG_TRIES {
        let change = context.change("project.create").within(project.id).of(project.slug.as_str());
        match context.store.create_project(&project, &change.how(told_limits(&project))).await {
            Ok(()) => return Ok(Reply::Project(view(&project, Totals::default()))),
            Err(StoreError::Conflict(_)) => project.slug = wanted.numbered(number),
            Err(error) => return Err(error.into()),
        }
    }
    Err(AdminError::Conflict(format!("too many projects are called {wanted}")))
}

pub(super) async fn list(context: &Acting<'_>) -> Result<Reply, AdminError> {
    let totals = week(context).await?;
    let projects = context.store.projects().await?;
    let of = |project: &Project| totals.get(&project.id).copied().unwrap_or_default();
    Ok(Reply::Projects(projects.iter().map(|project| view(project, of(project))).collect()))
}

pub(super) async fn suspend(context: &Acting<'_>, slug: &str, suspended: bool) -> Result<Reply, AdminError> {
    let action = if suspended { "project.suspend" } else { "project.resume" };
    change(context, slug, action, |project| {
        project.suspended = suspended;
        Ok(String::new())
    })
    .await
}

pub(super) async fn set(context: &Acting<'_>, slug: &str, wanted: Change) -> Result<Reply, AdminError> {
    if wanted == Change::default() {
        return Err(AdminError::Invalid("there is nothing to change: name at least one setting".into()));
    }
    change(context, slug, "project.set", |project| {
        let before = project.clone();
        apply(project, wanted)?;
        Ok(told(&before, project))
    })
    .await
}

fn apply(project: &mut Project, wanted: Change) -> Result<(), AdminError> {
    if let Some(name) = wanted.name {
        project.name = name_of("the name", &name)?;
    }
    if let Some(tier) = wanted.tier {
        project.tier = tier;
        project.custom_quota = None;
    }
    if let Some(quota) = quota(project.quota(), wanted.per_minute, wanted.burst)? {
        project.custom_quota = Some(quota);
    }
    if let Some(ttl) = wanted.ttl {
        project.settings.ttl_seconds = ttl.seconds;
    }
    if let Some(entries) = wanted.max_entries {
        project.settings.max_entries = entries;
    }
    if let Some(share) = wanted.share_models {
        project.settings.share_models = share;
    }
    if let Some(thresholds) = wanted.thresholds {
        project.settings.default_threshold = thresholds.default;
        project.settings.minimum_threshold = thresholds.minimum;
    }
    check(&project.settings)
}

/// Whether a project may have these settings.
pub(super) fn check(settings: &ProjectSettings) -> Result<(), AdminError> {
    if settings.ttl_seconds.is_some_and(|seconds| !(1..=MAX_TTL_SECONDS).contains(&seconds)) {
        return Err(AdminError::Invalid("the TTL must lie between 1 second and 3650 days".into()));
    }
    if !(1..=MAX_ENTRIES).contains(&settings.max_entries) {
        return Err(AdminError::Invalid(format!(
            "the number of entries at most must lie between 1 and {MAX_ENTRIES}"
        )));
    }
    Ok(())
}

/// A project's limits, in a few words.
fn told_limits(project: &Project) -> String {
    let quota = project.quota();
    format!("{}, {} a minute, {} at once", project.tier.as_str(), quota.per_minute(), quota.burst())
}

/// What changed, in a few words.
fn told(before: &Project, after: &Project) -> String {
    let of = |project: &Project| {
        let settings = &project.settings;
        [
            ("name", project.name.clone()),
            ("limits", told_limits(project)),
            ("ttl", settings.ttl_seconds.map_or_else(|| "none".to_owned(), |ttl| format!("{ttl} s"))),
            ("max entries", settings.max_entries.to_string()),
            ("share models", settings.share_models.to_string()),
            ("threshold", settings.threshold(None).get().to_string()),
            ("minimum threshold", settings.threshold(Some(Threshold::ZERO)).get().to_string()),
        ]
    };
    let pairs = of(before).into_iter().zip(of(after)).filter(|(before, after)| before != after);
    pairs.map(|((what, from), (_, to))| format!("{what}: {from} -> {to}")).collect::<Vec<_>>().join("; ")
}

/// The limit that replaces `base`, if one is asked for. Without a burst it is six fifths of the rate, as in
/// the tiers.
fn quota(base: Quota, per_minute: Option<u32>, burst: Option<u32>) -> Result<Option<Quota>, AdminError> {
    if per_minute.is_none() && burst.is_none() {
        return Ok(None);
    }
    let rate = per_minute.unwrap_or(base.per_minute());
    let burst = burst.unwrap_or_else(|| rate.saturating_add(rate / 5).min(MAX_PER_MINUTE));
    Quota::new(rate, burst).map(Some).map_err(|error| AdminError::Invalid(error.to_string()))
}

/// Reads a project, changes it and writes it, with no other change between. `edit` says what it changed, for the
/// audit log.
pub(super) async fn change(
    context: &Acting<'_>,
    slug: &str,
    action: &'static str,
    edit: impl FnOnce(&mut Project) -> Result<String, AdminError> + Send,
) -> Result<Reply, AdminError> {
    let _held = context.alone().await?;
    let mut project = context.project(slug).await?;
    let detail = edit(&mut project)?;
    let change = context.change(action).within(project.id).of(project.slug.as_str()).how(detail);
    if context.store.update_project(&project, &change).await? {
        Ok(Reply::Project(view(&project, Totals::default())))
    } else {
        Err(AdminError::NotFound(format!("the project '{slug}' was deleted meanwhile")))
    }
}

pub(super) async fn delete(context: &Acting<'_>, slug: &str) -> Result<Reply, AdminError> {
    let _held = context.alone().await?;
    let project = context.project(slug).await?;
    let change = context.change("project.delete").within(project.id).of(project.slug.as_str());
    context.store.delete_project(project.id, &change).await?;
    Ok(Reply::Done)
}

/// What all projects did in the last seven days, the running hour included.
pub(super) async fn week(
    context: &Acting<'_>,
) -> Result<std::collections::BTreeMap<ProjectId, Totals>, AdminError> {
    let until = hour_of(context.clock.now()) + 1;
    Ok(context.store.totals(until - WEEK_HOURS, until).await?)
}

fn view(project: &Project, week: Totals) -> ProjectView {
    let quota = project.quota();
    ProjectView {
        slug: project.slug.to_string(),
        id: project.id.to_string(),
        name: project.name.clone(),
        tier: project.tier.as_str().into(),
        requests_per_minute: quota.per_minute(),
        burst: quota.burst(),
        state: if project.suspended { "suspended" } else { "active" }.into(),
        ttl_seconds: project.settings.ttl_seconds,
        max_entries: project.settings.max_entries,
        share_models: project.settings.share_models,
        created: moment::whole(project.created),
        week: TotalsView::from(week),
    }
}
