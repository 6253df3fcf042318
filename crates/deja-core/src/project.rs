//! Projects: the tenants, with their limits and settings.

mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use deja_guard::Strictness;
use deja_wire::Options;
use serde::{Deserialize, Serialize};

use crate::cache::{Frame, Kind, Parameters, Scope};
use crate::clock::Timestamp;
use crate::embedding::Threshold;
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::pricing::ModelPrice;
use crate::quality::DEFAULT_SAMPLES;
use crate::rate_limit::Quota;
use crate::request_log::DEFAULT_LOGGED;
use crate::words::words;

pub use wires::{ClientControl, HitUsage, OnHangup, OptIn};

/// The name of a project in URLs and on the command line: 1 to 40 of `a-z`, `0-9` and `-`, no dash at an end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

/// A text that is no slug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a project slug: use 1 to 40 of a-z, 0-9 and '-', with no '-' at either end")]
pub struct InvalidSlug(pub String);

impl Slug {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A slug made from a free name, whatever its script: "My Team" gives `my-team`, "Привет" `privet`. `None` if nothing
    /// usable is left.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut slug = String::new();
        for c in deunicode::deunicode(name).chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(40);
        slug.trim_end_matches('-').parse().ok()
    }

    /// This slug with `-number` at its end, for a name that is taken.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        let suffix = format!("-{number}");
        let stem: String = self.0.chars().take(40 - suffix.len()).collect();
        Self(format!("{}{suffix}", stem.trim_end_matches('-')))
    }
}

impl FromStr for Slug {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let shape = (1..=40).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !text.starts_with('-')
            && !text.ends_with('-');
        if shape { Ok(Self(text.to_owned())) } else { Err(InvalidSlug(text.to_owned())) }
    }
}

impl TryFrom<String> for Slug {
    type Error = InvalidSlug;

    fn try_from(text: String) -> Result<Self, InvalidSlug> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a project pays for; sets its rate limit unless the project has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// 100 requests a minute, bursts of 120.
    Free,
    /// 1,000 requests a minute, bursts of 1,200.
    Pro,
    /// A limit of its own; 10,000 a minute and bursts of 12,000 until one is set.
    Enterprise,
}

impl Tier {
    /// The tier's own limit.
    pub const fn quota(self) -> Quota {
        match self {
            Self::Free => Quota::of(100, 120),
            Self::Pro => Quota::of(1_000, 1_200),
            Self::Enterprise => Quota::of(10_000, 12_000),
        }
    }
}

words! { Tier, "is not a tier: use free, pro or enterprise", Free = "free", Pro = "pro", Enterprise = "enterprise" }

/// How strictly the guard compares the words of two similar prompts (`docs/adr/0050-guard.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guard {
    /// Not at all: the similarity decides alone.
    Off,
    /// Few right answers are lost.
    #[default]
    Standard,
    /// Few wrong answers pass.
    Strict,
    /// As standard, and what passes is read by a model in deja too. Few right answers are lost and few wrong ones pass.
    Thorough,
}

impl Guard {
    /// How strict the guard is to be; `None` if it is off.
    pub const fn strictness(self) -> Option<Strictness> {
        match self {
            Self::Off => None,
            Self::Standard | Self::Thorough => Some(Strictness::Standard),
            Self::Strict => Some(Strictness::Strict),
        }
    }
}

words! {
    Guard, "is no setting of the guard: use off, standard, strict or thorough",
    Off = "off", Standard = "standard", Strict = "strict", Thorough = "thorough",
}

/// The most entries of a project whose settings do not say.
pub const DEFAULT_MAX_ENTRIES: u64 = 100_000;

