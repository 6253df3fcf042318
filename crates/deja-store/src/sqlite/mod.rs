//! The SQLite backend.
//!
//! One thread writes ([`writer`]), a few connections read ([`readers`]), and what every request needs is in
//! memory ([`catalog`], [`index`], [`limits`]), so that a hit touches no file. Memory follows the database:
//! it changes after a commit and before the acknowledgement, and is rebuilt at start ([`open`], [`load`]).

mod access_tokens;
mod audit;
mod backup;
mod browse;
mod catalog;
mod counts;
mod entries;
mod export;
mod fault;
#[cfg(test)]
mod fixtures;
mod forbidden;
mod index;
mod invites;
mod keys;
mod labels;
mod limits;
mod load;
mod lock;
mod members;
mod migrations;
mod open;
mod operators;
mod opinions;
mod projects;
mod providers;
mod readers;
mod request_log;
mod reserve;
mod rows;
mod samples;
mod second_factors;
mod sessions;
mod usage;
mod vectors;
mod writer;
mod wrong_answers;

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::cache::Entry;
use deja_core::embedding::EmbedderId;
use deja_core::id::{KeyId, ProjectId};
use deja_core::store::{EntryFilter, Store, StoreError};

pub(crate) use backup::backup;
use catalog::Catalog;
use forbidden::Forbidden;
use index::{Index, Row, Scans};
use limits::Buckets;
use load::Load;
use readers::Readers;
use vectors::StaleClaims;
use writer::{Done, Writer};

pub(crate) use open::schema;

/// The number of an embedder in the database.
type EmbedderNumber = i64;

/// What is kept in memory. Changed by the writer thread only, the caches and buckets apart.
struct Memory {
    catalog: Catalog,
    index: Index,
    /// How much of the index is there.
    load: Arc<Load>,
    scans: Arc<Scans>,
    buckets: Buckets,
    key_buckets: Buckets<(ProjectId, KeyId)>,
    feedback_buckets: Buckets,
    forbidden: Forbidden,
    /// Whose vectors the index holds.
    embedder: Option<(EmbedderId, EmbedderNumber)>,
    stale_claims: StaleClaims,
    /// Entries by row, bounded in bytes. A row's content never changes and its number is never given twice,
    /// so nothing here can be stale: whether an entry still exists is for the index to say.
    texts: moka::sync::Cache<Row, Arc<Entry>>,
}

/// The store.
pub(crate) struct SqliteStore {
    memory: Arc<Memory>,
    writer: Writer,
    readers: Readers,
    /// The one connection for searches and counts that may read all of a project.
    searches: Readers,
}

impl SqliteStore {
    /// The connections that read what passes the filter. If it reads entries through, it has its own: what hits read never waits for it.
    fn readers_for(&self, filter: &EntryFilter) -> &Readers {
        if filter.is_all() { &self.readers } else { &self.searches }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ready(&self) -> Result<(), StoreError> {
        self.memory.load.works()?;
        self.readers.read(|connection| connection.query_row("SELECT 1", [], |_| Ok(()))).await?;
        // Turned over each time, so that a page is really written.
        let sql = "INSERT INTO facts (name, value) VALUES ('ready', x'00')
                   ON CONFLICT (name) DO UPDATE SET value = iif(value = x'00', x'01', x'00')";
        self.writer
            .write_if_room(|connection| {
                connection.execute(sql, [])?;
                Ok(Done::quiet(()))
            })
            .await
    }

    async fn index_build(&self) -> Result<Option<f64>, StoreError> {
        Ok(self.memory.load.progress())
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.memory.load.stop();
        let load = Arc::clone(&self.memory.load);
        let stopped = tokio::task::spawn_blocking(move || load.ended()).await;
        stopped.map_err(|error| StoreError::Internal(Box::new(error)))?;
        self.searches.close().await;
        self.readers.close().await;
        self.writer.close().await;
        Ok(())
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.memory.load.stop();
    }
}

/// About the bytes that an entry takes in memory.
fn weight(entry: &Entry) -> u32 {
    let Entry { prompt, model, answer, .. } = entry;
    let record = answer.record.as_ref().map_or(0, bytes::Bytes::len);
    let texts = prompt.len() + answer.text.len() + record + model.len() + answer.provider.len();
    u32::try_from(texts + 256).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use deja_core::store::{
        Audit, Browse, Entries, EntryColumn, EntryOrder, Labels, Order, Projects, RequestLog, StaleCount,
        Usage, Vectors,
    };
    use deja_core::testing::{self, change};

    use super::*;
    use crate::StoreSettings;

    #[tokio::test]
    async fn the_close_ends_reads_however_long_they_would_take() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let goes_on = Arc::clone(&given_up);
        let read = store.readers.read(move |connection| {
            begun.send(()).unwrap();
            while !goes_on.load(Ordering::Relaxed) {
                fixtures::count_to_a_thousand(connection)?;
            }
            Ok(())
        });
        let close = async {
            begins.await.unwrap();
            let closed = tokio::time::timeout(Duration::from_mins(1), store.close()).await;
            given_up.store(true, Ordering::Relaxed);
            closed.expect("the close waits for the read").unwrap();
        };
        let (read, ()) = tokio::join!(read, close);
        assert!(read.unwrap_err().to_string().contains("closed"));
    }

