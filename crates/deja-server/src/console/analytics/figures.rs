//! The figures of Analytics: what, how much, and a remark.

use deja_core::analytics::{Distribution, Rollup, Totals, quantile};

use super::tables::causes;
use crate::format;

/// What took its time.
#[derive(Clone, Copy)]
pub(super) enum Latency {
    Exact,
    Semantic,
    Miss,
    /// Until a stream began.
    FirstByte,
}

/// A latency in milliseconds.
pub(super) fn latency(rollup: &Rollup, of: Latency, q: f64) -> Option<f64> {
    let counts = |of| rollup.histograms.counts(of);
    let counts = match of {
        Latency::Exact => exact_hits(rollup)?,
        Latency::Semantic => counts(Distribution::SemanticHitLatency),
        Latency::Miss => counts(Distribution::MissLatency),
        Latency::FirstByte => counts(Distribution::StreamBegan),
    };
    quantile(&counts, q).map(|latency| latency.as_secs_f64() * 1e3)
}

/// The latencies of exact hits: all hits less hits by meaning. `None` for a time when hits by meaning were not counted: the rest is more than
/// the exact hits then. It may be less, for a hit that waited for a call has no latency.
fn exact_hits(rollup: &Rollup) -> Option<Vec<u64>> {
    let semantic = rollup.histograms.counts(Distribution::SemanticHitLatency);
    let all = rollup.histograms.counts(Distribution::HitLatency);
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    if sum(&all).saturating_sub(sum(&semantic)) > rollup.totals.exact_hits {
        return None;
    }
    Some(all.iter().zip(semantic).map(|(all, semantic)| all.saturating_sub(semantic)).collect())
}

fn latencies(name: &'static str, all: &Rollup, of: Latency) -> (&'static str, String, String) {
    let ms = |q| latency(all, of, q).map_or("–".into(), format::millis);
    (name, ms(0.5), format!("median; p95 {}, p99 {}", ms(0.95), ms(0.99)))
}

/// What is to be known of an amount.
fn unpriced(totals: &Totals) -> String {
    match totals.unpriced {
        0 => String::new(),
        1 => ", 1 answer without a price".into(),
        some => format!(", {} answers without a price", format::count(some)),
    }
}

pub(super) fn figures(all: &Rollup) -> Vec<(&'static str, String, String)> {
    let totals = &all.totals;
    let count = format::count;
    vec![
        ("Requests", count(totals.requests()), format!("{} answered by the provider", count(totals.misses))),
        (
            "Hits",
            count(totals.hits()),
            format!("{} exact, {} by meaning", count(totals.exact_hits), count(totals.semantic_hits)),
        ),
        ("Hit rate", format::percent(totals.hit_rate()), "of requests that could have been hits".into()),
        (
            "Saved",
            format::money_known(totals.saved, totals.unpriced),
            format!("spent: {}{}", format::money_known(totals.spent, totals.unpriced), unpriced(totals)),
        ),
        (
            "Tokens saved",
            format::short(totals.saved_input_tokens.saturating_add(totals.saved_output_tokens) as f64),
            format!(
                "{} bought",
                format::short(totals.input_tokens.saturating_add(totals.output_tokens) as f64)
            ),
        ),
        latencies("Latency of exact hits", all, Latency::Exact),
        latencies("Latency of hits by meaning", all, Latency::Semantic),
        latencies("Latency of misses", all, Latency::Miss),
        streams(all),
        scopes(all),
        (
            "Passed on",
            count(totals.passed),
            "could not be hits, or wanted a new answer; no part of the hit rate".into(),
        ),
        (
            "Not answered",
            count(totals.unanswered()),
            format!(
                "{} errors, {} refused, {} over the limit",
                count(totals.errors),
                count(totals.refused),
                count(totals.rate_limited)
            ),
        ),
    ]
}

/// How many answers were streams.
pub(super) fn streamed(rollup: &Rollup) -> u64 {
    rollup.histograms.counts(Distribution::StreamBegan).iter().sum()
}

/// How many were none.
pub(super) fn plain(rollup: &Rollup) -> u64 {
    (rollup.totals.hits() + rollup.totals.misses).saturating_sub(streamed(rollup))
}

/// How many answers were streams, and how long it took until they began.
fn streams(all: &Rollup) -> (&'static str, String, String) {
    let ms = |q| latency(all, Latency::FirstByte, q).map_or("–".into(), format::millis);
    let answered = all.totals.hits() + all.totals.misses;
    let share = (answered > 0).then(|| streamed(all) as f64 / answered as f64);
    (
        "Streams",
        format::percent(share),
        format!("of the answers; first byte: median {}, p99 {}", ms(0.5), ms(0.99)),
    )
}

/// How often a request in a wire format had a scope of its own, where nothing can be found, and the most frequent cause.
fn scopes(all: &Rollup) -> (&'static str, String, String) {
    let new = all.totals.new_scopes;
    let most = causes(&all.totals).into_iter().max_by_key(|(_, scopes)| *scopes);
    let told = match most.filter(|_| new > 0) {
        Some((cause, scopes)) => format!("{}: {cause}", format::percent(Some(scopes as f64 / new as f64))),
        None => "of requests in wire formats".into(),
    };
    let new = all.per_1000(new).map_or("–".into(), |new| format::count(new.round() as u64));
    ("New scopes per 1,000 requests", new, told)
}
