//! A batch: what happened since the last write, added up by minute.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::mem;
use std::sync::Arc;

use crate::analytics::names::{Names, label};
use crate::analytics::scopes::SeenScopes;
use crate::analytics::{
    ContextKey, Distribution, Outcome, Rollup, RollupKey, Slice, Step, Surface, UsageEvent, WireOutcome,
};
use crate::api_key::KeyUsage;
use crate::clock::Timestamp;
use crate::id::{EntryId, KeyId, ProjectId, RecorderId};
use crate::money::NanoUsd;

/// What a batch, and what waits to be written, holds at most of each kind: about 25 MB. It takes an outage of hours
/// with much use to reach it.
const MOST: usize = 65_536;

/// Tells a batch from all others, for a store that may have written it without the recorder being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchId {
    /// The process that made the batch.
    pub recorder: RecorderId,
    /// When it was taken: later than the recorder's batch before.
    pub taken: Timestamp,
}

/// Hits of an entry since the last write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryHits {
    /// How many hits.
    pub hits: u64,
    /// The last of them.
    pub last_hit: Timestamp,
    /// What these hits saved.
    pub saved: NanoUsd,
}

/// What people see of a context in analytics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextLabel {
    /// Its first words.
    pub text: Box<str>,
    /// The last hour it was seen in; decides when it may be forgotten.
    pub hour: i64,
}

/// The requests of one minute that nothing here tells apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cell {
    project: ProjectId,
    minute: i64,
    key: KeyId,
    model: Arc<str>,
    context: ContextKey,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    rollup: Rollup,
    /// When the last of them was.
    last_used: Option<Timestamp>,
}

/// What happened since the last write, added up. Bounded by the keys, models, contexts and entries in use, models
/// and contexts by [`MAX_NAMES_PER_HOUR`](super::names::MAX_NAMES_PER_HOUR) besides; where nothing can be written for hours, by a fixed number
/// of each.
#[derive(Clone, Debug, Default)]
pub struct UsageBatch {
    /// Without one it is counted as often as it is recorded.
    pub id: Option<BatchId>,
    cells: HashMap<Cell, Counted>,
    /// Requests that asked for no answer, which are in no rollup.
    others: HashMap<(ProjectId, KeyId), KeyUsage>,
    names: Names,
    seen: SeenScopes,
    /// Hits by entry.
    pub entries: HashMap<(ProjectId, EntryId), EntryHits>,
    /// Hits that [`Self::take`] began to hand out.
    taking: HashMap<(ProjectId, EntryId), EntryHits>,
    /// The first words of the contexts that the rollups name by number.
    pub contexts: HashMap<(ProjectId, ContextKey), ContextLabel>,
}

