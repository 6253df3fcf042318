//! The part of the settings that is about requests in wire formats.

use std::collections::BTreeSet;
use std::str::FromStr;

use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::project::{ClientControl, HitUsage, OnHangup, OptIn, ProjectSettings, UnknownChoice};
use serde::Deserialize;

use super::flash::Flash;
use super::form::{Form, Path};
use super::page::{Answer, Visit};

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

/// What a project has set.
pub(super) fn groups(settings: &ProjectSettings) -> Vec<Group> {
    let group = |name, legend, single, choices| Group { name, legend, single, choices };
    let choice = |word, help, checked| Choice { word, help, checked };
    let controls = ClientControl::ALL
        .iter()
        .map(|it| choice(it.as_str(), it.help(), settings.client_controls.contains(it)));
    let opt_ins = OptIn::ALL.iter().map(|it| choice(it.as_str(), it.help(), settings.opt_ins.contains(it)));
    let usages = HitUsage::ALL.iter().map(|it| choice(it.as_str(), it.help(), settings.hit_usage == *it));
    let hangups = OnHangup::ALL.iter().map(|it| choice(it.as_str(), it.help(), settings.on_hangup == *it));
    vec![
        group("control", "What applications may ask of the cache in headers", false, controls.collect()),
        group("opt_in", "More hits, each at a risk", false, opt_ins.collect()),
        group("hit_usage", "The tokens that a hit reports", true, usages.collect()),
        group("on_hangup", "When all who wait for an answer hang up", true, hangups.collect()),
    ]
}

/// The choices, as sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WiresForm {
    control: Vec<String>,
    opt_in: Vec<String>,
    hit_usage: String,
    on_hangup: String,
}

impl WiresForm {
    fn read(&self) -> Result<ProjectPatch, UnknownChoice> {
        Ok(ProjectPatch {
            client_controls: Some(words(&self.control)?),
            opt_ins: Some(words(&self.opt_in)?),
            hit_usage: Some(self.hit_usage.parse()?),
            on_hangup: Some(self.on_hangup.parse()?),
            ..ProjectPatch::default()
        })
    }
}

fn words<T: FromStr<Err = UnknownChoice> + Ord>(texts: &[String]) -> Result<BTreeSet<T>, UnknownChoice> {
    texts.iter().map(|text| text.parse()).collect()
}

/// `POST /console/p/{slug}/settings/wires`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<WiresForm>) -> Answer {
    let place = format!("/console/p/{slug}/settings");
    let patch = match form.read() {
        Ok(patch) => patch,
        Err(problem) => {
            visit.project(&slug).await?;
            return visit.to(&place, &Flash::bad(problem.to_string()));
        }
    };
    let done = projects::set(&visit.acting(), &slug, patch).await;
    visit.done(&place, done, "Saved. It holds from the next request on.")
}
