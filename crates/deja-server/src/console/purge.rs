//! Deleting many entries: a filter, a count of what it means, a typed confirmation, and how many are left if it takes long.

use std::time::Duration;

use askama::Template;
use axum::http::HeaderValue;
use axum::http::header::REFRESH;
use axum::response::{IntoResponse as _, Redirect};
use deja_core::admin::cache;
use deja_core::store::StoreError;
use serde::Deserialize;
use tokio::time::timeout;

use super::cache::entries_of;
use super::error::{COUNT_TIMEOUT, ConsoleError, SEARCH_TIMEOUT};
use super::filter::{Filter, Select};
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::page::{Answer, Frame, Visit};

/// How long a browser waits for the end of a purge. Then it is shown how many entries are left.
const PATIENCE: Duration = Duration::from_secs(3);
/// Seconds after which that page is loaded again.
const RENEWED: u64 = 5;
const GONE: &str = "All of these entries are deleted.";
const STOPPED: &str = "No fewer entries are left than a moment ago. The purge waits, has ended, or as many new ones came: load \
                       the page again.";

#[derive(Template)]
#[template(path = "purge.html")]
struct PurgePage {
    frame: Frame,
    slug: String,
    form: Filter,
    /// Whether they are being deleted.
    goes_on: bool,
    selects: Vec<Select>,
    /// What one must know of the selects.
    offered: Option<&'static str>,
    /// Nothing if counting them took too long.
    matching: Option<String>,
    total: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    #[serde(flatten)]
    filter: Filter,
    /// While they are being deleted: how many were left when the page was shown before.
    left: String,
}

/// `GET /console/p/{slug}/cache/purge`: the dry run, or how far a purge is. Any replica can tell: fewer are left than before.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(asked): Query<Asked>) -> Answer {
    let Asked { filter: form, left } = asked;
    let (project, store, before) = (visit.project()?, visit.store(), left.parse::<u64>().ok());
    let counted = match store.count_matching(project.id, &form.entries()).await {
        Err(StoreError::SearchTimeout) => None,
        counted => Some(counted?),
    };
    let frame = visit.frame_in(&project, "Purge the cache", "Cache");
    let (frame, goes_on) = match (counted, before) {
        (None, _) if form.entries().text.is_some() => (frame.complaining(Some(SEARCH_TIMEOUT)), None),
        (None, _) => (frame.complaining(Some(COUNT_TIMEOUT)), None),
        (Some(0), Some(_)) => (frame.saying(Some(Flash::good(GONE))), None),
        (Some(now), Some(before)) if now < before => (frame, Some(now)),
        (Some(_), Some(_)) => (frame.complaining(Some(STOPPED)), None),
        (Some(_), None) => (frame, None),
    };
    let total = store.count(project.id).await?;
    let (selects, offered) = form.selects(&visit.console, &project, total).await?;
    let page = PurgePage {
        frame,
        selects,
        offered,
        goes_on: goes_on.is_some(),
        matching: counted.map(entries_of),
        total: entries_of(total),
        form,
        slug,
    };
    let mut response = visit.page(&page);
    if let Some(left) = goes_on {
        let next = format!("{RENEWED}; url={}", place(&page.slug, &page.form, Some(left)));
        response.headers_mut().insert(REFRESH, HeaderValue::try_from(next).map_err(ConsoleError::failed)?);
    }
    Ok(response)
}

/// The address of the page, behind so many `left` while a purge goes on.
fn place(slug: &str, filter: &Filter, left: Option<u64>) -> String {
    let left = left.map(|left| left.to_string()).unwrap_or_default();
    format!("/console/p/{slug}/cache/purge{}", filter.query(&[("left", &left)]))
}

#[derive(Deserialize)]
pub(super) struct Purge {
    #[serde(flatten)]
    filter: Filter,
    #[serde(default)]
    confirm: String,
}

/// `POST /console/p/{slug}/cache/purge`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<Purge>) -> Answer {
    let filter = form.filter;
    let back = place(&slug, &filter, None);
    if form.confirm.trim() != slug {
        return visit.to(&back, &Flash::bad(format!("Nothing was deleted: type {slug} to confirm.")));
    }
    let before = visit.store().count(visit.project()?.id).await?;
    let (console, who, of, entries) =
        (visit.console.clone(), visit.who.operator.clone(), slug.clone(), filter.entries());
    #[expect(clippy::disallowed_methods, reason = "it goes on while the browser is shown how far it is")]
    let purge = tokio::spawn(async move {
        let purged = cache::purge(&console.admin.acting_for(&who), &of, &entries).await;
        purged.inspect_err(|error| tracing::warn!("a purge did not end: {error}"))
    });
    match timeout(PATIENCE, purge).await {
        Err(_) => Ok(Redirect::to(&place(&slug, &filter, Some(before + 1))).into_response()),
        Ok(purged) => match purged.map_err(ConsoleError::failed)? {
            Ok(deleted) => {
                let good = Flash::good(format!("{} deleted.", entries_of(deleted)));
                visit.to(&format!("/console/p/{slug}/cache"), &good)
            }
            failed => visit.done(&back, failed, ""),
        },
    }
}
