//! Up to [`FULL`] vectors with their sketches: the unit that is scanned under one hold of the lock.

use super::Slot;
use super::components::{Components, for_exactly, quantised};
use super::kernels::{self, Level, Sketches, Word};
use super::sketch::Sketcher;

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
    vectors: Components,
    capacity: usize,
}

/// An entry on its way into a chunk, or out of it.
pub(super) struct Piece {
    pub(super) slot: Slot,
    pub(super) vector: Components,
    /// Of the vector as it is stored; `None` if it is to be made from `vector`, which is as it is stored then.
    pub(super) sketch: Option<Box<[u64]>>,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Adds a vector; the chunk must not be full.
    pub(super) fn push(&mut self, piece: Piece, sketcher: &Sketcher) {
        if self.capacity == 0 {
            // As it is: most scopes hold one entry only.
            (self.slots, self.vectors, self.capacity) = (vec![piece.slot], piece.vector, 1);
            return;
        }
        if self.len() == self.capacity {
            self.resize(self.capacity * 2, sketcher);
        }
        self.slots.push(piece.slot);
        self.put(self.len() - 1, &piece, sketcher);
    }

    /// Takes the last vector out.
    pub(super) fn pop(&mut self, sketcher: &Sketcher) -> Option<Piece> {
        let at = self.slots.len().checked_sub(1)?;
        let vector = self.vectors.of(at, sketcher.dimension());
        let sketch = self.has_sketches().then(|| self.sketches().of(at));
        let slot = self.slots.pop()?;
        self.vectors.truncate(at, sketcher.dimension());
        if at > 0 && at * 4 <= self.capacity {
            self.resize(self.capacity / 2, sketcher);
        }
        Some(Piece { slot, vector, sketch })
    }

    /// Keeps int8 components instead of f16, in half the memory. The chunk must have sketches: those of the stored
    /// vectors cannot be made again.
    pub(super) fn quantise(&mut self, dimension: usize) {
        let Components::F16(stored) = &self.vectors else { return };
        let mut components = Vec::with_capacity(self.capacity * dimension);
        for (slot, stored) in self.slots.iter_mut().zip(stored.chunks_exact(dimension)) {
            let (steps, reading) = quantised(stored, slot.reading);
            slot.reading = reading;
            components.extend_from_slice(&steps);
        }
        self.vectors = Components::Int8(components);
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

    /// The least and the greatest cosine that the vector at `at` may have with a probe of length 1.
    pub(super) fn cosine(&self, level: Level, at: usize, probe: &[f32]) -> (f32, f32) {
        self.slots[at].reading.bounds(self.vectors.dot(level, at, probe))
    }

    /// Puts a vector in the place of another.
    pub(super) fn put(&mut self, at: usize, piece: &Piece, sketcher: &Sketcher) {
        let reading = self.vectors.put(at, &piece.vector, piece.slot.reading);
        self.slots[at] = Slot { reading, ..piece.slot };
        if self.has_sketches() {
            let made = || sketcher.sketch(&piece.vector.to_f32());
            self.put_sketch(at, &piece.sketch.clone().unwrap_or_else(made));
        }
    }

    fn put_sketch(&mut self, at: usize, sketch: &[u64]) {
        for (w, word) in sketch.iter().enumerate() {
            self.sketches[w * self.capacity + at] = *word;
        }
    }

    fn resize(&mut self, capacity: usize, sketcher: &Sketcher) {
        let capacity = capacity.min(FULL);
        self.vectors.resize(capacity * sketcher.dimension());
        for_exactly(&mut self.slots, capacity);
        let before = std::mem::replace(&mut self.capacity, capacity);
        let sketches = std::mem::take(&mut self.sketches);
        if capacity <= UNSKETCHED && !self.vectors.is_int8() {
            return;
        }
        self.sketches = vec![0; sketcher.words() * capacity].into();
        if sketches.is_empty() {
            for at in 0..self.len() {
                let vector = self.vectors.of(at, sketcher.dimension());
                self.put_sketch(at, &sketcher.sketch(&vector.to_f32()));
            }
        } else {
            for w in 0..sketcher.words() {
                let len = self.slots.len();
                self.sketches[w * capacity..][..len].copy_from_slice(&sketches[w * before..][..len]);
            }
        }
    }
}
