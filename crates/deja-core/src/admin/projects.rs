//! Projects: make, list, change, suspend, delete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;

use deja_wire::MAX_MODEL_BYTES;
use serde::{Deserialize, Serialize};

use super::names::{name_of, shown};
use super::{Acting, AdminError, Seen};
use crate::analytics::{Slice, Step, Totals, hour_of};
use crate::embedding::Threshold;
use crate::id::ProjectId;
use crate::member::Rank;
use crate::money::NanoUsd;
use crate::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn, Project, ProjectSettings, Slug, Tier};
use crate::rate_limit::{MAX_PER_MINUTE, Quota};
use crate::request_log::LOGGED_FOR;
use crate::store::StoreError;

/// Slugs tried for one name before giving up.
const SLUG_TRIES: u32 = 10_000;
const MAX_TTL_SECONDS: u64 = 10 * 365 * 24 * 3600;
const MAX_ENTRIES: u64 = 100_000_000;
/// Samples of a project, where it keeps any: fewer say nothing of a band of similarity, more are not read at once.
pub const SAMPLES: RangeInclusive<u64> = 100..=10_000;
/// Requests in the log of a project: a search by text reads as many.
const MAX_LOGGED: u64 = 50_000;
const WEEK_HOURS: i64 = 7 * 24;

/// A project to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewProject {
    /// The name for people; the slug is made from it.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Requests a minute, instead of the tier's.
    pub per_minute: Option<u32>,
    /// Requests at once, instead of the tier's.
    pub burst: Option<u32>,
}

/// What to change of a project; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectPatch {
    /// The name for people. The slug stays.
    pub name: Option<String>,
    /// The tier. Without a limit of its own in the same patch, the project gets the tier's.
    pub tier: Option<Tier>,
    /// Requests a minute. A limit of the project's own keeps its burst.
    pub per_minute: Option<u32>,
    /// Requests at once.
    pub burst: Option<u32>,
    /// How long new answers are served, in seconds. Without a value they are served until they are evicted.
    pub ttl: Option<Chosen<u64>>,
    /// Entries at most.
    pub max_entries: Option<u64>,
    /// Whether models share answers.
    pub share_models: Option<bool>,
    /// The threshold of queries that name none.
    pub default_threshold: Option<Chosen<Threshold>>,
    /// The least threshold: queries that ask for less get this one.
    pub minimum_threshold: Option<Chosen<Threshold>>,
    /// How strictly the guard compares the words of two prompts.
    pub guard: Option<Guard>,
    /// Samples kept at most; 0 deletes what is there.
    pub samples: Option<u64>,
    /// Requests that the log keeps at most; 0 deletes what is there.
    pub request_log: Option<u64>,
    /// Days that the log keeps the texts of prompts; 0 deletes those that are there.
    pub request_texts_days: Option<u64>,
    /// The model that decides where the guard is uncertain; the empty text is none.
    pub guard_model: Option<String>,
    /// What the judge model may cost a day (UTC).
    pub guard_budget: Option<NanoUsd>,
    /// All that applications may ask of the cache in headers.
    pub client_controls: Option<BTreeSet<ClientControl>>,
    /// All opt-ins that hold, each of which brings more hits at a risk.
    pub opt_ins: Option<BTreeSet<OptIn>>,
    /// The tokens that a hit in a wire format reports.
    pub hit_usage: Option<HitUsage>,
    /// What becomes of a call when all its clients have hung up.
    pub on_hangup: Option<OnHangup>,
}

/// A setting that a project need not have; `None` takes it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen<T> {
    /// The new value; `None` takes the setting away.
    pub value: Option<T>,
}

impl<T> From<Option<T>> for Chosen<T> {
    fn from(value: Option<T>) -> Self {
        Self { value }
    }
}

/// Makes a project, which whoever makes it owns. Its slug is the name, numbered where that is taken. Another tier than Free, and a limit of its own, are
/// for owners of deja.
pub async fn create(by: &Acting<'_>, new: NewProject) -> Result<Project, AdminError> {
    let name = name_of(&new.name)?;
    let no_letters =
        || AdminError::Invalid(format!("the name '{}' needs a letter or digit of a-z, 0-9", shown(&name)));
    let wanted = Slug::from_name(&name).ok_or_else(|| no_letters().about("name"))?;
    if new.tier != Tier::Free || new.per_minute.is_some() || new.burst.is_some() {
        by.owners_only()?;
    }
    let now = by.now();
    let mut project = Project {
        id: ProjectId::generate(now, by.entropy())?,
        slug: wanted.clone(),
        name,
        tier: new.tier,
        custom_quota: quota(new.tier.quota(), new.per_minute, new.burst)?,
        suspended: false,
        settings: ProjectSettings::default(),
        created: now,
        purges: 0,
    };
    for number in 2..SLUG_TRIES {
        let change = by.change("project.create").within(project.id).of(project.slug.as_str());
        match by.store().create_project(&project, &change.how(told_limits(&project))).await {
            Ok(()) => return Ok(project),
            Err(StoreError::Conflict(_)) => project.slug = wanted.numbered(number),
            Err(error) => return Err(error.into()),
        }
    }
    Err(AdminError::Conflict(format!("too many projects are called {wanted}")))
}

