//! What comes back: plain data for listings and scripts. Times are RFC 3339, money is US dollars.

use std::collections::BTreeSet;

use deja_core::access_token::AccessToken;
use deja_core::admin::Hidden;
use deja_core::admin::audit::AuditLine;
use deja_core::admin::cache::CacheStats;
use deja_core::admin::judging::{Judging, Plan};
use deja_core::admin::operators::Link;
use deja_core::admin::prices::PriceInForce;
use deja_core::admin::transfer::{Imported, Record};
use deja_core::analytics::Totals;
use deja_core::api_key::{ApiKey, KeyUsage};
use deja_core::clock::Timestamp;
use deja_core::embedding::Threshold;
use deja_core::member::{Member, Rank};
use deja_core::operator::Operator;
use deja_core::pricing::{PicoUsdPerToken, PriceList, Rates};
use deja_core::project::{ClientControl, HitUsage, OnHangup, OptIn, Project};
use deja_core::provider::{ProviderConfig, ProviderKind};
use deja_core::rate_limit::Quota;
use deja_core::store::StaleCount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::tune::TuneView;
use crate::format;

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
    /// What a project's samples say.
    Tune(TuneView),
    /// What it takes to have samples judged.
    JudgePlan(Plan),
    /// Samples were judged.
    Judging(Judging),
    /// An operator: made or changed.
    Operator(OperatorView),
    /// All operators.
    Operators(Vec<OperatorView>),
    /// A one-time link, shown this once.
    Link(LinkView),
    /// A member of a project.
    Member(MemberView),
    /// Members of a project.
    Members(Vec<MemberView>),
    /// A new access token, shown this once.
    TokenCreated { token: Hidden, view: TokenView },
    /// Access tokens.
    Tokens(Vec<TokenView>),
    /// The token that was revoked.
    TokenRevoked(TokenView),
    /// The last changes.
    Audit(Vec<AuditView>),
    /// What was exported.
    Records(Vec<Record>),
    /// What became of what was imported, in its order.
    Imported(Vec<Imported>),
    /// Done; there is nothing to tell.
    Done,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProjectView {
    pub slug: String,
    pub id: String,
    pub name: String,
    pub tier: String,
    pub requests_per_minute: u32,
    pub burst: u32,
    /// `active` or `suspended`.
    pub state: String,
    /// How long new answers are served, in seconds; null until they are evicted.
    pub ttl_seconds: Option<u64>,
    pub max_entries: u64,
    pub share_models: bool,
    /// The threshold of queries that name none; null is 0.85.
    pub default_threshold: Option<f64>,
    /// The least threshold: queries that ask for less get this one; null if there is none.
    pub minimum_threshold: Option<f64>,
    /// `off`, `standard`, `strict` or `thorough`.
    pub guard: String,
    /// Samples of queries kept at most; 0 keeps none.
    pub samples: u64,
    /// Requests that the log keeps at most; 0 keeps none.
    pub request_log: u64,
    /// Days that the log keeps the texts of prompts; 0 keeps none.
    pub request_texts_days: u64,
    /// The model that decides where the guard is uncertain.
    pub guard_model: Option<String>,
    /// What that model may cost a day (UTC), in US dollars.
    pub guard_budget_usd: f64,
    /// What applications may ask of the cache in headers: `cache`, `threshold`, `context`, `ttl`, `debug`, `pace`.
    #[schema(value_type = Vec<String>)]
    pub client_controls: BTreeSet<ClientControl>,
    /// Opt-ins, each of which brings more hits at a risk.
    #[schema(value_type = Vec<String>)]
    pub opt_ins: BTreeSet<OptIn>,
    /// The tokens that a hit in a wire format reports: `stored` or `zero`.
    #[schema(value_type = String)]
    pub hit_usage: HitUsage,
    /// What becomes of a call in a wire format when all its clients hang up: `store` or `abort`.
    #[schema(value_type = String)]
    pub on_hangup: OnHangup,
    #[schema(value_type = String, format = DateTime)]
    pub created: jiff::Timestamp,
    /// The last seven days; left out of what was just made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub week: Option<TotalsView>,
}

