//! The log of requests: filters, a view that renews itself, a file, and "wrong answer" at each that was a hit by meaning.

use std::collections::{BTreeSet, HashSet};
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;

use askama::Template;
use deja_core::admin::requests::Forbidden;
use deja_core::admin::{AdminError, prices, requests};
use deja_core::analytics::{ContextKey, Dimension, OTHER_MODELS, Outcome, Slice, Surface};
use deja_core::cache::{LabelSource, Labelled, Met, PromptHash};
use deja_core::clock::TimeRange;
use deja_core::id::{EntryId, KeyId};
use deja_core::money::NanoUsd;
use deja_core::project::Project;
use deja_core::request_log::{GUARD_COST, LogFilter, LogRow, LoggedRequest, MetEntry};
use deja_core::store::{Cursor, LogColumn, LogOrder};
use serde::Deserialize;

use super::error::{ConsoleError, LOG_TIMEOUT};
use super::file::{self, CHUNK, in_pieces};
use super::filter::{Select, query};
use super::flash::Flash;
use super::form::{Path, Problem, Query, with_lf};
use super::names::{Names, model_name};
use super::page::{Answer, CSV, Frame, Visit, download};
use super::paging::{cursor, cursor_text};
use super::range::{Ends, Span};
use super::sort::{Column, Content, Sort, Sortable, heads};
use crate::format::{self, Moment};

const PAGE: usize = 50;
/// How many keys, models and contexts the filters offer at most beside those of the page's rows.
const OFFERED: NonZeroUsize = NonZeroUsize::new(200).unwrap();
/// Labels, the newest, among which those of a page's requests are sought.
const LABELS: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
/// Prompts that an entry's page shows.
const LAST: usize = 10;

/// The columns of the list.
const COLUMNS: [Sortable<LogColumn>; 7] = [
    ("When", Content::Moment, Some(LogColumn::Number)),
    ("Asked", Content::Text, None),
    ("Outcome", Content::Text, None),
    ("Nearest entry", Content::Score, Some(LogColumn::Similarity)),
    ("Model, context, key", Content::Text, None),
    ("Duration", Content::Number, Some(LogColumn::Latency)),
    ("Saved", Content::Number, Some(LogColumn::Saved)),
];
/// The choice beside the outcomes: requests whose answer came from another's call. Most count as misses.
const JOINED: &str = "joined";
/// The order of the list if the address names none.
const NEWEST: Sort = Sort::by(0);

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    frame: Frame,
    slug: String,
    form: Wanted,
    from: String,
    until: String,
    selects: Vec<Select>,
    head: Vec<Column>,
    rows: Vec<Row>,
    /// What the project keeps.
    kept: Kept,
    /// Whether nothing was searched, or the search took too long.
    ended: bool,
    filtered: bool,
    /// Whether the latest come first.
    newest: bool,
    /// The addresses of the file, of the view that renews itself, and of the view that does not.
    csv: String,
    live: String,
    still: String,
    /// The query of this list.
    list: String,
    next: Option<String>,
    first: Option<String>,
}

/// What a project's log holds, as said on its page.
struct Kept {
    requests: String,
    none: bool,
    /// Days of texts, if they are kept.
    texts: Option<u64>,
}

/// A request in a list.
pub(super) struct Row {
    pub(super) number: u64,
    pub(super) at: Moment,
    pub(super) request: Option<String>,
    /// Its text, if that is kept, and the beginning of that in a line.
    pub(super) text: Option<String>,
    pub(super) line: Option<String>,
    /// What columns may cut, whole: without a mouse no title shows it.
    pub(super) facts: Vec<(&'static str, String)>,
    /// The first characters of its hash.
    pub(super) hash: Option<String>,
    pub(super) outcome: &'static str,
    pub(super) badge: &'static str,
    pub(super) cause: Option<String>,
    pub(super) met: Option<MetRow>,
    pub(super) model: String,
    pub(super) surface: Option<&'static str>,
    pub(super) context: Option<String>,
    pub(super) key: String,
    pub(super) latency: String,
    pub(super) saved: String,
    /// Whether its answer may be wrong for what it asked.
    pub(super) judged: bool,
    /// Whether somebody said so.
    pub(super) wrong: bool,
}

/// What a field of the address holds; `None` if it is empty.
fn read<T: FromStr>(field: &str) -> Result<Option<T>, ConsoleError> {
    let text = field.trim();
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| ConsoleError::BadAddress) }
}

