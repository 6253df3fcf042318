//! Up to [`FULL`] vectors with their sketches: the unit that is scanned under one hold of the lock.

use super::kernels::{self, Level, Sketches};
use super::{Row, Slot};

/// Vectors in a full chunk: at 384 dimensions its sketches are 48 KB, about a first-level cache.
pub(super) const FULL: usize = 1024;

/// A piece of a partition. Grows by doubling, so that a scope with one entry costs one entry.
#[derive(Default)]
pub(super) struct Chunk {
    slots: Vec<Slot>,
    /// Word-major, see [`Sketches`]; the stride is the capacity.
    sketches: Vec<u64>,
    vectors: Vec<u16>,
    capacity: usize,
}

/// What moves when an entry moves.
pub(super) struct Taken {
    pub(super) slot: Slot,
    pub(super) sketch: Box<[u64]>,
    pub(super) vector: Box<[u16]>,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Adds a vector; the chunk must not be full.
    pub(super) fn push(&mut self, slot: Slot, sketch: &[u64], vector: &[u16]) {
        if self.len() == self.capacity {
            self.resize((self.capacity * 2).max(1), sketch.len(), vector.len());
        }
        let at = self.len();
        for (w, word) in sketch.iter().enumerate() {
            self.sketches[w * self.capacity + at] = *word;
        }
        self.vectors.extend_from_slice(vector);
        self.slots.push(slot);
    }

    /// Takes the last vector out.
    pub(super) fn pop(&mut self, words: usize, dimension: usize) -> Option<Taken> {
        let slot = self.slots.pop()?;
        let at = self.slots.len();
        let sketch = (0..words).map(|w| self.sketches[w * self.capacity + at]).collect();
        let vector = self.vectors.split_off(at * dimension).into();
        if at > 0 && at * 4 <= self.capacity {
            self.resize(self.capacity / 2, words, dimension);
        }
        Some(Taken { slot, sketch, vector })
    }

    /// Puts a vector in the place of another.
    pub(super) fn replace(&mut self, at: usize, taken: &Taken) {
        for (w, word) in taken.sketch.iter().enumerate() {
            self.sketches[w * self.capacity + at] = *word;
        }
        let dimension = taken.vector.len();
        self.vectors[at * dimension..][..dimension].copy_from_slice(&taken.vector);
        self.slots[at] = taken.slot;
    }

    /// The places whose sketch lies within `radius` of `probe`.
    pub(super) fn within(&self, level: Level, probe: &[u64], radius: u32, found: &mut Vec<u16>) {
        let sketches = Sketches { words: &self.sketches, stride: self.capacity, len: self.len() };
        kernels::within(level, sketches, probe, radius, found);
    }

    /// The cosine of the vector at `at` with a probe of unit length.
    pub(super) fn cosine(&self, level: Level, at: usize, probe: &[f32]) -> f32 {
        let stored = &self.vectors[at * probe.len()..][..probe.len()];
        kernels::dot(level, stored, probe) * self.slots[at].inverse_norm
    }

    /// The row at `at`.
    pub(super) fn row(&self, at: usize) -> Row {
        self.slots[at].row
    }

    fn resize(&mut self, capacity: usize, words: usize, dimension: usize) {
        let capacity = capacity.min(FULL);
        let len = self.len();
        let mut sketches = vec![0; words * capacity];
        for w in 0..words {
            sketches[w * capacity..][..len].copy_from_slice(&self.sketches[w * self.capacity..][..len]);
        }
        self.sketches = sketches;
        for_exactly(&mut self.vectors, capacity * dimension);
        for_exactly(&mut self.slots, capacity);
        self.capacity = capacity;
    }
}

/// Gives `list` room for exactly `capacity` items.
fn for_exactly<T>(list: &mut Vec<T>, capacity: usize) {
    list.shrink_to(capacity);
    list.reserve_exact(capacity - list.len());
}
