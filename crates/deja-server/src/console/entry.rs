//! One entry: all that is kept of it, delete it, say that it answered another prompt wrongly, and take that back.

use askama::Template;
use deja_core::admin::{AdminError, cache, requests};
use deja_core::id::EntryId;
use serde::Deserialize;

use super::cache::{Row, Search};
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, Query, with_lf};
use super::page::{Answer, Confirm, Frame, Visit};
use super::prices;
use super::requests as said;
use super::sort::Column;
use super::transcript::{self, Turn};
use super::undo_delete;
use crate::format::{self, Moment};

#[derive(Template)]
#[template(path = "entry.html")]
struct EntryPage {
    frame: Frame,
    slug: String,
    entry: Row,
    prompt: String,
    /// The turns of a request that is found as a whole.
    turns: Option<Vec<Turn>>,
    /// What else the answer to a question in a wire format depends on.
    parameters: Vec<(String, String)>,
    answer: String,
    context: Option<String>,
    served_model: Option<String>,
    provider: String,
    tokens: String,
    saved: String,
    expires: Option<Moment>,
    quarantined: Option<Moment>,
    /// What was typed of a wrong answer.
    form: Wrong,
    /// The last requests that it answered.
    head: Vec<Column>,
    rows: Vec<said::Row>,
    /// The query of the list of all requests that met it.
    list: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wrong {
    #[serde(deserialize_with = "with_lf")]
    asked: String,
    /// Set if the entry is to go, too.
    delete: String,
    /// Set once it was asked whether it may go if it cannot be brought back.
    sure: String,
}

impl Wrong {
    fn is_delete(&self) -> bool {
        !self.delete.is_empty()
    }
}

/// `GET /console/p/{slug}/cache/{entry}`.
pub(super) async fn get(
    visit: Visit,
    Path((slug, entry)): Path<(String, EntryId)>,
    Query(asked): Query<Wrong>,
) -> Answer {
    let page = page(&visit, slug, entry, asked, None).await?;
    Ok(visit.page(&page))
}

/// The page with what was typed of a wrong answer, and what is wrong with that.
async fn page(
    visit: &Visit,
    slug: String,
    entry: EntryId,
    form: Wrong,
    problem: Option<Problem>,
) -> Result<EntryPage, ConsoleError> {
    let project = visit.project()?;
    let store = visit.store();
    let detail = store.entry(project.id, entry).await?.ok_or(ConsoleError::NotFound)?;
    let quarantined = store.quarantined(project.id, entry).await?;
    let rows = said::answered_by(visit, &slug, entry).await?;
    let row = Row::of(visit, &detail);
    let turns = transcript::turns(&detail);
    let parameters = transcript::parameters(&detail);
    let saved = match prices::saved(visit, &project, &detail) {
        Some(saved) => format::money(saved),
        None if detail.hits > 0 => prices::UNKNOWN_THEN.into(),
        None => prices::UNKNOWN.into(),
    };
    let answer = detail.entry.answer;
    let estimated = if answer.tokens_estimated { " (estimated)" } else { "" };
    Ok(EntryPage {
        frame: visit.frame_in(&project, "Entry", "Cache").complaining_at(problem),
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
        form,
        head: said::plain_head(),
        rows,
        list: said::list_of(entry),
    })
}

/// `POST /console/p/{slug}/cache/{entry}/delete`.
pub(super) async fn delete(
    visit: Visit,
    Path((slug, entry)): Path<(String, EntryId)>,
    Form(form): Form<Wrong>,
) -> Answer {
    if let Some(asks) = undo_delete::asks(&visit, &slug, &Search::default(), &[entry], &form.sure).await? {
        return Ok(visit.page(&asks));
    }
    undo_delete::delete(&visit, &slug, &Search::default(), &[entry], "The entry is deleted.").await
}

/// `POST /console/p/{slug}/cache/{entry}/wrong`: for a prompt that the entry answered, as the log has it.
pub(super) async fn wrong(
    visit: Visit,
    Path((slug, entry)): Path<(String, EntryId)>,
    Form(form): Form<Wrong>,
) -> Answer {
    if form.asked.trim().is_empty() {
        let problem = "Say which prompt got this answer: the pair is what makes the record useful.";
        let page = page(&visit, slug, entry, form, Some(Problem::of("asked", problem))).await?;
        return Ok(visit.again(&page));
    }
    let (project, engine) = (visit.project()?, visit.console.app.engine());
    if visit.store().entry(project.id, entry).await?.is_none() {
        let list = format!("/console/p/{slug}/cache");
        return visit.to(&list, &Flash::bad("This entry is gone already."));
    }
    if form.is_delete()
        && let Some(asks) = undo_delete::asks(&visit, &slug, &Search::default(), &[entry], &form.sure).await?
    {
        return Ok(visit.page(&asks.with("asked", form.asked).with("delete", form.delete)));
    }
    match requests::wrong_for(&visit.acting(), engine, &slug, entry, &form.asked).await {
        Ok(_) if form.is_delete() => {
            // With this pair the entry may have come into quarantine.
            let asks = undo_delete::asks(&visit, &slug, &Search::default(), &[entry], &form.sure).await?;
            if asks.is_some() {
                let text = "The pair is forbidden. The entry is in quarantine now, and cannot be brought back once it is deleted.";
                let (here, frame) = (
                    format!("/console/p/{slug}/cache/{entry}"),
                    visit.frame_in(&project, "Delete for good", "Cache"),
                );
                let asks = Confirm::new(frame, text, "Delete", &here).to(format!("{here}/delete"));
                return Ok(visit.page(&asks.with("sure", "1")));
            }
            let good = "The pair is forbidden, and the entry is deleted.";
            undo_delete::delete(&visit, &slug, &Search::default(), &[entry], good).await
        }
        Err(AdminError::Invalid(problem) | AdminError::Conflict(problem)) => {
            let page = page(&visit, slug, entry, form, Some(Problem::of("asked", problem))).await?;
            Ok(visit.again(&page))
        }
        done => {
            let here = format!("/console/p/{slug}/cache/{entry}");
            said::forbidden(&visit, [&here, &said::wrong_answers(&slug)], &slug, done)
        }
    }
}

/// `POST /console/p/{slug}/playground/{entry}/wrong`: for a prompt that was tried.
pub(super) async fn wrong_if_asked(
    visit: Visit,
    Path((slug, entry)): Path<(String, EntryId)>,
    Form(form): Form<Wrong>,
) -> Answer {
    let engine = visit.console.app.engine();
    let done = requests::wrong_if_asked(&visit.acting(), engine, &slug, entry, &form.asked).await;
    let here = format!("/console/p/{slug}/playground");
    said::forbidden(&visit, [&here, &said::wrong_answers(&slug)], &slug, done)
}

/// `POST /console/p/{slug}/cache/{entry}/release`.
pub(super) async fn release(visit: Visit, Path((slug, entry)): Path<(String, EntryId)>) -> Answer {
    let done = cache::release(&visit.acting(), &slug, entry).await;
    let good = "The entry answers similar prompts again. The pairs that were found wrong stay forbidden.";
    visit.done(&format!("/console/p/{slug}/cache/{entry}"), done, good)
}
