//! Deletes what is too old to be of use.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::Step;
use deja_core::audit::{FEEDBACK_RIGHT, FEEDBACK_WRONG, SIGN_IN_REFUSED};
use deja_core::clock::{Clock, Timestamp};
use deja_core::store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

const SWEEP_EVERY: Duration = Duration::from_mins(1);
const SWEEP_BATCH: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
/// How long a refused sign-in stays in the audit log, and how many do at most: anybody may cause them.
const REFUSALS_KEPT: Duration = Duration::from_hours(30 * 24);
const MOST_REFUSALS: u64 = 10_000;
/// Days that a model's word on a pair of prompts is kept.
const OPINIONS_KEPT: i64 = 90;

/// How long the words of keys that changed what is answered stay in the audit log, and how many of each kind do at most:
/// any application may cause them.
const FEEDBACK_KEPT: Duration = Duration::from_hours(90 * 24);
const MOST_FEEDBACK: u64 = 100_000;
/// What a project keeps at most of answered requests, of labels and of wrong answers: the newest.
const NEWEST_KEPT: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// Forgets old rollups, samples, logged requests, refused sign-ins, feedback and words of models, and sessions and links that expired.
pub async fn history(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
    loop {
        let now = clock.now();
        let swept = sweep_batch(&*store, now).await;
        if matches!(swept, Ok(n) if n >= SWEEP_BATCH.get() as u64) && !stop.is_cancelled() {
            continue;
        }
        if let Err(error) = swept.and(store.sweep_sessions(now).await) {
            tracing::error!(error = %error, "old counts, samples, logged requests, sessions and refused sign-ins could not be deleted");
        }
        if stop.run_until_cancelled(tokio::time::sleep(SWEEP_EVERY)).await.is_none() {
            return;
        }
    }
}

/// A batch of each; says the size of the largest one.
async fn sweep_batch(store: &dyn Store, now: Timestamp) -> Result<u64, StoreError> {
    let counts = store.sweep_usage(now, SWEEP_BATCH).await?;
    let samples = store.sweep_samples(now, SWEEP_BATCH).await?;
    let logged = store.sweep_logged(now, SWEEP_BATCH).await?;
    let since = now.minus(REFUSALS_KEPT);
    let refusals = store.sweep_changes(SIGN_IN_REFUSED, since, MOST_REFUSALS, SWEEP_BATCH).await?;
    let mut swept = counts
        .max(samples)
        .max(logged)
        .max(refusals)
        .max(store.sweep_labels(NEWEST_KEPT, SWEEP_BATCH).await?);
    let since = now.minus(FEEDBACK_KEPT);
    for action in [FEEDBACK_WRONG, FEEDBACK_RIGHT] {
        swept = swept.max(store.sweep_changes(action, since, MOST_FEEDBACK, SWEEP_BATCH).await?);
    }
    let opinions = store.sweep_opinions(Step::Day.period_of(now) - OPINIONS_KEPT, SWEEP_BATCH).await?;
    Ok(swept.max(opinions))
}

/// Deletes entries that expired or are beyond a maximum, in small batches so that writes of queries fit between.
pub async fn entries(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
    let mut swept = 0;
    loop {
        match store.sweep(clock.now(), SWEEP_BATCH).await {
            Ok(n) if n == SWEEP_BATCH.get() as u64 => {
                swept += n;
                if stop.is_cancelled() {
                    return;
                }
                continue;
            }
            Ok(n) if swept + n > 0 => {
                tracing::info!(entries = swept + n, "entries deleted that expired or were beyond a maximum");
                swept = 0;
            }
            Ok(_) => {}
            Err(error) => tracing::error!(error = %error, "expired and surplus entries could not be deleted"),
        }
        if stop.run_until_cancelled(tokio::time::sleep(SWEEP_EVERY)).await.is_none() {
            return;
        }
    }
}