/// The entry that a request met.
pub(super) struct MetRow {
    pub(super) entry: String,
    pub(super) similarity: String,
    pub(super) verdict: String,
}

/// Models of hits that saved nothing because they are free; of other such hits no price was known.
async fn free(visit: &Visit, project: &Project, rows: &[LogRow]) -> Result<BTreeSet<Arc<str>>, ConsoleError> {
    let models =
        rows.iter().filter(|row| saved_nothing(&row.logged)).map(|row| row.logged.model.as_str().into());
    Ok(prices::free(&visit.acting(), project, models.collect()).await?)
}

/// Whether an answer from the cache saved no money, and the guard's model is not why.
fn saved_nothing(logged: &LoggedRequest) -> bool {
    let is_hit = matches!(logged.outcome, Outcome::ExactHit | Outcome::SemanticHit);
    is_hit && logged.saved == NanoUsd::ZERO && logged.cause.as_deref() != Some(GUARD_COST)
}

/// Whether the price of what an answer from the cache saved is unknown.
fn unpriced(logged: &LoggedRequest, free: &BTreeSet<Arc<str>>) -> bool {
    saved_nothing(logged) && !free.contains(logged.model.as_str())
}

/// The prompts to which entries' answers were found wrong, by people: what a judge says forbids nothing. None is looked for where no request
/// was a hit by meaning.
async fn wrongs(
    visit: &Visit,
    project: &Project,
    rows: &[LogRow],
) -> Result<HashSet<(PromptHash, EntryId)>, ConsoleError> {
    if !rows.iter().any(|row| is_judged(&row.logged)) {
        return Ok(HashSet::new());
    }
    let labels = visit.store().short_labels(project.id, LABELS).await?;
    let wrong = labels.into_iter().filter(|label| !label.answers && label.source != LabelSource::Judge);
    Ok(wrong.map(|label| (label.asked, label.entry)).collect())
}

fn is_judged(logged: &LoggedRequest) -> bool {
    logged.outcome == Outcome::SemanticHit
}

/// What the context is called, if there is one.
fn named_context(logged: &LoggedRequest, names: &Names) -> Option<String> {
    (logged.context != ContextKey::WITHOUT).then(|| names.context(logged.context))
}

