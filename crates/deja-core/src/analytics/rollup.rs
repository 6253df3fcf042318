//! Rollups: sums over a minute, an hour or a day, for each slice of a project's requests.

use std::sync::Arc;

use deja_wire::Wire;

use crate::analytics::{Cause, ContextKey, Histograms, RefusedFor, Surface, WireOutcome};
use crate::clock::Timestamp;
use crate::id::{KeyId, ProjectId};
use crate::money::NanoUsd;

/// How long a rollup's period is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A minute. Kept for two days.
    Minute,
    /// An hour. Kept for thirteen months.
    Hour,
    /// A day, in UTC. Kept for thirteen months.
    Day,
}

impl Step {
    /// All steps, the shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Its seconds; also what stores keep it as.
    pub const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
        }
    }

    /// The period that `at` lies in, counted from the epoch.
    pub const fn period_of(self, at: Timestamp) -> i64 {
        at.as_secs().div_euclid(self.seconds())
    }

    /// When a period begins.
    pub const fn start_of(self, period: i64) -> Timestamp {
        Timestamp::from_secs(period.saturating_mul(self.seconds()))
    }

    /// Periods that are kept: 48 hours of minutes, 13 months (of 31 days) of hours and days.
    pub const fn kept(self) -> i64 {
        match self {
            Self::Minute => 48 * 60,
            Self::Hour => 13 * 31 * 24,
            Self::Day => 13 * 31,
        }
    }

    /// The oldest period that is kept at `now`.
    pub const fn oldest(self, now: Timestamp) -> i64 {
        self.period_of(now) - self.kept()
    }
}

/// The dimensions by which analytics can filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// The key that requests came with.
    Key,
    /// The asked model.
    Model,
    /// The asked context.
    Context,
}

impl Dimension {
    /// Its bit in [`Slice::dimensions`].
    pub const fn bit(self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Model => 2,
            Self::Context => 4,
        }
    }
}

/// A part of a project's requests: those with this key, model and context. `None` is any; the default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slice {
    /// The key.
    pub key: Option<KeyId>,
    /// The model; [`super::OTHER_MODELS`] for models that are not told apart, empty where none was asked.
    pub model: Option<Arc<str>>,
    /// The context.
    pub context: Option<ContextKey>,
}

impl Slice {
    /// Which of the three are given, as a number 0..8: 1 for the key, 2 for the model, 4 for the context. With it
    /// a store tells "any" from every name.
    pub const fn dimensions(&self) -> u8 {
        self.key.is_some() as u8 | (self.model.is_some() as u8) << 1 | (self.context.is_some() as u8) << 2
    }

    /// The eight slices that a request of this slice, given in full, is counted in.
    pub(super) fn all(&self) -> impl Iterator<Item = Self> + '_ {
        (0u8..8).map(|dimensions| Self {
            key: self.key.filter(|_| dimensions & 1 > 0),
            model: self.model.clone().filter(|_| dimensions & 2 > 0),
            context: self.context.filter(|_| dimensions & 4 > 0),
        })
    }
}

/// Whose rollup, of what and of when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RollupKey {
    /// The project.
    pub project: ProjectId,
    /// The length of the period.
    pub step: Step,
    /// The period, counted from the epoch.
    pub period: i64,
    /// Which requests.
    pub slice: Slice,
}

/// The sums of one period and slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// The sums.
    pub totals: Totals,
    /// The distributions.
    pub histograms: Histograms,
}

