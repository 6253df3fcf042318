//! The index is filled from the database: a start waits for that, but not for ever. What is left is read beside requests.
//!
//! Threads read pieces of rows and put them into memory. A piece and a transaction of the writer exclude each other, so each
//! piece is read from a database that memory has followed: what was removed is not in it, and what was added since the
//! start is told by its number.

use std::any::Any;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::{Duration, Instant};

use deja_core::cache::{PromptHash, ScopeKey};
use deja_core::id::EntryId;
use deja_core::store::StoreError;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use rusqlite::{Connection, params};

use super::index::{Index, Row, Vector};
use super::open::PAGE;
use super::readers::{STEPS, reader};
use super::rows::{count, unreadable};
use super::{EmbedderNumber, Memory};

/// Rows that are read at once.
const PIECE: i64 = 1_000;
/// Rows that are read at once beside requests: a writer waits until they are read.
const SMALL_PIECE: i64 = 100;
/// Vectors for which one more thread is begun.
const LEAST_PART: i64 = 10_000;

/// How much of the index is there.
#[derive(Default)]
pub(super) struct Load {
    whole: AtomicBool,
    stopped: AtomicBool,
    /// Requests are answered meanwhile.
    beside: AtomicBool,
    /// Numbers of rows that were passed, and all of them.
    passed: AtomicI64,
    all: AtomicI64,
    failure: Mutex<Option<String>>,
    /// Held for reading while a piece is on its way, for writing from a transaction's begin until memory has followed.
    pieces: RwLock<()>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Load {
    /// Whether all is there. If not, the database has to be asked for what is not in memory.
    pub(super) fn is_whole(&self) -> bool {
        self.whole.load(Ordering::Acquire)
    }

    /// How much is there, 0 to 1, while the rest is being read.
    pub(super) fn progress(&self) -> Option<f64> {
        let all = self.all.load(Ordering::Relaxed);
        let passed = self.passed.load(Ordering::Relaxed).clamp(0, all);
        let goes_on = all > 0 && !self.is_whole() && self.failure.lock().is_none();
        goes_on.then(|| passed as f64 / all as f64)
    }

    /// An error if the rest will not come.
    pub(super) fn works(&self) -> Result<(), StoreError> {
        match &*self.failure.lock() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Corrupt(format!("the index cannot be loaded: {reason}"))),
        }
    }

    /// Keeps pieces out until what this gives is dropped.
    pub(super) fn apart_from_pieces(&self) -> RwLockWriteGuard<'_, ()> {
        self.pieces.write()
    }

    /// Ends each thread, in the middle of the piece that it reads.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Waits until the threads have ended.
    pub(super) fn ended(&self) {
        let thread = self.thread.lock().take();
        // A panic in a thread was told when it came.
        let _told = thread.map(JoinHandle::join);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Begins to fill the index and waits for its end, for as long as `patience`. Fails on what cannot be read until then.
pub(super) fn begin(path: &Path, memory: &Arc<Memory>, patience: Duration) -> rusqlite::Result<()> {
    let begun = Instant::now();
    let parts = Parts::open(path, memory)?;
    let (tell, told) = sync_channel(1);
    let (load, filled) = (Arc::clone(&memory.load), Arc::clone(memory));
    let thread = thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| parts.read(&filled)));
        filled.load.end(&outcome, begun.elapsed());
        // Nobody listens any more if the store is open already.
        let _unheard = tell.send(outcome);
    });
    *load.thread.lock() = Some(thread);
    match told.recv_timeout(patience) {
        Ok(outcome) => outcome.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(RecvTimeoutError::Timeout) => {
            load.beside.store(true, Ordering::Relaxed);
            tracing::info!(
                "the index is loaded beside requests, {:.0} % of it is there: until the rest is, similar prompts may be \
                 missed, the same prompts are not",
                load.progress().unwrap_or(1.0) * 100.0
            );
            Ok(())
        }
        Err(RecvTimeoutError::Disconnected) => Ok(()),
    }
}

type Outcome = thread::Result<rusqlite::Result<()>>;

