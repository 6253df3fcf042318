//! What was found wrong: pairs of prompts that must not meet, each with a button that takes it back.

use std::num::NonZeroUsize;

use askama::Template;
use deja_core::admin::cache;
use deja_core::cache::LabelSource;
use serde::Deserialize;

use super::filter::query;
use super::form::{Path, Query};
use super::page::{Answer, Frame, Visit};
use super::requests::wrong_answers;
use crate::format::{self, Moment};

const PAGE: usize = 20;

#[derive(Template)]
#[template(path = "wrong.html")]
struct WrongPage {
    frame: Frame,
    slug: String,
    pairs: Vec<Pair>,
    older: Option<String>,
    latest: Option<String>,
}

struct Pair {
    number: u64,
    by: &'static str,
    asked: String,
    matched: String,
    /// Nothing where both are the same prompt: then the answer itself was wrong.
    similarity: Option<String>,
    at: Moment,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// The last pair of the page before.
    before: String,
    /// An entry that is to leave quarantine, too.
    release: String,
}

/// `GET /console/p/{slug}/cache/wrong`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(asked): Query<Asked>) -> Answer {
    let project = visit.project()?;
    let (before, limit) = (asked.before.parse().ok(), NonZeroUsize::MIN.saturating_add(PAGE));
    let mut found = visit.store().wrong_answers(project.id, before, limit).await?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let place = |before: &str| format!("{}{}", wrong_answers(&slug), query(&[("before", before)]));
    let older = found.last().filter(|_| more).map(|last| place(&last.number.to_string()));
    let pairs = found.into_iter().map(|pair| Pair {
        number: pair.number,
        by: match pair.source {
            LabelSource::Api => "API",
            LabelSource::Console => "Console",
            LabelSource::Judge => "Judge",
        },
        similarity: (pair.asked != pair.matched).then(|| format!("{:.3}", pair.similarity.get())),
        asked: format::excerpt(&pair.asked),
        matched: format::excerpt(&pair.matched),
        at: visit.moment(pair.at),
    });
    let page = WrongPage {
        frame: visit.frame_in(&project, "Wrong answers", "Cache"),
        pairs: pairs.collect(),
        older,
        latest: before.map(|_: u64| place("")),
        slug,
    };
    Ok(visit.page(&page))
}

/// `POST /console/p/{slug}/cache/wrong/{number}/undo`.
pub(super) async fn undo(
    visit: Visit,
    Path((slug, number)): Path<(String, u64)>,
    Query(asked): Query<Asked>,
) -> Answer {
    let place = wrong_answers(&slug);
    let done = cache::allow(&visit.acting(), &slug, number).await;
    match asked.release.parse() {
        Ok(entry) if done.is_ok() => {
            let done = cache::release(&visit.acting(), &slug, entry).await;
            visit.done(&place, done, "The two prompts may meet again, and the entry has left quarantine.")
        }
        _ => visit.done(&place, done, "The two prompts may meet again."),
    }
}