/// All projects that who asks has a rank in, and what each did in the last seven days.
pub async fn list(by: &Acting<'_>) -> Result<Vec<(Project, Totals)>, AdminError> {
    let totals = week(by).await?;
    let with_week = |seen: Seen| {
        let week = totals.get(&seen.project.id).copied().unwrap_or_default();
        (seen.project, week)
    };
    Ok(by.all_seen().await?.into_iter().map(with_week).collect())
}

/// One project, and what it did in the last seven days; for its viewers too.
pub async fn show(by: &Acting<'_>, slug: &str) -> Result<(Project, Totals), AdminError> {
    let project = by.seen(slug).await?.project;
    let week = week_of(by, project.id).await?;
    Ok((project, week))
}

/// Refuses the project's requests from now on, or takes them again; for the project's owners.
pub async fn set_suspended(by: &Acting<'_>, slug: &str, suspended: bool) -> Result<Project, AdminError> {
    let action = if suspended { "project.suspend" } else { "project.resume" };
    change(by, slug, Rank::Owner, action, |_, project| {
        project.suspended = suspended;
        Ok(String::new())
    })
    .await
}

/// Changes a project. Tier and limits are for owners of deja, who pay.
pub async fn set(by: &Acting<'_>, slug: &str, patch: ProjectPatch) -> Result<Project, AdminError> {
    if patch == ProjectPatch::default() {
        return Err(AdminError::Invalid("there is nothing to change: name at least one setting".into()));
    }
    change(by, slug, Rank::Editor, "project.set", |by, project| {
        if patch.tier.is_some() || patch.per_minute.is_some() || patch.burst.is_some() {
            by.owners_only()?;
        }
        let before = project.clone();
        apply(project, patch)?;
        Ok(audit_detail(&before, project))
    })
    .await
}

fn apply(project: &mut Project, patch: ProjectPatch) -> Result<(), AdminError> {
    if let Some(name) = patch.name {
        project.name = name_of(&name)?;
    }
    if let Some(tier) = patch.tier {
        project.tier = tier;
        project.custom_quota = None;
    }
    let own = project.custom_quota.filter(|_| patch.per_minute.is_some());
    let burst = patch.burst.or(own.map(Quota::burst));
    if let Some(quota) = quota(project.quota(), patch.per_minute, burst)? {
        project.custom_quota = Some(quota);
    }
    let settings = &mut project.settings;
    let thresholds = patch.default_threshold.is_some() || patch.minimum_threshold.is_some();
    put(&mut settings.ttl_seconds, patch.ttl.map(|ttl| ttl.value));
    put(&mut settings.max_entries, patch.max_entries);
    put(&mut settings.share_models, patch.share_models);
    put(&mut settings.default_threshold, patch.default_threshold.map(|threshold| threshold.value));
    put(&mut settings.minimum_threshold, patch.minimum_threshold.map(|threshold| threshold.value));
    if thresholds {
        default_reaches_minimum(settings)?;
    }
    put(&mut settings.guard, patch.guard);
    put(&mut settings.samples, patch.samples);
    put(&mut settings.request_log, patch.request_log);
    put(&mut settings.request_texts_days, patch.request_texts_days);
    let named = |model: String| Some(model.trim().to_owned()).filter(|model| !model.is_empty());
    put(&mut settings.guard_model, patch.guard_model.map(named));
    put(&mut settings.guard_budget, patch.guard_budget);
    put(&mut settings.client_controls, patch.client_controls);
    put(&mut settings.opt_ins, patch.opt_ins);
    put(&mut settings.hit_usage, patch.hit_usage);
    put(&mut settings.on_hangup, patch.on_hangup);
    check(settings)
}

fn put<T>(place: &mut T, wanted: Option<T>) {
    if let Some(wanted) = wanted {
        *place = wanted;
    }
}