/// The settings of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectSettings {
    /// How long an answer is served after it was stored, in seconds; `None` keeps it until it is evicted.
    /// Holds for answers stored after a change.
    pub ttl_seconds: Option<u64>,
    /// Entries kept at most. One more evicts the least recently hit.
    pub max_entries: u64,
    /// Whether an answer of one model may be served for another. Holds for answers stored after a change.
    pub share_models: bool,
    /// The threshold of queries that name none; `None` is [`Threshold::DEFAULT`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_threshold: Option<Threshold>,
    /// Queries that ask for less get this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_threshold: Option<Threshold>,
    /// How strictly the guard compares the words of two prompts.
    pub guard: Guard,
    /// Samples of queries kept at most, for the page Quality; 0 keeps none.
    pub samples: u64,
    /// Requests that the log keeps at most; 0 logs none.
    pub request_log: u64,
    /// Days that the log keeps the texts of prompts; 0 keeps none.
    pub request_texts_days: u64,
    /// The model that decides where the guard is uncertain; `None`: the guard decides alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_model: Option<String>,
    /// What the judge model may cost a day (UTC).
    pub guard_budget: NanoUsd,
    /// What applications may ask of the cache in headers.
    pub client_controls: BTreeSet<ClientControl>,
    /// More hits of requests in wire formats, each at a risk.
    pub opt_ins: BTreeSet<OptIn>,
    /// The tokens that a hit in a wire format reports.
    pub hit_usage: HitUsage,
    /// What becomes of a call in a wire format when all its clients have hung up.
    pub on_hangup: OnHangup,
    /// The project's own prices by model id; they win over the price table.
    pub prices: BTreeMap<String, ModelPrice>,
}

impl Default for ProjectSettings {
    /// 30 days, 100,000 entries (about 100 MB of index memory), no sharing, the standard guard, 1,000 samples, 10,000
    /// requests in the log without texts, no model that decides (if one is set: 1 USD a day), all controls of clients, nothing at a risk, no prices.
    fn default() -> Self {
        Self {
            ttl_seconds: Some(30 * 24 * 3600),
            max_entries: DEFAULT_MAX_ENTRIES,
            share_models: false,
            default_threshold: None,
            minimum_threshold: None,
            guard: Guard::Standard,
            samples: DEFAULT_SAMPLES,
            request_log: DEFAULT_LOGGED,
            request_texts_days: 0,
            guard_model: None,
            guard_budget: NanoUsd::from_nanos(1_000_000_000),
            client_controls: ClientControl::ALL.into(),
            opt_ins: BTreeSet::new(),
            hit_usage: HitUsage::default(),
            on_hangup: OnHangup::default(),
            prices: BTreeMap::new(),
        }
    }
}

impl ProjectSettings {
    /// When an answer stored at `now` stops being served.
    pub fn expires(&self, now: Timestamp) -> Option<Timestamp> {
        self.ttl_seconds.map(|ttl| now.plus(Duration::from_secs(ttl)))
    }

    /// The options for comparing requests in wire formats. A question of more than `max_text_bytes` is not compared
    /// by meaning.
    pub fn identity_options(&self, max_text_bytes: usize) -> Options {
        let is_set = |opt_in| self.opt_ins.contains(&opt_in);
        Options {
            share_end_users: is_set(OptIn::ShareEndUsers),
            semantic_history: is_set(OptIn::SemanticHistory),
            semantic_tools: is_set(OptIn::SemanticTools),
            semantic_json: is_set(OptIn::SemanticJson),
            responses_stateless: is_set(OptIn::ResponsesStateless),
            max_text_bytes,
        }
    }

    /// The threshold of a query that asked for `asked`, or for none.
    pub fn threshold(&self, asked: Option<Threshold>) -> Threshold {
        let wanted = asked.or(self.default_threshold).unwrap_or(Threshold::DEFAULT);
        wanted.at_least(self.minimum_threshold.unwrap_or(Threshold::ZERO))
    }
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The identity, never reused.
    pub id: ProjectId,
    /// The name in URLs, unique.
    pub slug: Slug,
    /// The name for people.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its own limit, instead of the tier's.
    pub custom_quota: Option<Quota>,
    /// A suspended project is refused with 403.
    pub suspended: bool,
    /// Its settings.
    pub settings: ProjectSettings,
    /// When it was created.
    pub created: Timestamp,
    /// How often all of its cache was purged. An answer whose call began before the last time is not stored.
    pub purges: u64,
}

impl Project {
    /// The limit in force.
    pub fn quota(&self) -> Quota {
        self.custom_quota.unwrap_or(self.tier.quota())
    }

    /// Where answers to prompts for this model in this context belong.
    pub fn scope(&self, model: &str, context: Option<&str>) -> Scope {
        Scope::new(self.id, Frame::query((!self.settings.share_models).then_some(model), context))
    }

