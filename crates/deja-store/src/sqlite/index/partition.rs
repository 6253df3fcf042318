//! The vectors of one scope: what a search scans.

use std::num::NonZeroUsize;
use std::sync::Arc;

use deja_core::clock::Timestamp;
use deja_core::embedding::{Similarity, Threshold};
use parking_lot::{RwLock, RwLockReadGuard};

use super::chunk::{Chunk, FULL};
use super::kernels::{self, Level};
use super::sketch::Sketcher;
use super::top::Top;
use super::vector::Vector;
use super::{Found, Row, Slot};

/// A cosine this near to 1 counts as 1: rounding to f16 turns a vector by up to 2^-11, so the store cannot
/// tell such a pair from an equal one, and a threshold of 1 must find an equal one.
pub(super) const INDISTINGUISHABLE: f32 = 1.0 - 1.0 / 1_048_576.0;

/// Vectors of one dimension. Places are numbered through all chunks; only the last chunk is not full.
pub(super) struct Partition {
    sketcher: Arc<Sketcher>,
    chunks: RwLock<Vec<Chunk>>,
}

/// What is searched for in a partition.
#[derive(Clone)]
pub(in crate::sqlite) struct Search {
    pub(in crate::sqlite) probe: Box<[f32]>,
    pub(in crate::sqlite) threshold: Threshold,
    pub(in crate::sqlite) limit: NonZeroUsize,
    pub(in crate::sqlite) now: Timestamp,
}

impl Partition {
    pub(super) fn new(sketcher: Arc<Sketcher>) -> Self {
        Self { sketcher, chunks: RwLock::new(Vec::new()) }
    }

    /// Adds a vector and says at which place.
    pub(super) fn push(&self, slot: Slot, vector: Vector) -> u32 {
        let mut chunks = self.chunks.write();
        if chunks.last().is_none_or(|last| last.len() == FULL) {
            chunks.reserve_exact(1);
            chunks.push(Chunk::default());
        }
        let full = (chunks.len() - 1) * FULL;
        chunks.last_mut().map_or(0, |last| {
            last.push(slot, vector.stored, &self.sketcher);
            (full + last.len() - 1) as u32
        })
    }

    /// Takes the vector at `place` out by putting the last one there; says which row moved, and whether the
    /// partition is empty now.
    pub(super) fn remove(&self, place: u32) -> (Option<Row>, bool) {
        let mut chunks = self.chunks.write();
        let Some(last) = chunks.last_mut().and_then(|chunk| chunk.pop(&self.sketcher)) else {
            return (None, true);
        };
        if chunks.last().is_some_and(|chunk| chunk.len() == 0) {
            chunks.pop();
        }
        let (chunk, at) = (place as usize / FULL, place as usize % FULL);
        let moved = chunks.get_mut(chunk).filter(|chunk| at < chunk.len()).map(|chunk| {
            chunk.replace(at, &last, &self.sketcher);
            last.slot.row
        });
        (moved, chunks.is_empty())
    }

    /// How much work `search` is, in vectors scanned exactly; a sketch costs about a twentieth.
    pub(super) fn cost(&self, search: &Search) -> usize {
        let chunks = self.chunks.read();
        let vectors = chunks.len().saturating_sub(1) * FULL + chunks.last().map_or(0, Chunk::len);
        if self.sketcher.radius(search.threshold.get()).is_some() { vectors / 20 } else { vectors }
    }

    /// The live vectors that reach the threshold, best first, equal ones by id.
    ///
    /// The lock is lent to waiting writers between chunks. Chunks are scanned last to first: an entry only
    /// ever moves from the last place to an earlier one, so it may be met twice, which [`Top`] notices, and
    /// is never missed.
    pub(super) fn nearest(&self, search: &Search) -> Vec<Found> {
        let level = kernels::level();
        let mut top = Top::new(search.limit.get());
        let mut near = Vec::new();
        let mut radius = self.sketcher.radius(search.threshold.get());
        let mut sketch = None;
        let mut chunks = self.chunks.read();
        let mut next = chunks.len();
        loop {
            next = next.min(chunks.len());
            let Some(index) = next.checked_sub(1) else { break };
            next = index;
            let chunk = &chunks[index];
            if let Some(radius) = radius.filter(|_| chunk.has_sketches()) {
                let sketch = sketch.get_or_insert_with(|| self.sketcher.sketch(&search.probe));
                near.clear();
                chunk.within(level, sketch, radius, &mut near);
                for at in &near {
                    offer(level, chunk, usize::from(*at), search, &mut top);
                }
            } else {
                for at in 0..chunk.len() {
                    offer(level, chunk, at, search, &mut top);
                }
            }
            // With all places taken only what is at least as near as the worst of them matters.
            if let (Some(_), Some(floor)) = (radius, top.floor()) {
                radius = self.sketcher.radius(f64::from(floor.get()).max(search.threshold.get()));
            }
            RwLockReadGuard::bump(&mut chunks);
        }
        drop(chunks);
        top.into_found()
    }
}

fn offer(level: Level, chunk: &Chunk, at: usize, search: &Search, top: &mut Top) {
    let cosine = chunk.cosine(level, at, &search.probe);
    let similarity =
        if cosine >= INDISTINGUISHABLE { Similarity::ONE } else { Similarity::from_cosine(cosine) };
    let slot = &chunk.slots()[at];
    if search.threshold.reached_by(similarity) && search.now.as_nanos() < slot.expires {
        top.offer(Found { similarity, id: slot.id, row: chunk.row(at) });
    }
}
