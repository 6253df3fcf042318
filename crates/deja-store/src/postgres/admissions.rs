//! Requests of one key that are there at the same time are admitted by one statement, together with what they look up.
//!
//! One by one they would wait for each other in the database, for the row of their project's limit, and each would cost a
//! round trip. So while statements admit requests of a key, others of that key gather, and the next statement admits all of
//! them, in the order in which they came. No request joins a statement that was sent before it came: a revocation holds for it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deja_core::api_key::KeyHash;
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, ProjectId};
use deja_core::room_to_parse;
use deja_core::store::{Door, Found, LookUp, StoreError};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::connections::Connections;
use super::fault::{too_late, unavailable};
use super::keys::Ahead;
use super::{entries, keys};

/// Statements for one key that are under way before requests wait. With one, somebody who comes while another is admitted
/// waits for up to a round trip, however idle the database is.
const UNDER_WAY: usize = 2;
/// Requests that one statement admits at most.
const TOGETHER: usize = 64;
/// How long requests wait for a statement. One that takes longer hangs, and perhaps its connection alone.
const PATIENCE: Duration = Duration::from_millis(25);

/// What a request asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) wanted: LookUp,
    pub(super) now: Timestamp,
}

type Told = Result<(Door, Ahead), StoreError>;

/// A request that waits for the next statement.
struct Waiting {
    asked: Asked,
    teller: oneshot::Sender<Told>,
}

/// What is going on for a key.
#[derive(Default)]
struct OfKey {
    under_way: usize,
    waiting: Vec<Waiting>,
}

/// The requests that are being admitted.
pub(super) struct Admissions {
    connections: Connections,
    /// The keys for which statements are under way.
    keys: Mutex<HashMap<KeyHash, OfKey>>,
}

impl Admissions {
    pub(super) fn new(connections: Connections) -> Self {
        Self { connections, keys: Mutex::default() }
    }

    /// Admits a request, with others of its key if they are there.
    pub(super) async fn admit(
        self: &Arc<Self>,
        hash: &KeyHash,
        asked: Asked,
    ) -> Result<(Door, Found), StoreError> {
        let (door, ahead) = match self.begin(hash, asked) {
            Ok(turn) => {
                let told = turn.take(&[asked]).await?;
                told.into_iter().next().ok_or_else(|| unavailable("an admission gave no row"))?
            }
            Err(told) => {
                let told = timeout(self.connections.patience(), told).await;
                told.map_err(|_| too_late("an admission"))?
                    .unwrap_or_else(|_| Err(unavailable("the store is closed")))?
            }
        };
        let found = match (ahead, &door) {
            (Ahead::Found(found), _) => found,
            (Ahead::Long(entry, bytes), Door::Open(admission, _)) => {
                self.long(admission.project.id, entry, bytes).await
            }
            (Ahead::Long(..), _) => Ok(None),
        };
        Ok((door, found))
    }

    /// A long answer. A project has room for some: many at once would take all connections.
    async fn long(&self, project: ProjectId, entry: EntryId, bytes: usize) -> Found {
        let room = timeout(self.connections.patience(), room_to_parse(Some(project), bytes)).await;
        let _room = room.map_err(|_| too_late("a long answer"))?;
        entries::whole(&self.connections, project, entry).await
    }

    /// A turn of this key, or else where the request will be told.
    fn begin(self: &Arc<Self>, hash: &KeyHash, asked: Asked) -> Result<Turn, oneshot::Receiver<Told>> {
        let mut keys = self.keys.lock();
        let of_key = keys.entry(*hash).or_default();
        if of_key.under_way < UNDER_WAY {
            of_key.under_way += 1;
            return Ok(Turn { admissions: Arc::clone(self), hash: *hash });
        }
        let (teller, told) = oneshot::channel();
        of_key.waiting.push(Waiting { asked, teller });
        Err(told)
    }

    /// The requests that a turn which is over leaves to the next. Without any there is none.
    fn next(&self, hash: &KeyHash) -> Vec<Waiting> {
        let mut keys = self.keys.lock();
        let Entry::Occupied(mut entry) = keys.entry(*hash) else { return Vec::new() };
        let of_key = entry.get_mut();
        // Who hung up asks for nothing.
        of_key.waiting.retain(|request| !request.teller.is_closed());
        let first = of_key.waiting.len().min(TOGETHER);
        if first == 0 {
            of_key.under_way -= 1;
            if of_key.under_way == 0 {
                entry.remove();
            }
            return Vec::new();
        }
        of_key.waiting.drain(..first).collect()
    }
}

/// A statement for a key. Others wait until it is dropped: the statement has ended then, its caller hung up, or it takes long.
struct Turn {
    admissions: Arc<Admissions>,
    hash: KeyHash,
}

impl Turn {
    async fn take(self, asked: &[Asked]) -> Result<Vec<(Door, Ahead)>, StoreError> {
        let (admissions, hash) = (Arc::clone(&self.admissions), self.hash);
        let mut statement = pin!(keys::admit_and_look_up(&admissions.connections, &hash, asked));
        let in_time = timeout(PATIENCE, &mut statement).await;
        drop(self);
        match in_time {
            Ok(told) => told,
            Err(_) => statement.await,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let requests = self.admissions.next(&self.hash);
        if requests.is_empty() {
            return;
        }
        let turn = Self { admissions: Arc::clone(&self.admissions), hash: self.hash };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let asked: Vec<Asked> = requests.iter().map(|request| request.asked).collect();
            let mut told = turn.take(&asked).await.map(Vec::into_iter);
            for request in requests {
                let told = match &mut told {
                    Ok(told) => told.next().ok_or_else(|| unavailable("an admission gave no row")),
                    Err(error) => Err(error.duplicate()),
                };
                // Who hung up is told nothing.
                let _ = request.teller.send(told);
            }
        });
    }
}
