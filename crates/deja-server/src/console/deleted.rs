//! An entry that was just deleted, and for ten seconds the button that brings it back.
//!
//! The page is the answer to the form that deleted it, not a redirect: it holds the entry, sealed with the server's own key
//! and bound to the session, so that nothing is kept anywhere else and any replica can bring it back.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deja_core::admin::AdminError;
use deja_core::admin::cache::{self, Deleted};
use deja_core::id::EntryId;
use serde::Deserialize;

use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path};
use super::page::{Answer, Frame, Visit};

#[derive(Template)]
#[template(path = "deleted.html")]
struct DeletedPage {
    frame: Frame,
    slug: String,
    text: &'static str,
    /// The entry, sealed.
    entry: String,
}

/// Deletes an entry, and says `good` where that was done.
pub(super) async fn delete(visit: &Visit, slug: &str, entry: EntryId, good: &'static str) -> Answer {
    let list = format!("/console/p/{slug}/cache");
    let deleted = match cache::delete(&visit.acting(), slug, entry).await {
        Ok(Some(deleted)) => deleted,
        done => return visit.done(&list, done, good),
    };
    let sealed = seal(visit, &deleted)?;
    // What no form can send back is gone.
    if sealed.len() > visit.console.app.limits().body_bytes {
        return visit.to(&list, &Flash::good(good));
    }
    let project = visit.project(slug).await?;
    let frame = visit.frame_in(&project, "Entry deleted", "Cache");
    Ok(visit.page(&DeletedPage { frame, slug: slug.to_owned(), text: good, entry: sealed }))
}

#[derive(Deserialize)]
pub(super) struct Sealed {
    entry: String,
}

/// `POST /console/p/{slug}/cache/restore`.
pub(super) async fn restore(visit: Visit, Path(slug): Path<String>, Form(form): Form<Sealed>) -> Answer {
    let deleted =
        open(&visit, &form.entry).ok_or_else(|| ConsoleError::BadForm("A field is wrong".into()))?;
    let list = format!("/console/p/{slug}/cache");
    match cache::restore(&visit.acting(), &slug, deleted).await {
        Ok(entry) => visit.to(&format!("{list}/{entry}"), &Flash::good("The entry is back.")),
        Err(error) => visit.done::<()>(&list, Err(error), ""),
    }
}

fn seal(visit: &Visit, deleted: &Deleted) -> Result<String, AdminError> {
    let failed = |error: String| AdminError::Failed(error);
    let bytes = serde_json::to_vec(deleted).map_err(|error| failed(error.to_string()))?;
    let sealed =
        visit.console.vault.seal(&bytes, &binding(visit)).map_err(|error| failed(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

fn open(visit: &Visit, sealed: &str) -> Option<Deleted> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let opened = visit.console.vault.open(&sealed, &binding(visit)).ok()?;
    serde_json::from_slice(&opened).ok()
}

fn binding(visit: &Visit) -> Vec<u8> {
    [b"console undo ".as_slice(), &visit.who.session.token.0].concat()
}
