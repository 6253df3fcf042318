//! A map that many read while one writes. It gives memory back when most of it is gone.

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::RwLock;

use super::fingerprint::Fingerprint;

/// Parts with a lock each, so that the map never grows or shrinks all at once under one lock.
const SHARDS: usize = 64;
/// A map for so many keep its room, however few are left.
const SMALL: usize = 256;

type Shard<V> = RwLock<HashMap<Fingerprint, V>>;

/// The map, by fingerprint.
pub(super) struct Shards<V> {
    shards: Box<[Shard<V>]>,
}

impl<V> Default for Shards<V> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }
}

impl<V: Clone> Shards<V> {
    pub(super) fn get(&self, key: Fingerprint) -> Option<V> {
        self.shard(key).read().get(&key).cloned()
    }

    pub(super) fn insert(&self, key: Fingerprint, value: V) {
        self.shard(key).write().insert(key, value);
    }

    /// What is there, or else `new`, which is there from then on.
    pub(super) fn get_or_insert(&self, key: Fingerprint, new: impl FnOnce() -> V) -> V {
        self.shard(key).write().entry(key).or_insert_with(new).clone()
    }

    /// Removes what is there, if `is_it`.
    pub(super) fn remove_if(&self, key: Fingerprint, is_it: impl FnOnce(&V) -> bool) {
        let mut shard = self.shard(key).write();
        if shard.get(&key).is_some_and(is_it) {
            shard.remove(&key);
            shrink(&mut shard);
        }
    }

    /// Makes room for so many that are about to be added.
    pub(super) fn reserve(&self, values: usize) {
        for shard in &self.shards {
            shard.write().reserve(values / SHARDS);
        }
    }

    fn shard(&self, key: Fingerprint) -> &Shard<V> {
        &self.shards[key.part(SHARDS)]
    }
}

/// Gives back what a map has room for, when less than an eighth of it is left. So as many were removed as are moved.
pub(super) fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.len() * 8 < map.capacity() && map.capacity() > SMALL {
        map.shrink_to_fit();
    }
}

#[cfg(test)]
impl<V> Shards<V> {
    /// For how many there is room.
    pub(super) fn capacity(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().capacity()).sum()
    }
}