impl From<(Project, Totals)> for ProjectView {
    fn from((project, week): (Project, Totals)) -> Self {
        let quota = project.quota();
        Self {
            slug: project.slug.to_string(),
            id: project.id.to_string(),
            name: project.name,
            tier: project.tier.as_str().into(),
            requests_per_minute: quota.per_minute(),
            burst: quota.burst(),
            state: if project.suspended { "suspended" } else { "active" }.into(),
            ttl_seconds: project.settings.ttl_seconds,
            max_entries: project.settings.max_entries,
            share_models: project.settings.share_models,
            default_threshold: project.settings.default_threshold.map(Threshold::get),
            minimum_threshold: project.settings.minimum_threshold.map(Threshold::get),
            guard: project.settings.guard.as_str().into(),
            samples: project.settings.samples,
            request_log: project.settings.request_log,
            request_texts_days: project.settings.request_texts_days,
            guard_model: project.settings.guard_model,
            guard_budget_usd: project.settings.guard_budget.as_dollars(),
            client_controls: project.settings.client_controls,
            opt_ins: project.settings.opt_ins,
            hit_usage: project.settings.hit_usage,
            on_hangup: project.settings.on_hangup,
            created: format::to_second(project.created),
            week: Some(TotalsView::from(week)),
        }
    }
}

/// A project that was just made or changed: its counts are not looked up.
impl From<Project> for ProjectView {
    fn from(project: Project) -> Self {
        Self { week: None, ..Self::from((project, Totals::default())) }
    }
}

/// Counts over seven days.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TotalsView {
    pub requests: u64,
    pub exact_hits: u64,
    pub semantic_hits: u64,
    pub misses: u64,
    /// Passed on, or asked afresh: they could not have been hits.
    pub passed: u64,
    pub errors: u64,
    /// Refused for what they were, such as 400, 403 and 404.
    pub refused: u64,
    /// Refused because they were over the limit (429).
    pub rate_limited: u64,
    /// The share of hits among answered requests, 0 to 1; null if no request was answered.
    pub hit_rate: Option<f64>,
    pub saved_usd: f64,
    pub spent_usd: f64,
    /// Answers whose price was not known. They count as 0 in `saved_usd` and `spent_usd`.
    pub unpriced: u64,
}

impl From<Totals> for TotalsView {
    fn from(totals: Totals) -> Self {
        Self {
            requests: totals.requests(),
            exact_hits: totals.exact_hits,
            semantic_hits: totals.semantic_hits,
            misses: totals.misses,
            passed: totals.passed,
            errors: totals.errors,
            refused: totals.refused,
            rate_limited: totals.rate_limited,
            hit_rate: totals.hit_rate(),
            saved_usd: totals.saved.as_dollars(),
            spent_usd: totals.spent.as_dollars(),
            unpriced: totals.unpriced,
        }
    }
}

/// A key, without the key itself.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    pub prefix: String,
    pub id: String,
    pub name: String,
    /// The models that it may ask for; null means all.
    pub models: Option<Vec<String>>,
    /// Its own limit, in requests a minute; null if it has its project's limit only.
    pub requests_per_minute: Option<u32>,
    pub burst: Option<u32>,
    #[schema(value_type = String, format = DateTime)]
    pub created: jiff::Timestamp,
    /// When it ends; null if it ends only when it is revoked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires: Option<jiff::Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<jiff::Timestamp>,
    pub requests: u64,
    /// `Active`, `Expired` or `Revoked`.
    pub status: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked: Option<jiff::Timestamp>,
}

impl KeyView {
    /// A key as it is at `now`.
    pub fn new(key: ApiKey, usage: KeyUsage, now: Timestamp) -> Self {
        Self {
            status: key.status(now).as_str().into(),
            prefix: key.shown,
            id: key.id.to_string(),
            name: key.name,
            models: key.models,
            requests_per_minute: key.quota.map(Quota::per_minute),
            burst: key.quota.map(Quota::burst),
            created: format::to_second(key.created),
            expires: key.expires.map(format::to_second),
            last_used: usage.last_used.map(format::to_second),
            requests: usage.requests,
            revoked: key.revoked.map(format::to_second),
        }
    }

    /// A key that was just made or revoked: its use is not looked up.
    pub fn of(key: ApiKey, now: Timestamp) -> Self {
        Self::new(key, KeyUsage::default(), now)
    }
}

/// A provider, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProviderView {
    pub name: String,
    pub id: String,
    #[schema(value_type = String)]
    pub kind: ProviderKind,
    pub base_url: String,
    pub models: Vec<String>,
    pub has_secret: bool,
    pub allow_private: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created: jiff::Timestamp,
}

impl From<ProviderConfig> for ProviderView {
    fn from(provider: ProviderConfig) -> Self {
        Self {
            name: provider.name,
            id: provider.id.to_string(),
            kind: provider.kind,
            base_url: provider.base_url,
            models: provider.models,
            has_secret: provider.sealed_secret.is_some(),
            allow_private: provider.allow_private,
            created: format::to_second(provider.created),
        }
    }
}

/// A price in force.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PriceView {
    pub model: String,
    /// The id that the price was found under.
    pub key: String,
    /// `override` or `table`.
    pub origin: String,
    #[serde(flatten)]
    pub rates: RatesView,
    /// Other rates for the whole call once the input is longer, shortest first.
    pub above: Vec<LongInputView>,
    pub table: PriceTableView,
}