impl UsageBatch {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.others.is_empty() && self.entries.is_empty() && self.taking.is_empty()
    }

    /// Whether hits of so many entries wait that there is soon no room for more.
    pub(crate) fn is_crowded(&self) -> bool {
        self.entries.len() + self.taking.len() > MOST / 2
    }

    /// Counts one request. `false`: there is no room for all of it.
    pub fn add(&mut self, event: &UsageEvent<'_>) -> bool {
        let hour = Step::Hour.period_of(event.at);
        let mut new = None;
        let (model, context) = self.names.of(
            event.project,
            hour,
            (event.model, event.refused.is_some()),
            event.context,
            |key, text| {
                new = Some((key, ContextLabel { text: label(text), hour }));
            },
        );
        let minute = Step::Minute.period_of(event.at);
        let cell = Cell { project: event.project, minute, key: event.key, model, context };
        let Some(counted) = slot(&mut self.cells, cell, MOST) else { return false };
        counted.count(event);
        // By answered requests it is told how many are new: one that failed has not seen its scope.
        let answered = matches!(event.outcome, Outcome::ExactHit | Outcome::SemanticHit | Outcome::Miss);
        let placed = event.placed.filter(|_| answered);
        if let Some(cause) = placed.and_then(|placed| self.seen.news(event.project, placed)) {
            counted.rollup.totals.count_scope(cause);
        }
        // At most one a cell.
        self.contexts.extend(new.map(|(key, label)| ((event.project, key), label)));
        let Some(entry) = event.entry else { return true };
        let room = MOST.saturating_sub(self.taking.len());
        let Some(hits) = slot(&mut self.entries, (event.project, entry), room) else { return false };
        hits.hits += 1;
        hits.last_hit = hits.last_hit.max(event.at);
        hits.saved = hits.saved.plus(event.saved);
        true
    }

    /// Counts a request with a key that asked for no answer. `false`: there is no room for it.
    pub(crate) fn add_other(&mut self, project: ProjectId, key: KeyId, at: Timestamp) -> bool {
        let Some(usage) = slot(&mut self.others, (project, key), MOST) else { return false };
        usage.requests += 1;
        usage.last_used = usage.last_used.max(Some(at));
        true
    }

    /// Takes what was counted: up to `minutes` of keys, models and contexts, and hits of up to `entries`. The rest stays,
    /// and the same names are told apart. An entry that is hit all the time waits until the others were taken.
    #[must_use]
    pub fn take(&mut self, minutes: usize, entries: usize) -> Self {
        if self.taking.is_empty() {
            self.taking = mem::take(&mut self.entries);
        }
        Self {
            id: None,
            names: Names::default(),
            seen: SeenScopes::default(),
            cells: some(&mut self.cells, minutes),
            others: some(&mut self.others, minutes),
            entries: some(&mut self.taking, entries),
            taking: HashMap::new(),
            contexts: some(&mut self.contexts, minutes),
        }
    }

    /// The requests in it.
    pub fn requests(&self) -> u64 {
        self.cells.values().map(|counted| counted.rollup.totals.requests()).sum()
    }

    /// Use by key.
    pub fn keys(&self) -> HashMap<(ProjectId, KeyId), KeyUsage> {
        let mut keys = self.others.clone();
        for (cell, counted) in &self.cells {
            let key = keys.entry((cell.project, cell.key)).or_default();
            key.requests += counted.rollup.totals.requests();
            key.last_used = key.last_used.max(counted.last_used);
        }
        keys
    }

    /// The rows to add to the rollups, each once, in the order of their keys: every request in its eight slices,
    /// in its minute, its hour and its day.
    pub fn rollups(&self) -> BTreeMap<RollupKey, Rollup> {
        let mut rows: BTreeMap<RollupKey, Rollup> = BTreeMap::new();
        for (cell, counted) in &self.cells {
            let full = Slice {
                key: Some(cell.key),
                model: Some(Arc::clone(&cell.model)),
                context: Some(cell.context),
            };
            for slice in full.all() {
                for step in Step::ALL {
                    let period = cell.minute * Step::Minute.seconds() / step.seconds();
                    let key = RollupKey { project: cell.project, step, period, slice: slice.clone() };
                    rows.entry(key).or_default().add(&counted.rollup);
                }
            }
        }
        rows
    }
}

/// What is counted under `key`; `None` if that would be one more than there is room for.
fn slot<K: Eq + Hash, V: Default>(map: &mut HashMap<K, V>, key: K, room: usize) -> Option<&mut V> {
    let full = map.len() >= room;
    match map.entry(key) {
        Entry::Vacant(_) if full => None,
        entry => Some(entry.or_default()),
    }
}

fn some<K: Eq + Hash, V>(map: &mut HashMap<K, V>, at_most: usize) -> HashMap<K, V> {
    map.extract_if(|_, _| true).take(at_most).collect()
}

