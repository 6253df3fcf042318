//! All entries of a project as JSON, one a line: read page by page while the browser takes them, so that the size of
//! a cache does not matter.

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use deja_core::cache::EntryDetail;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::store::{EntryCursor, EntryFilter, Store, StoreError};
use futures::stream;
use serde::Serialize;

use super::page::{Answer, Visit};
use crate::admin::Command;

const PAGE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// An entry in the file.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    prompt: &'a str,
    answer: &'a str,
    model: &'a str,
    context: Option<&'a str>,
    provider: &'a str,
    input_tokens: u64,
    output_tokens: u64,
    hits: u64,
    created: jiff::Timestamp,
    last_hit: Option<jiff::Timestamp>,
    expires: Option<jiff::Timestamp>,
}

/// `GET /console/p/{slug}/export`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>) -> Answer {
    let project = visit.project(&slug).await?;
    visit.execute(Command::CacheExport { project: slug.clone() }).await?;
    let lines = stream::try_unfold(Place::Start, {
        let (store, id) = (visit.console.admin.store.clone(), project.id);
        move |place| next(store.clone(), id, place)
    });
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{slug}-entries.jsonl\"")),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// How far the export has come.
#[derive(Clone, Copy)]
enum Place {
    Start,
    After(EntryCursor),
    End,
}

/// The lines of a page and where the next one begins; `None` after the last.
async fn next(
    store: Arc<dyn Store>,
    project: ProjectId,
    place: Place,
) -> Result<Option<(String, Place)>, StoreError> {
    let after = match place {
        Place::Start => None,
        Place::After(cursor) => Some(cursor),
        Place::End => return Ok(None),
    };
    let page = store.browse(project, &EntryFilter::default(), after, PAGE).await?;
    let last = page.last().filter(|_| page.len() == PAGE.get());
    let last = last.map_or(Place::End, |last| {
        Place::After(EntryCursor { created: last.entry.created, id: last.entry.id })
    });
    let mut lines = String::new();
    for detail in &page {
        let line =
            serde_json::to_string(&line(detail)).map_err(|error| StoreError::Internal(error.into()))?;
        lines.push_str(&line);
        lines.push('\n');
    }
    Ok(Some((lines, last)))
}

fn line(detail: &EntryDetail) -> Line<'_> {
    let (entry, answer) = (&detail.entry, &detail.entry.answer);
    let moment = |at: Timestamp| jiff::Timestamp::from_second(at.as_secs()).unwrap_or_default();
    Line {
        id: entry.id.to_string(),
        prompt: &entry.prompt,
        answer: &answer.text,
        model: &entry.model,
        context: detail.context.as_deref(),
        provider: &answer.provider,
        input_tokens: answer.input_tokens,
        output_tokens: answer.output_tokens,
        hits: detail.hits,
        created: moment(entry.created),
        last_hit: detail.last_hit.map(moment),
        expires: entry.expires.map(moment),
    }
}