impl Row {
    /// The rows of a page.
    async fn all(
        visit: &Visit,
        project: &Project,
        names: &Names,
        rows: Vec<LogRow>,
    ) -> Result<Vec<Self>, ConsoleError> {
        let free = free(visit, project, &rows).await?;
        let wrongs = wrongs(visit, project, &rows).await?;
        let row = |row: LogRow| {
            let pair = row.logged.asked.zip(row.logged.met.as_ref().map(|met| met.entry));
            let wrong = pair.is_some_and(|pair| wrongs.contains(&pair));
            Self { wrong, ..Self::of(visit, names, &free, row) }
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn of(visit: &Visit, names: &Names, free: &BTreeSet<Arc<str>>, row: LogRow) -> Self {
        let LogRow { number, logged } = row;
        let (outcome, badge) = shown(logged.outcome);
        let met = logged.met.as_ref().map(MetRow::of);
        let (context, key) = (named_context(&logged, names), names.key(logged.key));
        let facts = [
            ("Hash", logged.asked.as_ref().map(short)),
            ("Request", logged.request.clone()),
            ("Cause", logged.cause.clone()),
            ("Nearest entry", met.as_ref().map(|met| met.verdict.clone())),
            ("Model", Some(model_name(&logged.model))),
            ("Context", context.clone()),
            ("Key", Some(key.clone())),
        ];
        Self {
            number,
            at: visit.moment(logged.at),
            facts: facts.into_iter().filter_map(|(what, value)| Some((what, value?))).collect(),
            line: logged.text.as_deref().map(format::line),
            hash: logged.asked.as_ref().map(short),
            outcome: if logged.joined { JOINED } else { outcome },
            badge,
            judged: is_judged(&logged),
            wrong: false,
            met,
            model: model_name(&logged.model),
            surface: (logged.surface != Surface::Query).then(|| logged.surface.as_str()),
            context,
            key,
            latency: logged
                .latency
                .map_or("–".into(), |latency| format::millis(latency.as_secs_f64() * 1e3)),
            saved: if unpriced(&logged, free) { "no price".into() } else { format::money(logged.saved) },
            cause: logged.cause,
            request: logged.request,
            text: logged.text,
        }
    }
}

impl MetRow {
    fn of(met: &MetEntry) -> Self {
        Self {
            entry: met.entry.to_string(),
            similarity: format!("{:.3}", met.similarity.get()),
            verdict: match (met.met, &met.reason) {
                (Met::Served, _) => "answered".into(),
                (Met::Refused, Some(reason)) => format!("refused: {reason}"),
                (Met::Refused, None) => "refused".into(),
                (Met::NearMiss, _) => "not similar enough".into(),
            },
        }
    }
}

/// The first characters of a hash.
fn short(hash: &PromptHash) -> String {
    hex::encode(&hash.0[..6])
}

/// What an outcome is called, and its colour.
const fn shown(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::ExactHit => ("exact hit", "good"),
        Outcome::SemanticHit => ("hit by meaning", "good"),
        Outcome::Miss => ("miss", "info"),
        Outcome::Passed => ("passed on", "info"),
        Outcome::Error => ("error", "bad"),
        Outcome::Refused => ("refused", "warn"),
        Outcome::RateLimited => ("over the limit", "warn"),
    }
}

/// What the address asks for.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    /// What was asked, or a part of it.
    #[serde(deserialize_with = "with_lf")]
    q: String,
    outcome: String,
    key: String,
    model: String,
    /// A context's number.
    context: String,
    entry: String,
    #[serde(flatten)]
    within: Ends,
    /// What the list is sorted by. A list that is followed live has the latest first.
    sort: String,
    /// The place of the last request of the page before.
    after: String,
    live: String,
}

impl Wanted {
    /// But for its time. An error for what cannot be read: without it, all would be shown.
    fn filter(&self) -> Result<LogFilter, ConsoleError> {
        let some = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let joined = self.outcome == JOINED;
        Ok(LogFilter {
            outcome: if joined { None } else { read(&self.outcome)? },
            joined,
            key: read(&self.key)?,
            model: some(&self.model),
            context: read(&self.context)?.map(ContextKey),
            entry: read(&self.entry)?,
            asked: some(&self.q).map(|_| self.q.clone()),
            within: TimeRange::default(),
        })
    }

    /// What the list is sorted by, and as the store has it.
    fn sort(&self) -> (Sort, LogOrder) {
        let asked = Sort::read(&self.sort).filter(|_| self.live.is_empty());
        let asked = asked.and_then(|sort| Some((sort, sort.order(&COLUMNS)?)));
        asked.unwrap_or((NEWEST, LogOrder::NEWEST))
    }

    /// The address of these filters in this order, and `more`.
    fn place(&self, slug: &str, below: &str, sort: &str, more: &[(&str, &str)]) -> String {
        format!("/console/p/{slug}/requests{below}{}", self.query(sort, more))
    }

    /// The list as it was asked for. It does not renew itself: a message would be gone at once, with its Undo.
    fn list(&self) -> String {
        self.query(&self.sort, &[("after", &self.after)])
    }

    fn query(&self, sort: &str, more: &[(&str, &str)]) -> String {
        let own = [
            ("q", self.q.as_str()),
            ("outcome", &self.outcome),
            ("key", &self.key),
            ("model", &self.model),
            ("context", &self.context),
            ("entry", &self.entry),
        ];
        query(&[&own, &self.within.pairs()[..], &[("sort", sort)], more].concat())
    }

