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
        if sweep_batch(&*store, clock.now()).await >= SWEEP_BATCH.get() as u64 && !stop.is_cancelled() {
            continue;
        }
        if stop.run_until_cancelled(tokio::time::sleep(SWEEP_EVERY)).await.is_none() {
            return;
        }
    }
}

/// A batch of each; says the size of the largest one.
async fn sweep_batch(store: &dyn Store, now: Timestamp) -> u64 {
    let changes = |action, kept, most| store.sweep_changes(action, now.minus(kept), most, SWEEP_BATCH);
    let oldest = Step::Day.period_of(now) - OPINIONS_KEPT;
    largest([
        ("counts", store.sweep_usage(now, SWEEP_BATCH)),
        ("samples", store.sweep_samples(now, SWEEP_BATCH)),
        ("logged requests", store.sweep_logged(now, SWEEP_BATCH)),
        ("refused sign-ins", changes(SIGN_IN_REFUSED, REFUSALS_KEPT, MOST_REFUSALS)),
        ("labels", store.sweep_labels(NEWEST_KEPT, SWEEP_BATCH)),
        ("words of wrong answers", changes(FEEDBACK_WRONG, FEEDBACK_KEPT, MOST_FEEDBACK)),
        ("words of right answers", changes(FEEDBACK_RIGHT, FEEDBACK_KEPT, MOST_FEEDBACK)),
        ("opinions", store.sweep_opinions(oldest, SWEEP_BATCH)),
        ("sessions", store.sweep_sessions(now)),
    ])
    .await
}

/// Takes each step, whatever becomes of the others: what keeps one from its end must not keep what is old of all else.
async fn largest<F: Future<Output = Result<u64, StoreError>>>(
    steps: impl IntoIterator<Item = (&'static str, F)>,
) -> u64 {
    let mut largest = 0;
    for (what, step) in steps {
        match step.await {
            Ok(swept) => largest = swept.max(largest),
            Err(error) => tracing::error!(what, error = %error, "old data could not be deleted"),
        }
    }
    largest
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
                tracing::info!(
                    entries = swept + n,
                    "entries that expired, or that were more than max_entries, are deleted"
                );
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

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn a_step_that_fails_keeps_no_other_from_being_taken() {
        let mut taken = Vec::new();
        let failed = || StoreError::Internal("unsupported Unicode escape sequence".into());
        let steps = [("first", Ok(3)), ("second", Err(failed())), ("third", Ok(7)), ("fourth", Ok(5))];
        let steps = steps.map(|(what, swept)| (what, ready(swept)));
        assert_eq!(largest(steps.into_iter().inspect(|(what, _)| taken.push(*what))).await, 7);
        assert_eq!(taken, ["first", "second", "third", "fourth"]);
    }
}
