//! What the engine counts, for Prometheus. Handles are kept, so that a hit neither names a metric nor allocates.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deja_core::analytics::{Outcome, UsageEvent};
use deja_core::cache::{LabelSource, Labelled, Met};
use deja_core::engine::{Ended, Listener, QueryError, Reply, Source};
use deja_core::money::NanoUsd;
use deja_core::store::{Admission, NewLabel};
use metrics::{Counter, Histogram, counter, histogram};
use parking_lot::RwLock;

use super::{
    DROPPED, EMBEDDING_SECONDS, FEEDBACK, GUARD_REFUSALS, NOT_STORED, OPINIONS, OPINIONS_SPENT, QUERIES,
    QUERY_SECONDS, SAVED, SEARCH_SECONDS, SHED, SPENT, UPSTREAM_SECONDS,
};
use crate::traces;

const OUTCOMES: usize = Outcome::ALL.len();

/// Counts for Prometheus what the engine counts. Made once metrics are collected, if they are.
pub struct Metrics {
    /// By slug: one for each project that was ever asked something.
    projects: RwLock<HashMap<String, OfProject>>,
    times: [OnceLock<Histogram>; OUTCOMES],
    search: Histogram,
    embedding: Histogram,
    upstream: Histogram,
    /// Refused for too much to do, since somebody last asked.
    shed: AtomicU64,
}

/// What is counted by project. A counter begins to be shown when there is something to count.
#[derive(Default)]
struct OfProject {
    queries: [OnceLock<Counter>; OUTCOMES],
    saved: OnceLock<Counter>,
    spent: OnceLock<Counter>,
}

impl OfProject {
    fn count(&self, slug: &str, counted: &UsageEvent<'_>) {
        let outcome = counted.outcome;
        let named = || counter!(QUERIES, "outcome" => outcome.as_str(), "project" => slug.to_owned());
        self.queries[outcome as usize].get_or_init(named).increment(1);
        for (name, sum, amount) in [(SAVED, &self.saved, counted.saved), (SPENT, &self.spent, counted.spent)]
        {
            if amount > NanoUsd::ZERO {
                let sum = sum.get_or_init(|| counter!(name, "project" => slug.to_owned()));
                sum.increment(amount.as_nanos());
            }
        }
    }
}

impl Default for Metrics {
    /// Nothing counted yet. A counter whose first event raises an alert is shown as 0 from the start: a counter that appears
    /// with its first event has not grown.
    fn default() -> Self {
        for first in [counter!(SHED), counter!(DROPPED)] {
            first.increment(0);
        }
        for source in [LabelSource::Api, LabelSource::Console] {
            for met in [Met::Served, Met::Refused, Met::NearMiss] {
                feedback(source, met, false, Labelled::Quarantined).increment(0);
            }
        }
        Self {
            projects: RwLock::default(),
            times: Default::default(),
            search: histogram!(SEARCH_SECONDS),
            embedding: histogram!(EMBEDDING_SECONDS),
            upstream: histogram!(UPSTREAM_SECONDS),
            shed: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// Requests since the last call that were refused because there was too much to do.
    pub fn take_shed(&self) -> u64 {
        self.shed.swap(0, Ordering::Relaxed)
    }

    fn count(&self, slug: &str, counted: &UsageEvent<'_>) {
        let projects = self.projects.read();
        if let Some(project) = projects.get(slug) {
            return project.count(slug, counted);
        }
        drop(projects);
        let mut projects = self.projects.write();
        projects.entry(slug.to_owned()).or_default().count(slug, counted);
    }

    fn answered(&self, outcome: Outcome, reply: &Reply) {
        // A hit that waited for a call took as long as that: it says nothing of the cache.
        if !(reply.is_hit() && reply.trace.joined) {
            let times = &self.times[outcome as usize];
            let times = times.get_or_init(|| histogram!(QUERY_SECONDS, "outcome" => outcome.as_str()));
            times.record(reply.trace.total);
        }
        // Not every request is looked up and embedded: some are passed on.
        for (step, time) in [(&self.search, reply.trace.search), (&self.embedding, reply.trace.embedding)] {
            if !time.is_zero() {
                step.record(time);
            }
        }
        if let Some(opinion) = reply.trace.opinion {
            counter!(OPINIONS, "said" => opinion.said.as_str()).increment(1);
            counter!(OPINIONS_SPENT).increment(opinion.cost.as_nanos());
        }
        if let Source::Provider(stored) = reply.source {
            if let Some(refusal) = reply.refused() {
                counter!(GUARD_REFUSALS, "reason" => refusal.reason.as_str()).increment(1);
            }
            if let Err(reason) = stored {
                counter!(NOT_STORED, "reason" => reason.code()).increment(1);
            }
        }
    }
}

impl Listener for Metrics {
    fn ended(&self, caller: &Admission, counted: &UsageEvent<'_>, ended: Ended<'_>) {
        traces::tell(caller, counted, ended);
        self.count(caller.project.slug.as_str(), counted);
        match ended {
            Ended::Answered(reply) | Ended::Passed(Some(reply)) => self.answered(counted.outcome, reply),
            Ended::Failed(QueryError::Overloaded, _) => {
                counter!(SHED).increment(1);
                self.shed.fetch_add(1, Ordering::Relaxed);
            }
            Ended::Passed(None) | Ended::Failed(..) | Ended::Refused(..) | Ended::RateLimited(_) => {}
        }
    }

    fn called(&self, took: Duration) {
        self.upstream.record(took);
    }

    fn labelled(&self, label: &NewLabel<'_>, came_of_it: Labelled) {
        feedback(label.source, label.met, label.answers, came_of_it).increment(1);
    }
}

/// The counter of what people said with this source, about such an answer, with this effect.
fn feedback(source: LabelSource, met: Met, answers: bool, came_of_it: Labelled) -> Counter {
    let judged = match met {
        Met::Served => "hit",
        Met::Refused => "refusal",
        Met::NearMiss => "near_miss",
    };
    // It was correct to serve what answers, and not to serve what does not.
    let correct = if answers == (met == Met::Served) { "true" } else { "false" };
    let (source, effect) = (source.as_str(), came_of_it.as_str());
    counter!(FEEDBACK, "source" => source, "judged" => judged, "correct" => correct, "effect" => effect)
}

#[cfg(test)]
mod tests {
    use deja_core::id::EntryId;
    use deja_core::testing;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn a_word_is_correct_if_it_agrees_with_what_became_of_the_entry() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let metrics = Metrics::default();
        metrics::with_local_recorder(&recorder, || {
            for (met, answers) in [(Met::Served, true), (Met::Refused, true), (Met::NearMiss, false)] {
                let own = testing::wrong(EntryId::from_bytes([1; 16]), "asked");
                let label = NewLabel { met, answers, ..own };
                metrics.labelled(&label, Labelled::Kept);
            }
        });
        let text = recorder.handle().render();
        for (judged, correct) in [("hit", "true"), ("refusal", "false"), ("near_miss", "true")] {
            let judged = format!(r#"judged="{judged}""#);
            let line = text.lines().find(|line| line.contains(&judged)).unwrap_or_default();
            for part in
                [r#"source="console""#, &format!(r#"correct="{correct}""#), r#"effect="recorded""#, "} 1"]
            {
                assert!(line.contains(part), "no {part} in {line:?} of\n{text}");
            }
        }
    }
}
