//! Work that nobody waits for: writing counts, sweeping expired entries, fresh prices, new vectors after a
//! change of embedder. Every task runs until `stop` and is waited for at shutdown.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::clock::Clock;
use deja_core::embedding::{EmbedError, Embedded, Embedder};
use deja_core::engine::Engine;
use deja_core::store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const FLUSH_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_mins(1);
const SWEEP_BATCH: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
const REEMBED_BATCH: NonZeroUsize = NonZeroUsize::new(64).unwrap();
const REEMBED_EVERY: Duration = Duration::from_mins(10);
const PROGRESS_EVERY: u64 = 1000;

/// Writes counts once a second, and once more at the end.
pub async fn flush_counts(engine: Engine, stop: CancellationToken) {
    loop {
        let last = stop.run_until_cancelled(tokio::time::sleep(FLUSH_EVERY)).await.is_none();
        if let Err(error) = engine.recorder().flush(&**engine.store()).await {
            tracing::error!(error = %error, "counts could not be written; they are kept for the next try");
        }
        if last {
            return;
        }
    }
}

/// Forgets old rollups, and sessions and links that expired.
pub async fn sweep_history(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
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
pub async fn sweep(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
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

/// Gives entries of another embedder vectors of this one: at the start, when entries were imported here, and once
/// in a while, because another process may have imported some. Until then they are found by the same prompt only.
pub async fn reembed(
    store: Arc<dyn Store>,
    embedder: Arc<dyn Embedder>,
    imported: Arc<Notify>,
    stop: CancellationToken,
) {
    loop {
        if let Err(error) = try_reembed(&*store, &*embedder, &stop).await {
            tracing::error!("re-embedding stopped: {error}; it goes on later");
        }
        let wait = tokio::time::timeout(REEMBED_EVERY, imported.notified());
        if stop.run_until_cancelled(wait).await.is_none() {
            return;
        }
    }
}

async fn try_reembed(
    store: &dyn Store,
    embedder: &dyn Embedder,
    stop: &CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let total = store.stale_count(embedder.id()).await?;
    if total == 0 {
        return Ok(());
    }
    tracing::info!(entries = total, embedder = %embedder.id(), "re-embedding entries of another embedder");
    let (mut done, mut told) = (0u64, 0u64);
    loop {
        let stale = store.stale(embedder.id(), REEMBED_BATCH).await?;
        if stale.is_empty() {
            tracing::info!(done, "re-embedding is complete");
            return Ok(());
        }
        for entry in stale {
            if stop.is_cancelled() {
                return Ok(());
            }
            let vector = match embed_patiently(embedder, &entry.prompt, stop).await? {
                None => return Ok(()),
                Some(Embedded::Vector { embedding, .. }) => Some(embedding),
                Some(Embedded::TooLong { .. }) => None,
            };
            store.replace_vector(entry.project, entry.id, embedder.id(), vector.as_ref()).await?;
            done += 1;
        }
        if done - told >= PROGRESS_EVERY {
            told = done;
            tracing::info!(done, total, "re-embedding");
        }
    }
}

/// Queries go first: while they fill the queue this work waits. `None` when it is time to stop.
async fn embed_patiently(
    embedder: &dyn Embedder,
    prompt: &str,
    stop: &CancellationToken,
) -> Result<Option<Embedded>, EmbedError> {
    loop {
        match embedder.embed(prompt).await {
            Err(EmbedError::Overloaded | EmbedError::Timeout) => {
                let pause = tokio::time::sleep(Duration::from_millis(200));
                if stop.run_until_cancelled(pause).await.is_none() {
                    return Ok(None);
                }
            }
            embedded => return embedded.map(Some),
        }
    }
}
