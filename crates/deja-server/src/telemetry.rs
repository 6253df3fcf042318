//! Logs and metrics: every metric's name stands here. Neither ever holds a prompt, an answer or a key.

mod counted;

use std::collections::BTreeMap;

use deja_core::store::StaleCount;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};

pub use counted::Metrics;

use crate::config::LogFormat;

/// What logs the parameters of its statements below this level: prompts, answers, hashes of keys.
pub const NOT_BELOW_INFO: &str = "tokio_postgres";

/// Sends the log to standard error. Only the first call of a process takes effect.
pub fn init_log(filter: &str, format: LogFormat) -> Result<(), ParseError> {
    let mut filter = EnvFilter::try_new(filter)?;
    if filter.max_level_hint().is_none_or(|most| most > LevelFilter::INFO) {
        filter = filter.add_directive(format!("{NOT_BELOW_INFO}=info").parse()?);
    }
    // A line that cannot be written is lost. By default tracing-subscriber would report that with `eprintln!`, which panics then.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
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
const PROVIDERS_DOWN: &str = "deja_providers_down";
const ENTRIES: &str = "deja_entries";
const NOT_EMBEDDED: &str = "deja_entries_not_embedded";
const INDEX_BUILD: &str = "deja_index_build_ratio";
const PRICE_AGE: &str = "deja_price_table_age_seconds";
const READY: &str = "deja_ready";
const BUILD: &str = "deja_build_info";

/// What collects metrics, with the bounds of its histograms. A call of a provider takes seconds to minutes, everything else far
/// less.
fn recorder() -> Result<PrometheusRecorder, BuildError> {
    let seconds =
        [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];
    let of_calls = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0];
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)?
        .set_buckets_for_metric(Matcher::Full(UPSTREAM_SECONDS.into()), &of_calls)?;
    Ok(builder.build_recorder())
}

/// Begins to collect metrics. Without this call they cost nothing and go nowhere.
pub fn init_metrics() -> Result<PrometheusHandle, BuildError> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    let _already_set = metrics::set_global_recorder(recorder);
    describe_histogram!(QUERY_SECONDS, "Time to answer a query, by outcome.");
    describe_histogram!(EMBEDDING_SECONDS, "Time to embed a prompt, waiting included.");
    describe_histogram!(SEARCH_SECONDS, "Time of the look-ups of a query.");
    describe_histogram!(UPSTREAM_SECONDS, "Time of a provider call, whatever became of it.");
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
    describe_gauge!(INDEX_BUILD, "How much of the index is there while it is built or loaded; 1 otherwise.");
    describe_gauge!(PRICE_AGE, "Age of the price table in force.");
    describe_gauge!(READY, "Whether deja is ready, as /readyz says it: 1 or 0.");
    describe_gauge!(BUILD, "Always 1; its label is the version that runs.");
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    process().describe();
    Ok(handle)
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

/// The projects and providers that there are now. Of a deleted one nothing is shown.
pub struct Present {
    /// Entries by project; `None` if the store cannot say now.
    pub entries: Option<BTreeMap<String, u64>>,
    /// Projects that leave a provider alone, by its name.
    pub down: BTreeMap<String, u32>,
}

/// All metrics as text. Metrics of the process are read now.
pub fn render(metrics: &PrometheusHandle, counted: &Metrics, present: &Present) -> String {
    process().collect();
    let now = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&now, || {
        describe_counter!(
            QUERIES,
            "Requests of known keys by project and outcome: exact_hit, semantic_hit, miss, passed, error, refused, rate_limited."
        );
        describe_counter!(SAVED, "Nano-dollars (1e-9 USD) not spent, thanks to hits.");
        describe_counter!(
            SPENT,
            "Nano-dollars (1e-9 USD) spent on misses, on answers that broke off and on models that decide, where the price is known."
        );
        counted.show(present.entries.as_ref());
        describe_gauge!(ENTRIES, "Entries, by project; expired ones that are not swept yet are among them.");
        describe_gauge!(
            PROVIDERS_DOWN,
            "Projects that leave a provider alone because it had no answer to the last calls."
        );
        for (project, count) in present.entries.iter().flatten() {
            gauge!(ENTRIES, "project" => project.clone()).set(*count as f64);
        }
        for (provider, projects) in &present.down {
            gauge!(PROVIDERS_DOWN, "provider" => provider.clone()).set(f64::from(*projects));
        }
    });
    metrics.render() + &now.handle().render()
}

/// Tells whether deja is ready.
pub fn ready(is_ready: bool) {
    gauge!(READY).set(f64::from(u8::from(is_ready)));
}

/// Sets the gauges that nothing sets as their value changes.
pub fn observe(upstream_calls: usize, price_age: std::time::Duration) {
    gauge!(UPSTREAM_CALLS).set(upstream_calls as f64);
    gauge!(PRICE_AGE).set(price_age.as_secs_f64());
}

/// Counts the samples of histograms into their buckets. The recorder keeps each one until this or [`render`] is called, and
/// perhaps nobody scrapes.
pub fn merge_samples(metrics: &PrometheusHandle) {
    metrics.run_upkeep();
}

#[cfg(test)]
mod tests {
    use metrics::histogram;

    use super::*;

    /// The metrics that this file names.
    fn all() -> Vec<&'static str> {
        let (source, _) = include_str!("telemetry.rs").split_once("mod tests {").unwrap();
        source.split('"').filter(|text| text.starts_with("deja_")).collect()
    }

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
                assert!(all().contains(&name), "{file} names {name}");
            }
        }
        assert!(all().len() > 20);
        for metric in all() {
            assert!(named(page).contains(&metric), "metrics.md does not name {metric}");
            assert!(named(dashboard).contains(&metric), "grafana.json does not show {metric}");
        }
    }

    #[test]
    fn a_call_of_a_provider_has_buckets_of_its_own() {
        let recorder = recorder().unwrap();
        metrics::with_local_recorder(&recorder, || {
            histogram!(UPSTREAM_SECONDS).record(20.0);
            histogram!(SEARCH_SECONDS).record(0.0002);
        });
        let text = recorder.handle().render();
        for line in [
            format!("{UPSTREAM_SECONDS}_bucket{{le=\"15\"}} 0"),
            format!("{UPSTREAM_SECONDS}_bucket{{le=\"30\"}} 1"),
            format!("{SEARCH_SECONDS}_bucket{{le=\"0.00025\"}} 1"),
        ] {
            assert!(text.lines().any(|told| told == line), "no {line} in\n{text}");
        }
    }

    /// Bytes of memory that this process has.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    #[test]
    fn samples_that_nobody_scrapes_take_no_memory_for_long() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            let times = histogram!(SEARCH_SECONDS);
            let round = || {
                (0..100_000).for_each(|_| times.record(0.001));
                merge_samples(&handle);
            };
            round();
            let before = resident();
            // 400 MB and more, if all of them were kept; other tests of this process take some at the same time.
            (0..200).for_each(|_| round());
            let grown = resident().saturating_sub(before);
            assert!(grown < 200_000_000, "{grown} bytes more");
        });
    }
}
