//! A project's settings, its tier and limits, and the danger zone.

use std::str::FromStr;

use askama::Template;
use deja_core::admin::projects::{self, Chosen, ProjectPatch, SAMPLES};
use deja_core::admin::{cache, judging};
use deja_core::analytics::Step;
use deja_core::api_key::KeyStatus;
use deja_core::embedding::Threshold;
use deja_core::money::NanoUsd;
use deja_core::project::{Guard, Project, ProjectSettings};
use deja_core::request_log::Logging;
use deja_core::store::{Questions, StaleCount};
use deja_core::words::UnknownWord;
use serde::Deserialize;

use super::cache::entries_of;
use super::concurrent_edit::{self, Touched};
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, at, checked, number, number_of};
use super::limits::{self, Limits};
use super::page::{Answer, Confirm, Frame, Visit};
use super::wire_settings::{Group, WiresForm};
use crate::format;

#[derive(Template)]
#[template(path = "settings.html")]
pub(super) struct SettingsPage {
    frame: Frame,
    slug: String,
    form: SettingsForm,
    guards: [(&'static str, &'static str); 4],
    /// How much the project's model was asked today.
    asked: String,
    /// Why the project's model is never asked, if that is so.
    mute: Option<String>,
    limits: Limits,
    limit: String,
    suspended: bool,
    wires: Vec<Group>,
    /// What their form was filled with, sealed.
    wires_before: String,
    prices: Prices,
    embeddings: Option<Embeddings>,
    /// How much is there of an index that is being built or loaded.
    index: Option<String>,
    /// What these settings would delete.
    losses: Losses,
}

