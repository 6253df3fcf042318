//! What is kept in memory about entries: who is where, and the vectors, scope by scope.
//!
//! All of it is derived from the database and rebuilt at start. Only the writer thread changes it, after a
//! commit; everyone reads it.

mod chunk;
mod components;
mod fingerprint;
mod kernels;
mod partition;
mod scans;
mod shards;
mod sieve;
mod sift;
mod sketch;
mod sketches;
mod top;
mod vector;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deja_core::cache::{PromptHash, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use parking_lot::{Mutex, RwLock};

use components::Reading;
use fingerprint::Fingerprints;
use partition::Partition;
use shards::{Shards, shrink};
use sketch::Sketcher;

pub(super) use partition::Search;
pub(super) use scans::Scans;
pub(super) use top::settled;
pub(super) use vector::Vector;

/// The number of an entry in the database, never given twice.
pub(super) type Row = i64;

/// A cost up to which a search runs on the async thread: about 0.1 ms.
const INLINE_COST: usize = 2_000;

/// What a partition knows of an entry besides its vector.
#[derive(Clone, Copy)]
struct Slot {
    id: EntryId,
    row: Row,
    /// Nanoseconds since the epoch; the maximum is never.
    expires: i64,
    /// How the components are read.
    reading: Reading,
}

/// An entry that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) similarity: Similarity,
    pub(super) id: EntryId,
    pub(super) row: Row,
}

/// An entry that a search may have found: how similar it is at least, and at most. Both are the same where the vector
/// is kept as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    pub(super) least: Similarity,
    pub(super) most: Similarity,
    pub(super) id: EntryId,
    pub(super) row: Row,
}

impl Near {
    /// Whether nothing need be read to say how similar it is.
    pub(super) fn is_settled(&self) -> bool {
        self.least == self.most
    }
}

/// An entry as the index takes it.
pub(super) struct Placed {
    pub(super) row: Row,
    pub(super) project: ProjectId,
    pub(super) id: EntryId,
    pub(super) scope: ScopeKey,
    pub(super) prompt: PromptHash,
    pub(super) expires: Option<Timestamp>,
    pub(super) vector: Option<Vector>,
}

/// An entry that left the database, as the index finds it.
pub(super) struct Gone {
    pub(super) row: Row,
    pub(super) project: ProjectId,
    pub(super) scope: ScopeKey,
    pub(super) prompt: PromptHash,
    /// The dimension of its vector.
    pub(super) dimension: Option<usize>,
}

/// Where a search will look.
pub(super) struct Target(Arc<Partition>);

impl Target {
    /// Whether the search is too long for an async thread.
    pub(super) fn is_long(&self, search: &Search) -> bool {
        self.0.cost(search) > INLINE_COST
    }

    /// For each search all live entries that may be among the best that reach its threshold. [`settled`] says which are.
    pub(super) fn nearest(&self, searches: &[&Search]) -> Vec<Vec<Near>> {
        self.0.nearest(searches)
    }
}

/// The entries in memory, with their vectors of one embedder.
#[derive(Default)]
pub(super) struct Index {
    /// See [`StoreSettings::int8_from`](crate::StoreSettings::int8_from).
    int8_from: usize,
    fingerprints: Fingerprints,
    /// The row of an entry and its expiry in nanoseconds, by scope and prompt.
    exact: Shards<(Row, i64)>,
    /// By scope and dimension.
    partitions: Shards<Arc<Partition>>,
    /// The place of each row in its partition. Used by the writer only.
    places: Mutex<HashMap<Row, u32>>,
    sketchers: RwLock<HashMap<usize, Arc<Sketcher>>>,
    counts: RwLock<HashMap<ProjectId, u64>>,
}

impl Index {
    /// An empty index, for projects with so many entries.
    pub(super) fn new(int8_from: usize, counts: HashMap<ProjectId, u64>) -> Self {
        Self { int8_from, counts: RwLock::new(counts), ..Self::default() }
    }

    /// Adds an entry that is committed.
    pub(super) fn add(&self, placed: Placed) {
        let Placed { row, project, id, scope, prompt, expires, vector } = placed;
        let expires = expires.map_or(i64::MAX, Timestamp::as_nanos);
        if let Some(vector) = vector {
            self.add_vector(scope, vector, row, id, expires);
        }
        self.add_exact(scope, prompt, row, expires);
        self.count_more(project, 1);
    }

    /// Adds an entry that is counted already, apart from its vector.
    pub(super) fn add_exact(&self, scope: ScopeKey, prompt: PromptHash, row: Row, expires: i64) {
        self.exact.insert(self.fingerprints.of((scope, prompt)), (row, expires));
    }

    /// Takes an entry out that is no longer in the database.
    pub(super) fn remove(&self, gone: &Gone) {
        // Another row may have taken its place.
        let is_it = |(row, _): &(Row, i64)| *row == gone.row;
        self.exact.remove_if(self.fingerprints.of((gone.scope, gone.prompt)), is_it);
        if let Some(dimension) = gone.dimension {
            self.remove_vector(gone.scope, dimension, gone.row);
        }
        self.count_more(gone.project, -1);
    }

    /// Adds the vector of an entry.
    pub(super) fn add_vector(&self, scope: ScopeKey, vector: Vector, row: Row, id: EntryId, expires: i64) {
        let key = self.fingerprints.of((scope, vector.dimension()));
        let partition = self.partitions.get(key).unwrap_or_else(|| {
            let sketcher = self.sketcher(vector.dimension());
            self.partitions.get_or_insert(key, || Arc::new(Partition::new(sketcher, self.int8_from)))
        });
        let slot = Slot { id, row, expires, reading: vector.reading() };
        let place = partition.push(slot, vector);
        self.places.lock().insert(row, place);
    }

