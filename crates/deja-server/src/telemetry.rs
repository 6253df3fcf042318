//! Logs and metrics: every metric's name stands here. Neither ever holds a prompt, an answer or a key.

use deja_core::analytics::UsageEvent;
use deja_core::cache::{Labelled, Met};
use deja_core::engine::{Ended, Listener, QueryError, Reply, Source};
use deja_core::money::NanoUsd;
use deja_core::store::{Admission, NewLabel, StaleCount};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::config::LogFormat;
use crate::traces;

/// Sends the log to standard error. Only the first call of a process takes effect.
pub fn init_log(filter: &str, format: LogFormat) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(filter)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _already_set = match format {
        LogFormat::Text => log.with_target(false).with_ansi(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    Ok(())
}

const QUERIES: &str = "deja_queries_total";
const QUERY_SECONDS: &str = "deja_query_duration_seconds";
const EMBEDDING_SECONDS: &str = "deja_embedding_duration_seconds";
const SEARCH_SECONDS: &str = "deja_search_duration_seconds";
const UPSTREAM_SECONDS: &str = "deja_upstream_duration_seconds";
const SAVED: &str = "deja_saved_nanodollars_total";
const SPENT: &str = "deja_spent_nanodollars_total";
const GUARD_REFUSALS: &str = "deja_guard_refusals_total";
const OPINIONS: &str = "deja_guard_opinions_total";
const OPINIONS_SPENT: &str = "deja_guard_opinions_nanodollars_total";
const NOT_STORED: &str = "deja_not_stored_total";
const FEEDBACK: &str = "deja_feedback_total";
const SHED: &str = "deja_shed_total";
const DROPPED: &str = "deja_counts_dropped_total";
const UPSTREAM_CALLS: &str = "deja_upstream_calls";
const ENTRIES: &str = "deja_entries";
const NOT_EMBEDDED: &str = "deja_entries_not_embedded";
const INDEX_BUILD: &str = "deja_index_build_ratio";
const PRICE_AGE: &str = "deja_price_table_age_seconds";
const BUILD: &str = "deja_build_info";

/// Begins to collect metrics. Without this call they cost nothing and go nowhere.
pub fn init_metrics() -> Result<PrometheusHandle, BuildError> {
    let seconds =
        [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)?
        .build_recorder();
    let handle = recorder.handle();
    let _already_set = metrics::set_global_recorder(recorder);
    describe_counter!(
        QUERIES,
        "Requests of known keys by project and outcome: exact_hit, semantic_hit, miss, passed, error, refused, rate_limited."
    );
    describe_histogram!(QUERY_SECONDS, "Time to answer a query, by outcome.");
    describe_histogram!(EMBEDDING_SECONDS, "Time to embed a prompt, waiting included.");
    describe_histogram!(SEARCH_SECONDS, "Time of the look-ups of a query.");
    describe_histogram!(UPSTREAM_SECONDS, "Time of a provider call.");
    describe_counter!(SAVED, "Nano-dollars (1e-9 USD) not spent, thanks to hits.");
    describe_counter!(
        SPENT,
        "Nano-dollars (1e-9 USD) spent on misses, on answers that broke off and on models that decide, where the price is known."
    );
    describe_counter!(GUARD_REFUSALS, "Misses that the guard made of what was similar enough, by reason.");
    describe_counter!(
        OPINIONS,
        "Queries on which a project's model decided, or should have, by what it said."
    );
    describe_counter!(OPINIONS_SPENT, "Nano-dollars (1e-9 USD) spent on asking it.");
    describe_counter!(NOT_STORED, "Answers returned but not stored, by reason.");
    describe_counter!(
        FEEDBACK,
        "Words of people about answers, by source (api, console), what was judged (hit, refusal, near_miss), whether it was \
         correct, and effect (recorded, blocked, quarantined, allowed)."
    );
    describe_counter!(SHED, "Queries refused because deja was too busy.");
    describe_counter!(DROPPED, "Requests that analytics lack, because too many counts waited to be written.");
    describe_gauge!(UPSTREAM_CALLS, "Provider calls under way.");
    describe_gauge!(
        NOT_EMBEDDED,
        "Entries without a vector of the embedder in use, by state: waiting for one, or failed."
    );
    describe_gauge!(INDEX_BUILD, "How much of an index is built while one is being built; 1 otherwise.");
    describe_gauge!(PRICE_AGE, "Age of the price table in force.");
    describe_gauge!(BUILD, "Always 1; its label is the version that runs.");
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    process().describe();
    Ok(handle)
}

/// Counts for Prometheus what the engine counts.
pub struct Metrics;

impl Listener for Metrics {
    fn ended(&self, caller: &Admission, counted: &UsageEvent<'_>, ended: Ended<'_>) {
        traces::tell(caller, counted, ended);
        let (outcome, project) = (counted.outcome.as_str(), caller.project.slug.as_str());
        counter!(QUERIES, "outcome" => outcome, "project" => project.to_owned()).increment(1);
        for (name, amount) in [(SAVED, counted.saved), (SPENT, counted.spent)] {
            if amount > NanoUsd::ZERO {
                counter!(name, "project" => project.to_owned()).increment(amount.as_nanos());
            }
        }
        match ended {
            Ended::Answered(reply) | Ended::Passed(Some(reply)) => answered(outcome, reply),
            Ended::Failed(QueryError::Overloaded, _) => counter!(SHED).increment(1),
            Ended::Passed(None) | Ended::Failed(..) | Ended::Refused(..) | Ended::RateLimited(_) => {}
        }
    }

    fn labelled(&self, label: &NewLabel<'_>, came_of_it: Labelled) {
        let judged = match label.met {
            Met::Served => "hit",
            Met::Refused => "refusal",
            Met::NearMiss => "near_miss",
        };
        // It was correct to serve what answers, and not to serve what does not.
        let correct = if label.answers == (label.met == Met::Served) { "true" } else { "false" };
        let (source, effect) = (label.source.as_str(), came_of_it.as_str());
        counter!(FEEDBACK, "source" => source, "judged" => judged, "correct" => correct, "effect" => effect)
            .increment(1);
    }
}

fn answered(outcome: &'static str, reply: &Reply) {
    histogram!(QUERY_SECONDS, "outcome" => outcome).record(reply.trace.total);
    histogram!(SEARCH_SECONDS).record(reply.trace.search);
    if !reply.trace.embedding.is_zero() {
        histogram!(EMBEDDING_SECONDS).record(reply.trace.embedding);
    }
    if let Some(opinion) = reply.trace.opinion {
        counter!(OPINIONS, "said" => opinion.said.as_str()).increment(1);
        counter!(OPINIONS_SPENT).increment(opinion.cost.as_nanos());
    }
    if let Source::Provider(stored) = reply.source {
        if let (Some(time), false) = (reply.trace.provider, reply.trace.joined) {
            histogram!(UPSTREAM_SECONDS).record(time);
        }
        if let Some(refusal) = reply.refused() {
            counter!(GUARD_REFUSALS, "reason" => refusal.reason.as_str()).increment(1);
        }
        if let Err(reason) = stored {
            counter!(NOT_STORED, "reason" => reason.code()).increment(1);
        }
    }
}

/// Counts requests that analytics lack.
pub fn count_dropped(requests: u64) {
    counter!(DROPPED).increment(requests);
}

/// Tells how many entries have no vector of the embedder in use.
pub fn not_embedded(count: StaleCount) {
    gauge!(NOT_EMBEDDED, "state" => "waiting").set(count.waiting as f64);
    gauge!(NOT_EMBEDDED, "state" => "failed").set(count.failed as f64);
}

/// Tells how much is done of an index that is being built, 0 to 1.
pub fn index_build(done: Option<f64>) {
    gauge!(INDEX_BUILD).set(done.unwrap_or(1.0));
}

/// Processor time, memory, descriptors and start of this process, under the names that Prometheus' own clients use.
fn process() -> metrics_process::Collector {
    metrics_process::Collector::default()
}

/// All metrics as text, those of the process as they are now. What is told of `entries`, by project, is forgotten after
/// that: a project that is gone is told of no more.
pub fn render(metrics: &PrometheusHandle, entries: &[(String, u64)]) -> String {
    process().collect();
    let now = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&now, || {
        describe_gauge!(ENTRIES, "Entries, by project; expired ones that are not swept yet are among them.");
        for (project, count) in entries {
            gauge!(ENTRIES, "project" => project.clone()).set(*count as f64);
        }
    });
    metrics.render() + &now.handle().render()
}

