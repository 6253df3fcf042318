//! A project's API keys: create (shown once), list, revoke (confirmed, for the very next request).

use std::sync::Arc;

use askama::Template;
use deja_core::admin::keys;
use deja_core::admin::keys::{Expiry, KeyWish};
use deja_core::api_key::{ApiKey, KeyStatus, KeyUsage};
use deja_core::clock::Timestamp;
use deja_core::project::Project;
use deja_core::provider::{Endpoint, Providers as _, Route};
use deja_core::store::{Admission, folded};
use serde::Deserialize;

use super::error::ConsoleError;
use super::filter::query;
use super::flash::Flash;
use super::form::{Form, Path, Problem, Query, at, number};
use super::limits;
use super::page::{Answer, Confirm, Frame, Visit};
use super::paging::Paged;
use super::sort::{Column, Content, Sort};
use crate::format::{self, Moment};

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    slug: String,
    head: Vec<Column>,
    keys: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
    paged: Paged,
    long: bool,
    form: NewForm,
}

struct Row {
    id: String,
    name: String,
    prefix: String,
    created: Moment,
    last_used: Option<Moment>,
    requests: String,
    models: String,
    /// Its own limit.
    limit: Option<String>,
    expires: Option<Moment>,
    status: KeyStatus,
}

impl Row {
    fn is_active(&self) -> bool {
        self.status == KeyStatus::Active
    }

    /// An expired key can be revoked, so that its row says so.
    fn is_revoked(&self) -> bool {
        self.status == KeyStatus::Revoked
    }
}

/// The columns of the list.
const COLUMNS: [(&str, Content); 8] = [
    ("Name", Content::Text),
    ("Prefix", Content::Text),
    ("Created", Content::Moment),
    ("Last used", Content::Moment),
    ("Requests", Content::Number),
    ("Models", Content::Text),
    ("Expires", Content::Moment),
    ("Status", Content::Text),
];
/// The columns that the list can be sorted by.
const SORTED: [usize; 5] = [0, 2, 3, 4, 6];

/// The place of a key in a list that is sorted so. Without an order, keys that work come first, and newer keys before older ones.
fn place(key: &ApiKey, usage: &KeyUsage, sort: Option<Sort>, now: Timestamp) -> String {
    // A key that was never used lies before all others; a key without an end, behind all.
    // As texts they stand in the order of numbers if none is negative.
    let rising = |nanos: i64| i128::from(nanos) - i128::from(i64::MIN);
    let moment =
        |at: Option<Timestamp>, none: i64| format!("{:020}", rising(at.map_or(none, Timestamp::as_nanos)));
    let first = match sort.map(|sort| sort.column) {
        Some(0) => folded(&key.name),
        Some(2) => moment(Some(key.created), 0),
        Some(3) => moment(usage.last_used, 0),
        Some(4) => format!("{:020}", usage.requests),
        Some(6) => moment(key.expires, i64::MAX),
        _ => {
            let ended = u8::from(key.status(now) != KeyStatus::Active);
            format!("{ended}-{:020}", rising(i64::MAX) - rising(key.created.as_nanos()))
        }
    };
    format!("{first}-{}", key.id)
}

#[derive(Default, Deserialize)]
pub(super) struct NewForm {
    name: String,
    #[serde(default)]
    models: String,
    #[serde(default)]
    days: String,
    #[serde(default)]
    per_minute: String,
    #[serde(default)]
    burst: String,
}

impl NewForm {
    fn read(&self) -> Result<KeyWish, Problem> {
        let models = self.models.split([',', '\n']).map(str::trim).filter(|model| !model.is_empty());
        let days = number::<u64>("The days until it expires", &self.days).map_err(at("expires"))?;
        Ok(KeyWish {
            name: self.name.clone(),
            models: models.map(str::to_owned).collect(),
            expires: days.map(|days| Expiry::In(days.saturating_mul(24 * 3600))),
            per_minute: limits::requests("Requests a minute", &self.per_minute).map_err(at("per_minute"))?,
            burst: limits::requests("Requests at once", &self.burst).map_err(at("burst"))?,
        })
    }
}

/// `GET /console/p/{slug}/keys`.
pub(super) async fn get(visit: Visit, Query(paged): Query<Paged>) -> Answer {
    let project = &visit.seen()?.project;
    let page = page(&visit, project, &paged, NewForm::default(), None).await?;
    Ok(visit.page(&page))
}

