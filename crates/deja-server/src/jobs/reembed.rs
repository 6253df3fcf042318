//! Vectors for entries that have none of the embedder in use.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::clock::{Clock, Timestamp};
use deja_core::embedding::{EmbedError, Embedded, Embedder};
use deja_core::store::{StaleEntry, Store, StoreError};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::telemetry;

const BATCH: NonZeroUsize = NonZeroUsize::new(64).unwrap();
const EVERY: Duration = Duration::from_mins(10);
/// How long no batch of an import must have come, so that the import counts as over.
const QUIET: Duration = Duration::from_secs(3);
const PROGRESS_EVERY: u64 = 1000;
/// How long a batch is this process's own. Another one takes over what is not done by then.
const LEASE: Duration = Duration::from_mins(5);
/// How long an entry that cannot be embedded is left alone.
const ASIDE: Duration = Duration::from_hours(24);
/// How long an embedder may be busy, or silent, for one text.
const PATIENCE: Duration = Duration::from_mins(1);
/// What any embedder can embed. If it fails at this, the fault is not the entry's.
const PROBE: &str = "hello";

/// Gives entries vectors of this embedder: at the start, when entries were imported here, and once in a while, because
/// another process may have imported some, or ended in the middle. Until then they are found by the same prompt only.
/// Behind that come the indexes that the store builds when an import is over.
pub async fn run(
    store: Arc<dyn Store>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    imported: Arc<Notify>,
    stop: CancellationToken,
) {
    let job = Job { store: &*store, embedder: &*embedder, clock: &*clock, patience: PATIENCE };
    let mut is_due = true;
    let work = async {
        loop {
            if let Err(error) = job.pass().await {
                tracing::error!("embedding stored entries stopped: {error}; it goes on later");
            }
            if is_due && let Err(error) = store.build_missing_indexes().await {
                tracing::warn!("no index yet, so large scopes are searched slowly: {error}");
            }
            is_due = wait(&imported).await;
        }
    };
    // Wherever it is: to count what is to do reads all of a database, which may lie on a slow disk.
    stop.run_until_cancelled(work).await;
}

/// Waits for the next pass, and says whether something was imported. An import comes in batches, and what is counted before
/// its last one is no total. Imports that follow each other without a pause are not waited for longer than a pass without an
/// import.
async fn wait(imported: &Notify) -> bool {
    let has_more = timeout(EVERY, imported.notified()).await.is_ok();
    if has_more {
        let over = async { while timeout(QUIET, imported.notified()).await.is_ok() {} };
        let _ = timeout(EVERY, over).await;
    }
    has_more
}

struct Job<'a> {
    store: &'a dyn Store,
    embedder: &'a dyn Embedder,
    clock: &'a dyn Clock,
    patience: Duration,
}

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embedder(EmbedError),
}

