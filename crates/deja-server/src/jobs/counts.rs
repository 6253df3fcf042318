//! Counts of requests, from memory into the store.

use std::time::Duration;

use deja_core::engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::telemetry;

const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Writes counts once a second, until the last requests have ended or are `cut`: a process that is killed before it ends
/// loses a second's. The end of the process writes what is left.
pub async fn flush(engine: Engine, cut: CancellationToken) {
    loop {
        let last = cut.run_until_cancelled(tokio::time::sleep(FLUSH_EVERY)).await.is_none();
        if let Err(error) = engine.flush_share_of_counts().await {
            tracing::error!(error = %error, "counts could not be written; they are kept for the next try");
        }
        let dropped = engine.take_dropped_counts();
        if dropped > 0 {
            telemetry::count_dropped(dropped);
            tracing::error!(
                requests = dropped,
                "not counted: too many counts wait to be written, or the database refused them; statistics and hits of entries lack them"
            );
        }
        if last {
            return;
        }
    }
}
