//! From a scope and a prompt's hash to an entry: what answers a prompt that was asked before.

use std::collections::HashMap;

use parking_lot::RwLock;

use super::Row;
use super::fingerprint::Fingerprint;

/// Parts with a lock each, so that the map never grows all at once under one lock.
const SHARDS: usize = 64;

type Shard = RwLock<HashMap<Fingerprint, (Row, i64)>>;

/// The map, by the fingerprint of scope and prompt. A value is the entry's row and its expiry in nanoseconds.
pub(super) struct ExactMap {
    shards: Box<[Shard]>,
}

impl Default for ExactMap {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

impl ExactMap {
    pub(super) fn get(&self, key: Fingerprint) -> Option<(Row, i64)> {
        self.shard(key).read().get(&key).copied()
    }

    pub(super) fn insert(&self, key: Fingerprint, row: Row, expires: i64) {
        self.shard(key).write().insert(key, (row, expires));
    }

    /// Removes the entry, unless another row has taken its place.
    pub(super) fn remove(&self, key: Fingerprint, row: Row) {
        let mut shard = self.shard(key).write();
        if shard.get(&key).is_some_and(|(found, _)| *found == row) {
            shard.remove(&key);
        }
        if shard.len() * 8 < shard.capacity() && shard.capacity() > 256 {
            shard.shrink_to_fit();
        }
    }

    pub(super) fn reserve(&self, entries: usize) {
        for shard in &self.shards {
            shard.write().reserve(entries / SHARDS);
        }
    }

    fn shard(&self, key: Fingerprint) -> &Shard {
        &self.shards[key.part(SHARDS)]
    }
}