    #[tokio::test]
    async fn hits_do_not_wait_for_what_reads_entries_through() {
        let directory = tempfile::tempdir().unwrap();
        let settings = StoreSettings { readers: 1, ..StoreSettings::new(directory.path()) };
        let (project, one) = (ProjectId::from_bytes([1; 16]), NonZeroUsize::MIN);
        let since = deja_core::clock::Timestamp::from_secs(0);
        let filter = EntryFilter { text: Some("text".into()), ..EntryFilter::default() };
        let search_timeout = Duration::from_millis(1);
        let store = SqliteStore::open(&StoreSettings { search_timeout, ..settings }).unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let search = store.searches.read(move |_| {
            begun.send(()).unwrap();
            held.recv().map_err(|_| rusqlite::Error::InvalidQuery)
        });
        let others = async {
            begins.await.unwrap();
            let model = EntryFilter { model: Some("m".into()), ..EntryFilter::default() };
            let by_hits = Order { by: EntryColumn::Hits, descends: true };
            // Who searches waits for the search, and not for longer than it may.
            let too_long = [
                store.browse(project, &filter, EntryOrder::NEWEST, None, one).await.err(),
                store.browse(project, &model, by_hits, None, one).await.err(),
                store.count_matching(project, &filter).await.err(),
                store.top_entries(project, &filter, since, one).await.err(),
                store.purge(project, &filter, &change()).await.err(),
                store.count_matching(project, &model).await.err(),
                store.top_entries(project, &model, since, one).await.err(),
            ];
            for error in too_long {
                assert!(matches!(error, Some(StoreError::SearchTimeout)), "{error:?}");
            }
            let all = EntryFilter::default();
            for (filter, order) in [(&all, EntryOrder::NEWEST), (&all, by_hits), (&model, EntryOrder::NEWEST)]
            {
                assert_eq!(store.browse(project, filter, order, None, one).await.unwrap(), []);
            }
            assert_eq!(store.count_matching(project, &all).await.unwrap(), 0);
            store.ready().await.unwrap();
            // What must not end half done waits for as long as it takes.
            let (noted, embedder) = (change(), EmbedderId::new("e"));
            let mut purge = pin!(store.purge(project, &model, &noted));
            let mut stale = pin!(store.stale_count(None, &embedder, since));
            let both = futures::future::join(&mut purge, &mut stale);
            assert!(tokio::time::timeout(Duration::from_millis(50), both).await.is_err());
            release.send(()).unwrap();
            assert_eq!((purge.await.unwrap(), stale.await.unwrap()), (0, StaleCount::default()));
        };
        let (search, ()) = tokio::join!(search, others);
        search.unwrap();
    }

    #[tokio::test]
    async fn a_sweep_that_finds_nothing_waits_for_no_write() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&fixtures::project(), &change()).await.unwrap();
        store.log_requests(&[testing::logged(fixtures::project().id, fixtures::NOW)]).await.unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let write = store.writer.write(move |_| {
            begun.send(()).unwrap();
            held.recv().map_err(|_| rusqlite::Error::InvalidQuery)?;
            Ok(Done::quiet(()))
        });
        let sweeps = async {
            begins.await.unwrap();
            let (now, many) = (fixtures::NOW, NonZeroUsize::MAX);
            let found = [
                store.sweep_usage(now, many).await,
                store.sweep_logged(now, many).await,
                store.sweep_labels(now, many, many).await,
                store.sweep_changes("test", change().at, 1, many).await,
            ];
            release.send(()).unwrap();
            found.map(Result::unwrap)
        };
        let sweeps = tokio::time::timeout(Duration::from_mins(1), sweeps);
        let (written, found) = tokio::join!(write, sweeps);
        written.unwrap();
        assert_eq!(found.expect("one waits for the write"), [0; 4]);
    }
}
