//! One entry: all that is kept of it, delete it, say that it answered another prompt wrongly.

use askama::Template;
use deja_core::admin::cache;
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::pricing::price_for;
use serde::Deserialize;

use super::cache::Row;
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::format::{self, Moment};
use super::page::{Answer, Frame, Visit};
use super::prices;

#[derive(Template)]
#[template(path = "entry.html")]
struct EntryPage {
    frame: Frame,
    slug: String,
    entry: Row,
    prompt: String,
    answer: String,
    context: Option<String>,
    served_model: Option<String>,
    provider: String,
    tokens: String,
    saved: String,
    expires: Option<Moment>,
    asked: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    asked: String,
}

/// `GET /console/p/{slug}/cache/{entry}`.
pub(super) async fn get(
    visit: Visit,
    Path((slug, entry)): Path<(String, String)>,
    Query(Asked { asked }): Query<Asked>,
) -> Answer {
    let project = visit.project(&slug).await?;
    let detail =
        visit.console.admin.store.entry(project.id, id(&entry)?).await?.ok_or(ConsoleError::NotFound)?;
    let row = Row::of(&visit, &detail);
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
    Form(Asked { asked }): Form<Asked>,
) -> Answer {
    let project = visit.project(&slug).await?;
    let entry = id(&entry)?;
    // Browsers send lines with CR LF; prompts come with LF.
    let asked = asked.replace("\r\n", "\n");
    if asked.trim().is_empty() {
        let problem = "Say which prompt got this answer: the pair is what makes the record useful.";
        return visit.to(&format!("/console/p/{slug}/cache/{entry}"), &Flash::bad(problem));
    }
    let Some(detail) = visit.console.admin.store.entry(project.id, entry).await? else {
        let said = Flash::bad("This entry is gone already.");
        return visit.to(&format!("/console/p/{slug}/cache"), &said);
    };
    let engine = visit.console.app.engine();
    let Some(similarity) = engine.similarity(project.id, &detail.entry.prompt, &asked).await? else {
        // What is too long for the embedding is found by the same prompt only.
        let problem =
            "This entry answered another prompt: one as long as this is answered by the very same only.";
        return visit.to(&format!("/console/p/{slug}/cache/{entry}"), &Flash::bad(problem));
    };
    let done = cache::wrong(&visit.acting(), &slug, entry, &asked, similarity).await;
    let good = "The pair is forbidden: neither prompt is answered with the other's entry any more.";
    visit.done(&format!("/console/p/{slug}/cache"), done, good)
}

fn id(text: &str) -> Result<EntryId, ConsoleError> {
    text.parse().map_err(|_| ConsoleError::NotFound)
}