    /// Where an entry that comes from another store belongs. What wire formats share does not depend on settings.
    pub fn scope_of(&self, kind: Kind, model: &str, context: Option<&str>, parameters: Parameters) -> Scope {
        match kind {
            Kind::Query => self.scope(model, context),
            kind => Scope::new(self.id, Frame::of_wire(kind, model, context, parameters)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A project that serves.
    pub(crate) fn mine() -> Project {
        crate::testing::project(ProjectId::from_bytes([1; 16]), "mine", Timestamp::from_secs(0))
    }

    #[test]
    fn a_project_may_set_its_threshold_and_a_least_one() {
        let of = |value| Threshold::new(value).unwrap();
        let mut settings = ProjectSettings::default();
        assert_eq!([None, Some(of(0.2))].map(|asked| settings.threshold(asked)), [0.85, 0.2].map(of));
        settings.default_threshold = Some(of(0.9));
        settings.minimum_threshold = Some(of(0.8));
        let asked = [None, Some(of(0.2)), Some(of(0.95))];
        assert_eq!(asked.map(|asked| settings.threshold(asked)), [0.9, 0.8, 0.95].map(of));
        settings.minimum_threshold = Some(of(0.93));
        assert_eq!(settings.threshold(None), of(0.93));
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<ProjectSettings>(&text).unwrap(), settings);
        assert!(serde_json::from_str::<ProjectSettings>(r#"{"default_threshold": 1.5}"#).is_err());
    }

    #[test]
    fn models_share_answers_where_the_project_says_so_and_never_in_wire_formats() {
        let mut project = mine();
        let keys = |project: &Project, kind, model| {
            project.scope_of(kind, model, Some("be kind"), Parameters::new()).key()
        };
        for shared in [false, true] {
            project.settings.share_models = shared;
            let (a, b) = (project.scope("a", Some("be kind")), project.scope("b", Some("be kind")));
            assert_eq!(a.key() == b.key(), shared);
            assert_eq!([a.project(), b.project()], [project.id; 2]);
            assert_ne!(a.key(), project.scope("a", None).key());
            assert_eq!(keys(&project, Kind::Query, "a"), a.key());
            assert_ne!(keys(&project, Kind::Chat, "a"), a.key());
            assert_ne!(keys(&project, Kind::Chat, "a"), keys(&project, Kind::Chat, "b"));
        }
        let other = Project { id: ProjectId::from_bytes([2; 16]), ..project.clone() };
        assert_ne!(project.scope("a", None).key(), other.scope("a", None).key());
    }

    #[test]
    fn settings_of_before_the_guard_have_the_standard_one() {
        let old: ProjectSettings = serde_json::from_str(r#"{"ttl_seconds": 60}"#).unwrap();
        assert_eq!(old.guard, Guard::Standard);
        for guard in Guard::ALL {
            let text = serde_json::to_string(&ProjectSettings { guard, ..old.clone() }).unwrap();
            assert_eq!(serde_json::from_str::<ProjectSettings>(&text).unwrap().guard, guard);
            assert_eq!(guard.as_str().parse(), Ok(guard));
        }
        assert!("loose".parse::<Guard>().is_err());
    }

    #[test]
    fn settings_of_before_wire_formats_allow_controls_and_no_risk() {
        let old: ProjectSettings = serde_json::from_str(r#"{"ttl_seconds": 60}"#).unwrap();
        assert_eq!(old.client_controls.len(), ClientControl::ALL.len());
        let options = old.identity_options(7);
        assert!(!(options.share_end_users || options.semantic_history || options.semantic_tools));
        assert!(!(options.semantic_json || options.responses_stateless) && options.max_text_bytes == 7);
        let set = ProjectSettings { opt_ins: [OptIn::SemanticJson].into(), ..old };
        assert!(set.identity_options(7).semantic_json && !set.identity_options(7).semantic_tools);
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<ProjectSettings>(&text).unwrap(), set);
    }

    #[test]
    fn slugs_come_from_names() {
        assert_eq!(Slug::from_name("My Team (2)").unwrap().as_str(), "my-team-2");
        for (name, slug) in [
            ("Übersetzung für Ärzte", "ubersetzung-fur-arzte"),
            ("Привет мир", "privet-mir"),
            ("北京", "bei-jing"),
        ] {
            assert_eq!(Slug::from_name(name).unwrap().as_str(), slug);
        }
        assert_eq!(Slug::from_name("  --  "), None);
        assert_eq!(Slug::from_name(&"x".repeat(80)).unwrap().as_str().len(), 40);
        assert_eq!(Slug::from_name(&"x".repeat(80)).unwrap().numbered(12).as_str().len(), 40);
    }

    #[test]
    fn bad_slugs_are_refused() {
        for text in ["", "-a", "a-", "A", "a_b", "ä", "a/b", &"a".repeat(41)] {
            assert!(text.parse::<Slug>().is_err(), "{text}");
        }
    }
}
