//! Entries that were just deleted, and for ten seconds the button that brings them back.
//!
//! The page is the answer to the form that deleted them, not a redirect: it holds the entries, sealed with the server's own key
//! and bound to the session, so that nothing is kept anywhere else and any replica can bring them back. The script takes it to the list:
//! whoever opens the page anew sees the list, with the button for as long as it works.

use askama::Template;
use deja_core::admin::AdminError;
use deja_core::admin::cache::{self, Deleted, UNDO_WITHIN};
use deja_core::id::EntryId;
use serde::Deserialize;

use super::cache::{PAGE, Search, entries_of};
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::page::{Answer, Confirm, Frame, Visit};
use crate::format;

/// What is sealed.
const UNDO: &str = "undo";

#[derive(Template)]
#[template(path = "undo_delete.html")]
struct DeletedPage {
    frame: Frame,
    text: String,
    several: bool,
    seconds: u64,
    /// The entries.
    sealed: String,
    /// The list that they were in, and where they are brought back.
    list: String,
    restore: String,
}

/// Asks before entries are deleted that no Undo would bring back, unless whoever asks is `sure`.
pub(super) async fn asks(
    visit: &Visit,
    slug: &str,
    searched: &Search,
    entries: &[EntryId],
    sure: &str,
) -> Result<Option<Confirm>, ConsoleError> {
    if !sure.is_empty() {
        return Ok(None);
    }
    let (mut kept, mut bytes, mut lost) = (Vec::new(), 0, 0);
    let most = visit.console.app.limits().body_bytes;
    for entry in entries {
        match cache::kept(&visit.acting(), slug, *entry).await {
            Ok(Some(one)) => {
                bytes += one.bytes();
                kept.push(one);
            }
            Ok(None) => lost += 1,
            // That it is gone is told by who deletes it.
            Err(AdminError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if bytes > most {
            break;
        }
    }
    let is_long = bytes > most || visit.seal(UNDO, &kept)?.len() > most;
    let text = match (entries.len(), is_long, lost) {
        (_, false, 0) => return Ok(None),
        (1, true, _) => "The entry is so long that it cannot be brought back.".to_owned(),
        (1, false, _) => "The entry is expired or in quarantine, and cannot be brought back.".to_owned(),
        (_, true, _) => {
            "These entries are so long that they cannot be brought back. Fewer at a time may be.".to_owned()
        }
        (all, false, lost) => {
            format!("{lost} of these {all} entries cannot be brought back: what is expired or in quarantine.")
        }
    };
    let frame = visit.frame_in(&visit.project()?, "Delete for good", "Cache");
    Ok(Some(Confirm::new(frame, text, "Delete", searched.here(slug, "")).with("sure", "1")))
}

/// Deletes entries of the list that was `searched`, and says `good` where that was done: of one, or of several, all that
/// are still there.
pub(super) async fn delete(
    visit: &Visit,
    slug: &str,
    searched: &Search,
    entries: &[EntryId],
    good: &str,
) -> Answer {
    let list = searched.here(slug, "");
    // What no form can send back is gone.
    let (mut kept, mut bytes, most) = (Vec::new(), 0, visit.console.app.limits().body_bytes);
    let mut failed = false;
    for entry in entries {
        match cache::delete(&visit.acting(), slug, *entry).await {
            Ok(deleted) => {
                bytes += deleted.as_ref().map_or(0, Deleted::bytes);
                kept.push(deleted.filter(|_| bytes <= most));
            }
            // If several are deleted, an entry that went meanwhile is no news.
            Err(AdminError::NotFound(_)) if entries.len() > 1 => {}
            Err(error) if !kept.is_empty() => {
                // What is gone is told, and can be brought back.
                tracing::error!(error.code = "console", "an entry could not be deleted: {error}");
                failed = true;
                break;
            }
            failed => return visit.done(&list, failed, good),
        }
    }
    if kept.is_empty() {
        // A page that says so was reloaded, or somebody else was faster.
        return visit.to(&list, &Flash::bad("Nothing was deleted: these entries are gone already."));
    }
    let gone = kept.len();
    let deleted: Vec<Deleted> = kept.into_iter().flatten().collect();
    let mut good = match (entries.len(), gone - deleted.len()) {
        (1, _) => good.to_owned(),
        (_, lost) if lost == 0 || bytes > most => format!("{} deleted.", entries_of(gone as u64)),
        (_, lost) => format!(
            "{} deleted, {lost} of them for good: what is expired or in quarantine cannot be brought back.",
            entries_of(gone as u64)
        ),
    };
    if failed {
        good.push_str(" The others could not be deleted: try again.");
    }
    let for_good = Flash { good: !failed, text: good.clone(), ..Flash::default() };
    if deleted.is_empty() || bytes > most {
        return visit.to(&list, &for_good);
    }
    let sealed = visit.seal(UNDO, &deleted)?;
    if sealed.len() > most {
        return visit.to(&list, &for_good);
    }
    let project = visit.project()?;
    let frame = visit.frame_in(&project, "Deleted", "Cache");
    let several = deleted.len() > 1;
    let restore = searched.here(slug, "/restore");
    Ok(visit.page(&DeletedPage {
        frame,
        text: good,
        several,
        seconds: UNDO_WITHIN.as_secs(),
        sealed,
        list,
        restore,
    }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Selected {
    entry: Vec<String>,
    /// Set once it was asked whether entries may go that cannot be brought back.
    sure: String,
}

/// `POST /console/p/{slug}/cache/delete`: deletes the ticked entries.
pub(super) async fn delete_selected(
    visit: Visit,
    Path(slug): Path<String>,
    Query(searched): Query<Search>,
    Form(form): Form<Selected>,
) -> Answer {
    let entries: Result<Vec<EntryId>, _> = form.entry.iter().map(|id| id.parse()).collect();
    let entries = entries.map_err(|_| ConsoleError::bad_field())?;
    if entries.len() > PAGE {
        return Err(ConsoleError::BadForm("More is ticked than a page has".into()));
    }
    if entries.is_empty() {
        let flash = Flash::bad("Nothing was deleted: tick the entries first.");
        return visit.to(&searched.here(&slug, ""), &flash);
    }
    if let Some(asks) = asks(&visit, &slug, &searched, &entries, &form.sure).await? {
        let asks = form.entry.into_iter().fold(asks, |asks, entry| asks.with("entry", entry));
        return Ok(visit.page(&asks));
    }
    delete(&visit, &slug, &searched, &entries, "The entry is deleted.").await
}

#[derive(Deserialize)]
pub(super) struct Sealed {
    entry: String,
}

/// `POST /console/p/{slug}/cache/restore`.
pub(super) async fn restore(
    visit: Visit,
    Path(slug): Path<String>,
    Query(searched): Query<Search>,
    Form(form): Form<Sealed>,
) -> Answer {
    let deleted: Vec<Deleted> = visit.open(UNDO, &form.entry).ok_or_else(ConsoleError::bad_field)?;
    let list = searched.here(&slug, "");
    let (all, mut back, mut failed) = (deleted.len(), Vec::new(), None);
    for one in deleted {
        match cache::restore(&visit.acting(), &slug, one).await {
            Ok(entry) => back.push(entry),
            Err(error) => failed = Some(error),
        }
    }
    match (failed, &back[..]) {
        (Some(error), []) => visit.done::<()>(&list, Err(error), ""),
        (None, [entry]) => {
            visit.to(&format!("/console/p/{slug}/cache/{entry}"), &Flash::good("The entry is back."))
        }
        (None, _) => visit.to(&list, &Flash::good(format!("{all} entries are back."))),
        (Some(error), _) => {
            let why = format::sentence(&error.to_string());
            visit.to(&list, &Flash::bad(format!("{} of {all} entries are back. {why}", back.len())))
        }
    }
}
