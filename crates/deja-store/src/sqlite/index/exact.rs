//! From a scope and a prompt's hash to an entry: what answers a prompt that was asked before.

use std::collections::HashMap;

use deja_core::cache::{PromptHash, ScopeKey};
use parking_lot::RwLock;

use super::Row;

/// Parts with a lock each, so that the map never grows all at once under one lock.
const SHARDS: usize = 64;

type Shard = RwLock<HashMap<(ScopeKey, PromptHash), (Row, i64)>>;

/// The map. A value is the entry's row and its expiry in nanoseconds.
pub(super) struct ExactMap {
    shards: Box<[Shard]>,
}

impl Default for ExactMap {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

impl ExactMap {
    pub(super) fn get(&self, scope: ScopeKey, prompt: PromptHash) -> Option<(Row, i64)> {
        self.shard(prompt).read().get(&(scope, prompt)).copied()
    }

    pub(super) fn insert(&self, scope: ScopeKey, prompt: PromptHash, row: Row, expires: i64) {
        self.shard(prompt).write().insert((scope, prompt), (row, expires));
    }

    /// Removes the entry, unless another row has taken its place.
    pub(super) fn remove(&self, scope: ScopeKey, prompt: PromptHash, row: Row) {
        let mut shard = self.shard(prompt).write();
        if shard.get(&(scope, prompt)).is_some_and(|(found, _)| *found == row) {
            shard.remove(&(scope, prompt));
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

    fn shard(&self, prompt: PromptHash) -> &Shard {
        &self.shards[usize::from(prompt.0[0]) % SHARDS]
    }
}
