//! The part of a form that sets a tier and limits.

use deja_core::project::{Project, Tier};
use serde::Deserialize;

use super::form::{Problem, at, number};
use super::format;

/// Those of its fields that may be wrong.
pub(super) const FIELDS: [&str; 2] = ["per_minute", "burst"];

/// Tier and limits, as typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) tier: String,
    pub(super) per_minute: String,
    pub(super) burst: String,
}

impl Limits {
    /// Those of a new project.
    pub(super) fn new() -> Self {
        Self { tier: Tier::Free.as_str().into(), ..Self::default() }
    }

    /// Those of a project.
    pub(super) fn of(project: &Project) -> Self {
        let own = project.custom_quota;
        Self {
            tier: project.tier.as_str().into(),
            per_minute: own.map(|quota| quota.per_minute().to_string()).unwrap_or_default(),
            burst: own.map(|quota| quota.burst().to_string()).unwrap_or_default(),
        }
    }

    /// The tiers, as a form offers them.
    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(super) fn tiers(&self) -> Vec<(&'static str, String)> {
        Tier::ALL
            .into_iter()
            .map(|tier| {
                let (rate, burst) = (tier.quota().per_minute(), tier.quota().burst());
                let (rate, burst) = (format::count(rate.into()), format::count(burst.into()));
                let unless = if tier == Tier::Enterprise { " unless set below" } else { "" };
                (tier.as_str(), format!("{}: {rate} requests a minute, {burst} at once{unless}", title(tier)))
            })
            .collect()
    }

    /// The values, if they are ones.
    pub(super) fn read(&self) -> Result<(Tier, Option<u32>, Option<u32>), Problem> {
        let tier = if self.tier.is_empty() { Tier::Free } else { self.tier.parse().map_err(at("form"))? };
        let per_minute = number("Requests a minute", &self.per_minute).map_err(at("per_minute"))?;
        let burst = number("Requests at once", &self.burst).map_err(at("burst"))?;
        Ok((tier, per_minute, burst))
    }
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
    let quota = project.quota();
    let (rate, burst) = (format::count(quota.per_minute().into()), format::count(quota.burst().into()));
    format!("{}: {rate} requests a minute, {burst} at once", title(project.tier))
}
