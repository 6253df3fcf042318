//! The log of requests: read it, and say of the answer to one of them that it is wrong.

use std::num::NonZeroUsize;

use super::{Acting, AdminError, cache, must_last};
use crate::cache::{Answered, LabelSource, Labelled, Met, PromptHash};
use crate::embedding::Embedding;
use crate::engine::{Engine, FeedbackError, QueryError};
use crate::id::{EntryId, ProjectId};
use crate::member::Rank;
use crate::request_log::{LogFilter, LogRow};
use crate::store::{Cursor, LogOrder, NewLabel};

/// Requests that contain the asked text, among which the request is sought that asked just this.
const LOOKED_AT: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// The newest forbidden pairs, among which the pair is sought that was forbidden just now.
const LATEST: NonZeroUsize = NonZeroUsize::new(20).unwrap();

/// A pair of prompts that was forbidden.
#[derive(Clone, Copy, Debug)]
pub struct Forbidden {
    /// The entry that answered.
    pub entry: EntryId,
    /// What came of it.
    pub labelled: Labelled,
    /// The pair's number, to [allow it](cache::allow) again.
    pub number: Option<u64>,
}

/// Requests of the project's log, in this order, those behind `after`; for its viewers too, who get them without texts and
/// cannot look for any.
pub async fn list(
    by: &Acting<'_>,
    slug: &str,
    filter: &LogFilter,
    order: LogOrder,
    after: Option<Cursor<u64>>,
    limit: NonZeroUsize,
) -> Result<Vec<LogRow>, AdminError> {
    let seen = by.seen(slug).await?;
    let texts = seen.texts();
    if !texts && filter.asked.is_some() {
        return Err(AdminError::RankTooLow(Rank::Editor));
    }
    must_last(filter.within)?;
    let mut rows = by.store().logged(seen.project.id, filter, order, after, limit).await?;
    for row in rows.iter_mut().filter(|_| !texts) {
        row.logged.text = None;
    }
    Ok(rows)
}

/// Says that the entry which answered the request of this number is wrong for what it asked.
pub async fn wrong(
    by: &Acting<'_>,
    engine: &Engine,
    slug: &str,
    number: u64,
) -> Result<Forbidden, AdminError> {
    let project = by.project(slug).await?;
    let row = by.store().logged_request(project.id, number).await?;
    let row = row.ok_or_else(|| AdminError::NotFound("this request is no longer in the log".into()))?;
    let served = row.logged.met.as_ref().filter(|met| met.met == Met::Served).map(|met| met.entry);
    let entry = served.ok_or_else(|| AdminError::Invalid("no entry answered this request".into()))?;
    let asked = asked_by(by, project.id, entry, &row).await?;
    forbid(by, engine, &pair(engine, project.id, entry, &asked).await?).await
}

/// Says that an entry's answer is wrong for a prompt that it answered, as the log has it.
pub async fn wrong_for(
    by: &Acting<'_>,
    engine: &Engine,
    slug: &str,
    entry: EntryId,
    asked: &str,
) -> Result<Forbidden, AdminError> {
    let project = by.project(slug).await?;
    let pair = pair(engine, project.id, entry, asked).await?;
    engine.flush_log().await;
    let filter = LogFilter { asked: Some(asked.to_owned()), ..LogFilter::default() };
    let rows = by.store().logged(project.id, &filter, LogOrder::NEWEST, None, LOOKED_AT).await?;
    let refuse = |problem: &str| Err(AdminError::Invalid(problem.into()));
    match answered(&rows, entry, asked) {
        Some(true) => forbid(by, engine, &pair).await,
        Some(false) => refuse(
            "This was asked, and another entry or the provider answered it: the page Requests says which.",
        ),
        None if project.settings.request_log == 0 => refuse(
            "This project logs no requests, so nothing tells whether this was asked: set how many the log keeps on the \
             page Settings.",
        ),
        None if rows.is_empty() => refuse(
            "Nothing like it was asked, as far as the log of requests reaches: choose a request on the page Requests.",
        ),
        None => refuse(
            "Just this was not asked, but longer prompts with it in them: choose one on the page Requests.",
        ),
    }
}

/// Whether this entry answered a request that asked just this; `None` if no request did.
fn answered(rows: &[LogRow], entry: EntryId, asked: &str) -> Option<bool> {
    let hash = PromptHash::of(asked);
    let mut answered = None;
    for row in rows.iter().filter(|row| row.logged.asked == Some(hash)) {
        let met = row.logged.met.as_ref();
        let by_it = met.is_some_and(|met| met.entry == entry && met.met == Met::Served);
        answered = Some(by_it || answered == Some(true));
    }
    answered
}

/// Says that an entry's answer would be wrong for a prompt that was tried.
pub async fn wrong_if_asked(
    by: &Acting<'_>,
    engine: &Engine,
    slug: &str,
    entry: EntryId,
    asked: &str,
) -> Result<Forbidden, AdminError> {
    let project = by.project(slug).await?;
    forbid(by, engine, &pair(engine, project.id, entry, asked).await?).await
}

/// What a request asked: as the log has it, or else as it is kept for feedback.
async fn asked_by(
    by: &Acting<'_>,
    project: ProjectId,
    entry: EntryId,
    row: &LogRow,
) -> Result<String, AdminError> {
    let is_it = |text: &String| row.logged.asked == Some(PromptHash::of(text));
    if let Some(text) = row.logged.text.clone().filter(is_it) {
        return Ok(text);
    }
    let kept = match &row.logged.request {
        Some(request) => by.store().answered(project, request).await?,
        None => None,
    };
    let kept = kept.filter(|kept| kept.entry == entry).map(|kept| kept.asked).filter(is_it);
    kept.ok_or_else(|| {
        AdminError::Invalid(
            "The prompt of this request is not kept any more: give it on the entry's page, or delete the entry.".into(),
        )
    })
}

/// What an entry is to a prompt, with the prompt's vector.
async fn pair(
    engine: &Engine,
    project: ProjectId,
    entry: EntryId,
    asked: &str,
) -> Result<(Answered, Embedding), AdminError> {
    engine.pair(project, entry, asked).await.map_err(|error| match error {
        FeedbackError::Query(error @ QueryError::Unavailable(_)) => AdminError::Unavailable(error.to_string()),
        FeedbackError::Query(error) => AdminError::Failed(error.to_string()),
        FeedbackError::Unknown => AdminError::NotFound("This entry is gone already.".into()),
        FeedbackError::OwnPrompt => AdminError::Invalid(
            "This is the entry's own prompt, which it always answers. If the answer is wrong, delete the entry.".into(),
        ),
        // What is too long for the embedding is found by the same prompt only.
        FeedbackError::TooLong => AdminError::Invalid(
            "This entry answered another prompt: one as long as this is answered by the very same only.".into(),
        ),
    })
}

async fn forbid(
    by: &Acting<'_>,
    engine: &Engine,
    (pair, vector): &(Answered, Embedding),
) -> Result<Forbidden, AdminError> {
    let label = NewLabel {
        entry: pair.entry,
        asked: &pair.asked,
        vector: Some((engine.embedder(), vector)),
        similarity: pair.similarity,
        met: pair.met,
        answers: false,
        source: LabelSource::Console,
        note: None,
    };
    let labelled = cache::label(by, engine, pair.project, label).await?;
    let pairs = by.store().wrong_answers(pair.project, None, LATEST).await?;
    let mut own =
        pairs.iter().filter(|wrong| wrong.source == LabelSource::Console && wrong.asked == pair.asked);
    Ok(Forbidden { entry: pair.entry, labelled, number: own.next().map(|wrong| wrong.number) })
}
