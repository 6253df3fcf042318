//! Up to [`FULL`] vectors with their sketches: the unit that is scanned under one hold of the lock.

use super::kernels::{self, Level, Sketches, Word};
use super::sketch::Sketcher;
use super::{Row, Slot, vector};

/// Vectors in a full chunk: at 384 dimensions its sketches are 48 KB, about a first-level cache.
pub(super) const FULL: usize = 1024;
/// A chunk with room for more vectors than this has sketches. To score so few takes no longer than to make the sketch
/// of the probe, and most scopes hold only a few.
const UNSKETCHED: usize = 64;

/// A piece of a partition. Grows by doubling, so that a scope with one entry costs one entry.
#[derive(Default)]
pub(super) struct Chunk {
    slots: Vec<Slot>,
    /// Word-major, see [`Sketches`]; the stride is the capacity. Empty while the chunk is small.
    sketches: Box<[u64]>,
    vectors: Vec<u16>,
    capacity: usize,
}

/// What moves when an entry moves.
pub(super) struct Taken {
    pub(super) slot: Slot,
    vector: Box<[u16]>,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Adds a vector; the chunk must not be full.
    pub(super) fn push(&mut self, slot: Slot, vector: Box<[u16]>, sketcher: &Sketcher) {
        if self.capacity == 0 {
            // As it is: most scopes hold one entry only.
            (self.slots, self.vectors, self.capacity) = (vec![slot], vector.into_vec(), 1);
            return;
        }
        if self.len() == self.capacity {
            self.resize(self.capacity * 2, sketcher);
        }
        self.slots.push(slot);
        self.vectors.extend_from_slice(&vector);
        self.sketch(self.len() - 1, sketcher);
    }

    /// Takes the last vector out.
    pub(super) fn pop(&mut self, sketcher: &Sketcher) -> Option<Taken> {
        let slot = self.slots.pop()?;
        let at = self.slots.len();
        let vector = self.vectors.split_off(at * sketcher.dimension()).into();
        if at > 0 && at * 4 <= self.capacity {
            self.resize(self.capacity / 2, sketcher);
        }
        Some(Taken { slot, vector })
    }

    /// Puts a vector in the place of another.
    pub(super) fn replace(&mut self, at: usize, taken: &Taken, sketcher: &Sketcher) {
        self.slots[at] = taken.slot;
        let dimension = taken.vector.len();
        self.vectors[at * dimension..][..dimension].copy_from_slice(&taken.vector);
        self.sketch(at, sketcher);
    }

    /// Whether [`Self::within`] can be asked.
    pub(super) fn has_sketches(&self) -> bool {
        !self.sketches.is_empty()
    }

    /// The places whose sketch is within the radii of `probe`. `ahead` will be asked next.
    pub(super) fn within(&self, level: Level, probe: &[Word], ahead: Option<&Chunk>, found: &mut Vec<u16>) {
        kernels::within(level, self.sketches(), probe, ahead.map(Chunk::sketches), found);
    }

    fn sketches(&self) -> Sketches<'_> {
        Sketches { words: &self.sketches, stride: self.capacity, len: self.len() }
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

    /// Makes the sketch of the vector at `at`, if the chunk has sketches.
    fn sketch(&mut self, at: usize, sketcher: &Sketcher) {
        if self.has_sketches() {
            let dimension = sketcher.dimension();
            let sketch = sketcher.sketch(&vector::to_f32(&self.vectors[at * dimension..][..dimension]));
            for (w, word) in sketch.iter().enumerate() {
                self.sketches[w * self.capacity + at] = *word;
            }
        }
    }

    fn resize(&mut self, capacity: usize, sketcher: &Sketcher) {
        let capacity = capacity.min(FULL);
        for_exactly(&mut self.vectors, capacity * sketcher.dimension());
        for_exactly(&mut self.slots, capacity);
        let before = std::mem::replace(&mut self.capacity, capacity);
        let sketches = std::mem::take(&mut self.sketches);
        if capacity <= UNSKETCHED {
            return;
        }
        self.sketches = vec![0; sketcher.words() * capacity].into();
        if sketches.is_empty() {
            (0..self.len()).for_each(|at| self.sketch(at, sketcher));
        } else {
            for w in 0..sketcher.words() {
                let len = self.slots.len();
                self.sketches[w * capacity..][..len].copy_from_slice(&sketches[w * before..][..len]);
            }
        }
    }
}

/// Gives `list` room for exactly `capacity` items.
fn for_exactly<T>(list: &mut Vec<T>, capacity: usize) {
    list.shrink_to(capacity);
    list.reserve_exact(capacity - list.len());
}
