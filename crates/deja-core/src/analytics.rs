//! What is counted about requests. Numbers only: no prompt, no answer, no key.

use std::collections::HashMap;

use crate::api_key::KeyUsage;
use crate::clock::Timestamp;
use crate::id::{EntryId, KeyId, ProjectId};
use crate::money::NanoUsd;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered from the cache, the same prompt.
    ExactHit,
    /// Answered from the cache, a similar prompt.
    SemanticHit,
    /// Answered by the provider.
    Miss,
    /// Not answered.
    Error,
}

impl Outcome {
    /// The name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExactHit => "exact_hit",
            Self::SemanticHit => "semantic_hit",
            Self::Miss => "miss",
            Self::Error => "error",
        }
    }
}

/// One request of a project for a model: what the rollups are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageEvent<'a> {
    /// Whose.
    pub project: ProjectId,
    /// The key it came with.
    pub key: KeyId,
    /// The asked model; empty if the request did not get so far.
    pub model: &'a str,
    /// How it ended.
    pub outcome: Outcome,
    /// The entry that answered, on a hit.
    pub entry: Option<EntryId>,
    /// Dollars not spent.
    pub saved: NanoUsd,
    /// Dollars spent, where the price is known.
    pub spent: NanoUsd,
    /// When it was answered.
    pub at: Timestamp,
}

/// Totals of a project and model over an hour, or over any span they are added up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Hits by the same prompt.
    pub exact_hits: u64,
    /// Hits by a similar prompt.
    pub semantic_hits: u64,
    /// Answers from the provider.
    pub misses: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// Dollars not spent.
    pub saved: NanoUsd,
    /// Dollars spent.
    pub spent: NanoUsd,
}

impl Totals {
    /// All requests.
    pub const fn requests(&self) -> u64 {
        self.exact_hits + self.semantic_hits + self.misses + self.errors
    }

    /// Hits per answered request, 0..=1; `None` without any.
    pub fn hit_rate(&self) -> Option<f64> {
        let hits = self.exact_hits + self.semantic_hits;
        let answered = hits + self.misses;
        (answered > 0).then(|| hits as f64 / answered as f64)
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        self.exact_hits += other.exact_hits;
        self.semantic_hits += other.semantic_hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.saved = self.saved.plus(other.saved);
        self.spent = self.spent.plus(other.spent);
    }
}

/// The hour that `at` lies in, as hours since the epoch.
pub const fn hour_of(at: Timestamp) -> i64 {
    at.as_secs().div_euclid(3600)
}

/// Hits of an entry since the last write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryHits {
    /// How many.
    pub hits: u64,
    /// The last of them.
    pub last_hit: Timestamp,
}

/// What happened since the last write, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageBatch {
    /// By key.
    pub keys: HashMap<(ProjectId, KeyId), KeyUsage>,
    /// By entry.
    pub entries: HashMap<(ProjectId, EntryId), EntryHits>,
    /// By project, model and hour.
    pub rollups: HashMap<(ProjectId, Box<str>, i64), Totals>,
}

impl UsageBatch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.entries.is_empty() && self.rollups.is_empty()
    }

    /// Counts one request.
    pub fn add(&mut self, event: &UsageEvent<'_>) {
        let key = self.keys.entry((event.project, event.key)).or_default();
        key.requests += 1;
        key.last_used = key.last_used.max(Some(event.at));
        if let Some(entry) = event.entry {
            let hits = self.entries.entry((event.project, entry)).or_default();
            hits.hits += 1;
            hits.last_hit = hits.last_hit.max(event.at);
        }
        let mut totals = Totals { saved: event.saved, spent: event.spent, ..Totals::default() };
        match event.outcome {
            Outcome::ExactHit => totals.exact_hits = 1,
            Outcome::SemanticHit => totals.semantic_hits = 1,
            Outcome::Miss => totals.misses = 1,
            Outcome::Error => totals.errors = 1,
        }
        self.rollups.entry((event.project, event.model.into(), hour_of(event.at))).or_default().add(&totals);
    }

    /// Adds a batch that could not be written back to this one.
    pub fn merge(&mut self, other: Self) {
        for (id, usage) in other.keys {
            let key = self.keys.entry(id).or_default();
            key.requests += usage.requests;
            key.last_used = key.last_used.max(usage.last_used);
        }
        for (id, hits) in other.entries {
            let entry = self.entries.entry(id).or_default();
            entry.hits += hits.hits;
            entry.last_hit = entry.last_hit.max(hits.last_hit);
        }
        for (id, totals) in other.rollups {
            self.rollups.entry(id).or_default().add(&totals);
        }
    }
}
