//! The part of a form that sets a tier and limits.

use deja_core::project::{Project, Tier};
use deja_core::rate_limit::Quota;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::concurrent_edit::Touched;
use super::error::ConsoleError;
use super::form::{Problem, at, number};
use super::page::Visit;
use crate::format;

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
        Ok(Self { before: visit.seal_filled(BEFORE, &by_name(values_of(project)))?, ..Self::of(project) })
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
        let typed = match self.read() {
            Ok(typed) => typed,
            Err(problem) => return Ok(Err(problem)),
        };
        let Some(before) = visit.open_filled(BEFORE, &self.before) else { return Ok(Ok(typed)) };
        let (now, shown) = (values_of(project), Self::kept_in_mind(visit, project)?);
        let wanted = by_name(typed);
        // In the order of the form: an error is about the first.
        let in_order =
            ["tier", "per_minute", "burst"].into_iter().filter_map(|name| wanted.get_key_value(name));
        let touched = Touched::of(&before, in_order, &by_name(now));
        let problem = touched.problem(|name| match name {
            "tier" => ("tier", "tier", title(now.0).to_owned()),
            "per_minute" => ("per_minute", "requests a minute", shown.per_minute.clone()),
            _ => ("burst", "requests at once", shown.burst.clone()),
        });
        if let Some(problem) = problem {
            let typed = std::mem::take(self);
            *self = Self {
                tier: touched.or_now("tier", typed.tier, shown.tier),
                per_minute: touched.or_now("per_minute", typed.per_minute, shown.per_minute),
                burst: touched.or_now("burst", typed.burst, shown.burst),
                before: shown.before,
            };
            return Ok(Err(problem));
        }
        Ok(Ok((
            touched.or_now("tier", typed.0, now.0),
            touched.or_now("per_minute", typed.1, now.1),
            touched.or_now("burst", typed.2, now.2),
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

/// The same by the names of the settings.
fn by_name((tier, per_minute, burst): Values) -> Map<String, Value> {
    let named = [("tier", tier.as_str().into()), ("per_minute", per_minute.into()), ("burst", burst.into())];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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
