//! What the engine counts, for Prometheus. Handles are kept, so that a hit neither names a metric nor allocates.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use deja_core::analytics::{Outcome, UsageEvent};
use deja_core::cache::{LabelSource, Labelled, Met};
use deja_core::engine::{Ended, Listener, Opinion, QueryError, Reply, Source};
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
    /// By slug: one for each project that was asked something, until it is deleted.
    projects: RwLock<HashMap<String, OfProject>>,
    times: [OnceLock<Histogram>; OUTCOMES],
    search: Histogram,
    embedding: Histogram,
    upstream: Histogram,
}

/// What is counted by project. Kept here, since a recorder never forgets a counter.
#[derive(Default)]
struct OfProject {
    queries: [AtomicU64; OUTCOMES],
    saved: AtomicU64,
    spent: AtomicU64,
}

impl OfProject {
    fn count(&self, counted: &UsageEvent<'_>) {
        self.queries[counted.outcome as usize].fetch_add(1, Relaxed);
        self.saved.fetch_add(counted.saved.as_nanos(), Relaxed);
        self.spent.fetch_add(counted.spent.as_nanos(), Relaxed);
    }

    /// Gives the counts to the recorder in force. A counter begins to be shown when there is something to count.
    fn show(&self, slug: &str) {
        for outcome in Outcome::ALL {
            let requests = self.queries[outcome as usize].load(Relaxed);
            if requests > 0 {
                counter!(QUERIES, "outcome" => outcome.as_str(), "project" => slug.to_owned())
                    .absolute(requests);
            }
        }
        for (name, sum) in [(SAVED, &self.saved), (SPENT, &self.spent)] {
            let sum = sum.load(Relaxed);
            if sum > 0 {
                counter!(name, "project" => slug.to_owned()).absolute(sum);
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
        }
    }
}

impl Metrics {
    fn count(&self, slug: &str, counted: &UsageEvent<'_>) {
        let projects = self.projects.read();
        if let Some(project) = projects.get(slug) {
            return project.count(counted);
        }
        drop(projects);
        let mut projects = self.projects.write();
        projects.entry(slug.to_owned()).or_default().count(counted);
    }

    /// Gives the counts of projects to the recorder in force. Forgets those of projects that are gone.
    pub(super) fn show(&self, present: Option<&BTreeMap<String, u64>>) {
        if let Some(present) = present {
            self.projects.write().retain(|slug, _| present.contains_key(slug));
        }
        self.projects.read().iter().for_each(|(slug, project)| project.show(slug));
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
            Ended::Failed(QueryError::Overloaded, _) => counter!(SHED).increment(1),
            Ended::Passed(None) | Ended::Failed(..) | Ended::Refused(..) | Ended::RateLimited(_) => {}
        }
    }

    fn judged(&self, opinion: &Opinion) {
        counter!(OPINIONS, "said" => opinion.said.as_str()).increment(1);
        counter!(OPINIONS_SPENT).increment(opinion.cost.as_nanos());
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
    use deja_core::engine::Said;
    use deja_core::id::EntryId;
    use deja_core::money::NanoUsd;
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

    #[test]
    fn a_word_of_a_projects_model_counts_with_what_it_cost() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let opinion = Opinion {
            entry: EntryId::from_bytes([1; 16]),
            said: Said::No,
            cost: NanoUsd::from_nanos(7),
            time: Duration::ZERO,
        };
        metrics::with_local_recorder(&recorder, || Metrics::default().judged(&opinion));
        let text = recorder.handle().render();
        for line in [format!("{OPINIONS}{{said=\"no\"}} 1"), format!("{OPINIONS_SPENT} 7")] {
            assert!(text.lines().any(|told| told == line), "no {line} in\n{text}");
        }
    }
}
