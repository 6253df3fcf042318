//! The best few of many, some of which are known only nearly.

use std::num::NonZeroUsize;

use deja_core::embedding::{Similarity, Threshold};

use super::{Found, Near, Row};

/// Candidates that are kept at least before the ones that are too far away are dropped.
const KEPT: usize = 64;

/// Keeps all that may be among the `limit` best.
pub(super) struct Top {
    limit: usize,
    /// What the best are at least, best first.
    best: Vec<(Similarity, Row)>,
    near: Vec<Near>,
    /// When `near` has so many, those that are too far away are dropped.
    full: usize,
}

impl Top {
    pub(super) fn new(limit: NonZeroUsize) -> Self {
        Self { limit: limit.get(), best: Vec::new(), near: Vec::new(), full: KEPT }
    }

    /// What a newcomer must at least reach, once the places are taken.
    pub(super) fn floor(&self) -> Option<Similarity> {
        self.best.get(self.limit - 1).map(|(least, _)| *least)
    }

    /// Takes `candidate` if it may be good enough. A scan may meet a row twice, if it moved meanwhile.
    pub(super) fn offer(&mut self, candidate: Near) {
        if self.floor().is_some_and(|floor| candidate.most < floor) {
            return;
        }
        self.near.push(candidate);
        let at = self.best.partition_point(|(least, _)| *least >= candidate.least);
        if at < self.limit && self.best.iter().all(|(_, row)| *row != candidate.row) {
            self.best.insert(at, (candidate.least, candidate.row));
            self.best.truncate(self.limit);
        }
        if self.near.len() >= self.full {
            self.drop_far();
            self.full = (2 * self.near.len()).max(KEPT);
        }
    }

    /// All that may be among the best, each once, what may be the best of all first.
    pub(super) fn into_near(mut self) -> Vec<Near> {
        self.drop_far();
        let mut near = self.near;
        near.sort_unstable_by_key(|near| near.row);
        near.dedup_by_key(|near| near.row);
        near.sort_unstable_by(|a, b| b.most.get().total_cmp(&a.most.get()).then(a.id.cmp(&b.id)));
        near
    }

    fn drop_far(&mut self) {
        if let Some(floor) = self.floor() {
            self.near.retain(|near| near.most >= floor);
        }
    }
}

/// The `limit` best of `near` that reach the threshold, best first, equal ones by id. `similarity` gives the similarity of a
/// row whose vector is not in memory as it is stored; `None` if the row is gone.
pub(in crate::sqlite) fn settled<E>(
    near: Vec<Near>,
    threshold: Threshold,
    limit: NonZeroUsize,
    mut similarity: impl FnMut(Row) -> Result<Option<Similarity>, E>,
) -> Result<Vec<Found>, E> {
    let limit = limit.get();
    let mut found: Vec<Found> = Vec::with_capacity(limit.min(near.len()));
    for near in near {
        if found.get(limit - 1).is_some_and(|last| near.most < last.similarity) {
            break;
        }
        let similarity = if near.is_settled() { Some(near.most) } else { similarity(near.row)? };
        if let Some(similarity) = similarity.filter(|similarity| threshold.reached_by(*similarity)) {
            let Near { id, row, .. } = near;
            let before = |other: &Found| (other.similarity, id) > (similarity, other.id);
            found.insert(found.partition_point(before), Found { similarity, id, row });
            found.truncate(limit);
        }
    }
    Ok(found)
}
