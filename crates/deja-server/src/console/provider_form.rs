//! The form of a provider of a project's own.

use askama::Template;
use deja_core::admin::Hidden;
use deja_core::admin::providers::{self, NewProvider, ProviderPatch};
use deja_core::project::Project;
use deja_core::provider::{ProviderConfig, ProviderKind};
use deja_providers::{UrlError, check_url};
use serde::Deserialize;

use super::concurrent_edit::{self, Touched};
use super::flash::Flash;
use super::form::{Form, Path, Problem, checked};
use super::page::{Answer, Frame, Visit};
use super::providers::{find, title, without};
use super::settings::UNCHANGED;
use crate::format;

/// What a kind calls, and which base URL it wants for that.
fn explained(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAi => {
            "chat completions, as most gateways and model servers have them. Base URL up to and with /v1, such as \
             https://llm.example.com/v1; /chat/completions is put behind it."
        }
        ProviderKind::Anthropic => {
            "the Messages API. Base URL without /v1, such as https://llm.example.com; /v1/messages is put behind it."
        }
        ProviderKind::Gemini => {
            "generateContent. Base URL without /v1beta, such as https://llm.example.com; /v1beta/models/… is put \
             behind it."
        }
    }
}

#[derive(Template)]
#[template(path = "provider_form.html")]
struct FormPage {
    frame: Frame,
    slug: String,
    form: ProviderForm,
    editing: bool,
    /// What the box says that allows a private network.
    private: &'static str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProviderForm {
    name: String,
    kind: Option<ProviderKind>,
    base_url: String,
    /// One a line.
    models: String,
    secret: String,
    /// A secret that was typed before, sealed.
    kept: String,
    #[serde(deserialize_with = "checked")]
    allow_private: bool,
    /// What the form was filled with, sealed.
    before: String,
}

impl ProviderForm {
    /// What a provider has.
    fn of(provider: &ProviderConfig) -> Self {
        Self {
            name: provider.name.clone(),
            kind: Some(provider.kind),
            base_url: provider.base_url.clone(),
            models: provider.models.join("\n"),
            allow_private: provider.allow_private,
            ..Self::default()
        }
    }

    fn kind(&self) -> ProviderKind {
        self.kind.unwrap_or_default()
    }

    /// The kinds, as the form offers them.
    #[expect(clippy::unused_self, reason = "templates call methods")]
    fn kinds(&self) -> [(ProviderKind, &'static str, &'static str); 3] {
        ProviderKind::ALL.map(|kind| (kind, title(kind), explained(kind)))
    }

