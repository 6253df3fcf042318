//! A project's API keys: create (shown once), list, revoke (confirmed, for the very next request).

use askama::Template;
use deja_core::admin::keys::{Expiry, KeyWish};
use deja_core::admin::{AdminError, keys};
use deja_core::api_key::{ApiKey, KeyStatus, KeyUsage};
use deja_core::project::Project;
use serde::Deserialize;

use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Query, number};
use super::format::{self, Moment};
use super::page::{Answer, Confirm, Frame, Visit};
use super::paging::Paged;

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    slug: String,
    keys: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
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
    fn read(&self) -> Result<KeyWish, String> {
        let models = self.models.split([',', '\n']).map(str::trim).filter(|model| !model.is_empty());
        let days = number::<u64>("The days until it expires", &self.days)?;
        Ok(KeyWish {
            name: self.name.clone(),
            models: models.map(str::to_owned).collect(),
            expires: days.map(|days| Expiry::In(days.saturating_mul(24 * 3600))),
            per_minute: number("Requests a minute", &self.per_minute)?,
            burst: number("Requests at once", &self.burst)?,
        })
    }
}

/// `GET /console/p/{slug}/keys`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(paged): Query<Paged>) -> Answer {
    let project = visit.project(&slug).await?;
    let page = page(&visit, &project, &paged, NewForm::default(), None).await?;
    Ok(visit.page(&page))
}

async fn page(
    visit: &Visit,
    project: &Project,
    paged: &Paged,
    form: NewForm,
    problem: Option<&str>,
) -> Result<KeysPage, ConsoleError> {
    let keys = visit.console.admin.store.keys(project.id).await?;
    // Those that work come first, of each the newest.
    let place = |(key, _): &(ApiKey, KeyUsage)| {
        format!(
            "{}-{:019}-{}",
            u8::from(key.status(visit.now()) != KeyStatus::Active),
            i64::MAX - key.created.as_nanos(),
            key.id
        )
    };
    let page = paged.page(&format!("/console/p/{}/keys", project.slug), keys, place);
    let rows = page.rows.into_iter().map(|(key, usage)| Row {
        id: key.id.to_string(),
        status: key.status(visit.now()),
        limit: key.quota.map(|quota| format!("{} a minute, {} at once", quota.per_minute(), quota.burst())),
        expires: key.expires.map(|at| visit.moment(at)),
        name: key.name,
        prefix: key.shown,
        created: visit.moment(key.created),
        last_used: usage.last_used.map(|at| visit.moment(at)),
        requests: format::count(usage.requests),
        models: key.models.map_or("all".into(), |models| models.join(", ")),
    });
    Ok(KeysPage {
        frame: visit.frame_in(project, "API Keys", "API Keys").complaining(problem),
        slug: project.slug.to_string(),
        keys: rows.collect(),
        next: page.next,
        first: page.first,
        form,
    })
}

/// `POST /console/p/{slug}/keys`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<NewForm>) -> Answer {
    let project = visit.project(&slug).await?;
    let made = match form.read() {
        Ok(wish) => keys::create(&visit.acting(), &slug, wish).await,
        Err(problem) => Err(AdminError::Invalid(problem)),
    };
    match made {
        // Shown where the snippets are that take it.
        Ok(made) => visit.to(&format!("/console/p/{slug}"), &Flash::secret("key", made.plain.reveal())),
        Err(AdminError::Invalid(problem) | AdminError::Conflict(problem)) => {
            Ok(visit.again(&page(&visit, &project, &Paged::default(), form, Some(&problem)).await?))
        }
        Err(error) => Err(error.into()),
    }
}

/// `GET /console/p/{slug}/keys/{key}/revoke`.
pub(super) async fn confirm(visit: Visit, Path((slug, key)): Path<(String, String)>) -> Answer {
    let project = visit.project(&slug).await?;
    let keys = visit.console.admin.store.keys(project.id).await?;
    let (key, usage) =
        keys.into_iter().find(|(k, _)| k.id.to_string() == key).ok_or(ConsoleError::NotFound)?;
    if key.revoked.is_some() {
        let said = Flash::bad(format!("The key “{}” is revoked already.", key.name));
        return visit.to(&format!("/console/p/{slug}/keys"), &said);
    }
    let used = usage.last_used.map_or("never".into(), |at| visit.moment(at).relative);
    let text = format!(
        "The key “{}” ({}…) was last used {used}. From the very next request on, whoever uses it gets 401. This cannot \
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