impl Load {
    /// Keeps how it came out, and tells who reads the log if requests are answered already.
    fn end(&self, outcome: &Outcome, took: Duration) {
        let (is_heard, seconds) = (self.beside.load(Ordering::Relaxed), took.as_secs());
        let reason = match outcome {
            Ok(Ok(())) if self.is_stopped() => return,
            Ok(Ok(())) => {
                self.whole.store(true, Ordering::Release);
                if is_heard {
                    tracing::info!(seconds, "all of the index is loaded");
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(panic) => text_of(&**panic).to_owned(),
        };
        if is_heard {
            tracing::error!(reason, "the index cannot be loaded: restore the database from a backup");
        }
        *self.failure.lock() = Some(reason);
    }

    /// Reads `rows` piece by piece. `piece` reads so many that come after a row's number, and says where it ended; `None` if
    /// nothing was left.
    fn pieces(
        &self,
        rows: Range<i64>,
        mut piece: impl FnMut(i64, i64) -> rusqlite::Result<Option<i64>>,
    ) -> rusqlite::Result<()> {
        let (mut after, mut yields) = (rows.start - 1, false);
        while !self.is_stopped() {
            if !yields && self.beside.load(Ordering::Relaxed) {
                // As embedding does: requests come first. Where that is refused the load goes on as before.
                let _refused_is_as_before = rustix::process::nice(10);
                yields = true;
            }
            let pieces = self.pieces.read();
            let limit = if yields { SMALL_PIECE } else { PIECE };
            let ended = match piece(after, limit) {
                Err(_) if self.is_stopped() => break,
                // Half an index is none: the others need not go on.
                ended => ended.inspect_err(|_| self.stop())?,
            };
            drop(pieces);
            self.passed.fetch_add(ended.unwrap_or(rows.end - 1) - after, Ordering::Relaxed);
            match ended {
                None => break,
                Some(ended) => after = ended,
            }
        }
        Ok(())
    }
}

/// What is to be read, and over which connections.
struct Parts {
    embedder: Option<EmbedderNumber>,
    heads: Connection,
    /// The highest number of an entry: higher ones were stored since, and are in memory.
    last: Row,
    /// A part of the file for each core, as long as parts are worth a thread.
    vectors: Vec<(Connection, Range<i64>)>,
}

impl Parts {
    fn open(path: &Path, memory: &Memory) -> rusqlite::Result<Self> {
        let connect = || -> rusqlite::Result<_> {
            let (mut connection, load) = (reader(path)?, Arc::clone(&memory.load));
            connection.progress_handler(STEPS, Some(move || load.is_stopped()))?;
            Ok(connection)
        };
        let heads = connect()?;
        let number = |sql: &str| heads.query_row(sql, [], |row| row.get::<_, i64>(0));
        // What projects are said to have may be wrong. An entry takes more than 256 bytes of the file.
        let said = memory.index.counts().into_values().fold(0, u64::saturating_add);
        let pages = heads.query_row("PRAGMA page_count", [], |row| count(row, 0))?;
        let entries = said.min(pages.saturating_mul(PAGE / 256));
        let scopes = heads.query_row("SELECT count(*) FROM scopes", [], |row| count(row, 0))?;
        memory.index.reserve(usize::try_from(entries).unwrap_or(0), usize::try_from(scopes).unwrap_or(0));
        let last = number("SELECT coalesce(max(entry), 0) FROM heads")?;
        let last_vector = number("SELECT coalesce(max(rowid), 0) FROM vectors")?;
        memory.load.all.store(last.saturating_add(last_vector), Ordering::Relaxed);
        let cores = thread::available_parallelism().map_or(1, NonZero::get) as i64;
        let part = (last_vector / cores + 1).max(LEAST_PART);
        let vectors = (0..=last_vector)
            .step_by(part as usize)
            .map(|first| Ok((connect()?, first..(first + part).min(last_vector + 1))))
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self { embedder: memory.own_embedder(), heads, last, vectors })
    }

    fn read(self, memory: &Memory) -> rusqlite::Result<()> {
        let Self { embedder, heads, last, vectors } = self;
        let (index, load) = (&memory.index, &*memory.load);
        thread::scope(|threads| {
            let mut tasks = vec![threads.spawn(move || load_heads(&heads, last, index, load))];
            for (connection, rows) in vectors {
                tasks.push(
                    threads.spawn(move || load_vectors(&connection, embedder, last, rows, index, load)),
                );
            }
            all(tasks)
        })
    }
}

/// Waits for all tasks. A panic of a task is passed on: half an index must not pass for a whole one.
fn all<E>(tasks: Vec<ScopedJoinHandle<'_, Result<(), E>>>) -> Result<(), E> {
    tasks.into_iter().try_for_each(|task| task.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Reads who is where, up to the entry `last`.
fn load_heads(connection: &Connection, last: Row, index: &Index, load: &Load) -> rusqlite::Result<()> {
    let mut select = connection.prepare(
        "SELECT h.entry, s.scope_key, h.prompt_hash, h.expires
         FROM heads h LEFT JOIN scopes s ON s.scope = h.scope
         WHERE h.entry > ?1 AND h.entry <= ?2 ORDER BY h.entry LIMIT ?3",
    )?;
    load.pieces(0..last + 1, |after, limit| {
        let (mut rows, mut ended) = (select.query(params![after, last, limit])?, None);
        while let Some(row) = rows.next()? {
            let number: Row = row.get(0)?;
            let expires = row.get::<_, Option<i64>>(3)?.unwrap_or(i64::MAX);
            index.add_exact(ScopeKey(row.get(1)?), PromptHash(row.get(2)?), number, expires);
            ended = Some(number);
        }
        Ok(ended)
    })
}

/// Reads the vectors of an embedder in some rows, in the order in which they lie in the file: to find each by its entry
/// would take longer than to read it.
fn load_vectors(
    connection: &Connection,
    embedder: Option<EmbedderNumber>,
    last: Row,
    rows: Range<i64>,
    index: &Index,
    load: &Load,
) -> rusqlite::Result<()> {
    // The rows of all embedders, so that a piece has as many rows whichever embedder is in use.
    let mut select = connection.prepare(
        "SELECT v.rowid, h.entry, h.entry_id, s.scope_key, h.expires, iif(v.embedder = ?1, v.vector, NULL)
         FROM vectors v CROSS JOIN heads h ON h.entry = v.entry LEFT JOIN scopes s ON s.scope = h.scope
         WHERE v.rowid > ?2 AND v.rowid < ?3 ORDER BY v.rowid LIMIT ?4",
    )?;
    load.pieces(rows.clone(), |after, limit| {
        let (mut found, mut ended) = (select.query(params![embedder, after, rows.end, limit])?, None);
        while let Some(row) = found.next()? {
            ended = Some(row.get(0)?);
            let number: Row = row.get(1)?;
            let Some(bytes) = row.get_ref(5)?.as_blob_or_null()? else { continue };
            // Memory knows better: the entry was stored, or got another vector, since the start.
            if number > last || index.has_vector(number) {
                continue;
            }
            let vector = Vector::from_bytes(bytes)
                .ok_or_else(|| unreadable(5, format!("the vector of entry {number} cannot be read")))?;
            let (id, scope) = (EntryId::from_bytes(row.get(2)?), ScopeKey(row.get(3)?));
            let expires = row.get::<_, Option<i64>>(4)?.unwrap_or(i64::MAX);
            index.add_vector(scope, vector, number, id, expires);
        }
        Ok(ended)
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a thread panicked")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::mpsc;

    use deja_core::embedding::Threshold;
    use deja_core::store::{Entries, Probe, Projects, Store};
    use deja_core::testing::change;

    use super::super::SqliteStore;
    use super::super::fixtures::{
        NOW, count_to_a_thousand, embedder, entry, hash, id, project, scope, vector,
    };
    use super::*;
    use crate::{OpenError, StoreSettings};

    fn settings(directory: &Path) -> StoreSettings {
        let (embedder, index_patience) = (Some(embedder()), Duration::ZERO);
        StoreSettings { embedder, index_patience, ..StoreSettings::new(directory) }
    }

    /// Whether an entry is found by its prompt, and by its meaning.
    async fn found(store: &SqliteStore, number: u8) -> (bool, bool) {
        let exact = store.exact(&scope(), &hash(number), NOW).await.unwrap();
        let probe = Probe {
            embedder: &embedder(),
            embedding: &vector(number),
            prompt: PromptHash::of("a prompt of nobody's"),
            threshold: Threshold::new(0.9).unwrap(),
            limit: NonZeroUsize::MIN,
        };
        let near = store.nearest(&scope(), probe, NOW).await.unwrap();
        let is_it = |found: EntryId| found == id(number);
        (exact.is_some_and(|entry| is_it(entry.id)), near.iter().any(|near| is_it(near.entry.id)))
    }

    /// A store with the entries 0 to 39, as it lies there after it was closed.
    async fn filled() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&settings(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        for number in 0..40 {
            store.insert(entry(number)).await.unwrap();
        }
        store.close().await.unwrap();
        directory
    }

    async fn loaded(store: &SqliteStore) {
        while store.index_build().await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Does what `locks` does with a load, and waits inside it until the sender is dropped.
    fn hold(load: &Arc<Load>, locks: fn(&Load, &dyn Fn())) -> mpsc::Sender<()> {
        let ((release, released), (begun, begins)) = (mpsc::channel::<()>(), mpsc::channel());
        let load = Arc::clone(load);
        thread::spawn(move || {
            locks(&load, &|| {
                begun.send(()).unwrap();
                let _dropped = released.recv();
            });
        });
        begins.recv().unwrap();
        release
    }

    /// Keeps pieces out, as the writer does.
    fn as_the_writer(load: &Load, wait: &dyn Fn()) {
        let _apart = load.apart_from_pieces();
        wait();
    }

    /// Keeps the writer out, as a piece does.
    fn as_a_piece(load: &Load, wait: &dyn Fn()) {
        let _piece = load.pieces.read();
        wait();
    }

    #[test]
    fn a_part_is_read_from_its_first_row_to_its_last_and_told() {
        let (load, mut asked) = (Load::default(), Vec::new());
        assert_eq!(load.progress(), None);
        load.all.store(8, Ordering::Relaxed);
        let piece = |after: i64, limit| {
            asked.push((after, limit));
            Ok((after < 7).then(|| after + 1))
        };
        load.pieces(5..9, piece).unwrap();
        assert_eq!(asked, [4, 5, 6, 7].map(|after| (after, PIECE)));
        assert_eq!(load.progress(), Some(0.5));
    }

    #[tokio::test]
    async fn until_it_is_there_the_same_prompt_is_found_in_the_database() {
        let directory = filled().await;
        let load = Arc::<Load>::default();
        let held = hold(&load, as_the_writer);
        let store = SqliteStore::open_with(&settings(directory.path()), Arc::clone(&load)).unwrap();
        assert_eq!(store.index_build().await.unwrap(), Some(0.0));
        assert_eq!(store.count(project().id).await.unwrap(), 40);
        assert_eq!((found(&store, 1).await, found(&store, 41).await), ((true, false), (false, false)));
        drop(held);
        loaded(&store).await;
        assert_eq!((found(&store, 1).await, found(&store, 41).await), ((true, true), (false, false)));
        assert_eq!(store.count(project().id).await.unwrap(), 40);
        store.ready().await.unwrap();
    }

    #[tokio::test]
    async fn a_write_waits_for_the_piece_that_is_on_its_way() {
        let directory = filled().await;
        let load = Arc::<Load>::default();
        let held = hold(&load, as_a_piece);
        let store = SqliteStore::open_with(&settings(directory.path()), Arc::clone(&load)).unwrap();
        let change = change();
        let mut deletion = store.delete(project().id, id(1), &change);
        let waited = tokio::time::timeout(Duration::from_millis(100), &mut deletion).await;
        assert!(waited.is_err(), "what was read before the deletion would come back after it");
        drop(held);
        assert!(deletion.await.unwrap());
        loaded(&store).await;
        assert_eq!((found(&store, 1).await, found(&store, 2).await), ((false, false), (true, true)));
    }

    #[tokio::test]
    async fn what_cannot_be_loaded_is_told_and_the_same_prompts_go_on() {
        let directory = filled().await;
        let database = Connection::open(directory.path().join("deja.db")).unwrap();
        database.execute("UPDATE vectors SET vector = x'00' WHERE entry = 7", []).unwrap();
        drop(database);
        let waits = StoreSettings { index_patience: Duration::from_mins(1), ..settings(directory.path()) };
        let Err(error @ OpenError::Corrupt { .. }) = SqliteStore::open(&waits) else {
            panic!("who waits for the index is told")
        };
        assert!(error.to_string().contains("the vector of entry 7"), "{error}");

        let load = Arc::<Load>::default();
        let held = hold(&load, as_the_writer);
        let store = SqliteStore::open_with(&settings(directory.path()), Arc::clone(&load)).unwrap();
        drop(held);
        load.ended();
        let error = store.ready().await.unwrap_err().to_string();
        assert!(error.contains("the index cannot be loaded: ") && error.contains("entry 7"), "{error}");
        assert!(found(&store, 30).await.0);
    }

    #[tokio::test]
    async fn a_stop_ends_a_piece_that_is_on_its_way() {
        let directory = filled().await;
        let store = SqliteStore::open(&settings(directory.path())).unwrap();
        let load = Arc::clone(&store.memory.load);
        let Parts { heads, .. } = Parts::open(&directory.path().join("deja.db"), &store.memory).unwrap();
        let mut pieces = 0;
        let read = load.pieces(0..9, |after, _| {
            pieces += 1;
            load.stop();
            count_to_a_thousand(&heads)?;
            Ok(Some(after + 1))
        });
        assert_eq!((read, pieces), (Ok(()), 1));
        assert!(count_to_a_thousand(&heads).is_err(), "the piece was read to its end");
    }

    #[test]
    fn half_an_index_does_not_pass_for_a_whole_one() {
        type Task = fn() -> Result<(), &'static str>;
        let (good, bad) = (|| Ok(()), || Err("unreadable"));
        let joined = |tasks: &[Task]| {
            thread::scope(|threads| all(tasks.iter().map(|task| threads.spawn(task)).collect()))
        };
        assert_eq!(joined(&[good, good]), Ok(()));
        assert_eq!((joined(&[good, bad]), joined(&[bad, good])), (Err("unreadable"), Err("unreadable")));
        let panics: Task = || panic!("the test panics here");
        assert!(catch_unwind(AssertUnwindSafe(|| joined(&[good, panics]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| joined(&[panics, good]))).is_err());
    }
}
