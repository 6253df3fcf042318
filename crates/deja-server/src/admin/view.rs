//! What comes back: plain data for listings and scripts. Times are RFC 3339, money is US dollars.

use deja_core::analytics::Totals;
use deja_core::provider::ProviderKind;
use serde::{Deserialize, Serialize};

use super::Hidden;
use super::transfer::{Fate, Record};

/// The answer to a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One project: made or changed.
    Project(ProjectView),
    /// All projects.
    Projects(Vec<ProjectView>),
    /// A new key, shown this once.
    KeyCreated { key: Hidden, view: KeyView },
    /// Keys.
    Keys(Vec<KeyView>),
    /// The key that was revoked.
    KeyRevoked(KeyView),
    /// A new provider.
    Provider(ProviderView),
    /// Providers.
    Providers(Vec<ProviderView>),
    /// A price.
    Price(PriceView),
    /// The price table was looked for; it changed, or not.
    PriceTable { changed: bool, table: PriceTableView },
    /// So many entries were deleted.
    Purged { entries: u64 },
    /// A cache.
    Cache(CacheView),
    /// An operator: made or changed.
    Operator(OperatorView),
    /// All operators.
    Operators(Vec<OperatorView>),
    /// A one-time link, shown this once.
    Link(LinkView),
    /// The last changes.
    Audit(Vec<AuditView>),
    /// What was exported.
    Records(Vec<Record>),
    /// What became of what was imported, in its order.
    Imported(Vec<Fate>),
    /// Done; there is nothing to tell.
    Done,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectView {
    pub slug: String,
    pub id: String,
    pub name: String,
    pub tier: String,
    pub requests_per_minute: u32,
    pub burst: u32,
    /// `active` or `suspended`.
    pub state: String,
    /// `None` keeps answers until they are evicted.
    pub ttl_seconds: Option<u64>,
    pub max_entries: u64,
    pub share_models: bool,
    pub created: jiff::Timestamp,
    /// The last seven days.
    pub week: TotalsView,
}

/// Counts over seven days.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TotalsView {
    pub requests: u64,
    pub exact_hits: u64,
    pub semantic_hits: u64,
    pub misses: u64,
    pub errors: u64,
    /// Refused for what they were (400, 403).
    pub refused: u64,
    /// Refused because there were too many (429).
    pub rate_limited: u64,
    /// Hits per answered request, 0 to 1; `None` without any.
    pub hit_rate: Option<f64>,
    pub saved_usd: f64,
    pub spent_usd: f64,
}

impl From<Totals> for TotalsView {
    fn from(totals: Totals) -> Self {
        Self {
            requests: totals.requests(),
            exact_hits: totals.exact_hits,
            semantic_hits: totals.semantic_hits,
            misses: totals.misses,
            errors: totals.errors,
            refused: totals.refused,
            rate_limited: totals.rate_limited,
            hit_rate: totals.hit_rate(),
            saved_usd: totals.saved.as_dollars(),
            spent_usd: totals.spent.as_dollars(),
        }
    }
}

/// A key, without the key itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyView {
    pub prefix: String,
    pub id: String,
    pub name: String,
    /// The models it may ask for; `None` means all.
    pub models: Option<Vec<String>>,
    pub created: jiff::Timestamp,
    pub last_used: Option<jiff::Timestamp>,
    pub requests: u64,
    /// `active` or `revoked`.
    pub status: String,
    pub revoked: Option<jiff::Timestamp>,
}

/// A provider, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProviderView {
    pub name: String,
    pub id: String,
    pub kind: ProviderKind,
    pub base_url: String,
    pub models: Vec<String>,
    pub has_secret: bool,
    pub allow_private: bool,
    pub created: jiff::Timestamp,
}

/// A price in force, in US dollars per million tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PriceView {
    pub model: String,
    /// The id that the price was found under.
    pub key: String,
    /// `override` or `table`.
    pub origin: String,
    pub input: f64,
    pub output: f64,
    /// (more input tokens than, input, output).
    pub above: Vec<(u64, f64, f64)>,
    pub table: PriceTableView,
}

/// The price table in force.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PriceTableView {
    /// Where it came from: a URL, `last-known-good` or `compiled-in`.
    pub source: String,
    pub revision: Option<String>,
    pub fetched: Option<jiff::Timestamp>,
    pub models: usize,
}

/// A project's cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CacheView {
    pub entries: u64,
    pub max_entries: u64,
    pub ttl_seconds: Option<u64>,
    pub week: TotalsView,
}

/// An operator, without the hash of the password.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperatorView {
    pub id: String,
    pub email: String,
    /// `owner` or `member`.
    pub role: String,
    /// `active` or `disabled`.
    pub state: String,
    pub created: jiff::Timestamp,
    pub disabled: Option<jiff::Timestamp>,
}

/// A one-time link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkView {
    /// The whole link, token included.
    pub url: Hidden,
    pub expires: jiff::Timestamp,
}

/// A row of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditView {
    pub number: u64,
    pub at: jiff::Timestamp,
    /// An address, `cli` or `system`.
    pub actor: String,
    pub action: String,
    /// The project's slug, or its id if it is gone.
    pub project: Option<String>,
    pub subject: String,
    pub detail: String,
}