/// Whether the default threshold can hold. One below the minimum, which older versions took, stays until either is set.
fn default_reaches_minimum(settings: &ProjectSettings) -> Result<(), AdminError> {
    let (Some(default), Some(minimum)) = (settings.default_threshold, settings.minimum_threshold) else {
        return Ok(());
    };
    if default.get() >= minimum.get() {
        return Ok(());
    }
    let (default, minimum) = (default.get(), minimum.get());
    let why =
        format!("the default threshold {default} lies below the minimum {minimum}, which would hold instead");
    Err(AdminError::Invalid(why).about("threshold"))
}

/// Whether a project may have these settings.
pub(super) fn check(settings: &ProjectSettings) -> Result<(), AdminError> {
    let wrong = |name: &str, problem: String| Err(AdminError::Setting { name: name.into(), problem });
    if settings.ttl_seconds.is_some_and(|seconds| !(1..=MAX_TTL_SECONDS).contains(&seconds)) {
        return wrong("ttl", "the TTL must lie between 1 second and 3650 days".into());
    }
    if !(1..=MAX_ENTRIES).contains(&settings.max_entries) {
        let problem = format!("the number of entries at most must lie between 1 and {MAX_ENTRIES}");
        return wrong("max_entries", problem);
    }
    if settings.samples != 0 && !SAMPLES.contains(&settings.samples) {
        let (least, most) = (SAMPLES.start(), SAMPLES.end());
        let problem =
            format!("the number of samples must lie between {least} and {most}, or be 0 to keep none");
        return wrong("samples", problem);
    }
    if settings.request_log > MAX_LOGGED {
        let problem = format!("the log keeps at most {MAX_LOGGED} requests; 0 keeps none");
        return wrong("request_log", problem);
    }
    let most = LOGGED_FOR.as_secs() / (24 * 3600);
    if settings.request_texts_days > most {
        let problem = format!("the log keeps the texts of prompts for at most {most} days; 0 keeps none");
        return wrong("request_texts_days", problem);
    }
    if settings.guard_model.as_ref().is_some_and(|model| model.len() > MAX_MODEL_BYTES) {
        let problem = format!("the guard's model is longer than the limit of {MAX_MODEL_BYTES} bytes");
        return wrong("guard_model", problem);
    }
    // PostgreSQL cannot read one setting of a project if another one has a NUL in it.
    if settings.guard_model.as_ref().is_some_and(|model| model.contains(char::is_control)) {
        return wrong("guard_model", "the guard's model has a control character in its name".into());
    }
    if settings.prices.keys().any(|model| model.contains(char::is_control)) {
        return wrong("prices", "a model that has a price has a control character in its name".into());
    }
    Ok(())
}

/// A project's limits, in a few words.
fn told_limits(project: &Project) -> String {
    let quota = project.quota();
    format!("{}, {} a minute, {} at once", project.tier.as_str(), quota.per_minute(), quota.burst())
}

/// What changed, in a few words.
fn audit_detail(before: &Project, after: &Project) -> String {
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
            ("guard", settings.guard.as_str().to_owned()),
            ("samples", settings.samples.to_string()),
            ("request log", settings.request_log.to_string()),
            ("texts in the request log", format!("{} days", settings.request_texts_days)),
            ("guard model", settings.guard_model.clone().unwrap_or_else(|| "none".into())),
            ("guard budget", format!("{} USD a day", settings.guard_budget.as_dollars())),
            ("client controls", listed(&settings.client_controls)),
            ("opt-ins", listed(&settings.opt_ins)),
            ("hit usage", settings.hit_usage.to_string()),
            ("on hang-up", settings.on_hangup.to_string()),
        ]
    };
    let pairs = of(before).into_iter().zip(of(after)).filter(|(before, after)| before != after);
    pairs.map(|((what, from), (_, to))| format!("{what}: {from} -> {to}")).collect::<Vec<_>>().join("; ")
}

/// Words with commas between; "none" without any.
fn listed(words: &BTreeSet<impl Display>) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// The limit that replaces `base`, if one is asked for. Without a burst it is six fifths of the rate, as in
/// the tiers.
pub(super) fn quota(
    base: Quota,
    per_minute: Option<u32>,
    burst: Option<u32>,
) -> Result<Option<Quota>, AdminError> {
    if per_minute.is_none() && burst.is_none() {
        return Ok(None);
    }
    let rate = per_minute.unwrap_or(base.per_minute());
    let burst = burst.unwrap_or_else(|| rate.saturating_add(rate / 5).min(MAX_PER_MINUTE));
    Quota::new(rate, burst)
        .map(Some)
        .map_err(|error| AdminError::Invalid(error.to_string()).about(error.part()))
}

