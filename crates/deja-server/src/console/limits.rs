//! The part of a form that sets a tier and limits.

use deja_core::project::{Project, Tier};
use deja_core::rate_limit::Quota;
use serde::Deserialize;

use super::error::ConsoleError;
use super::filled::changed_meanwhile;
use super::form::{Problem, at, number};
use super::format;
use super::page::Visit;

/// The fields of this part that may be wrong.
pub(super) const FIELDS: [&str; 2] = ["per_minute", "burst"];

/// Tier and limits, as typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) tier: String,
    pub(super) per_minute: String,
    pub(super) burst: String,
    /// What the form was filled with, sealed.
    pub(super) before: String,
}

/// What is sealed in the form.
const BEFORE: &str = "limits that a form was filled with";

/// Tier, requests a minute, and at once.
type Values = (Tier, Option<u32>, Option<u32>);

impl Limits {
    /// The limits of a new project.
    pub(super) fn new() -> Self {
        Self { tier: Tier::Free.as_str().into(), ..Self::default() }
    }

    /// The limits of a project.
    pub(super) fn of(project: &Project) -> Self {
        let (tier, per_minute, burst) = values_of(project);
        let text = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
        Self {
            tier: tier.as_str().into(),
            per_minute: text(per_minute),
            burst: text(burst),
            before: String::new(),
        }
    }

    /// The limits of a project, for a form that is sent back.
    pub(super) fn kept_in_mind(visit: &Visit, project: &Project) -> Result<Self, ConsoleError> {
        Ok(Self { before: visit.seal_filled(BEFORE, &values_of(project))?, ..Self::of(project) })
    }

    /// The tiers, as a form offers them.
    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(super) fn tiers(&self) -> Vec<(&'static str, String)> {
        Tier::ALL
            .into_iter()
            .map(|tier| {
                let unless = if tier == Tier::Enterprise { " unless set below" } else { "" };
                (tier.as_str(), format!("{}: {}{unless}", title(tier), rate(tier.quota())))
            })
            .collect()
    }

    /// What the project is to have: what was not touched is left as it is, because somebody else may have changed it since. If something
    /// was touched that was changed since, the form is filled anew where it was not touched.
    pub(super) fn touched(
        &mut self,
        visit: &Visit,
        project: &Project,
    ) -> Result<Result<Values, Problem>, ConsoleError> {
        let (typed, now) = match self.read() {
            Ok(typed) => (typed, values_of(project)),
            Err(problem) => return Ok(Err(problem)),
        };
        let Some(before) = visit.open_filled::<Values>(BEFORE, &self.before) else { return Ok(Ok(typed)) };
        let shown = Self::kept_in_mind(visit, project)?;
        let touched = [typed.0 != before.0, typed.1 != before.1, typed.2 != before.2];
        let changed = [
            now.0 != before.0 && now.0 != typed.0,
            now.1 != before.1 && now.1 != typed.1,
            now.2 != before.2 && now.2 != typed.2,
        ];
        let told = [
            ("tier", "tier", title(now.0).to_owned()),
            ("per_minute", "requests a minute", shown.per_minute.clone()),
            ("burst", "requests at once", shown.burst.clone()),
        ];
        let overtaken = told.into_iter().zip(touched.into_iter().zip(changed));
        let overtaken: Vec<_> =
            overtaken.filter(|(_, (touched, changed))| *touched && *changed).map(|(told, _)| told).collect();
        let [tier, per_minute, burst] = touched;
        if let Some((field, ..)) = overtaken.first() {
            let or_now =
                |touched: bool, typed: &String, now: String| if touched { typed.clone() } else { now };
            *self = Self {
                tier: or_now(tier, &self.tier, shown.tier),
                per_minute: or_now(per_minute, &self.per_minute, shown.per_minute),
                burst: or_now(burst, &self.burst, shown.burst),
                before: shown.before,
            };
            return Ok(Err(changed_meanwhile(field, &overtaken)));
        }
        Ok(Ok((
            if tier { typed.0 } else { now.0 },
            if per_minute { typed.1 } else { now.1 },
            if burst { typed.2 } else { now.2 },
        )))
    }

    /// The values, if all of them can be read.
    pub(super) fn read(&self) -> Result<Values, Problem> {
        let tier = if self.tier.is_empty() { Tier::Free } else { self.tier.parse().map_err(at("form"))? };
        let per_minute = requests("Requests a minute", &self.per_minute).map_err(at("per_minute"))?;
        let burst = requests("Requests at once", &self.burst).map_err(at("burst"))?;
        Ok((tier, per_minute, burst))
    }
}

/// A number of requests in a field that may be empty. One that is far too large becomes the largest, so that the use case tells
/// the bounds.
pub(super) fn requests(what: &str, text: &str) -> Result<Option<u32>, String> {
    Ok(number::<u64>(what, text)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
}

fn values_of(project: &Project) -> Values {
    let own = project.custom_quota;
    (project.tier, own.map(Quota::per_minute), own.map(Quota::burst))
}

/// A tier's name for people.
pub(super) fn title(tier: Tier) -> &'static str {
    match tier {
        Tier::Free => "Free",
        Tier::Pro => "Pro",
        Tier::Enterprise => "Enterprise",
    }
}

/// A project's limit in words.
pub(super) fn sentence(project: &Project) -> String {
    format!("{}: {}", title(project.tier), rate(project.quota()))
}

/// A limit in words.
pub(super) fn rate(quota: Quota) -> String {
    let (rate, burst) = (format::count(quota.per_minute().into()), format::count(quota.burst().into()));
    format!("{rate} requests a minute, {burst} at once")
}
