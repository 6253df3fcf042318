//! Providers and models: the built-in families with the state of their credentials, and the project's own.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use deja_core::admin::providers::{self, NewProvider, ProviderPatch};
use deja_core::admin::{AdminError, Hidden};
use deja_core::pricing::price_for;
use deja_core::project::Project;
use deja_core::provider::{Endpoint, Keyless, ProviderConfig, ProviderKind, Providers as _, Route};
use deja_core::store::Admission;
use deja_providers::{Family, UrlError, check_url};
use serde::Deserialize;

use super::error::ConsoleError;
use super::filter::query;
use super::flash::Flash;
use super::form::{Form, Path, Problem};
use super::page::{Answer, Confirm, Frame, Visit};
use super::prices::{Price, shown};
use super::settings::UNCHANGED;
use crate::format;

/// What snippets and forms name where no other model is known.
pub(super) const USUAL_MODEL: &str = "gpt-4o-mini";
/// What the test asks for. Short, and no secret.
const TEST_PROMPT: &str = "Answer with the single word: ok";

#[derive(Template)]
#[template(path = "providers.html")]
pub(super) struct ProvidersPage {
    frame: Frame,
    slug: String,
    families: Vec<FamilyRow>,
    providers: Vec<Row>,
    /// Model, input and output, and where it is removed.
    prices: Vec<(String, [String; 2], String)>,
    /// A price as it was typed.
    price: Price,
}

struct FamilyRow {
    family: Family,
    title: &'static str,
    models: &'static str,
    variable: &'static str,
    /// The model that a test asks.
    cheap: &'static str,
    configured: bool,
    /// If it is left alone because it had no answer, when it is asked again.
    down: Option<String>,
}

struct Row {
    name: String,
    /// If it is left alone because it had no answer, when it is asked again.
    down: Option<String>,
    kind: &'static str,
    base_url: String,
    models: Vec<String>,
    /// Models that save nothing, because nobody knows what they cost.
    unpriced: Vec<String>,
    has_secret: bool,
    allow_private: bool,
}

/// `GET /console/p/{slug}/providers`.
pub(super) async fn get(visit: Visit) -> Answer {
    let project = visit.project()?;
    let page = page(&visit, &project, Price::default(), None).await?;
    Ok(visit.page(&page))
}

/// The page with a price as it was typed, and what is wrong with it.
pub(super) async fn page(
    visit: &Visit,
    project: &Project,
    price: Price,
    problem: Option<Problem>,
) -> Result<ProvidersPage, ConsoleError> {
    let list = visit.console.admin.prices.current();
    let unpriced = |provider: &ProviderConfig| {
        let priced =
            |model: &&String| price_for(&project.settings, &list, &provider.name, None, model).is_some();
        provider.models.iter().filter(|model| !priced(model)).cloned().collect()
    };
    let down = down(visit, project);
    let own = visit.store().providers(project.id).await?.into_iter().map(|provider| Row {
        down: down.get(&provider.name).cloned(),
        unpriced: unpriced(&provider),
        name: provider.name,
        kind: title(provider.kind),
        base_url: provider.base_url,
        models: provider.models,
        has_secret: provider.sealed_secret.is_some(),
        allow_private: provider.allow_private,
    });
    let prices = project.settings.prices.iter().map(|(model, price)| {
        let remove = query(&[("model", model)]);
        (model.clone(), shown(price), format!("/console/p/{}/providers/prices/remove{remove}", project.slug))
    });
    let mut families = families(visit);
    for row in &mut families {
        row.down = down.get(row.family.name()).cloned();
    }
    let frame = visit.frame_in(project, "Providers", "Providers");
    Ok(ProvidersPage {
        frame: frame.complaining_at(problem),
        slug: project.slug.to_string(),
        families,
        providers: own.collect(),
        prices: prices.collect(),
        price,
    })
}

/// The providers that this project leaves alone for now, and when it asks them again.
fn down(visit: &Visit, project: &Project) -> HashMap<String, String> {
    let engine = visit.console.app.engine();
    let (down, now) = (engine.providers_down().into_iter(), engine.clock().now());
    let own = down.filter(|down| down.project == project.id);
    own.map(|down| {
        let again = if down.until > now {
            format!("asked again in {} s", down.until.since(now).as_secs_f64().ceil())
        } else {
            "asked again with the next miss".into()
        };
        (down.name, again)
    })
    .collect()
}