impl Counted {
    fn count(&mut self, event: &UsageEvent<'_>) {
        let Rollup { totals, histograms } = &mut self.rollup;
        self.last_used = self.last_used.max(Some(event.at));
        match event.outcome {
            Outcome::ExactHit => totals.exact_hits += 1,
            Outcome::SemanticHit => totals.semantic_hits += 1,
            Outcome::Miss => totals.misses += 1,
            Outcome::Passed => totals.passed += 1,
            Outcome::Error => totals.errors += 1,
            Outcome::Refused => totals.count_refused(event.refused),
            Outcome::RateLimited => totals.rate_limited += 1,
        }
        totals.unpriced += u64::from(event.unpriced);
        totals.too_long += u64::from(event.too_long);
        totals.saved = totals.saved.plus(event.saved);
        totals.spent = totals.spent.plus(event.spent);
        if matches!(event.outcome, Outcome::ExactHit | Outcome::SemanticHit) {
            totals.saved_input_tokens = totals.saved_input_tokens.saturating_add(event.input_tokens);
            totals.saved_output_tokens = totals.saved_output_tokens.saturating_add(event.output_tokens);
        } else {
            totals.input_tokens = totals.input_tokens.saturating_add(event.input_tokens);
            totals.output_tokens = totals.output_tokens.saturating_add(event.output_tokens);
        }
        let outcome = match event.outcome {
            Outcome::ExactHit | Outcome::SemanticHit => WireOutcome::Hit,
            Outcome::Miss => WireOutcome::Miss,
            Outcome::Passed => WireOutcome::Passed,
            Outcome::Error | Outcome::Refused | Outcome::RateLimited => return,
        };
        if let Surface::Wire(wire) = event.surface {
            histograms.count_wire(wire, outcome);
        }
        let (latency, similarity) = match outcome {
            WireOutcome::Hit => (Distribution::HitLatency, Distribution::HitSimilarity),
            WireOutcome::Miss => (Distribution::MissLatency, Distribution::NearMiss),
            WireOutcome::Passed => return,
        };
        if let Some(began) = event.began {
            histograms.count_latency(Distribution::StreamBegan, began);
        }
        // A hit that waited for a call took as long as that: it says nothing of the cache.
        if !(event.joined && outcome == WireOutcome::Hit) {
            histograms.count_latency(latency, event.latency);
            if event.outcome == Outcome::SemanticHit {
                histograms.count_latency(Distribution::SemanticHitLatency, event.latency);
            }
        }
        if let Some(found) = event.similarity {
            histograms.count_similarity(similarity, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use deja_wire::Wire;

    use super::*;
    use crate::analytics::names::MAX_NAMES_PER_HOUR;
    use crate::analytics::{MAX_REFUSED_PER_HOUR, OTHER_MODELS, Placed, RefusedFor, SurfaceTotals, Totals};
    use crate::cache::{Frame, Kind, Parameters, Scope};

    fn event<'a>(model: &'a str, context: Option<&'a str>, seconds: i64) -> UsageEvent<'a> {
        let (project, key) = (ProjectId::from_bytes([1; 16]), KeyId::from_bytes([2; 16]));
        UsageEvent {
            model,
            context,
            latency: Duration::from_millis(1),
            ..UsageEvent::bare(project, key, Outcome::Miss, Timestamp::from_secs(seconds))
        }
    }

    fn slices(batch: &UsageBatch, step: Step) -> Vec<(i64, Slice, u64)> {
        let rows = batch.rollups().into_iter().filter(|(key, _)| key.step == step);
        rows.map(|(key, rollup)| (key.period, key.slice, rollup.totals.misses)).collect()
    }

    #[test]
    fn a_request_is_counted_in_eight_slices_of_three_steps() {
        let mut batch = UsageBatch::default();
        for seconds in [0, 59, 60] {
            assert!(batch.add(&event("m", Some("c"), seconds)));
        }
        assert_eq!(slices(&batch, Step::Minute).len(), 16);
        let hours = slices(&batch, Step::Hour);
        assert_eq!((hours.len(), slices(&batch, Step::Day).len()), (8, 8));
        assert!(hours.iter().all(|(hour, _, misses)| (*hour, *misses) == (0, 3)));
        assert_eq!(batch.contexts.len(), 1);
    }

    #[test]
    fn new_scopes_are_counted_by_what_is_new_and_remembered_when_they_are_written() {
        let mut batch = UsageBatch::default();
        let add_as = |batch: &mut UsageBatch, outcome, instructions: Option<&str>, seconds| {
            let frame = Frame::of_wire(Kind::Chat, "m", instructions, Parameters::new());
            let scope = Scope::new(ProjectId::from_bytes([1; 16]), frame.clone());
            let placed = Some(Placed { scope: scope.key(), frame: &frame });
            assert!(batch.add(&UsageEvent { outcome, placed, ..event("m", None, seconds) }));
        };
        let add = |batch: &mut UsageBatch, instructions, seconds| {
            add_as(batch, Outcome::Miss, instructions, seconds);
        };
        for instructions in [None, Some("a"), Some("a"), Some("b"), None] {
            add(&mut batch, instructions, 0);
        }
        let totals = |batch: &UsageBatch| {
            let all = batch.rollups().into_iter().find(|(key, _)| key.slice == Slice::default());
            all.map(|(_, rollup)| (rollup.totals.new_scopes, rollup.totals.new_instructions))
        };
        assert_eq!(totals(&batch.take(usize::MAX, 0)), Some((3, 2)));
        add(&mut batch, Some("b"), 60);
        assert_eq!(totals(&batch), Some((0, 0)));
        // The scope of a request that failed is new when a request in it is answered.
        add_as(&mut batch, Outcome::Error, Some("c"), 60);
        assert_eq!(totals(&batch), Some((0, 0)));
        add_as(&mut batch, Outcome::ExactHit, Some("c"), 60);
        assert_eq!(totals(&batch), Some((1, 1)));
    }

    #[test]
    fn surfaces_are_told_apart_and_what_is_passed_on_is_no_miss() {
        let mut batch = UsageBatch::default();
        let began = Some(Duration::from_millis(3));
        let chat = Surface::Wire(Wire::Chat);
        for (surface, outcome, began) in [
            (Surface::Query, Outcome::Miss, None),
            (chat, Outcome::ExactHit, began),
            (chat, Outcome::Miss, None),
            (chat, Outcome::Passed, began),
            (Surface::Other, Outcome::Passed, None),
            (chat, Outcome::Error, began),
        ] {
            assert!(batch.add(&UsageEvent { outcome, surface, began, ..event("m", None, 0) }));
        }
        let (_, rollup) = batch.rollups().into_iter().find(|(key, _)| key.slice == Slice::default()).unwrap();
        let of = |surface| {
            let SurfaceTotals { hits, misses, passed } = rollup.of_surface(surface);
            (hits, misses, passed)
        };
        let expected = [(0, 1, 0), (1, 1, 1), (0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 1)];
        assert_eq!(Surface::ALL.map(of), expected);
        assert_eq!((rollup.totals.requests(), rollup.totals.hit_rate()), (6, Some(1.0 / 3.0)));
        assert_eq!(rollup.histograms.counts(Distribution::StreamBegan).iter().sum::<u64>(), 1);
    }

    #[test]
    fn hits_that_waited_for_a_call_are_hits_without_a_latency() {
        let mut batch = UsageBatch::default();
        for (outcome, joined) in [
            (Outcome::ExactHit, false),
            (Outcome::ExactHit, true),
            (Outcome::SemanticHit, true),
            (Outcome::Miss, true),
        ] {
            assert!(batch.add(&UsageEvent { outcome, joined, ..event("m", None, 0) }));
        }
        let (_, rollup) = batch.rollups().pop_first().unwrap();
        let sum = |of| rollup.histograms.counts(of).iter().sum::<u64>();
        assert_eq!((rollup.totals.hits(), sum(Distribution::HitLatency)), (3, 1));
        assert_eq!((sum(Distribution::SemanticHitLatency), sum(Distribution::MissLatency)), (0, 1));
    }

    #[test]
    fn sums_stop_at_their_maximum() {
        let mut batch = UsageBatch::default();
        for outcome in [Outcome::Miss, Outcome::Miss, Outcome::ExactHit, Outcome::ExactHit] {
            let (input_tokens, output_tokens) = (u64::MAX, u64::MAX);
            assert!(batch.add(&UsageEvent { outcome, input_tokens, output_tokens, ..event("m", None, 0) }));
        }
        let (_, Rollup { totals, .. }) = batch.rollups().pop_first().unwrap();
        let sums = [totals.input_tokens, totals.output_tokens];
        assert_eq!(
            (sums, [totals.saved_input_tokens, totals.saved_output_tokens]),
            ([u64::MAX; 2], [u64::MAX; 2])
        );
        assert_eq!(totals.requests(), 4);
    }

    #[test]
    fn names_beyond_the_bound_are_one_name_until_the_next_hour() {
        let mut batch = UsageBatch::default();
        for number in 0..1000 {
            assert!(batch.add(&event(&format!("m{number}"), Some(&format!("user {number}")), 10)));
            if number == 500 {
                // What is written goes, what is told apart stays.
                assert_eq!(batch.take(usize::MAX, 0).rollups().len(), 3 * (1 + 1 + 4 * 65 + 2 * 65));
            }
        }
        let only = |batch: &UsageBatch, dimensions| -> Vec<Slice> {
            let hours = slices(batch, Step::Hour).into_iter();
            hours.map(|(_, slice, _)| slice).filter(|slice| slice.dimensions() == dimensions).collect()
        };
        assert_eq!(only(&batch, 4), [Slice { context: Some(ContextKey::OTHER), ..Slice::default() }]);
        assert_eq!(only(&batch, 2), [Slice { model: Some(OTHER_MODELS.into()), ..Slice::default() }]);
        assert!(batch.add(&event("m999", Some("user 999"), 3600)));
        assert!(only(&batch, 2).iter().any(|slice| slice.model.as_deref() == Some("m999")));
        const { assert!(MAX_NAMES_PER_HOUR < 1000, "more names than that are asked for above") };
    }

    #[test]
    fn a_model_whose_name_is_too_long_for_a_key_is_one_of_the_others() {
        let mut batch = UsageBatch::default();
        let (fits, long) = ("m".repeat(256), "m".repeat(257));
        let refused = Some(RefusedFor::UnknownModel);
        for model in [&fits, &long] {
            assert!(batch.add(&event(model, None, 0)));
            assert!(batch.add(&UsageEvent { refused, outcome: Outcome::Refused, ..event(model, None, 0) }));
        }
        let models: Vec<_> = batch.rollups().into_keys().filter_map(|key| key.slice.model).collect();
        assert!(models.iter().all(|model| [&fits, OTHER_MODELS].contains(&&**model)), "{models:?}");
        assert!(models.contains(&fits.into()) && models.contains(&OTHER_MODELS.into()));
    }

    #[test]
    fn models_of_refused_requests_take_no_place_of_others() {
        let mut batch = UsageBatch::default();
        let refused = |model| UsageEvent {
            outcome: Outcome::Refused,
            refused: Some(RefusedFor::UnknownModel),
            ..event(model, None, 0)
        };
        let typed: Vec<String> = (0..1000).map(|n| format!("typo {n}")).collect();
        for model in &typed {
            assert!(batch.add(&refused(model)));
        }
        let served: Vec<String> = (0..MAX_NAMES_PER_HOUR).map(|n| format!("m{n}")).collect();
        for model in &served {
            assert!(batch.add(&event(model, None, 0)));
            assert!(batch.add(&refused(model)));
        }
        let models = |outcome: fn(&Totals) -> u64| -> Vec<String> {
            let rows = batch.rollups().into_iter();
            let rows = rows.filter(|(key, _)| key.step == Step::Minute && key.slice.dimensions() == 2);
            let rows = rows.filter(|(_, rollup)| outcome(&rollup.totals) > 0);
            rows.map(|(key, _)| key.slice.model.unwrap().to_string()).collect()
        };
        assert_eq!(models(|totals| totals.misses).len(), MAX_NAMES_PER_HOUR, "each by its name");
        assert!(!models(|totals| totals.misses).contains(&OTHER_MODELS.into()));
        assert_eq!(models(|totals| totals.refused).len(), MAX_NAMES_PER_HOUR + MAX_REFUSED_PER_HOUR + 1);
        let rows = batch.rollups();
        let all =
            rows.iter().find(|(key, _)| key.step == Step::Day && key.slice == Slice::default()).unwrap();
        assert_eq!(all.1.totals.unknown_models, 1000 + MAX_NAMES_PER_HOUR as u64, "all are counted");
    }

    #[test]
    fn pieces_of_a_batch_make_the_whole() {
        let mut batch = UsageBatch::default();
        for minute in 0..10 {
            for entry in 0..3 {
                let entry = Some(EntryId::from_bytes([entry; 16]));
                assert!(batch.add(&UsageEvent { entry, ..event("m", Some("c"), minute * 60) }));
            }
        }
        let (mut misses, mut hits, mut requests, mut contexts) = (0, 0, 0, 0);
        for pieces in 1.. {
            let piece = batch.take(3, 2);
            if piece.is_empty() {
                assert_eq!(pieces, 5);
                break;
            }
            assert!(piece.cells.len() <= 3 && piece.entries.len() <= 2);
            misses += slices(&piece, Step::Minute).iter().map(|(_, _, misses)| misses).sum::<u64>();
            hits += piece.entries.values().map(|hits| hits.hits).sum::<u64>();
            requests += piece.keys().values().map(|usage| usage.requests).sum::<u64>();
            contexts += piece.contexts.len();
        }
        assert_eq!((misses, hits, requests, contexts), (8 * 30, 30, 30, 1));
    }

    #[test]
    fn no_entry_is_taken_twice_before_the_others() {
        let mut batch = UsageBatch::default();
        let hit_all = |batch: &mut UsageBatch| {
            for entry in 0..10 {
                assert!(batch.add(&UsageEvent {
                    entry: Some(EntryId::from_bytes([entry; 16])),
                    ..event("m", None, 0)
                }));
            }
        };
        hit_all(&mut batch);
        let mut taken = Vec::new();
        for _ in 0..5 {
            taken.extend(batch.take(1, 2).entries.into_keys());
            hit_all(&mut batch);
        }
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 10);
        assert!(batch.take(1, 10).entries.values().all(|hits| hits.hits == 5));
    }

    #[test]
    fn what_waits_is_bounded_and_what_is_counted_already_goes_on() {
        let mut batch = UsageBatch::default();
        let first = i64::try_from(MOST).unwrap();
        for minute in 0..first {
            assert!(batch.add(&event("m", None, minute * 60)));
        }
        assert!(!batch.add(&event("m", Some("new"), first * 60)));
        assert!(batch.add(&event("m", None, 0)));
        assert_eq!((batch.cells.len(), batch.contexts.len()), (MOST, 0));
        assert_eq!(batch.keys().into_values().next().unwrap().requests, MOST as u64 + 1);
    }
}
