//! One entry: all that is kept of it, delete it, say that it answered another prompt wrongly, and take that back.

use askama::Template;
use deja_core::admin::cache;
use deja_core::cache::{Answered, LabelSource, Labelled};
use deja_core::embedding::Embedding;
use deja_core::engine::FeedbackError;
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::pricing::price_for;
use deja_core::store::NewLabel;
use serde::Deserialize;

use super::cache::Row;
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::format::{self, Moment};
use super::page::{Answer, Frame, Visit};
use super::prices;
use super::turns::{self, Turn};

#[derive(Template)]
#[template(path = "entry.html")]
struct EntryPage {
    frame: Frame,
    slug: String,
    entry: Row,
    prompt: String,
    /// Of a request that is found as a whole.
    turns: Option<Vec<Turn>>,
    /// What else an answer depends on: of a question in a wire format.
    parameters: Vec<(String, String)>,
    answer: String,
    context: Option<String>,
    served_model: Option<String>,
    provider: String,
    tokens: String,
    saved: String,
    expires: Option<Moment>,
    quarantined: Option<Moment>,
    asked: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    asked: String,
    /// Set if the entry is to go, too.
    delete: String,
}

/// `GET /console/p/{slug}/cache/{entry}`.
pub(super) async fn get(
    visit: Visit,
    Path((slug, entry)): Path<(String, String)>,
    Query(Asked { asked, .. }): Query<Asked>,
) -> Answer {
    let project = visit.project(&slug).await?;
    let (store, entry) = (&visit.console.admin.store, id(&entry)?);
    let detail = store.entry(project.id, entry).await?.ok_or(ConsoleError::NotFound)?;
    let quarantined = store.quarantined(project.id, entry).await?;
    let row = Row::of(&visit, &detail);
    let turns = turns::turns(&detail);
    let parameters = turns::parameters(&detail);
    let answer = detail.entry.answer;
    let list = visit.console.admin.prices.current();
    let served = answer.served_model.as_deref();
    let price = price_for(&project.settings, &list, &answer.provider, served, &detail.entry.model);
    let saved = if detail.saved == NanoUsd::ZERO && price.is_none() {
        prices::UNKNOWN.into()
    } else {
        format::money(detail.saved)
    };
    let estimated = if answer.tokens_estimated { " (estimated)" } else { "" };
    let page = EntryPage {
        frame: visit.frame_in(&project, "Entry", "Cache"),
        slug,
        entry: row,
        prompt: detail.entry.prompt,
        turns,
        parameters,
        context: detail.context,
        served_model: answer.served_model,
        provider: answer.provider,
        tokens: format!(
            "{} in, {} out{estimated}",
            format::count(answer.input_tokens),
            format::count(answer.output_tokens)
        ),
        answer: answer.text,
        saved,
        expires: detail.entry.expires.map(|at| visit.moment(at)),
        quarantined: quarantined.map(|since| visit.moment(since)),
        asked,
    };
    Ok(visit.page(&page))
}

/// `POST /console/p/{slug}/cache/{entry}/delete`.
pub(super) async fn delete(visit: Visit, Path((slug, entry)): Path<(String, String)>) -> Answer {
    let done = cache::delete(&visit.acting(), &slug, id(&entry)?).await;
    visit.done(&format!("/console/p/{slug}/cache"), done, "The entry is deleted.")
}

/// `POST /console/p/{slug}/cache/{entry}/wrong`.
pub(super) async fn wrong(
    visit: Visit,
    Path((slug, entry)): Path<(String, String)>,
    Form(Asked { asked, delete }): Form<Asked>,
) -> Answer {
    let (project, entry) = (visit.project(&slug).await?, id(&entry)?);
    let here = format!("/console/p/{slug}/cache/{entry}");
    // Browsers send lines with CR LF; prompts come with LF.
    let asked = asked.replace("\r\n", "\n");
    if asked.trim().is_empty() {
        let problem = "Say which prompt got this answer: the pair is what makes the record useful.";
        return visit.to(&here, &Flash::bad(problem));
    }
    let problem = match visit.console.app.engine().pair(project.id, entry, &asked).await {
        Ok((pair, vector)) => return forbid(&visit, &slug, &pair, &vector, !delete.is_empty()).await,
        Err(FeedbackError::Query(error)) => return Err(error.into()),
        Err(FeedbackError::Unknown) => {
            let said = Flash::bad("This entry is gone already.");
            return visit.to(&format!("/console/p/{slug}/cache"), &said);
        }
        Err(FeedbackError::OwnPrompt) => {
            "This is the entry's own prompt, which it always answers. If the answer is wrong, delete the entry."
        }
        // What is too long for the embedding is found by the same prompt only.
        Err(FeedbackError::TooLong) => {
            "This entry answered another prompt: one as long as this is answered by the very same only."
        }
    };
    visit.to(&here, &Flash::bad(problem))
}

/// Forbids a pair of prompts, and deletes the entry if that is wanted too.
async fn forbid(visit: &Visit, slug: &str, pair: &Answered, vector: &Embedding, delete: bool) -> Answer {
    let label = NewLabel {
        entry: pair.entry,
        asked: &pair.asked,
        vector: Some((visit.console.app.engine().embedder(), vector)),
        similarity: pair.similarity,
        met: pair.met,
        answers: false,
        source: LabelSource::Console,
        note: None,
    };
    let list = format!("/console/p/{slug}/cache");
    let done = cache::label(&visit.acting(), visit.console.app.engine(), slug, label).await;
    if done.is_ok() && delete {
        let done = cache::delete(&visit.acting(), slug, pair.entry).await;
        return visit.done(&list, done, "The pair is forbidden, and the entry is deleted.");
    }
    let good = match done {
        Ok(Labelled::Quarantined) => {
            "The pair is forbidden, and the entry is in quarantine: it answers its own prompt only."
        }
        _ => "The pair is forbidden: neither prompt is answered with the other's entry any more.",
    };
    visit.done(&list, done, good)
}

/// `POST /console/p/{slug}/cache/wrong/{number}/undo`.
pub(super) async fn undo(visit: Visit, Path((slug, number)): Path<(String, String)>) -> Answer {
    let number = number.parse().map_err(|_| ConsoleError::NotFound)?;
    let done = cache::allow(&visit.acting(), &slug, number).await;
    visit.done(&format!("/console/p/{slug}/cache"), done, "The two prompts may meet again.")
}

/// `POST /console/p/{slug}/cache/{entry}/release`.
pub(super) async fn release(visit: Visit, Path((slug, entry)): Path<(String, String)>) -> Answer {
    let entry = id(&entry)?;
    let done = cache::release(&visit.acting(), &slug, entry).await;
    let good = "The entry answers similar prompts again. The pairs that were found wrong stay forbidden.";
    visit.done(&format!("/console/p/{slug}/cache/{entry}"), done, good)
}

fn id(text: &str) -> Result<EntryId, ConsoleError> {
    text.parse().map_err(|_| ConsoleError::NotFound)
}