/// US dollars per million tokens. Rates of the provider's own prompt cache are left out where they are not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RatesView {
    pub input: f64,
    pub output: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Tokens written to the prompt cache to be kept for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

/// The rates of calls with more than so many input tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LongInputView {
    pub tokens: u64,
    #[serde(flatten)]
    pub rates: RatesView,
}

impl PriceView {
    /// The price of `model`, and where it was found.
    pub fn new(model: String, found: PriceInForce) -> Self {
        let price = found.priced.price;
        let above = price.above.iter();
        let above = above.map(|long| LongInputView { tokens: long.tokens, rates: long.rates.into() });
        Self {
            model,
            key: found.priced.key,
            origin: found.priced.origin.as_str().into(),
            rates: price.rates.into(),
            above: above.collect(),
            table: PriceTableView::from(&*found.list),
        }
    }
}

impl From<Rates> for RatesView {
    fn from(rates: Rates) -> Self {
        let dollars = PicoUsdPerToken::dollars_per_million;
        Self {
            input: dollars(rates.input),
            output: dollars(rates.output),
            cache_read: rates.cache_read.map(dollars),
            cache_write: rates.cache_write.map(dollars),
            cache_write_1h: rates.cache_write_1h.map(dollars),
        }
    }
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

impl From<&PriceList> for PriceTableView {
    fn from(list: &PriceList) -> Self {
        let source = &list.source;
        Self {
            source: source.name.clone(),
            revision: source.revision.clone(),
            fetched: source.fetched_at.map(format::to_second),
            models: list.table.len(),
        }
    }
}

/// A project's cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CacheView {
    pub entries: u64,
    pub max_entries: u64,
    pub ttl_seconds: Option<u64>,
    /// Entries that are found by the same prompt only; `null` where no server runs.
    pub not_embedded: Option<NotEmbeddedView>,
    pub week: TotalsView,
}

/// Entries without a vector of the embedder in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotEmbeddedView {
    /// Entries that will get a vector.
    pub waiting: u64,
    /// Entries that could not be embedded, for now.
    pub failed: u64,
}

impl From<StaleCount> for NotEmbeddedView {
    fn from(StaleCount { waiting, failed }: StaleCount) -> Self {
        Self { waiting, failed }
    }
}

impl From<CacheStats> for CacheView {
    fn from(stats: CacheStats) -> Self {
        Self {
            entries: stats.entries,
            max_entries: stats.settings.max_entries,
            ttl_seconds: stats.settings.ttl_seconds,
            not_embedded: stats.stale.map(NotEmbeddedView::from),
            week: TotalsView::from(stats.week),
        }
    }
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

impl From<Operator> for OperatorView {
    fn from(operator: Operator) -> Self {
        Self {
            id: operator.id.to_string(),
            email: operator.email.to_string(),
            role: operator.role.as_str().into(),
            state: if operator.disabled.is_some() { "disabled" } else { "active" }.into(),
            created: format::to_second(operator.created),
            disabled: operator.disabled.map(format::to_second),
        }
    }
}

/// An operator with a rank in a project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    pub email: String,
    /// `viewer`, `editor` or `owner`.
    #[schema(value_type = String)]
    pub rank: Rank,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        Self { email: member.email.to_string(), rank: member.rank }
    }
}

/// A personal access token, without the token itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenView {
    pub prefix: String,
    pub name: String,
    pub created: jiff::Timestamp,
    pub expires: jiff::Timestamp,
    pub last_used: Option<jiff::Timestamp>,
}

impl From<AccessToken> for TokenView {
    fn from(token: AccessToken) -> Self {
        Self {
            prefix: token.shown,
            name: token.name,
            created: format::to_second(token.created),
            expires: format::to_second(token.expires),
            last_used: token.last_used.map(format::to_second),
        }
    }
}

/// A one-time link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkView {
    /// The whole link, token included.
    pub url: Hidden,
    pub expires: jiff::Timestamp,
}

impl From<Link> for LinkView {
    fn from(link: Link) -> Self {
        Self { url: link.url, expires: format::to_second(link.expires) }
    }
}

/// A row of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    pub number: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: jiff::Timestamp,
    /// An address, a key, `cli` or `system`.
    pub actor: String,
    pub action: String,
    /// The project's slug, or its id if it is gone.
    pub project: Option<String>,
    pub subject: String,
    pub detail: String,
}

impl From<AuditLine> for AuditView {
    fn from(line: AuditLine) -> Self {
        let change = line.row.change;
        Self {
            number: line.row.number,
            at: format::to_second(change.at),
            actor: change.actor.name().to_owned(),
            action: change.action.into_owned(),
            project: line.project,
            subject: change.subject,
            detail: change.detail,
        }
    }
}