fn families(visit: &Visit) -> Vec<FamilyRow> {
    let row = |family, title, models, variable, cheap| FamilyRow {
        family,
        title,
        models,
        variable,
        cheap,
        configured: visit.console.app.providers().registry.has(family),
        down: None,
    };
    vec![
        row(Family::OpenAi, "OpenAI", "gpt-…, o1, o3, o4-…, chatgpt-…", "OPENAI_API_KEY", USUAL_MODEL),
        row(Family::Anthropic, "Anthropic", "claude-…", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
        row(Family::Google, "Google", "gemini-…, gemma-…, learnlm-…", "GEMINI_API_KEY", "gemini-2.5-flash"),
    ]
}

/// What the project can ask for.
pub(super) struct Models {
    own: Vec<ProviderConfig>,
    /// The families that have credentials, each with a cheap model.
    families: Vec<(Family, &'static str)>,
}

impl Models {
    pub(super) async fn read(visit: &Visit, project: &Project) -> Result<Self, ConsoleError> {
        let families = families(visit).into_iter().filter(|family| family.configured);
        let families = families.map(|row| (row.family, row.cheap)).collect();
        Ok(Self { own: visit.store().providers(project.id).await?, families })
    }

    /// The models of the project's own providers.
    pub(super) fn own(&self) -> impl Iterator<Item = &String> {
        self.own.iter().flat_map(|provider| &provider.models)
    }

    /// Any model: of an own provider, or of a family that has credentials.
    pub(super) fn any(&self) -> Option<&str> {
        let own = self.own.iter().find_map(|provider| provider.models.first()).map(String::as_str);
        own.or_else(|| self.families.first().map(|(_, cheap)| *cheap))
    }

    /// A model of an own provider of this kind, if the built-in family of the kind has no credentials.
    pub(super) fn instead_of_families(&self, kind: ProviderKind) -> Option<&str> {
        let family = match kind {
            ProviderKind::OpenAi => Family::OpenAi,
            ProviderKind::Anthropic => Family::Anthropic,
            ProviderKind::Gemini => Family::Google,
        };
        if self.families.iter().any(|(configured, _)| *configured == family) {
            return None;
        }
        let mut own = self.own.iter().filter(|provider| provider.kind == kind);
        own.find_map(|provider| provider.models.first()).map(String::as_str)
    }
}

/// A kind's name for people.
fn title(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAi => "OpenAI-compatible",
        ProviderKind::Anthropic => "Anthropic",
        ProviderKind::Gemini => "Gemini",
    }
}

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
}

/// A ticked box is sent, with any value. A box that is not ticked is not sent.
pub(super) fn checked<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    String::deserialize(deserializer).map(|_| true)
}

impl ProviderForm {
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
fn again(visit: &Visit, project: &Project, form: ProviderForm, editing: bool, error: AdminError) -> Answer {
    let mut problem = Problem::at(error, &FIELDS)?;
    let asked = check_url(form.base_url.trim(), form.allow_private);
    if problem.field == "base_url" && matches!(asked, Err(UrlError::Private | UrlError::Https)) {
        let who = if visit.is_owner() { "Tick" } else { "An owner can tick" };
        problem.text = format!("{}. {who} “{PRIVATE}” to allow it.", problem.text);
    }
    // A secret goes in and never out: what the form gets back can be read by the server alone.
    let secret = form.secret(visit).filter(|_| problem.field != "secret");
    let kept = secret.map(|secret| visit.seal(SECRET, &secret)).transpose()?.unwrap_or_default();
    let page = form_page(visit, project, ProviderForm { secret: String::new(), kept, ..form }, editing);
    Ok(visit.again(&FormPage { frame: page.frame.complaining_at(Some(problem)), ..page }))
}

/// What to tell after a provider was saved: its URL, if another one was typed, and what the provider takes over.
fn saved(visit: &Visit, how: &str, typed: &str, provider: &ProviderConfig) -> String {
    let mut text = how.to_owned();
    if typed.trim().trim_end_matches('/') != provider.base_url {
        text = format!("{text} Its base URL is {}: what is asked is put behind it.", provider.base_url);
    }
    let family = |model: &&String| !visit.console.admin.prices.provider_of(model).is_empty();
    let taken: Vec<String> = provider.models.iter().filter(family).cloned().collect();
    if let Some(taken) = format::listed(&taken) {
        text = format!("{text} In this project it answers for {taken} in place of the built-in provider.");
    }
    format!("{text} Test it now.")
}

/// What becomes of queries for models that no provider of the project's own answers any more.
fn without(visit: &Visit, models: &[String], when: &str) -> String {
    let registry = &visit.console.app.providers().registry;
    let mut left = models.to_vec();
    let mut told = Vec::new();
    for row in families(visit) {
        let answers = |model: &String, at| match registry.built_in(model, at) {
            Route::To(provider) => provider.name() == row.family.name(),
            _ => false,
        };
        let anywhere = [Endpoint::Chat, Endpoint::Embeddings, Endpoint::Completions];
        let (its, others) = left
            .into_iter()
            .partition::<Vec<_>, _>(|model| anywhere.into_iter().any(|at| answers(model, Some(at))));
        left = others;
        told.extend(format::listed(&its).map(|its| {
            format!("Queries for {its} that miss the cache are answered by {} {when}.", row.title)
        }));
    }
    let refused = format::listed(&left)
        .map(|left| format!("Queries for {left} that miss the cache are refused {when}."));
    told.extend(refused);
    told.join(" ")
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
            let text = saved(&visit, "The provider is added.", &form.base_url, &provider);
            visit.to(&format!("/console/p/{slug}/providers"), &Flash::good(text))
        }
        Err(error) => again(&visit, &project, form, false, error),
    }
}