    fn models(&self) -> Vec<String> {
        self.models
            .split(['\n', ','])
            .map(str::trim)
            .filter(|model| !model.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// The secret that is typed, or else the secret that was typed before something else was found wrong.
    fn secret(&self, visit: &Visit) -> Option<String> {
        let typed = Some(self.secret.trim().to_owned()).filter(|secret| !secret.is_empty());
        typed.or_else(|| visit.open(SECRET, &self.kept))
    }

    /// All but the secret.
    fn read(&self, visit: &Visit) -> ProviderPatch {
        ProviderPatch {
            kind: self.kind,
            base_url: Some(self.base_url.trim().to_owned()),
            models: Some(self.models()),
            secret: None,
            // A member's form has no such box.
            allow_private: visit.is_owner().then_some(self.allow_private),
        }
    }

    /// What was touched as typed, and all else as the provider has it now.
    fn or_now(self, now: Self, touched: &Touched, before: String) -> Self {
        Self {
            kind: touched.or_now("kind", self.kind, now.kind),
            base_url: touched.or_now("base_url", self.base_url, now.base_url),
            models: touched.or_now("models", self.models, now.models),
            allow_private: touched.or_now("allow_private", self.allow_private, now.allow_private),
            before,
            ..self
        }
    }

    /// The field of a part, the part's name and its value for people.
    fn told(&self, name: &str) -> (&'static str, &'static str, String) {
        match name {
            "kind" => ("kind", "kind", title(self.kind()).to_owned()),
            "base_url" => ("base_url", "base URL", self.base_url.clone()),
            "models" => ("models", "models", self.models().join(", ")),
            "allow_private" => {
                ("form", "private network", if self.allow_private { "allowed" } else { "not allowed" }.into())
            }
            _ => concurrent_edit::UNNAMED,
        }
    }
}

/// The parts of a provider that have a field of the same name.
const FIELDS: [&str; 4] = ["name", "base_url", "models", "secret"];
/// What is sealed between two forms.
const SECRET: &str = "a provider's secret";
/// What allows a private network, as the form calls it.
const PRIVATE: &str = "May stand in a private network";

fn form_page(visit: &Visit, project: &Project, form: ProviderForm, editing: bool) -> FormPage {
    let mut frame = visit.frame_in(project, "", "Providers");
    frame.title = if editing { format!("Edit {}", form.name) } else { "Add provider".into() };
    FormPage { frame, slug: project.slug.to_string(), form, editing, private: PRIVATE }
}

/// The form again, with what is wrong with it.
fn again(
    visit: &Visit,
    project: &Project,
    form: ProviderForm,
    editing: bool,
    mut problem: Problem,
) -> Answer {
    let asked = check_url(form.base_url.trim(), form.allow_private);
    if problem.field == "base_url" && matches!(asked, Err(UrlError::Private | UrlError::Https)) {
        let who = if visit.is_owner() { "Tick" } else { "An owner can tick" };
        problem.text = format!("{} {who} “{PRIVATE}” to allow it.", problem.text);
    }
    // A secret goes in and never out: what the form gets back can be read by the server alone.
    let secret = form.secret(visit).filter(|_| problem.field != "secret");
    let kept = secret.map(|secret| visit.seal(SECRET, &secret)).transpose()?.unwrap_or_default();
    let page = form_page(visit, project, ProviderForm { secret: String::new(), kept, ..form }, editing);
    Ok(visit.again(&FormPage { frame: page.frame.complaining_at(Some(problem)), ..page }))
}

/// What to tell after a provider was saved: its URL, if another one was typed, and what the provider takes over.
fn saved(visit: &Visit, how: &str, typed: Option<&str>, provider: &ProviderConfig) -> String {
    let mut text = how.to_owned();
    if typed.is_some_and(|typed| typed.trim_end_matches('/') != provider.base_url) {
        text = format!("{text} Its base URL is {}: what is asked is put behind it.", provider.base_url);
    }
    let family = |model: &&String| !visit.console.admin.prices.provider_of(model).is_empty();
    let taken: Vec<String> = provider.models.iter().filter(family).cloned().collect();
    if let Some(taken) = format::listed(&taken) {
        text = format!("{text} In this project it answers for {taken} in place of the built-in provider.");
    }
    format!("{text} Test it now.")
}

/// `GET /console/p/{slug}/providers/new`.
pub(super) async fn new(visit: Visit) -> Answer {
    let project = visit.project()?;
    Ok(visit.page(&form_page(&visit, &project, ProviderForm::default(), false)))
}

/// `POST /console/p/{slug}/providers/new`.
pub(super) async fn add(visit: Visit, Path(slug): Path<String>, Form(form): Form<ProviderForm>) -> Answer {
    let project = visit.project()?;
    let new = NewProvider {
        project: slug.clone(),
        name: form.name.trim().to_owned(),
        kind: form.kind(),
        base_url: form.base_url.trim().to_owned(),
        models: form.models(),
        secret: form.secret(&visit).map(Hidden::from),
        allow_private: form.allow_private,
    };
    match providers::add(&visit.acting(), new).await {
        Ok(provider) => {
            let text = saved(&visit, "The provider is added.", Some(form.base_url.trim()), &provider);
            visit.to(&format!("/console/p/{slug}/providers"), &Flash::good(text))
        }
        Err(error) => again(&visit, &project, form, false, Problem::at(error, &FIELDS)?),
    }
}

/// `GET /console/p/{slug}/providers/own/{name}`.
pub(super) async fn edit(visit: Visit, Path((_, name)): Path<(String, String)>) -> Answer {
    let project = visit.project()?;
    let mut form = ProviderForm::of(&find(&visit, &project, &name).await?);
    form.before = concurrent_edit::seal(&visit, &form.read(&visit))?;
    Ok(visit.page(&form_page(&visit, &project, form, true)))
}

/// `POST /console/p/{slug}/providers/own/{name}`.
pub(super) async fn save(
    visit: Visit,
    Path((slug, name)): Path<(String, String)>,
    Form(mut form): Form<ProviderForm>,
) -> Answer {
    let project = visit.project()?;
    let stored = find(&visit, &project, &name).await?;
    form.name.clone_from(&stored.name);
    let now = ProviderForm::of(&stored);
    let filled = now.read(&visit);
    let (mut patch, touched) = concurrent_edit::touched(&visit, form.read(&visit), &form.before, &filled)?;
    let secret = form.secret(&visit);
    // A key is for the host that whoever typed it saw.
    let moved = secret.is_some() && patch.base_url.is_none() && form.base_url.trim() != now.base_url;
    let moved = moved.then(|| {
        let text = format!(
            "Changed meanwhile: the base URL is {} now. Nothing was saved. Save again to use the key that you typed for it, \
             or change the URL first.",
            now.base_url
        );
        Problem::of("base_url", text)
    });
    if let Some(problem) = moved.or_else(|| touched.problem(|name| now.told(name))) {
        let form = form.or_now(now, &touched, concurrent_edit::seal(&visit, &filled)?);
        return again(&visit, &project, form, true, problem);
    }
    if let Some(secret) = secret {
        patch.base_url.get_or_insert_with(|| form.base_url.trim().to_owned());
        patch.secret = Some(Some(Hidden::from(secret)).into());
    }
    let place = format!("/console/p/{slug}/providers");
    if patch.is_empty() {
        return visit.to(&place, &Flash::good(UNCHANGED));
    }
    let typed = patch.base_url.clone();
    match providers::set(&visit.acting(), &slug, &name, patch).await {
        Ok(provider) if provider == stored => visit.to(&place, &Flash::good(UNCHANGED)),
        Ok(provider) => {
            let gone: Vec<_> =
                stored.models.into_iter().filter(|model| !provider.models.contains(model)).collect();
            let how = format!("Saved. {}", without(&visit, &gone, "from now on"));
            let text = saved(&visit, how.trim_end(), typed.as_deref(), &provider);
            visit.to(&place, &Flash::good(text))
        }
        Err(error) => again(&visit, &project, form, true, Problem::at(error, &FIELDS)?),
    }
}
