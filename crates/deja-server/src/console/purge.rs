//! Deleting many entries: a filter, a count of what it means, and a typed confirmation.

use askama::Template;
use deja_core::admin::cache;
use deja_core::store::StoreError;
use serde::Deserialize;

use super::cache::entries_of;
use super::error::SEARCH_TIMEOUT;
use super::filter::{Filter, Select};
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::page::{Answer, Frame, Visit};

#[derive(Template)]
#[template(path = "purge.html")]
struct PurgePage {
    frame: Frame,
    slug: String,
    form: Filter,
    selects: Vec<Select>,
    /// Nothing if counting them took too long.
    matching: Option<String>,
    total: String,
}

/// `GET /console/p/{slug}/cache/purge`: the dry run.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(form): Query<Filter>) -> Answer {
    let project = visit.project()?;
    let store = visit.store();
    let (matching, problem) = match store.count_matching(project.id, &form.entries()).await {
        Err(StoreError::SearchTimeout) => (None, Some(SEARCH_TIMEOUT)),
        counted => (Some(entries_of(counted?)), None),
    };
    let page = PurgePage {
        frame: visit.frame_in(&project, "Purge the cache", "Cache").complaining(problem),
        selects: form.selects(&visit.console, &project).await?,
        matching,
        total: entries_of(store.count(project.id).await?),
        form,
        slug,
    };
    Ok(visit.page(&page))
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
    let back = format!("/console/p/{slug}/cache/purge{}", filter.query(&[]));
    if form.confirm.trim() != slug {
        return visit.to(&back, &Flash::bad(format!("Nothing was deleted: type {slug} to confirm.")));
    }
    match cache::purge(&visit.acting(), &slug, &filter.entries()).await {
        Ok(deleted) => {
            let good = Flash::good(format!("{} deleted.", entries_of(deleted)));
            visit.to(&format!("/console/p/{slug}/cache"), &good)
        }
        failed => visit.done(&back, failed, ""),
    }
}