impl Rollup {
    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.histograms.add(&other.histograms);
    }

    /// So many scopes, per 1,000 requests in wire formats that could have been hits; `None` without any.
    pub fn per_1000(&self, scopes: u64) -> Option<f64> {
        let answered = self.of_wires(WireOutcome::Hit) + self.of_wires(WireOutcome::Miss);
        (answered > 0).then(|| 1000.0 * scopes as f64 / answered as f64)
    }

    /// The requests that came by this surface. Hits and misses in no wire format are those of deja's own API. What was passed on
    /// in no wire format is [`Surface::Other`].
    pub fn of_surface(&self, surface: Surface) -> SurfaceTotals {
        match surface {
            Surface::Wire(wire) => SurfaceTotals {
                hits: self.histograms.of_wire(wire, WireOutcome::Hit),
                misses: self.histograms.of_wire(wire, WireOutcome::Miss),
                passed: self.histograms.of_wire(wire, WireOutcome::Passed),
            },
            Surface::Query => SurfaceTotals {
                hits: self.totals.hits().saturating_sub(self.of_wires(WireOutcome::Hit)),
                misses: self.totals.misses.saturating_sub(self.of_wires(WireOutcome::Miss)),
                passed: 0,
            },
            Surface::Other => SurfaceTotals {
                passed: self.totals.passed.saturating_sub(self.of_wires(WireOutcome::Passed)),
                ..SurfaceTotals::default()
            },
        }
    }

    /// The requests in all wire formats that ended so.
    fn of_wires(&self, outcome: WireOutcome) -> u64 {
        Wire::ALL.iter().map(|wire| self.histograms.of_wire(*wire, outcome)).sum()
    }
}

/// Sums over any requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Hits by the same prompt.
    pub exact_hits: u64,
    /// Hits by a similar prompt.
    pub semantic_hits: u64,
    /// Answers from the provider.
    pub misses: u64,
    /// Requests without an answer because deja or the provider failed.
    pub errors: u64,
    /// Requests refused for what they were, or wanted from the cache alone: 400, 403, 404, 413 and 504.
    pub refused: u64,
    /// Requests refused because there were too many: 429.
    pub rate_limited: u64,
    /// Input tokens that were bought: by misses, by what was passed on, and by answers that broke off.
    pub input_tokens: u64,
    /// Output tokens that were bought.
    pub output_tokens: u64,
    /// Input tokens that hits did not send.
    pub saved_input_tokens: u64,
    /// Output tokens that hits did not buy.
    pub saved_output_tokens: u64,
    /// Dollars not spent.
    pub saved: NanoUsd,
    /// Dollars spent.
    pub spent: NanoUsd,
    /// Requests that were passed on and could not have been hits.
    pub passed: u64,
    /// Requests in wire formats in a scope that the server had not seen before.
    pub new_scopes: u64,
    /// Requests in new scopes whose instructions the server had not seen before either.
    pub new_instructions: u64,
    /// Of the rest, those whose turns before the question it had not seen.
    pub new_turns: u64,
    /// Of the rest, those whose context, named in a header, it had not seen.
    pub new_contexts: u64,
    /// Of the rest, those whose end user it had not seen.
    pub new_end_users: u64,
    /// Of the rest, those with another parameter that it had not seen.
    pub new_parameters: u64,
    /// Refused requests for a model that nobody serves, or not at their endpoint.
    pub unknown_models: u64,
    /// Refused requests for a model that their key is not for.
    pub forbidden_models: u64,
    /// Requests refused for their project: it was suspended, or another one was named.
    pub closed_projects: u64,
    /// Requests that were to be answered from the cache alone, and could not be.
    pub not_cached: u64,
    /// Requests with tokens whose price nobody knew then.
    pub unpriced: u64,
    /// Prompts that had no exact hit and are longer than the embedding model reads.
    pub too_long: u64,
}

/// The requests that came by one surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurfaceTotals {
    /// Answers from the cache.
    pub hits: u64,
    /// Answers from the provider.
    pub misses: u64,
    /// Requests that were passed on.
    pub passed: u64,
}

impl SurfaceTotals {
    /// Hits per answered request, 0..=1; `None` without any.
    pub fn hit_rate(&self) -> Option<f64> {
        hit_rate(self.hits, self.misses)
    }
}

fn hit_rate(hits: u64, misses: u64) -> Option<f64> {
    let answered = hits + misses;
    (answered > 0).then(|| hits as f64 / answered as f64)
}

