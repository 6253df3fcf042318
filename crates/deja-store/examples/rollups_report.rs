//! How fast analytics answers over ten million requests: fills a store with 30 days of them, over 20 keys, 5 models
//! and 50 contexts, and times what the Analytics page asks for. Prints a table.
//!
//! Run: `cargo run --release -p deja-store --example rollups_report [REQUESTS_PER_HOUR [DIRECTORY]]`
//!
//! A directory is kept, and is a data directory: `DEJA_DATA_DIR=DIRECTORY deja serve` shows its analytics.
#![expect(clippy::print_stdout, reason = "it prints a report")]

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use deja_core::analytics::{ContextKey, Dimension, Outcome, Rollup, Slice, Step, UsageBatch, UsageEvent};
use deja_core::clock::{Clock as _, SystemClock, Timestamp};
use deja_core::embedding::Similarity;
use deja_core::id::{KeyId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::store::Store;
use deja_core::testing;
use deja_store::{StoreSettings, open};

const HOURS: i64 = 30 * 24;
/// Ten million in 30 days.
const REQUESTS_PER_HOUR: u64 = 13_889;
/// The present, so that a server that is started on the directory shows it all.
static NOW: LazyLock<i64> = LazyLock::new(|| SystemClock.now().as_secs());

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let per_hour = std::env::args().nth(1).map_or(Ok(REQUESTS_PER_HOUR), |text| text.parse())?;
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args().nth(2).map_or(temporary.path().to_owned(), PathBuf::from);
    let store = open(&StoreSettings::new(&directory)).await?;
    let project = ProjectId::from_bytes([1; 16]);
    store.create_project(&testing::project(project, "report", at(0)), &testing::change()).await?;
    let began = Instant::now();
    let (requests, slowest) = fill(&*store, project, per_hour).await?;
    let bytes = std::fs::metadata(directory.join("deja.db"))?.len();
    println!(
        "{requests} requests recorded in {:.0} s, {} MB on disk",
        began.elapsed().as_secs_f64(),
        bytes >> 20
    );
    println!(
        "slowest write of one batch: {:.0} ms (a whole hour at once; a server writes each second)\n",
        slowest.as_secs_f64() * 1e3
    );

    let (hour, minute) = (Step::Hour.period_of(at(*NOW)), Step::Minute.period_of(at(*NOW)));
    let today = Step::Day.period_of(at(*NOW));
    let (month, day, last) = (today - 30..today + 1, hour - 24..hour + 1, minute - 60..minute + 1);
    let (k, m, c) = (Some(key(3)), Some("model-1".into()), Some(ContextKey::of(Some("context 7"))));
    let slices = [
        ("all", Slice::default()),
        ("a key", Slice { key: k, ..Slice::default() }),
        ("a model and a context", Slice { model: m.clone(), context: c, ..Slice::default() }),
        ("a key, a model and a context", Slice { key: k, model: m, context: c }),
    ];
    println!("{:<58} {:>6} {:>9} {:>9}", "question", "rows", "first ms", "best ms");
    for (name, slice) in &slices {
        for (range, step, periods) in
            [("30 d", Step::Day, &month), ("24 h", Step::Hour, &day), ("1 h", Step::Minute, &last)]
        {
            report(&format!("series of {name}, {range}"), async || {
                let series = store.usage_series(project, slice, step, periods.clone()).await?;
                let mut sum = Rollup::default();
                for rollup in series.values() {
                    sum.add(rollup);
                }
                Ok(series.len())
            })
            .await?;
        }
        for by in [Dimension::Key, Dimension::Model, Dimension::Context] {
            report(&format!("30 d of {name}, by {by:?}"), async || {
                let most = NonZeroUsize::MAX;
                Ok(store.usage_by(project, slice, by, Step::Day, month.clone(), most).await?.len())
            })
            .await?;
        }
    }
    report("7 days of all projects, in spans of 24 hours", async || {
        let mut found = 0;
        for day in 0..7 {
            let until = *NOW / 3600 + 1 - day * 24;
            found += store.totals(until - 24, until).await?.len();
        }
        Ok(found)
    })
    .await?;
    Ok(store.close().await?)
}

/// Times a question: the first time, and the best of five more.
async fn report(
    name: &str,
    ask: impl AsyncFn() -> Result<usize, Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let timed = async || {
        let began = Instant::now();
        ask().await.map(|rows| (rows, began.elapsed()))
    };
    let (rows, first) = timed().await?;
    let mut best = first;
    for _ in 0..5 {
        best = best.min(timed().await?.1);
    }
    println!("{name:<58} {rows:>6} {:>9.1} {:>9.1}", first.as_secs_f64() * 1e3, best.as_secs_f64() * 1e3);
    Ok(())
}

/// Records 30 days, hour by hour; every combination of key, model and context is about as likely, which is the
/// worst case for rollups.
async fn fill(
    store: &dyn Store,
    project: ProjectId,
    per_hour: u64,
) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let contexts: Vec<String> = (0..50).map(|number| format!("context {number}")).collect();
    let models: Vec<String> = (0..5).map(|number| format!("model-{number}")).collect();
    let mut batch = UsageBatch::default();
    let (mut requests, mut slowest) = (0, Duration::ZERO);
    for hour in (0..HOURS).rev() {
        for _ in 0..per_hour {
            let (outcome, millis) = match random(10) {
                0..4 => (Outcome::ExactHit, random(2)),
                4..7 => (Outcome::SemanticHit, 2 + random(8)),
                _ => (Outcome::Miss, 200 + random(3000)),
            };
            let when = at(*NOW - hour * 3600 - random(3600) as i64);
            batch.add(&UsageEvent {
                model: &models[random(5) as usize],
                context: Some(&contexts[random(50) as usize]),
                similarity: Some(Similarity::from_cosine(0.7 + random(30) as f32 / 100.0)),
                latency: Duration::from_micros(millis * 1000 + random(1000)),
                input_tokens: random(2000),
                output_tokens: random(800),
                saved: NanoUsd::from_nanos(random(9_000_000)),
                ..UsageEvent::bare(project, key(random(20) as u8), outcome, when)
            });
        }
        requests += per_hour;
        let began = Instant::now();
        store.record(&batch.take(usize::MAX, usize::MAX)).await?;
        slowest = slowest.max(began.elapsed());
        // As the server does: minutes older than two days go.
        store.sweep_usage(at(*NOW - hour * 3600), NonZeroUsize::MAX).await?;
    }
    Ok((requests, slowest))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_secs(seconds)
}

fn key(number: u8) -> KeyId {
    KeyId::from_bytes([number; 16])
}