async fn page(
    visit: &Visit,
    project: &Project,
    paged: &Paged,
    form: NewForm,
    problem: Option<Problem>,
) -> Result<KeysPage, ConsoleError> {
    let keys = visit.store().keys(project.id).await?;
    let here = format!("/console/p/{}/keys", project.slug);
    let sort = paged.sort().filter(|sort| SORTED.contains(&sort.column));
    let descends = sort.zip(sort.and_then(|sort| COLUMNS.get(sort.column)));
    let descends = descends.is_some_and(|(sort, (_, content))| sort.descends(*content));
    let place = |(key, usage): &(ApiKey, KeyUsage)| place(key, usage, sort, visit.now());
    let page = paged.page(&here, keys, descends, place, |(key, _)| [key.name.as_str(), key.shown.as_str()]);
    let head = COLUMNS.into_iter().enumerate().map(|(at, (name, content))| {
        let column = Column::new(name, content);
        let address = |sort: &str| format!("{here}{}", query(&[("q", &paged.q), ("sort", sort)]));
        if SORTED.contains(&at) { column.sorted(at, sort, address) } else { column }
    });
    let rows = page.rows.into_iter().map(|(key, usage)| Row {
        id: key.id.to_string(),
        status: key.status(visit.now()),
        limit: key.quota.map(limits::rate),
        expires: key.expires.map(|at| visit.moment(at)),
        name: key.name,
        prefix: key.shown,
        created: visit.moment(key.created),
        last_used: usage.last_used.map(|at| visit.moment(at)),
        requests: format::count(usage.requests),
        models: key.models.map_or("all".into(), |models| models.join(", ")),
    });
    let frame = visit.frame_in(project, "API Keys", "API Keys");
    Ok(KeysPage {
        frame: frame.complaining_at(problem),
        slug: project.slug.to_string(),
        head: head.collect(),
        keys: rows.collect(),
        next: page.next,
        first: page.first,
        long: page.long,
        paged: paged.clone(),
        form,
    })
}

/// `POST /console/p/{slug}/keys`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<NewForm>) -> Answer {
    let project = visit.project()?;
    let problem = match form.read() {
        Ok(wish) => match keys::create(&visit.acting(), &slug, wish).await {
            // Shown where the snippets are that take it.
            Ok(made) => {
                let secret = Flash::secret("key", made.plain.reveal());
                let text = unserved(&visit, project, made.key.models.unwrap_or_default()).await?;
                return visit.to(&format!("/console/p/{slug}"), &Flash { text, ..secret });
            }
            Err(error) => Problem::at(error, &["name", "models", "expires", "per_minute", "burst"])?,
        },
        Err(problem) => problem,
    };
    Ok(visit.again(&page(&visit, &project, &Paged::default(), form, Some(problem)).await?))
}

/// What is to be known of a key for models that nobody serves; nothing if each has somebody.
async fn unserved(visit: &Visit, project: Project, models: Vec<String>) -> Result<String, ConsoleError> {
    let caller = Admission::of_console(Arc::new(project));
    let mut nobody = Vec::new();
    for model in models {
        let route = visit.console.app.providers().route(&caller, &model, Some(Endpoint::Chat)).await?;
        if matches!(route, Route::Unsupported) {
            nobody.push(format!("“{model}”"));
        }
    }
    let it = if nobody.len() == 1 { "it" } else { "them" };
    let told = format::listed(&nobody).map(|which| {
        format!(
            "Nobody serves {which}: requests for {it} are refused until a provider of this project has {it}."
        )
    });
    Ok(told.unwrap_or_default())
}

/// `GET /console/p/{slug}/keys/{key}/revoke`.
pub(super) async fn confirm(visit: Visit, Path((slug, key)): Path<(String, String)>) -> Answer {
    let project = visit.project()?;
    let keys = visit.store().keys(project.id).await?;
    let (key, usage) =
        keys.into_iter().find(|(k, _)| k.id.to_string() == key).ok_or(ConsoleError::NotFound)?;
    if key.revoked.is_some() {
        let said = Flash::bad(format!("The key “{}” is revoked already.", key.name));
        return visit.to(&format!("/console/p/{slug}/keys"), &said);
    }
    let used = visit.used(usage.last_used);
    let text = format!(
        "The key “{}” ({}…) was {used}. From the very next request on, whoever uses it gets 401. This cannot \
         be undone; the row stays in the list, marked Revoked.",
        key.name, key.shown
    );
    let frame = visit.frame_in(&project, "Revoke API key", "API Keys");
    Ok(visit.page(&Confirm::new(frame, text, "Revoke key", format!("/console/p/{slug}/keys"))))
}

/// `POST /console/p/{slug}/keys/{key}/revoke`.
pub(super) async fn revoke(visit: Visit, Path((slug, key)): Path<(String, String)>) -> Answer {
    let done = keys::revoke(&visit.acting(), &key, Some(&slug)).await;
    visit.done(&format!("/console/p/{slug}/keys"), done, "The key is revoked.")
}

#[cfg(test)]
mod tests {
    use deja_core::id::ProjectId;
    use deja_core::testing;

    use super::*;

    #[test]
    fn a_key_from_before_1970_has_its_place() {
        let key = |created| testing::key(1, ProjectId::from_bytes([1; 16]), Timestamp::from_nanos(created));
        let (now, usage) = (Timestamp::from_secs(1), KeyUsage::default());
        let places = [i64::MAX, 1, 0, -1, i64::MIN].map(|created| place(&key(created), &usage, None, now));
        assert!(places.is_sorted(), "{places:?}");
    }
}
