//! Deletes what is too old to be of use.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::clock::Clock;
use deja_core::store::Store;
use tokio_util::sync::CancellationToken;

const SWEEP_EVERY: Duration = Duration::from_mins(1);
const SWEEP_BATCH: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// Forgets old rollups, and sessions and links that expired.
pub async fn history(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
    loop {
        let now = clock.now();
        let swept = store.sweep_usage(now, SWEEP_BATCH).await;
        if matches!(swept, Ok(n) if n == SWEEP_BATCH.get() as u64) && !stop.is_cancelled() {
            continue;
        }
        if let Err(error) = swept.and(store.sweep_sessions(now).await) {
            tracing::error!(error = %error, "old counts and sessions could not be deleted");
        }
        if stop.run_until_cancelled(tokio::time::sleep(SWEEP_EVERY)).await.is_none() {
            return;
        }
    }
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