impl Job<'_> {
    /// Goes through all entries once.
    async fn pass(&self) -> Result<(), Ended> {
        self.go().await?;
        let left = self.store.stale_count(None, self.embedder.id(), self.clock.now()).await?;
        telemetry::not_embedded(left);
        if left.failed > 0 {
            tracing::warn!(
                entries = left.failed,
                "these entries could not be embedded and are found by the same prompt only; each is tried again after a day"
            );
        }
        Ok(())
    }

    async fn go(&self) -> Result<(), Ended> {
        let stale = self.store.stale_count(None, self.embedder.id(), self.clock.now()).await?;
        telemetry::not_embedded(stale);
        if stale.waiting == 0 {
            return Ok(());
        }
        tracing::info!(entries = stale.waiting, embedder = %self.embedder.id(), "embedding entries that have no vector of this embedder");
        let (mut left, mut after, mut done, mut told) = (stale, None, 0u64, 0u64);
        loop {
            let until = self.after(LEASE);
            let batch =
                self.store.claim_stale(self.embedder.id(), after, self.clock.now(), until, BATCH).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.place());
            for entry in &batch {
                let embedded = self.embed(entry).await?;
                done += u64::from(embedded);
                left.failed += u64::from(!embedded);
                left.waiting = left.waiting.saturating_sub(1);
            }
            // To count them anew each time would take longer than to embed them.
            telemetry::not_embedded(left);
            if done - told >= PROGRESS_EVERY {
                told = done;
                tracing::info!(done, total = stale.waiting, "embedding entries");
            }
        }
        tracing::info!(done, "these entries are embedded");
        Ok(())
    }

    /// Gives an entry its vector. `false` if that cannot be done: then the entry is set aside.
    async fn embed(&self, entry: &StaleEntry) -> Result<bool, Ended> {
        let by = self.embedder.id();
        let reason = match self.patiently(&entry.prompt).await? {
            Ok(embedded) => {
                match self.store.put_vector(entry.project, entry.id, by, embedded.vector()).await {
                    Ok(_) => return Ok(true),
                    Err(error @ StoreError::Unavailable(_)) => return Err(error.into()),
                    Err(error) => error.to_string(),
                }
            }
            // Too much to do is nobody's fault.
            Err(error @ EmbedError::Overloaded) => return Err(Ended::Embedder(error)),
            Err(error) => {
                self.patiently(PROBE).await?.map_err(Ended::Embedder)?;
                error.to_string()
            }
        };
        tracing::warn!(project.id = %entry.project, entry.id = %entry.id, reason, "an entry cannot be embedded");
        self.store.set_aside(entry.project, entry.id, by, self.after(ASIDE)).await?;
        Ok(false)
    }

    /// Embeds a text. Queries go first: while they fill the queue this work waits, but not for ever.
    async fn patiently(&self, text: &str) -> Result<Result<Embedded, EmbedError>, Ended> {
        let began = Instant::now();
        loop {
            match self.embedder.embed(text).await {
                Err(EmbedError::Overloaded | EmbedError::Timeout) if began.elapsed() < self.patience => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                embedded => return Ok(embedded),
            }
        }
    }

    fn after(&self, time: Duration) -> Timestamp {
        self.clock.now().plus(time)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use async_trait::async_trait;
    use deja_core::cache::{Frame, Scope};
    use deja_core::embedding::{EmbedderId, Embedding};
    use deja_core::id::{EntryId, ProjectId};
    use deja_core::store::{Entries, Projects, StaleCount, Vectors};
    use deja_core::testing::{ManualClock, MemoryStore, change, entry, new_entry, project};

    use super::*;

    /// Fails at one text; at all, if it is told to; and has too much to do for the first so many texts.
    struct Picky {
        id: EmbedderId,
        fails: fn() -> EmbedError,
        down: AtomicBool,
        busy: AtomicU32,
    }

    impl Picky {
        fn failing(fails: fn() -> EmbedError) -> Self {
            Self { id: EmbedderId::new("picky"), fails, down: AtomicBool::new(true), busy: AtomicU32::new(0) }
        }
    }

    #[async_trait]
    impl Embedder for Picky {
        fn id(&self) -> &EmbedderId {
            &self.id
        }

        fn dimension(&self) -> usize {
            2
        }

        fn window(&self) -> u32 {
            256
        }

        async fn embed(&self, text: &str) -> Result<Embedded, EmbedError> {
            let less = |busy: u32| busy.checked_sub(1);
            if self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                return Err(EmbedError::Overloaded);
            }
            if text == "bad" || self.down.load(Ordering::SeqCst) {
                return Err((self.fails)());
            }
            Ok(Embedded::Vector { embedding: Embedding::new(vec![1.0, 0.0]).unwrap(), tokens: 1 })
        }
    }

    async fn filled(clock: &ManualClock) -> Arc<MemoryStore> {
        let (store, now) = (MemoryStore::new(), clock.now());
        let project = project(ProjectId::from_bytes([1; 16]), "p", now);
        store.create_project(&project, &change()).await.unwrap();
        for (number, prompt) in [(1, "good"), (2, "bad"), (3, "better")] {
            let entry = entry(EntryId::from_bytes([number; 16]), prompt, now);
            let scope = Scope::new(project.id, Frame::query(Some("m"), None));
            store.insert(new_entry(scope, entry)).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_bad_entry_is_set_aside_and_an_embedder_that_is_down_is_not_its_fault() {
        let clock = ManualClock::default();
        let store = filled(&clock).await;
        let embedder = Picky::failing(|| EmbedError::Failed("no".into()));
        let job = Job { store: &*store, embedder: &embedder, clock: &clock, patience: Duration::ZERO };
        let count = async || store.stale_count(None, &embedder.id, clock.now()).await.unwrap();
        assert!(matches!(job.pass().await, Err(Ended::Embedder(_))));
        assert_eq!(count().await, StaleCount { waiting: 3, failed: 0 });

        // The batch that was claimed then is free again after the lease.
        embedder.down.store(false, Ordering::SeqCst);
        clock.advance(LEASE);
        job.pass().await.unwrap();
        assert_eq!(count().await, StaleCount { waiting: 0, failed: 1 });
        clock.advance(ASIDE);
        assert_eq!(count().await, StaleCount { waiting: 1, failed: 0 }, "it is tried again");
    }

    /// Never answers.
    struct Silent(EmbedderId);

    #[async_trait]
    impl Embedder for Silent {
        fn id(&self) -> &EmbedderId {
            &self.0
        }

        fn dimension(&self) -> usize {
            2
        }

        fn window(&self) -> u32 {
            256
        }

        async fn embed(&self, _: &str) -> Result<Embedded, EmbedError> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_it_whatever_it_waits_for() {
        let (clock, stop) = (ManualClock::default(), CancellationToken::new());
        let (store, embedder) = (filled(&clock).await, Arc::new(Silent(EmbedderId::new("silent"))));
        let job = run(store, embedder, Arc::new(clock), Arc::default(), stop.clone());
        tokio::pin!(job);
        assert!(timeout(Duration::from_mins(1), &mut job).await.is_err(), "it waits for the embedder");
        stop.cancel();
        assert!(timeout(Duration::from_mins(1), &mut job).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_begins_when_the_last_batch_of_an_import_is_in() {
        let imported = Notify::new();
        let batches = async {
            for _ in 0..5 {
                imported.notify_one();
                tokio::time::sleep(QUIET / 2).await;
            }
        };
        let began = tokio::time::Instant::now();
        tokio::join!(wait(&imported), batches);
        assert_eq!(began.elapsed(), QUIET / 2 * 4 + QUIET);
    }

    #[tokio::test(start_paused = true)]
    async fn imports_without_a_pause_do_not_keep_a_pass_from_beginning() {
        let imported = Notify::new();
        let batches = async {
            loop {
                imported.notify_one();
                tokio::time::sleep(QUIET / 2).await;
            }
        };
        let began = tokio::time::Instant::now();
        tokio::select! {
            _ = wait(&imported) => {}
            () = batches => {}
        }
        assert_eq!(began.elapsed(), EVERY);
    }

    #[tokio::test]
    async fn an_embedder_that_never_answers_ends_the_pass_and_a_text_that_it_never_embeds_is_set_aside() {
        let clock = ManualClock::default();
        let store = filled(&clock).await;
        let embedder = Picky::failing(|| EmbedError::Timeout);
        let job = Job { store: &*store, embedder: &embedder, clock: &clock, patience: Duration::ZERO };
        let count = async || store.stale_count(None, &embedder.id, clock.now()).await.unwrap();
        assert!(matches!(job.pass().await, Err(Ended::Embedder(EmbedError::Timeout))));
        assert_eq!(count().await, StaleCount { waiting: 3, failed: 0 });

        embedder.down.store(false, Ordering::SeqCst);
        clock.advance(LEASE);
        job.pass().await.unwrap();
        assert_eq!(count().await, StaleCount { waiting: 0, failed: 1 });
    }

    #[tokio::test]
    async fn an_embedder_with_too_much_to_do_sets_nothing_aside() {
        let clock = ManualClock::default();
        let store = filled(&clock).await;
        let embedder = Picky::failing(|| EmbedError::Overloaded);
        embedder.down.store(false, Ordering::SeqCst);
        let job = Job { store: &*store, embedder: &embedder, clock: &clock, patience: Duration::ZERO };
        assert!(matches!(job.pass().await, Err(Ended::Embedder(EmbedError::Overloaded))));
        let left = store.stale_count(None, &embedder.id, clock.now()).await.unwrap();
        assert_eq!(left, StaleCount { waiting: 2, failed: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn an_embedder_that_is_busy_for_a_while_is_waited_for() {
        let clock = ManualClock::default();
        let store = filled(&clock).await;
        let embedder = Picky::failing(|| EmbedError::Failed("no".into()));
        embedder.down.store(false, Ordering::SeqCst);
        embedder.busy.store(3, Ordering::SeqCst);
        let job = Job { store: &*store, embedder: &embedder, clock: &clock, patience: PATIENCE };
        job.pass().await.unwrap();
        let left = store.stale_count(None, &embedder.id, clock.now()).await.unwrap();
        assert_eq!(left, StaleCount { waiting: 0, failed: 1 });
    }
}