/// `GET /console/p/{slug}/providers/own/{name}`.
pub(super) async fn edit(visit: Visit, Path((_, name)): Path<(String, String)>) -> Answer {
    let project = visit.project()?;
    let provider = find(&visit, &project, &name).await?;
    let form = ProviderForm {
        name: provider.name,
        kind: Some(provider.kind),
        base_url: provider.base_url,
        models: provider.models.join("\n"),
        allow_private: provider.allow_private,
        ..ProviderForm::default()
    };
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
    let patch = ProviderPatch {
        kind: form.kind,
        base_url: Some(form.base_url.trim().to_owned()),
        models: Some(form.models()),
        secret: form.secret(&visit).map(|secret| Some(Hidden::from(secret)).into()),
        // A member's form has no such box.
        allow_private: visit.is_owner().then_some(form.allow_private),
    };
    match providers::set(&visit.acting(), &slug, &name, patch).await {
        Ok(provider) if provider == stored => {
            visit.to(&format!("/console/p/{slug}/providers"), &Flash::good(UNCHANGED))
        }
        Ok(provider) => {
            let gone: Vec<_> =
                stored.models.into_iter().filter(|model| !provider.models.contains(model)).collect();
            let how = format!("Saved. {}", without(&visit, &gone, "from now on"));
            let text = saved(&visit, how.trim_end(), &form.base_url, &provider);
            visit.to(&format!("/console/p/{slug}/providers"), &Flash::good(text))
        }
        Err(error) => again(&visit, &project, form, true, error),
    }
}

/// `GET /console/p/{slug}/providers/own/{name}/remove`.
pub(super) async fn confirm(visit: Visit, Path((slug, name)): Path<(String, String)>) -> Answer {
    let project = visit.project()?;
    let provider = find(&visit, &project, &name).await?;
    let text = format!(
        "{} Its stored key is deleted. Answers that are cached stay.",
        without(&visit, &provider.models, "from then on")
    );
    let frame = visit.frame_in(&project, &format!("Remove {}", provider.name), "Providers");
    Ok(visit.page(&Confirm::new(frame, text, "Remove provider", format!("/console/p/{slug}/providers"))))
}

/// `POST /console/p/{slug}/providers/own/{name}/remove`.
pub(super) async fn remove(visit: Visit, Path((slug, name)): Path<(String, String)>) -> Answer {
    let done = providers::remove(&visit.acting(), &slug, &name).await;
    visit.done(&format!("/console/p/{slug}/providers"), done, "The provider is removed.")
}

#[derive(Deserialize)]
pub(super) struct Test {
    model: String,
}

/// `POST /console/p/{slug}/providers/test`.
pub(super) async fn test(visit: Visit, Path(slug): Path<String>, Form(Test { model }): Form<Test>) -> Answer {
    let project = visit.project()?;
    let caller = Admission::of_console(Arc::new(project));
    let flash = match visit.console.app.providers().route(&caller, &model, None).await? {
        Route::To(provider) => match provider.complete(&model, None, TEST_PROMPT).await {
            Ok(completion) => {
                let said = format::excerpt(&completion.text);
                Flash::good(format!("{} works: {model} answered “{said}”.", provider.name()))
            }
            // The class is deja's own word; what the provider said may hold anything.
            Err(error) => Flash::bad(format!(
                "{} does not work: {}. {}",
                provider.name(),
                error.class.code(),
                advice(error.class)
            )),
        },
        Route::NoCredentials(keyless) => Flash::bad(unusable(&keyless)),
        Route::Unsupported => Flash::bad(format!("No provider is known for the model “{model}”.")),
    };
    visit.to(&format!("/console/p/{slug}/providers"), &flash)
}

/// What is wrong with the key of a provider, and what to do.
pub(super) fn unusable(keyless: &Keyless) -> String {
    match keyless {
        Keyless::BuiltIn(provider) => {
            format!("The server has no key for {provider}. Providers says which variable to set.")
        }
        Keyless::Own(provider) => {
            format!(
                "deja cannot open the key of the provider “{provider}”. Type the key again under Providers."
            )
        }
    }
}

fn advice(class: deja_core::provider::FailureClass) -> &'static str {
    use deja_core::provider::FailureClass as Class;
    match class {
        Class::Auth => "Check its key, and what its account may ask.",
        Class::NotFound => "Check the model’s id and the base URL.",
        Class::Quota => "The account is out of credit.",
        Class::Forbidden => "deja does not call this address: it lies in a private network or is reserved.",
        Class::Timeout | Class::Connection => {
            "Check the base URL, and that it can be reached from the server."
        }
        _ => "Try again; if it stays, check the base URL and the model’s id.",
    }
}

async fn find(visit: &Visit, project: &Project, name: &str) -> Result<ProviderConfig, ConsoleError> {
    let providers = visit.store().providers(project.id).await?;
    providers.into_iter().find(|provider| provider.name == name).ok_or(ConsoleError::NotFound)
}