    /// The choices: what was asked for, and what is chosen.
    fn selects(&self, names: &Names, logged: Logged) -> Vec<Select> {
        let outcomes = Outcome::ALL.map(|outcome| (outcome.as_str(), shown(outcome).0));
        let outcomes = outcomes.into_iter().chain([(JOINED, JOINED)]);
        let outcomes = outcomes.map(|(value, name)| (value.to_owned(), name.to_owned()));
        let models = logged.models.into_iter().map(|model| (model.to_string(), model.to_string()));
        let keys: BTreeSet<_> = logged.keys.into_iter().chain(self.key.parse::<KeyId>()).collect();
        let keys = keys.into_iter().map(|key| (key.to_string(), names.key(key))).collect();
        let contexts = logged.contexts.into_iter();
        let contexts = contexts.map(|context| (context.0.to_string(), names.context(context))).collect();
        let by_name = |mut choices: Vec<(String, String)>| {
            choices.sort_by(|one, other| one.1.cmp(&other.1));
            choices.into_iter()
        };
        vec![
            Select::new("outcome", "Outcome", &self.outcome, outcomes),
            Select::new("key", "Key", &self.key, by_name(keys)),
            Select::new("model", "Model", &self.model, models),
            Select::new("context", "Context", &self.context, by_name(contexts)),
        ]
    }
}

/// What requests of the log asked for.
struct Logged {
    keys: BTreeSet<KeyId>,
    models: BTreeSet<Arc<str>>,
    contexts: BTreeSet<ContextKey>,
}

impl Logged {
    /// By the rows of a page.
    fn of(rows: &[LogRow]) -> Self {
        Self {
            keys: rows.iter().map(|row| row.logged.key).collect(),
            models: rows.iter().map(|row| row.logged.model.as_str().into()).collect(),
            contexts: rows.iter().map(|row| row.logged.context).collect(),
        }
    }

    /// By the counts of the time that the log reaches back, too.
    async fn counted(mut self, visit: &Visit, project: &Project) -> Result<Self, ConsoleError> {
        let span = Span::named("30d", visit.now());
        let all = Slice::default();
        let by = |dimension| span.counts(visit, project, &all, dimension, OFFERED);
        self.keys.extend(by(Dimension::Key).await?.into_iter().filter_map(|(slice, _)| slice.key));
        self.models.extend(by(Dimension::Model).await?.into_iter().filter_map(|(slice, _)| slice.model));
        self.contexts
            .extend(by(Dimension::Context).await?.into_iter().filter_map(|(slice, _)| slice.context));
        // The log has the own names of models and contexts that are counted together.
        self.models.retain(|model| !model.is_empty() && &**model != OTHER_MODELS);
        self.contexts.remove(&ContextKey::OTHER);
        Ok(self)
    }
}

