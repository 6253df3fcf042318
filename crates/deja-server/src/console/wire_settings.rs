//! The part of the settings that is about requests in wire formats.

use std::collections::BTreeSet;
use std::str::FromStr;

use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::project::{ClientControl, HitUsage, OnHangup, OptIn, ProjectSettings};
use deja_core::words::UnknownWord;
use serde::Deserialize;

use super::concurrent_edit::{self, Touched};
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, at};
use super::page::{Answer, Visit};
use super::settings::{self, SettingsForm};

/// A group of choices as the form shows it.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) legend: &'static str,
    /// Whether one of them is chosen, or any.
    pub(super) single: bool,
    pub(super) choices: Vec<Choice>,
}

/// One choice.
pub(super) struct Choice {
    pub(super) word: &'static str,
    pub(super) help: &'static str,
    pub(super) checked: bool,
}

/// The choices, as sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WiresForm {
    control: Vec<String>,
    opt_in: Vec<String>,
    hit_usage: String,
    on_hangup: String,
    /// What the form was filled with, sealed.
    before: String,
}

impl WiresForm {
    /// What a project has set.
    pub(super) fn of(settings: &ProjectSettings) -> Self {
        Self {
            control: settings.client_controls.iter().map(ToString::to_string).collect(),
            opt_in: settings.opt_ins.iter().map(ToString::to_string).collect(),
            hit_usage: settings.hit_usage.to_string(),
            on_hangup: settings.on_hangup.to_string(),
            before: String::new(),
        }
    }

    /// What the form is filled with now, or was when it was sent.
    pub(super) fn before(&self, visit: &Visit) -> Result<String, ConsoleError> {
        if self.before.is_empty() {
            concurrent_edit::seal(visit, &self.read().unwrap_or_default())
        } else {
            Ok(self.before.clone())
        }
    }

    /// The form, filled in.
    pub(super) fn groups(&self) -> Vec<Group> {
        let group = |name, legend, single, choices| Group { name, legend, single, choices };
        let some = |chosen: &[String], word: &'static str, help| {
            let checked = chosen.iter().any(|one| one == word);
            Choice { word, help, checked }
        };
        let one = |chosen: &str, word: &'static str, help| Choice { word, help, checked: chosen == word };
        let controls = ClientControl::ALL.into_iter().map(|it| some(&self.control, it.as_str(), it.help()));
        let opt_ins = OptIn::ALL.into_iter().map(|it| some(&self.opt_in, it.as_str(), it.help()));
        let usages = HitUsage::ALL.into_iter().map(|it| one(&self.hit_usage, it.as_str(), it.help()));
        let hangups = OnHangup::ALL.into_iter().map(|it| one(&self.on_hangup, it.as_str(), it.help()));
        vec![
            group("control", "What applications may ask of the cache in headers", false, controls.collect()),
            group("opt_in", "More hits, each at a risk", false, opt_ins.collect()),
            group("hit_usage", "The tokens that a hit reports", true, usages.collect()),
            group("on_hangup", "When all who wait for an answer hang up", true, hangups.collect()),
        ]
    }

    /// As [`SettingsForm`] does it.
    fn or_now(self, now: Self, touched: &Touched, before: String) -> Self {
        Self {
            control: touched.or_now("client_controls", self.control, now.control),
            opt_in: touched.or_now("opt_ins", self.opt_in, now.opt_in),
            hit_usage: touched.or_now("hit_usage", self.hit_usage, now.hit_usage),
            on_hangup: touched.or_now("on_hangup", self.on_hangup, now.on_hangup),
            before,
        }
    }

    /// A setting's group, its name and its value for people.
    fn told(&self, name: &str) -> (&'static str, &'static str, String) {
        match name {
            "client_controls" => ("control", "what applications may ask", self.control.join(" and ")),
            "opt_ins" => ("opt_in", "more hits", self.opt_in.join(" and ")),
            "hit_usage" => ("hit_usage", "tokens that a hit reports", self.hit_usage.clone()),
            "on_hangup" => ("on_hangup", "when all hang up", self.on_hangup.clone()),
            _ => concurrent_edit::UNNAMED,
        }
    }

    fn read(&self) -> Result<ProjectPatch, Problem> {
        Ok(ProjectPatch {
            client_controls: Some(words(&self.control).map_err(at("control"))?),
            opt_ins: Some(words(&self.opt_in).map_err(at("opt_in"))?),
            hit_usage: Some(self.hit_usage.parse().map_err(at("hit_usage"))?),
            on_hangup: Some(self.on_hangup.parse().map_err(at("on_hangup"))?),
            ..ProjectPatch::default()
        })
    }
}

fn words<T: FromStr<Err = UnknownWord> + Ord>(texts: &[String]) -> Result<BTreeSet<T>, UnknownWord> {
    texts.iter().map(|text| text.parse()).collect()
}

/// `POST /console/p/{slug}/settings/wires`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(mut form): Form<WiresForm>) -> Answer {
    let (project, mut read) = (visit.project()?, form.read());
    if let Ok(patch) = read {
        let now = WiresForm::of(&project.settings);
        let filled = now.read().unwrap_or_default();
        let (patch, touched) = concurrent_edit::touched(&visit, patch, &form.before, &filled)?;
        read = match touched.problem(|name| now.told(name)) {
            Some(problem) => {
                form = form.or_now(now, &touched, concurrent_edit::seal(&visit, &filled)?);
                Err(problem)
            }
            None => Ok(patch),
        };
    }
    let patch = match read {
        Ok(patch) => patch,
        Err(problem) => {
            let settings = SettingsForm::of(&project);
            return Ok(visit.again(&settings::page(&visit, &project, settings, &form, Some(problem)).await?));
        }
    };
    let place = format!("/console/p/{slug}/settings");
    if patch == ProjectPatch::default() {
        return visit.to(&place, &Flash::good(settings::UNCHANGED));
    }
    let done = projects::set(&visit.acting(), &slug, patch).await;
    let is_same = done.as_ref().is_ok_and(|after| *after == project);
    let said = if is_same { settings::UNCHANGED } else { "Saved. It holds from the next request on." };
    visit.done(&place, done, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_form_has_a_name_for_people() {
        let form = WiresForm::of(&ProjectSettings::default());
        let names = concurrent_edit::names(&form.read().unwrap()).unwrap();
        assert_eq!(names.len(), 4);
        for name in names {
            assert_ne!(form.told(&name), concurrent_edit::UNNAMED, "{name}");
        }
    }
}