/// Tells the states that nobody counts as they change.
pub fn observe(upstream_calls: usize, price_age: std::time::Duration) {
    gauge!(UPSTREAM_CALLS).set(upstream_calls as f64);
    gauge!(PRICE_AGE).set(price_age.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use deja_core::cache::LabelSource;
    use deja_core::embedding::Similarity;
    use deja_core::id::EntryId;

    use super::*;

    const ALL: [&str; 20] = [
        ENTRIES,
        BUILD,
        QUERIES,
        QUERY_SECONDS,
        EMBEDDING_SECONDS,
        SEARCH_SECONDS,
        UPSTREAM_SECONDS,
        SAVED,
        SPENT,
        GUARD_REFUSALS,
        OPINIONS,
        OPINIONS_SPENT,
        NOT_STORED,
        FEEDBACK,
        SHED,
        DROPPED,
        UPSTREAM_CALLS,
        NOT_EMBEDDED,
        INDEX_BUILD,
        PRICE_AGE,
    ];

    /// Names of metrics in a text, without what a histogram adds to them.
    fn named(text: &str) -> Vec<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names = words.filter(|word| word.starts_with("deja_"));
        names.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect()
    }

    #[test]
    fn dashboard_alerts_and_documents_name_the_metrics_that_there_are() {
        let dashboard = include_str!("../../../deploy/grafana.json");
        let alerts = include_str!("../../../deploy/prometheus-rules.yml");
        let page = include_str!("../../../docs/reference/metrics.md");
        for (file, text) in
            [("grafana.json", dashboard), ("prometheus-rules.yml", alerts), ("metrics.md", page)]
        {
            let names = named(text);
            assert!(!names.is_empty(), "{file}");
            for name in names {
                assert!(ALL.contains(&name), "{file} names {name}");
            }
        }
        for metric in ALL {
            assert!(named(page).contains(&metric), "metrics.md does not name {metric}");
            assert!(named(dashboard).contains(&metric), "grafana.json does not show {metric}");
        }
    }

    #[test]
    fn a_word_is_correct_if_it_agrees_with_what_became_of_the_entry() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            for (met, answers) in [(Met::Served, true), (Met::Refused, true), (Met::NearMiss, false)] {
                let label = NewLabel {
                    entry: EntryId::from_bytes([1; 16]),
                    asked: "asked",
                    vector: None,
                    similarity: Similarity::ONE,
                    met,
                    answers,
                    source: LabelSource::Console,
                    note: None,
                };
                Metrics.labelled(&label, Labelled::Kept);
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
