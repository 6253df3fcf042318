//! A project at a glance: today's figures, and how to connect.

use askama::Template;
use axum::extract::Path;
use deja_core::analytics::{Slice, Step, Totals};

use super::format;
use super::limits;
use super::page::{Answer, Frame, Visit};

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
    let base_url = format!("{}/p/{slug}", visit.console.public_url);
    let page = OverviewPage {
        frame: visit.frame_in(&project, "Overview", "Overview"),
        tier: limits::title(project.tier),
        limit: limits::sentence(&project),
        suspended: project.suspended,
        has_keys,
        figures: vec![
            (
                "Requests",
                format::count(totals.requests()),
                format!("{} without an answer", format::count(totals.errors + totals.refused)),
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
            (
                "Saved",
                format::money(totals.saved),
                format!("{} spent on misses", format::money(totals.spent)),
            ),
            (
                "Entries",
                format::count(entries),
                format!("of {} at most", format::count(project.settings.max_entries)),
            ),
        ],
        snippets: snippets(&base_url),
        base_url,
        name: project.name,
        slug,
    };
    Ok(visit.page(&page))
}

/// Snippets that work as they stand, once `DEJA_KEY` is set.
fn snippets(base_url: &str) -> Vec<(&'static str, &'static str, String)> {
    let curl = format!(
        r#"curl {base_url}/v1/cache/query \
  -H "Authorization: Bearer $DEJA_KEY" \
  -H "Content-Type: application/json" \
  -d '{{"prompt": "How do I reset my password?", "model": "gpt-4o-mini"}}'"#
    );
    let python = format!(
        r#"import json, os, urllib.request

request = urllib.request.Request(
    "{base_url}/v1/cache/query",
    json.dumps({{"prompt": "How do I reset my password?", "model": "gpt-4o-mini"}}).encode(),
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
                     body={{"prompt": "How do I reset my password?", "model": "gpt-4o-mini"}})
print(answer["response"], answer["cache_hit"], answer["cost_saved"])"#
    );
    vec![
        ("curl", "curl", curl),
        ("python", "Python, without any package", python),
        ("openai", "Python, with the OpenAI client", openai),
    ]
}