/// `GET /console/p/{slug}/requests`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(wanted): Query<Wanted>) -> Answer {
    let project = &visit.seen()?.project;
    let filter = wanted.filter()?;
    let filtered = filter != LogFilter::default() || !wanted.within.is_empty();
    let ((sort, order), after) = (wanted.sort(), cursor(&wanted.after));
    let (mut found, problem) = match wanted.within.read() {
        Ok(within) => page_of(&visit, &slug, &LogFilter { within, ..filter }, order, after).await?,
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let mut logged = Logged::of(&found);
    if wanted.live.is_empty() {
        logged = logged.counted(&visit, project).await?;
    }
    let names = Names::read(&visit, logged.contexts.iter().copied()).await?;
    let next = found.last().filter(|_| more).map(|last| cursor_text(order.cursor(last)));
    let kept = wanted.sort.clone();
    let is_refused = problem.as_ref().is_some_and(Problem::is_at_field);
    let [from, until] = wanted.within.inputs();
    let page = RequestsPage {
        ended: problem.is_some(),
        frame: visit.frame_in(project, "Requests", "Requests").complaining_at(problem),
        from,
        until,
        selects: wanted.selects(&names, logged),
        head: heads(&COLUMNS, Some(sort), |sort| wanted.place(&slug, "", sort, &[])),
        rows: Row::all(&visit, project, &names, found).await?,
        list: wanted.list(),
        kept: Kept {
            requests: format::count(project.settings.request_log),
            none: project.settings.request_log == 0,
            texts: Some(project.settings.request_texts_days).filter(|days| *days > 0),
        },
        filtered,
        newest: order == LogOrder::NEWEST,
        csv: wanted.place(&slug, "/log.csv", &kept, &[]),
        live: wanted.place(&slug, "", "", &[("live", "1")]),
        still: wanted.place(&slug, "", "", &[]),
        next: next.map(|after| wanted.place(&slug, "", &kept, &[("after", &after)])),
        first: after.map(|_| wanted.place(&slug, "", &kept, &[])),
        slug,
        form: wanted,
    };
    Ok(if is_refused { visit.again(&page) } else { visit.page(&page) })
}

/// The rows of a page, and one more if there is a next page; or none, and why.
async fn page_of(
    visit: &Visit,
    slug: &str,
    filter: &LogFilter,
    order: LogOrder,
    after: Option<Cursor<u64>>,
) -> Result<(Vec<LogRow>, Option<Problem>), ConsoleError> {
    let limit = NonZeroUsize::MIN.saturating_add(PAGE);
    let problem = match requests::list(&visit.acting(), slug, filter, order, after, limit).await {
        Ok(found) => return Ok((found, None)),
        // What else can be wrong with a filter that was read is that it takes too long.
        Err(AdminError::Invalid(_)) => Problem::of("form", LOG_TIMEOUT),
        Err(error) => Problem::at(error, &["until"])?,
    };
    Ok((Vec::new(), Some(problem)))
}

/// The heads of a list that nothing sorts.
pub(super) fn plain_head() -> Vec<Column> {
    heads(&COLUMNS, None, str::to_owned)
}

/// The last prompts that an entry answered.
pub(super) async fn answered_by(visit: &Visit, slug: &str, entry: EntryId) -> Result<Vec<Row>, ConsoleError> {
    let filter = LogFilter { entry: Some(entry), ..LogFilter::default() };
    let limit = NonZeroUsize::MIN.saturating_add(10 * LAST);
    let mut found = requests::list(&visit.acting(), slug, &filter, LogOrder::NEWEST, None, limit).await?;
    found.retain(|row| row.logged.met.as_ref().is_some_and(|met| met.met == Met::Served));
    found.truncate(LAST);
    let names = Names::read(visit, found.iter().map(|row| row.logged.context)).await?;
    Row::all(visit, &visit.seen()?.project, &names, found).await
}

/// The list of the requests that met an entry.
pub(super) fn list_of(entry: EntryId) -> String {
    Wanted { entry: entry.to_string(), ..Wanted::default() }.list()
}

/// `POST /console/p/{slug}/requests/{number}/wrong`, with the query of the list that it stands in.
pub(super) async fn wrong(
    visit: Visit,
    Path((slug, number)): Path<(String, u64)>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let done = requests::wrong(&visit.acting(), visit.console.app.engine(), &slug, number).await;
    let list = format!("/console/p/{slug}/requests{}", wanted.list());
    forbidden(&visit, [&list, &list], &slug, done)
}

/// The page of wrong answers.
pub(super) fn wrong_answers(slug: &str) -> String {
    format!("/console/p/{slug}/cache/wrong")
}