/// What settings would delete, by the field that says so.
type Losses = Vec<(&'static str, String)>;

/// Entries that have no vector of the embedder in use.
struct Embeddings {
    waiting: String,
    failed: Option<String>,
}

struct Prices {
    source: String,
    revision: String,
    age: String,
    models: String,
    refreshable: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SettingsForm {
    name: String,
    /// Hours; empty for ever.
    ttl: String,
    max_entries: String,
    /// Empty for deja's own.
    threshold: String,
    minimum: String,
    guard: String,
    /// This and the next two stay as they are if the form has no such field.
    samples: Option<String>,
    request_log: Option<String>,
    request_texts_days: Option<String>,
    /// Empty for none.
    guard_model: String,
    /// US dollars a day, and like those above.
    guard_budget: Option<String>,
    #[serde(deserialize_with = "checked")]
    share_models: bool,
    /// The fields whose losses are meant, each with the value that was asked about.
    let_go: Vec<String>,
    /// What the form was filled with, sealed.
    before: String,
}

/// What is said of a form that changes nothing.
pub(super) const UNCHANGED: &str = "Nothing was changed.";

/// The page with what was typed, and what is wrong with it.
pub(super) async fn page(
    visit: &Visit,
    project: &Project,
    mut form: SettingsForm,
    wires: &WiresForm,
    problem: Option<Problem>,
) -> Result<SettingsPage, ConsoleError> {
    let stale = cache::stale(&visit.acting(), project.id).await?;
    let day = Step::Day.period_of(visit.now());
    let Questions { asked, cost } = visit.store().questions(project.id, day..day + 1).await?;
    let index = visit.store().index_build().await?;
    let list = visit.console.admin.prices.current();
    let age = list.source.age(visit.now());
    let frame = visit.frame_in(project, "Settings", "Settings");
    let mute = match &project.settings.guard_model {
        Some(model) => judging::mute(&visit.acting(), project, model).await?,
        None => None,
    };
    if form.before.is_empty() {
        form.before = concurrent_edit::seal(visit, &SettingsForm::of(project).read().unwrap_or_default())?;
    }
    Ok(SettingsPage {
        asked: format!("{} today, for {}", format::count(asked), format::money(cost)),
        mute,
        frame: frame.complaining_at(problem),
        slug: project.slug.to_string(),
        form,
        guards: Guard::ALL.map(|guard| (guard.as_str(), title(guard))),
        limits: Limits::kept_in_mind(visit, project)?,
        limit: limits::sentence(project),
        suspended: project.suspended,
        wires: wires.groups(),
        wires_before: wires.before(visit)?,
        prices: Prices {
            source: list.source.name.clone(),
            revision: list.source.revision.clone().unwrap_or_else(|| "unknown".into()),
            age: age.map_or("as old as this version of deja".into(), format::span),
            models: format::count(list.table.len() as u64),
            refreshable: visit.console.admin.prices.is_refreshed(),
        },
        embeddings: stale.filter(|stale| *stale != StaleCount::default()).map(|stale| Embeddings {
            waiting: format::count(stale.waiting),
            failed: (stale.failed > 0).then(|| format::count(stale.failed)),
        }),
        index: index.map(|done| format!("{:.0}%", done * 100.0)),
        losses: Losses::new(),
    })
}

impl SettingsPage {
    /// What the value of this field would delete.
    fn loss(&self, field: &str) -> Option<&str> {
        self.losses.iter().find(|(name, _)| *name == field).map(|(_, what)| what.as_str())
    }
}

/// `GET /console/p/{slug}/settings`.
pub(super) async fn get(visit: Visit) -> Answer {
    let project = visit.project()?;
    let (form, wires) = (SettingsForm::of(&project), WiresForm::of(&project.settings));
    Ok(visit.page(&page(&visit, &project, form, &wires, None).await?))
}

/// `POST /console/p/{slug}/settings`.
pub(super) async fn post(
    visit: Visit,
    Path(slug): Path<String>,
    Form(mut form): Form<SettingsForm>,
) -> Answer {
    let (project, mut read) = (visit.project()?, form.read());
    if let Ok(patch) = read {
        let now = SettingsForm::of(&project);
        let filled = now.read().unwrap_or_default();
        let (patch, touched) = concurrent_edit::touched(&visit, patch, &form.before, &filled)?;
        read = match touched.problem(|name| now.told(name)) {
            Some(problem) => {
                form = form.or_now(now, &touched);
                Err(problem)
            }
            None => Ok(patch),
        };
    }
    let losses = match &read {
        Ok(patch) => losses(&visit, &project, patch).await?,
        Err(_) => Losses::new(),
    };
    let unmeant = losses.iter().find(|(field, _)| !form.lets_go(field));
    let problem = match (read, unmeant) {
        (Ok(_), Some((field, what))) => {
            Problem::of(field, format!("More is stored than that: {what} would go for good."))
        }
        (Ok(patch), None) if patch == ProjectPatch::default() => {
            return visit.to(&format!("/console/p/{slug}/settings"), &Flash::good(UNCHANGED));
        }
        (Ok(patch), None) => match projects::set(&visit.acting(), &slug, patch).await {
            Ok(after) => {
                let gone = losses.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join(", ");
                let saved = match (after == project, gone.as_str()) {
                    (true, _) => UNCHANGED.to_owned(),
                    (_, "") => "Saved.".to_owned(),
                    (_, gone) => format!("Saved. These go: {gone}."),
                };
                return visit.to(&format!("/console/p/{slug}/settings"), &Flash::good(saved));
            }
            Err(error) => Problem::at(error, &FIELDS)?,
        },
        (Err(problem), _) => problem,
    };
    let wires = WiresForm::of(&project.settings);
    let mut page = page(&visit, &project, form, &wires, Some(problem)).await?;
    page.losses = losses;
    Ok(visit.again(&page))
}

/// Settings that have a field.
const FIELDS: [&str; 8] = [
    "name", "ttl", "max_entries", "threshold", "samples", "request_log", "request_texts_days", "guard_model",
];

/// What these settings would delete.
async fn losses(visit: &Visit, project: &Project, patch: &ProjectPatch) -> Result<Losses, ConsoleError> {
    let (store, now, mut counted) = (visit.store(), &project.settings, Vec::new());
    let lower = |wanted: Option<u64>, present: u64| wanted.filter(|wanted| *wanted < present);
    // Numbers that are refused delete nothing.
    if let Some(most) = lower(patch.max_entries, now.max_entries).filter(|most| *most > 0) {
        let beyond = store.count(project.id).await?.saturating_sub(most);
        counted.push(("max_entries", beyond, ["entry", "entries"]));
    }
    if let Some(most) = lower(patch.samples, now.samples).filter(|most| *most == 0 || SAMPLES.contains(most))
    {
        let beyond = store.samples_beyond(project.id, most).await?;
        counted.push(("samples", beyond, ["sample", "samples"]));
    }
    let log = lower(patch.request_log, now.request_log);
    let days = lower(patch.request_texts_days, now.request_texts_days);
    if log.or(days).is_some() {
        let allowed = Logging::from(&ProjectSettings {
            request_log: log.unwrap_or(now.request_log),
            request_texts_days: days.unwrap_or(now.request_texts_days),
            ..now.clone()
        });
        let (requests, texts) = store.logged_beyond(project.id, allowed, visit.now()).await?;
        let of_log = [
            log.map(|_| ("request_log", requests, ["request of the log", "requests of the log"])),
            days.map(|_| ("request_texts_days", texts, ["text of the log", "texts of the log"])),
        ];
        counted.extend(of_log.into_iter().flatten());
    }
    let losses = counted.into_iter().filter(|(_, beyond, _)| *beyond > 0);
    let told = |beyond: u64, [one, many]: [&str; 2]| {
        format!("{} {}", format::count(beyond), if beyond == 1 { one } else { many })
    };
    Ok(losses.map(|(field, beyond, what)| (field, told(beyond, what))).collect())
}

impl SettingsForm {
    /// What confirms the loss by this field: a lower value that is typed later may delete more, and is asked about anew.
    fn consent(&self, field: &str) -> String {
        let (_, _, value) = self.told(field);
        format!("{field}={}", value.trim())
    }

    /// Whether what this field would delete is meant to go.
    fn lets_go(&self, field: &str) -> bool {
        self.let_go.contains(&self.consent(field))
    }

    /// What a project has set.
    pub(super) fn of(project: &Project) -> Self {
        let settings = &project.settings;
        let text = |threshold: Option<Threshold>| threshold.map(|t| t.get().to_string()).unwrap_or_default();
        Self {
            name: project.name.clone(),
            ttl: settings.ttl_seconds.map(hours).unwrap_or_default(),
            max_entries: settings.max_entries.to_string(),
            threshold: text(settings.default_threshold),
            minimum: text(settings.minimum_threshold),
            guard: settings.guard.as_str().into(),
            samples: Some(settings.samples.to_string()),
            request_log: Some(settings.request_log.to_string()),
            request_texts_days: Some(settings.request_texts_days.to_string()),
            guard_model: settings.guard_model.clone().unwrap_or_default(),
            guard_budget: Some(settings.guard_budget.as_dollars().to_string()),
            share_models: settings.share_models,
            let_go: Vec::new(),
            before: String::new(),
        }
    }

    /// What was touched as typed, and all else as the project has it now: from here on it is filled with that.
    fn or_now(self, now: Self, touched: &Touched) -> Self {
        Self {
            name: touched.or_now("name", self.name, now.name),
            ttl: touched.or_now("ttl", self.ttl, now.ttl),
            max_entries: touched.or_now("max_entries", self.max_entries, now.max_entries),
            threshold: touched.or_now("default_threshold", self.threshold, now.threshold),
            minimum: touched.or_now("minimum_threshold", self.minimum, now.minimum),
            guard: touched.or_now("guard", self.guard, now.guard),
            samples: touched.or_now("samples", self.samples, now.samples),
            request_log: touched.or_now("request_log", self.request_log, now.request_log),
            request_texts_days: touched
                .or_now("request_texts_days", self.request_texts_days, now.request_texts_days),
            guard_model: touched.or_now("guard_model", self.guard_model, now.guard_model),
            guard_budget: touched.or_now("guard_budget", self.guard_budget, now.guard_budget),
            share_models: touched.or_now("share_models", self.share_models, now.share_models),
            let_go: self.let_go,
            before: String::new(),
        }
    }

    /// A setting's field, its name and its value for people.
    fn told(&self, name: &str) -> (&'static str, &'static str, String) {
        let sent = |text: &Option<String>| text.clone().unwrap_or_default();
        match name {
            "name" => ("name", "project name", self.name.clone()),
            "default_threshold" => ("threshold", "default threshold", self.threshold.clone()),
            "minimum_threshold" => ("minimum", "minimum threshold", self.minimum.clone()),
            "guard" => ("guard", "guard", self.guard.clone()),
            "samples" => ("samples", "samples at most", sent(&self.samples)),
            "request_log" => ("request_log", "requests in the log", sent(&self.request_log)),
            "request_texts_days" => {
                ("request_texts_days", "days of texts in the log", sent(&self.request_texts_days))
            }
            "guard_model" => ("guard_model", "model that decides", self.guard_model.clone()),
            "guard_budget" => ("guard_budget", "its budget", sent(&self.guard_budget)),
            "ttl" => ("ttl", "hours that answers live", self.ttl.clone()),
            "max_entries" => ("max_entries", "entries at most", self.max_entries.clone()),
            "share_models" => {
                ("form", "sharing across models", if self.share_models { "on" } else { "off" }.into())
            }
            _ => concurrent_edit::UNNAMED,
        }
    }

    fn read(&self) -> Result<ProjectPatch, Problem> {
        let hours: Option<f64> = number("How long answers live", &self.ttl).map_err(at("ttl"))?;
        Ok(ProjectPatch {
            name: Some(self.name.clone()),
            ttl: Some(hours.map(|hours| (hours * 3600.0).round() as u64).into()),
            max_entries: sent("Entries at most", Some(&self.max_entries)).map_err(at("max_entries"))?,
            share_models: Some(self.share_models),
            default_threshold: Some(
                threshold("The default threshold", &self.threshold).map_err(at("threshold"))?,
            ),
            minimum_threshold: Some(
                threshold("The minimum threshold", &self.minimum).map_err(at("minimum"))?,
            ),
            guard: guard(&self.guard).map_err(at("guard"))?,
            samples: sent("Samples at most", self.samples.as_deref()).map_err(at("samples"))?,
            request_log: sent("Requests in the log", self.request_log.as_deref())
                .map_err(at("request_log"))?,
            request_texts_days: sent("Days of texts in the log", self.request_texts_days.as_deref())
                .map_err(at("request_texts_days"))?,
            guard_model: Some(self.guard_model.clone()),
            guard_budget: budget(self.guard_budget.as_deref()).map_err(at("guard_budget"))?,
            ..ProjectPatch::default()
        })
    }
}

/// What the form calls a guard.
const fn title(guard: Guard) -> &'static str {
    match guard {
        Guard::Off => "Off",
        Guard::Standard => "Standard",
        Guard::Strict => "Strict",
        Guard::Thorough => "Thorough",
    }
}

/// A form without it keeps what is set.
fn guard(text: &str) -> Result<Option<Guard>, UnknownWord> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn threshold(what: &str, text: &str) -> Result<Chosen<Threshold>, String> {
    let wanted = "a number from 0 to 1, or empty";
    let wrong = || format!("{what} must be {wanted}");
    let value = number_of::<f64>(what, text, wanted)?.map(|value| Threshold::new(value).ok_or_else(wrong));
    Ok(value.transpose()?.into())
}

/// The number of a field that a form may leave out, and not empty.
fn sent<N: FromStr>(what: &str, text: Option<&str>) -> Result<Option<N>, String> {
    let missing = || format!("{what} must be a number");
    text.map(|text| number(what, text)?.ok_or_else(missing)).transpose()
}

fn budget(text: Option<&str>) -> Result<Option<NanoUsd>, String> {
    let wrong = || "The budget must be an amount of US dollars".to_owned();
    sent("The budget", text)?.map(|usd| NanoUsd::from_dollars(usd).ok_or_else(wrong)).transpose()
}

/// Seconds as a number of hours, without decimals where there are none.
fn hours(seconds: u64) -> String {
    (seconds as f64 / 3600.0).to_string()
}

/// `POST /console/p/{slug}/settings/limits`.
pub(super) async fn limits(visit: Visit, Path(slug): Path<String>, Form(mut form): Form<Limits>) -> Answer {
    let project = visit.project()?;
    let problem = match form.touched(&visit, &project)? {
        Ok((tier, per_minute, burst)) => {
            let patch = ProjectPatch { tier: Some(tier), per_minute, burst, ..ProjectPatch::default() };
            match projects::set(&visit.acting(), &slug, patch).await {
                Ok(after) => {
                    let saved = "The limits hold from the next request on.";
                    let said = if after == project { UNCHANGED } else { saved };
                    return visit.to(&format!("/console/p/{slug}/settings"), &Flash::good(said));
                }
                Err(error) => Problem::at(error, &limits::FIELDS)?,
            }
        }
        Err(problem) => problem,
    };
    let (settings, wires) = (SettingsForm::of(&project), WiresForm::of(&project.settings));
    let mut page = page(&visit, &project, settings, &wires, Some(problem)).await?;
    page.limits = form;
    Ok(visit.again(&page))
}

/// `GET /console/p/{slug}/settings/state`.
pub(super) async fn confirm_suspend(visit: Visit, Path(slug): Path<String>) -> Answer {
    let project = visit.project()?;
    let text = "From the next request on whoever uses a key of this project gets 403, hits included, until it is resumed. \
                Nothing is deleted.";
    let frame = visit.frame_in(&project, &format!("Suspend {}", project.name), "Settings");
    let confirm = Confirm::new(frame, text, "Suspend project", format!("/console/p/{slug}/settings"));
    Ok(visit.page(&confirm.with("state", "suspended")))
}

#[derive(Deserialize)]
pub(super) struct State {
    state: String,
}

/// `POST /console/p/{slug}/settings/state`.
pub(super) async fn state(visit: Visit, Path(slug): Path<String>, Form(form): Form<State>) -> Answer {
    let place = format!("/console/p/{slug}/settings");
    let (suspended, good) = match form.state.as_str() {
        "suspended" => (true, "The project is suspended: its requests get 403."),
        "active" => (false, "The project is active again."),
        _ => return Err(ConsoleError::bad_field()),
    };
    let done = projects::set_suspended(&visit.acting(), &slug, suspended).await;
    visit.done(&place, done, good)
}

/// `GET /console/p/{slug}/delete`.
pub(super) async fn confirm_delete(visit: Visit, Path(slug): Path<String>) -> Answer {
    let project = visit.project()?;
    let store = visit.store();
    let keys = store
        .keys(project.id)
        .await?
        .iter()
        .filter(|(key, _)| key.status(visit.now()) == KeyStatus::Active)
        .count();
    let text = format!(
        "{}, {}, the project’s providers, its log of requests and all its counts go for good. Requests with its keys \
         get 401 from then on.",
        entries_of(store.count(project.id).await?),
        if keys == 1 { "1 active API key".to_owned() } else { format!("{keys} active API keys") }
    );
    let frame = visit.frame_in(&project, &format!("Delete {}", project.name), "Settings");
    let back = format!("/console/p/{slug}/settings");
    Ok(visit.page(&Confirm::new(frame, text, "Delete project", back).typing(slug)))
}

#[derive(Deserialize)]
pub(super) struct Confirmed {
    #[serde(default)]
    confirm: String,
}

/// `POST /console/p/{slug}/delete`.
pub(super) async fn delete(visit: Visit, Path(slug): Path<String>, Form(form): Form<Confirmed>) -> Answer {
    let project = visit.project()?;
    if form.confirm.trim() != slug {
        let flash = Flash::bad(format!("Nothing was deleted: type {slug} to confirm."));
        return visit.to(&format!("/console/p/{slug}/delete"), &flash);
    }
    let done = projects::delete(&visit.acting(), &slug).await;
    visit.done("/console/projects", done, &format!("{} is deleted.", project.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_form_has_a_name_for_people() {
        let form = SettingsForm {
            ttl: "1".into(),
            max_entries: "1".into(),
            threshold: "0.9".into(),
            minimum: "0.8".into(),
            guard: "standard".into(),
            samples: Some("1".into()),
            request_log: Some("1".into()),
            request_texts_days: Some("1".into()),
            guard_budget: Some("1".into()),
            ..SettingsForm::default()
        };
        let names = concurrent_edit::names(&form.read().unwrap()).unwrap();
        assert_eq!(names.len(), 12);
        for name in names {
            assert_ne!(form.told(&name), concurrent_edit::UNNAMED, "{name}");
        }
    }
}
