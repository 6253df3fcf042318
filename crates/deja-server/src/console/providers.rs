//! Providers and models: the built-in families with the state of their credentials, and the project's own.

use std::collections::HashMap;

use askama::Template;
use deja_core::admin::providers;
use deja_core::pricing::price_for;
use deja_core::project::Project;
use deja_core::provider::{Endpoint, Keyless, ProviderConfig, ProviderKind, Route};
use deja_providers::Family;
use serde::Deserialize;

use super::error::ConsoleError;
use super::filter::query;
use super::flash::Flash;
use super::form::{Form, Path, Problem};
use super::page::{Answer, Confirm, Frame, Visit};
use super::prices::{Price, shown};
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
pub(super) fn title(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::OpenAi => "OpenAI-compatible",
        ProviderKind::Anthropic => "Anthropic",
        ProviderKind::Gemini => "Gemini",
    }
}

/// What becomes of queries for models that no provider of the project's own answers any more.
pub(super) fn without(visit: &Visit, models: &[String], when: &str) -> String {
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
    provider: String,
}

/// `POST /console/p/{slug}/providers/test`: asks this provider, whoever else has its model.
pub(super) async fn test(visit: Visit, Path(slug): Path<String>, Form(form): Form<Test>) -> Answer {
    let project = visit.project()?;
    let directory = visit.console.app.providers();
    let family = families(&visit).into_iter().find(|row| row.family.name() == form.provider);
    let (model, route) = if let Some(family) = family {
        (family.cheap.to_owned(), directory.registry.built_in(family.cheap, None))
    } else {
        let own = find(&visit, &project, &form.provider).await?;
        (own.models.first().cloned().unwrap_or_default(), directory.to_own(&own)?)
    };
    let flash = match route {
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

pub(super) async fn find(
    visit: &Visit,
    project: &Project,
    name: &str,
) -> Result<ProviderConfig, ConsoleError> {
    let providers = visit.store().providers(project.id).await?;
    providers.into_iter().find(|provider| provider.name == name).ok_or(ConsoleError::NotFound)
}
