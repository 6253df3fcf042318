//! Keys of the maps in memory: most of what a scope of one entry would cost, if they were kept whole.

use std::hash::{BuildHasher, Hash, RandomState};

/// 128 bits of a keyed hash. That two of a billion keys meet has a probability below 10^-20, and nobody can make them
/// meet, since the hash's key is this process's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u64; 2]);

impl Fingerprint {
    /// The number of its part, of so many parts.
    pub(super) fn part(self, parts: usize) -> usize {
        self.0[0] as usize % parts
    }
}

/// Makes fingerprints.
#[derive(Default)]
pub(super) struct Fingerprints(RandomState);

impl Fingerprints {
    pub(super) fn of(&self, key: impl Hash) -> Fingerprint {
        Fingerprint([0_u8, 1].map(|half| self.0.hash_one((half, &key))))
    }
}