    /// Whether the vector of an entry is there.
    pub(super) fn has_vector(&self, row: Row) -> bool {
        self.places.lock().contains_key(&row)
    }

    /// Takes the vector of an entry out. A partition without vectors is dropped.
    pub(super) fn remove_vector(&self, scope: ScopeKey, dimension: usize, row: Row) {
        let key = self.fingerprints.of((scope, dimension));
        let Some(partition) = self.partitions.get(key) else { return };
        let mut places = self.places.lock();
        let Some(place) = places.remove(&row) else { return };
        let (moved, empty) = partition.remove(place);
        if let Some(moved) = moved {
            places.insert(moved, place);
        }
        shrink(&mut places);
        drop(places);
        if empty {
            self.partitions.remove_if(key, |_| true);
        }
    }

    /// The row of the live entry for exactly this prompt.
    pub(super) fn exact(&self, scope: ScopeKey, prompt: PromptHash, now: Timestamp) -> Option<Row> {
        let (row, expires) = self.exact.get(self.fingerprints.of((scope, prompt)))?;
        (now.as_nanos() < expires).then_some(row)
    }

    /// Whether this is the entry for exactly this prompt, expired or not.
    pub(super) fn holds(&self, scope: ScopeKey, prompt: PromptHash, row: Row) -> bool {
        self.exact.get(self.fingerprints.of((scope, prompt))).is_some_and(|(held, _)| held == row)
    }

    /// Where to look for neighbours of a vector; `None` if there are none.
    pub(super) fn target(&self, scope: ScopeKey, dimension: usize) -> Option<Target> {
        let key = self.fingerprints.of((scope, dimension));
        self.partitions.get(key).map(Target)
    }

    /// Entries of a project.
    pub(super) fn count(&self, project: ProjectId) -> u64 {
        self.counts.read().get(&project).copied().unwrap_or(0)
    }

    /// Entries of each project that has some.
    pub(super) fn counts(&self) -> BTreeMap<ProjectId, u64> {
        self.counts.read().iter().map(|(project, count)| (*project, *count)).collect()
    }

    /// A project has so many entries more than was counted, or fewer if that is negative.
    pub(super) fn count_more(&self, project: ProjectId, more: i64) {
        let mut counts = self.counts.write();
        let count = counts.entry(project).or_default();
        *count = count.saturating_add_signed(more);
        if *count == 0 {
            counts.remove(&project);
        }
    }

    /// Makes room for entries of so many scopes that are about to be added.
    pub(super) fn reserve(&self, entries: usize, scopes: usize) {
        self.exact.reserve(entries);
        self.places.lock().reserve(entries);
        self.partitions.reserve(scopes);
    }

    fn sketcher(&self, dimension: usize) -> Arc<Sketcher> {
        let known = self.sketchers.read().get(&dimension).cloned();
        known.unwrap_or_else(|| {
            let mut sketchers = self.sketchers.write();
            Arc::clone(sketchers.entry(dimension).or_insert_with(|| Arc::new(Sketcher::new(dimension))))
        })
    }
}

#[cfg(test)]
mod tests {
    use deja_core::embedding::Embedding;

    use super::*;

    /// Scopes of one entry each.
    const SCOPES: i64 = 40_000;
    const PROJECT: ProjectId = ProjectId::from_bytes([1; 16]);
    const PROMPT: PromptHash = PromptHash([1; 32]);
    const NOW: Timestamp = Timestamp::from_secs(1);

    fn scope(row: Row) -> ScopeKey {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&row.to_be_bytes());
        ScopeKey(key)
    }

    fn add(index: &Index, row: Row) {
        let vector = Vector::new(&Embedding::new(vec![1.0, row as f32]).unwrap());
        index.add(Placed {
            row,
            project: PROJECT,
            id: EntryId::from_bytes([1; 16]),
            scope: scope(row),
            prompt: PROMPT,
            expires: None,
            vector,
        });
    }

    fn remove(index: &Index, row: Row) {
        index.remove(&Gone { row, project: PROJECT, scope: scope(row), prompt: PROMPT, dimension: Some(2) });
    }

    /// For how many entries the maps have room.
    fn room(index: &Index) -> [usize; 3] {
        [index.exact.capacity(), index.partitions.capacity(), index.places.lock().capacity()]
    }

    #[test]
    fn scopes_that_are_gone_leave_no_room_in_memory() {
        let index = Index::new(0, HashMap::new());
        index.reserve(SCOPES as usize, SCOPES as usize);
        (0..SCOPES).for_each(|row| add(&index, row));
        assert!(room(&index).iter().all(|room| *room >= SCOPES as usize), "{:?}", room(&index));
        let stays = |row: &Row| row % 1_000 == 0;
        (0..SCOPES).filter(|row| !stays(row)).for_each(|row| remove(&index, row));
        assert!(room(&index).iter().all(|room| *room < SCOPES as usize / 2), "{:?}", room(&index));
        // What stays is found, and so is what comes back.
        (0..SCOPES).filter(|row| row % 1_000 == 1).for_each(|row| add(&index, row));
        for row in 0..SCOPES {
            let there = row % 1_000 < 2;
            assert_eq!(index.exact(scope(row), PROMPT, NOW), there.then_some(row));
            assert_eq!((index.target(scope(row), 2).is_some(), index.has_vector(row)), (there, there));
        }
        (0..SCOPES).filter(|row| row % 1_000 < 2).for_each(|row| remove(&index, row));
        assert_eq!(index.count(PROJECT), 0);
        (0..SCOPES).for_each(|row| assert!(index.target(scope(row), 2).is_none()));
    }
}