/// Reads a project, changes it and writes it, with no other change between, for who has this rank at least. `edit` says what it changed, for the
/// audit log. What is so already is not written.
pub(super) async fn change(
    by: &Acting<'_>,
    slug: &str,
    least: Rank,
    action: &'static str,
    edit: impl FnOnce(&Acting<'_>, &mut Project) -> Result<String, AdminError> + Send,
) -> Result<Project, AdminError> {
    let by = &by.alone().await?;
    let before = by.seen(slug).await?.least(least)?;
    let mut project = before.clone();
    let detail = edit(by, &mut project)?;
    if project == before {
        return Ok(project);
    }
    let change = by.change(action).within(project.id).of(project.slug.as_str()).how(detail);
    if by.store().update_project(&project, &change).await? {
        Ok(project)
    } else {
        Err(AdminError::NotFound(format!("the project '{slug}' was deleted meanwhile")))
    }
}

/// Deletes a project with all it has; for its owners. Nothing is read and written back, and it may take minutes: other changes
/// do not wait for it.
pub async fn delete(by: &Acting<'_>, slug: &str) -> Result<(), AdminError> {
    let project = by.seen(slug).await?.least(Rank::Owner)?;
    let change = by.change("project.delete").within(project.id).of(project.slug.as_str());
    by.store().delete_project(project.id, &change).await?;
    Ok(())
}

/// What all projects did in the last seven days, the running hour included.
pub(super) async fn week(by: &Acting<'_>) -> Result<BTreeMap<ProjectId, Totals>, AdminError> {
    let until = hour_of(by.now()) + 1;
    Ok(by.store().totals(until - WEEK_HOURS, until).await?)
}

/// What one project did in that time.
pub(super) async fn week_of(by: &Acting<'_>, project: ProjectId) -> Result<Totals, AdminError> {
    let until = hour_of(by.now()) + 1;
    let hours = until - WEEK_HOURS..until;
    let series = by.store().usage_series(project, &Slice::default(), Step::Hour, hours).await?;
    let mut week = Totals::default();
    for hour in series.values() {
        week.add(&hour.totals);
    }
    Ok(week)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::testing;

    fn project() -> Project {
        testing::project(ProjectId::from_bytes([1; 16]), "p", Timestamp::default())
    }

    #[test]
    fn settings_have_their_largest_and_smallest_values_and_none_beyond() {
        let patch = ProjectPatch::default;
        let ttl = |seconds: u64| ProjectPatch { ttl: Some(Some(seconds).into()), ..patch() };
        let entries = |most| ProjectPatch { max_entries: Some(most), ..patch() };
        let samples = |most| ProjectPatch { samples: Some(most), ..patch() };
        let log = |most| ProjectPatch { request_log: Some(most), ..patch() };
        let texts = |days| ProjectPatch { request_texts_days: Some(days), ..patch() };
        let model = |bytes| ProjectPatch { guard_model: Some("m".repeat(bytes)), ..patch() };
        for (taken, refused) in [
            (ttl(1), ttl(0)),
            (ttl(315_360_000), ttl(315_360_001)),
            (entries(1), entries(0)),
            (entries(100_000_000), entries(100_000_001)),
            (samples(0), samples(99)),
            (samples(100), samples(1)),
            (samples(10_000), samples(10_001)),
            (log(50_000), log(50_001)),
            (texts(30), texts(31)),
            (model(MAX_MODEL_BYTES), model(MAX_MODEL_BYTES + 1)),
        ] {
            assert_eq!(apply(&mut project(), taken.clone()), Ok(()), "{taken:?}");
            let error = apply(&mut project(), refused.clone());
            assert!(matches!(error, Err(AdminError::Setting { .. })), "{refused:?}: {error:?}");
        }
    }

    #[test]
    fn neither_threshold_is_set_so_that_the_other_cannot_hold() {
        let threshold = |value| Some(Some(Threshold::new(value).unwrap()).into());
        let default = |value| ProjectPatch { default_threshold: threshold(value), ..ProjectPatch::default() };
        let minimum = |value| ProjectPatch { minimum_threshold: threshold(value), ..ProjectPatch::default() };
        let mut project = project();
        for (patch, is_taken) in [
            (default(0.9), true),
            (minimum(0.95), false),
            (minimum(0.9), true),
            (default(0.85), false),
            (default(0.9), true),
        ] {
            let mut changed = project.clone();
            let applied = apply(&mut changed, patch.clone());
            assert_eq!(applied.is_ok(), is_taken, "{patch:?}: {applied:?}");
            project = if is_taken { changed } else { project };
        }
    }
}