/// Says what came of forbidding a pair: at `there` where it was done, and else at `back`.
pub(super) fn forbidden(
    visit: &Visit,
    [back, there]: [&str; 2],
    slug: &str,
    done: Result<Forbidden, AdminError>,
) -> Answer {
    let Forbidden { entry, labelled, number } = match done {
        Ok(forbidden) => forbidden,
        Err(error) => return visit.done::<()>(back, Err(error), ""),
    };
    let (good, release) = match labelled {
        Labelled::Quarantined => (
            "The pair is forbidden, and the entry is in quarantine: it answers its own prompt only.",
            entry.to_string(),
        ),
        _ => (
            "The pair is forbidden: neither prompt is answered with the other's entry any more.",
            String::new(),
        ),
    };
    let undo = |number| format!("{}/{number}/undo{}", wrong_answers(slug), query(&[("release", &release)]));
    let undo = number.map(undo);
    visit.to(there, &Flash::good(good).undone_at(undo))
}

const HEAD: [&str; 17] = [
    "time", "request", "asked", "hash", "outcome", "cause", "joined", "entry", "similarity", "judgement",
    "reason", "model", "context", "surface", "key", "seconds", "saved_usd",
];

/// `GET /console/p/{slug}/requests/log.csv`: all that pass the filter, in the order of the list, read while the browser takes them.
pub(super) async fn csv(visit: Visit, Path(slug): Path<String>, Query(wanted): Query<Wanted>) -> Answer {
    let name = format!("{slug}-requests.csv");
    let within = wanted.within.read().map_err(|problem| ConsoleError::Refused(problem.text))?;
    let filter = LogFilter { within, ..wanted.filter()? };
    let asked = Arc::new((visit, slug, filter, wanted.sort().1));
    let of = Arc::clone(&asked);
    Ok(download(CSV, &name, in_pieces(&asked.0, move |after| lines(Arc::clone(&of), after)).await?))
}

/// What one file is read of.
type Asked = Arc<(Visit, String, LogFilter, LogOrder)>;

/// The lines of the rows behind `after`, the head in front of the first; and where to go on, if there are more.
async fn lines(
    asked: Asked,
    after: Option<Cursor<u64>>,
) -> Result<(Vec<u8>, Option<Cursor<u64>>), AdminError> {
    let (visit, slug, filter, order) = &*asked;
    let rows = requests::list(&visit.acting(), slug, filter, *order, after, CHUNK).await?;
    let unnamed = |error: ConsoleError| AdminError::Failed(format!("{error:?}"));
    let project = &visit.seen().map_err(unnamed)?.project;
    let names = Names::read(visit, rows.iter().map(|row| row.logged.context)).await.map_err(unnamed)?;
    let free = free(visit, project, &rows).await.map_err(unnamed)?;
    let head = after.is_none().then(|| HEAD.map(str::to_owned));
    let lines =
        file::lines(head.into_iter().chain(rows.iter().map(|row| fields(&row.logged, &names, &free))))?;
    let more = rows.last().filter(|_| rows.len() == CHUNK.get());
    Ok((lines, more.map(|last| order.cursor(last))))
}

fn fields(logged: &LoggedRequest, names: &Names, free: &BTreeSet<Arc<str>>) -> [String; 17] {
    let text = |text: &Option<String>| text.as_deref().map(file::cell).unwrap_or_default();
    let met = logged.met.as_ref();
    [
        format::to_second(logged.at).to_string(),
        text(&logged.request),
        text(&logged.text),
        logged.asked.as_ref().map(short).unwrap_or_default(),
        logged.outcome.as_str().into(),
        text(&logged.cause),
        logged.joined.to_string(),
        met.map(|met| met.entry.to_string()).unwrap_or_default(),
        met.map(|met| met.similarity.get().to_string()).unwrap_or_default(),
        met.map(|met| met.met.as_str().to_owned()).unwrap_or_default(),
        met.map(|met| text(&met.reason)).unwrap_or_default(),
        file::cell(&logged.model),
        named_context(logged, names).as_deref().map(file::cell).unwrap_or_default(),
        logged.surface.as_str().into(),
        file::cell(&names.key(logged.key)),
        logged.latency.map(|latency| latency.as_secs_f64().to_string()).unwrap_or_default(),
        if unpriced(logged, free) { String::new() } else { logged.saved.as_dollars().to_string() },
    ]
}
