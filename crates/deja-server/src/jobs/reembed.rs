//! New vectors after a change of embedder.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::embedding::{EmbedError, Embedded, Embedder};
use deja_core::store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const REEMBED_BATCH: NonZeroUsize = NonZeroUsize::new(64).unwrap();
const REEMBED_EVERY: Duration = Duration::from_mins(10);
const PROGRESS_EVERY: u64 = 1000;

/// Gives entries of another embedder vectors of this one: at the start, when entries were imported here, and once
/// in a while, because another process may have imported some. Until then they are found by the same prompt only.
pub async fn run(
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