impl Totals {
    /// All requests: hits, misses, passed on, and without an answer.
    pub const fn requests(&self) -> u64 {
        self.hits() + self.misses + self.passed + self.unanswered()
    }

    /// Answers from the cache.
    pub const fn hits(&self) -> u64 {
        self.exact_hits + self.semantic_hits
    }

    /// Requests without an answer, whyever.
    pub const fn unanswered(&self) -> u64 {
        self.errors + self.refused + self.rate_limited
    }

    /// Hits per answered request, 0..=1; `None` without any.
    pub fn hit_rate(&self) -> Option<f64> {
        hit_rate(self.hits(), self.misses)
    }

    /// Counts a scope that was new.
    pub(super) const fn count_scope(&mut self, cause: Cause) {
        self.new_scopes += 1;
        match cause {
            Cause::Instructions => self.new_instructions += 1,
            Cause::Turns => self.new_turns += 1,
            Cause::Context => self.new_contexts += 1,
            Cause::EndUser => self.new_end_users += 1,
            Cause::Parameter => self.new_parameters += 1,
            Cause::Model | Cause::Combination => {}
        }
    }

    /// Counts a request that was refused.
    pub(super) const fn count_refused(&mut self, why: Option<RefusedFor>) {
        self.refused += 1;
        match why {
            Some(RefusedFor::UnknownModel) => self.unknown_models += 1,
            Some(RefusedFor::ForbiddenModel) => self.forbidden_models += 1,
            Some(RefusedFor::Project) => self.closed_projects += 1,
            Some(RefusedFor::NotCached) => self.not_cached += 1,
            Some(RefusedFor::Shape) | None => {}
        }
    }

    /// Refused requests that could not be read.
    pub const fn unreadable(&self) -> u64 {
        let told = self.unknown_models + self.forbidden_models + self.closed_projects + self.not_cached;
        self.refused.saturating_sub(told)
    }

    /// Prompts that were not in the cache word for word: by meaning they were looked for, if at all.
    pub const fn not_exact(&self) -> u64 {
        self.semantic_hits + self.misses
    }

    /// New scopes of a new model, or of nothing new but together.
    pub const fn new_models(&self) -> u64 {
        let told = self.new_instructions + self.new_turns + self.new_contexts;
        self.new_scopes.saturating_sub(told + self.new_end_users + self.new_parameters)
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.sums_mut().into_iter().zip(other.as_array()) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Number of sums: each field is one.
    pub const FIELDS: usize = size_of::<Self>() / size_of::<u64>();

    /// The sums in the order of the fields, money in nano-dollars: what a store keeps as columns.
    pub fn as_array(&self) -> [u64; Self::FIELDS] {
        let mut own = *self;
        own.sums_mut().map(|sum| *sum)
    }

    /// The sums that [`Self::as_array`] gave.
    pub fn from_array(sums: [u64; Self::FIELDS]) -> Self {
        let mut totals = Self::default();
        for (field, sum) in totals.sums_mut().into_iter().zip(sums) {
            *field = sum;
        }
        totals
    }

    /// Each field, to change it. The compiler sees that none is missing, and none there twice.
    fn sums_mut(&mut self) -> [&mut u64; Self::FIELDS] {
        [
            &mut self.exact_hits,
            &mut self.semantic_hits,
            &mut self.misses,
            &mut self.errors,
            &mut self.refused,
            &mut self.rate_limited,
            &mut self.input_tokens,
            &mut self.output_tokens,
            &mut self.saved_input_tokens,
            &mut self.saved_output_tokens,
            self.saved.nanos_mut(),
            self.spent.nanos_mut(),
            &mut self.passed,
            &mut self.new_scopes,
            &mut self.new_instructions,
            &mut self.new_turns,
            &mut self.new_contexts,
            &mut self.new_end_users,
            &mut self.new_parameters,
            &mut self.unknown_models,
            &mut self.forbidden_models,
            &mut self.closed_projects,
            &mut self.not_cached,
            &mut self.unpriced,
            &mut self.too_long,
        ]
    }
}
