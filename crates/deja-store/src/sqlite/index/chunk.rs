//! Up to [`FULL`] vectors with their sketches: the unit that is scanned under one hold of the lock.

use super::Slot;
use super::components::{Components, for_exactly, quantised};
use super::kernels::Level;
use super::sieve::Sieve;
use super::sift::View;
use super::sketch::Sketcher;
use super::sketches::Sketches;

/// Vectors in a full chunk: at 384 dimensions its sketches are 48 KB, about a first-level cache.
pub(super) const FULL: usize = 1024;
/// A chunk with room for more vectors than this has sketches. To score so few takes no longer than to make the sketch
/// of the probe, and most scopes hold only a few.
const UNSKETCHED: usize = 64;

/// A piece of a partition. Grows by doubling, so that a scope with one entry costs one entry.
#[derive(Default)]
pub(super) struct Chunk {
    slots: Vec<Slot>,
    /// Empty while the chunk is small.
    sketches: Sketches,
    vectors: Components,
    capacity: usize,
}

/// An entry on its way into a chunk, or out of it.
pub(super) struct Piece {
    pub(super) slot: Slot,
    pub(super) vector: Components,
    /// The sketch of the vector as it is stored; `None` if `vector` is as it is stored, so that the sketch is made from it.
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
            // Kept as it came, without a copy: most scopes hold one entry only.
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
        let sketch = self.has_sketches().then(|| self.sketches.of(at, sketcher.words()));
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

    /// Whether it keeps int8 components.
    pub(super) fn is_int8(&self) -> bool {
        self.vectors.is_int8()
    }

    /// Whether [`Self::within`] can be asked.
    pub(super) fn has_sketches(&self) -> bool {
        !self.sketches.is_empty()
    }

    /// The places whose sketch passes the sieve. `ahead` will be asked next.
    pub(super) fn within(&self, sieve: &Sieve, ahead: Option<&Chunk>, found: &mut Vec<u16>) {
        sieve.within(self.view(sieve), ahead.map(|chunk| chunk.view(sieve)), found);
    }

    fn view(&self, sieve: &Sieve) -> View<'_> {
        self.sketches.view(self.len(), sieve.words())
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
            self.sketches.put(at, &piece.sketch.clone().unwrap_or_else(made));
        }
    }

    fn resize(&mut self, capacity: usize, sketcher: &Sketcher) {
        let capacity = capacity.min(FULL);
        self.vectors.resize(capacity * sketcher.dimension());
        for_exactly(&mut self.slots, capacity);
        self.capacity = capacity;
        let before = std::mem::take(&mut self.sketches);
        if capacity <= UNSKETCHED && !self.vectors.is_int8() {
            return;
        }
        self.sketches = Sketches::new(capacity, sketcher.words());
        for at in 0..self.len() {
            let sketch = if before.is_empty() {
                sketcher.sketch(&self.vectors.of(at, sketcher.dimension()).to_f32())
            } else {
                before.of(at, sketcher.words())
            };
            self.sketches.put(at, &sketch);
        }
    }
}
