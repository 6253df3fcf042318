//! A project at a glance: today's figures, and how to connect.

use askama::Template;
use deja_core::analytics::{Slice, Step, Totals};
use serde_json::Value;

use super::form::Path;
use super::format;
use super::limits;
use super::page::{Answer, Frame, Visit};
use super::providers::{USUAL_MODEL, usable_model};

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
    /// Whether any provider could be asked.
    has_provider: bool,
    base_url: String,
    /// What, how much, and a remark.
    figures: Vec<(&'static str, String, String)>,
    /// Id, title and text.
    snippets: Vec<(&'static str, &'static str, String)>,
}

/// `GET /console/p/{slug}`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>) -> Answer {
    let project = visit.project(&slug).await?;
    let store = &visit.console.admin.store;
    let hour = Step::Hour.period_of(visit.now());
    let today = hour.div_euclid(24) * 24..hour + 1;
    let mut totals = Totals::default();
    for rollup in store.usage_series(project.id, &Slice::default(), Step::Hour, today).await?.values() {
        totals.add(&rollup.totals);
    }
    let entries = store.count(project.id).await?;
    let has_keys = store.keys(project.id).await?.iter().any(|(key, _)| key.revoked.is_none());
    let model = usable_model(&visit, &project).await?;
    let base_url = format!("{}/p/{slug}", visit.console.public_url);
    let page = OverviewPage {
        frame: visit.frame_in(&project, "Overview", "Overview"),
        tier: limits::title(project.tier),
        limit: limits::sentence(&project),
        suspended: project.suspended,
        has_keys,
        has_provider: model.is_some(),
        figures: figures(&totals, entries, project.settings.max_entries),
        snippets: snippets(&base_url, model.as_deref().unwrap_or(USUAL_MODEL)),
        base_url,
        name: project.name,
        slug,
    };
    Ok(visit.page(&page))
}

/// What stands in the cards: what, how much, and a remark.
fn figures(totals: &Totals, entries: u64, max_entries: u64) -> Vec<(&'static str, String, String)> {
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
                "{} exact, {} semantic",
                format::count(totals.exact_hits),
                format::count(totals.semantic_hits)
            ),
        ),
        ("Saved", format::money(totals.saved), format!("{} spent on misses", format::money(totals.spent))),
        ("Entries", format::count(entries), format!("of {} at most", format::count(max_entries))),
    ]
}

/// Snippets that work as they stand, once `DEJA_KEY` is set. The query is JSON, which Python reads as its own.
fn snippets(base_url: &str, model: &str) -> Vec<(&'static str, &'static str, String)> {
    let query = format!(r#"{{"prompt": "How do I reset my password?", "model": {}}}"#, Value::from(model));
    // A model's name may hold what ends a quoted word of the shell.
    let quoted = query.replace('\'', r"'\''");
    let curl = format!(
        r#"curl {base_url}/v1/cache/query \
  -H "Authorization: Bearer $DEJA_KEY" \
  -H "Content-Type: application/json" \
  -d '{quoted}'"#
    );
    let python = format!(
        r#"import json, os, urllib.request

request = urllib.request.Request(
    "{base_url}/v1/cache/query",
    json.dumps({query}).encode(),
    {{"Authorization": f"Bearer {{os.environ['DEJA_KEY']}}", "Content-Type": "application/json"}})
answer = json.load(urllib.request.urlopen(request))
print(answer["response"], answer["cache_hit"], answer["cost_saved"])"#
    );
    // The client's own transport does retries, timeouts and the Authorization header; the path is deja's.
    let openai = format!(
        r#"import os
from openai import OpenAI

client = OpenAI(base_url="{base_url}/v1", api_key=os.environ["DEJA_KEY"])
answer = client.post("/cache/query", cast_to=object,
                     body={query})
print(answer["response"], answer["cache_hit"], answer["cost_saved"])"#
    );
    vec![
        ("curl", "curl", curl),
        ("python", "Python, without any package", python),
        ("openai", "Python, with the OpenAI client", openai),
    ]
}
