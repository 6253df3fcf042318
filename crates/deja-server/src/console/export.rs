//! A project as lines that `deja import` takes in, into an empty deja too: settings, providers without their secrets, hashes of keys,
//! and all entries. Read page by page while the browser takes them,
//! so that the size of a cache does not matter.

use std::sync::Arc;

use deja_core::admin::AdminError;
use deja_core::admin::transfer::{self, Cursor, Head, Record, line};
use futures::{StreamExt as _, stream};

use super::form::Path;
use super::page::{Answer, Visit, download};

/// `GET /console/p/{slug}/export`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>) -> Answer {
    let head = Head { project: slug.clone(), settings: true, keys: true, secrets: false };
    let head = lines(&transfer::head(&visit.acting(), &head).await?);
    let name = format!("{slug}.jsonl");
    let visit = Arc::new(visit);
    let of = Arc::clone(&visit);
    let pages = stream::try_unfold(None, move |after| next(of.clone(), slug.clone(), after));
    let body = visit.file(stream::once(async { head }).chain(pages))?;
    Ok(download("application/x-ndjson", &name, body))
}

/// The lines of the page behind `after`, and where it ends; `None` behind the last.
async fn next(
    visit: Arc<Visit>,
    slug: String,
    after: Option<Cursor>,
) -> Result<Option<(Vec<u8>, Option<Cursor>)>, AdminError> {
    let page = transfer::entries(&visit.acting(), &slug, after).await?;
    let Some(end) = page.last().and_then(Record::cursor) else { return Ok(None) };
    Ok(Some((lines(&page)?, Some(end))))
}

fn lines(records: &[Record]) -> Result<Vec<u8>, AdminError> {
    let mut lines = Vec::new();
    for record in records {
        line::write(record, &mut lines).map_err(|error| AdminError::Failed(error.to_string()))?;
    }
    Ok(lines)
}
