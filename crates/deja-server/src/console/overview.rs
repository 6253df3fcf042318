//! A project at a glance: today's figures, and how to connect.

use askama::Template;
use deja_core::admin::projects;
use deja_core::analytics::{Slice, Step, Totals};
use deja_core::api_key::KeyStatus;
use deja_core::project::Project;

use super::client::Origin;
use super::connect::Connect;
use super::error::ConsoleError;
use super::form::Path;
use super::limits;
use super::page::{Answer, Frame, Visit};
use crate::format;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    slug: String,
    name: String,
    tier: &'static str,
    limit: String,
    suspended: bool,
    has_keys: bool,
    /// A key that was just made.
    secret: Option<String>,
    /// The first steps, and whether they are done; empty once all are.
    checklist: Vec<FirstStep>,
    /// What, how much, and a remark.
    figures: Vec<(&'static str, String, String)>,
    /// What can be found by its meaning.
    window: String,
    connect: Connect,
}

struct FirstStep {
    what: &'static str,
    done: bool,
    /// Where it is done, below the project's pages.
    href: &'static str,
}

/// `GET /console/p/{slug}`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Origin(origin): Origin) -> Answer {
    let (project, week) = projects::show(&visit.acting(), &slug).await?;
    let store = visit.store();
    let hour = Step::Hour.period_of(visit.now());
    let today = hour.div_euclid(24) * 24..hour + 1;
    let mut totals = Totals::default();
    for rollup in store.usage_series(project.id, &Slice::default(), Step::Hour, today).await?.values() {
        totals.add(&rollup.totals);
    }
    let entries = store.count(project.id).await?;
    let keys = store.keys(project.id).await?;
    let has_keys = keys.iter().any(|(key, _)| key.status(visit.now()) == KeyStatus::Active);
    let was_asked = keys.iter().any(|(_, usage)| usage.requests > 0) || week.requests() > 0;
    // Who was quiet for a week had hits before, perhaps.
    let had_hits = week.hits() > 0 || (was_asked && hits_ever(&visit, &project).await? > 0);
    let secret = visit.flash.as_ref().and_then(|flash| flash.secret.clone()).map(|(_, key)| key);
    let connect = Connect::read(&visit, &project, &origin, secret.as_deref()).await?;
    let page = OverviewPage {
        frame: visit.frame_in(&project, "Overview", "Overview"),
        tier: limits::title(project.tier),
        limit: limits::sentence(&project),
        suspended: project.suspended,
        has_keys,
        figures: figures(&totals, &week, entries, project.settings.max_entries),
        window: window(visit.console.app.engine().window(), &week),
        checklist: checklist([has_keys, connect.has_provider, was_asked, had_hits]),
        connect,
        secret,
        name: project.name,
        slug,
    };
    Ok(visit.page(&page))
}

/// Hits as far back as they are known.
async fn hits_ever(visit: &Visit, project: &Project) -> Result<u64, ConsoleError> {
    let day = Step::Day.period_of(visit.now());
    let days = day - Step::Day.kept()..day + 1;
    let series = visit.store().usage_series(project.id, &Slice::default(), Step::Day, days).await?;
    Ok(series.values().map(|rollup| rollup.totals.hits()).sum())
}

/// The steps to the first hit; none once all are done.
fn checklist(done: [bool; 4]) -> Vec<FirstStep> {
    let steps = [
        ("Make an API key", "keys"),
        ("Have a provider that can be asked", "providers"),
        ("Send a first query", "#connect"),
        ("Send it again, in these or in similar words: the first hit", "playground"),
    ];
    if done == [true; 4] {
        return Vec::new();
    }
    steps.into_iter().zip(done).map(|((what, href), done)| FirstStep { what, done, href }).collect()
}

/// What stands in the cards: what, how much, and a remark.
fn figures(
    totals: &Totals,
    week: &Totals,
    entries: u64,
    max_entries: u64,
) -> Vec<(&'static str, String, String)> {
    let money = format::money_known;
    vec![
        (
            "Requests",
            format::count(totals.requests()),
            format!("{} without an answer", format::count(totals.unanswered())),
        ),
        (
            "Hit rate",
            format::percent(totals.hit_rate()),
            format!(
                "{} exact, {} by meaning",
                format::count(totals.exact_hits),
                format::count(totals.semantic_hits)
            ),
        ),
        (
            "Saved",
            money(totals.saved, totals.unpriced),
            format!(
                "spent: {}; saved in 7 days: {}",
                money(totals.spent, totals.unpriced),
                money(week.saved, week.unpriced)
            ),
        ),
        ("Entries", format::count(entries), format!("of {} at most", format::count(max_entries))),
    ]
}

/// What is said of prompts that are longer than the embedding model reads.
fn window(tokens: u32, week: &Totals) -> String {
    let count = format::count;
    let rule = format!(
        "A prompt of up to {} tokens is found by its meaning, a longer one by the very same prompt only.",
        count(u64::from(tokens))
    );
    match week.not_exact() {
        0 => rule,
        all => format!(
            "{rule} In the last 7 days {} of the {} prompts that were no exact hits were longer ({}).",
            count(week.too_long),
            count(all),
            format::percent(Some(week.too_long as f64 / all as f64))
        ),
    }
}
