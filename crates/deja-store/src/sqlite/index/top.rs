//! The best few of many.

use deja_core::embedding::Similarity;

use super::Found;

/// Keeps the `limit` best, best first, equal ones by id.
pub(super) struct Top {
    limit: usize,
    found: Vec<Found>,
}

impl Top {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new() }
    }

    /// What a newcomer must at least reach, once the places are taken.
    pub(super) fn floor(&self) -> Option<Similarity> {
        (self.found.len() >= self.limit).then(|| self.found.last().map(|last| last.similarity)).flatten()
    }

    /// Takes `candidate` if it is good enough. A row seen before is passed over: a scan may meet an entry
    /// twice that moved meanwhile.
    pub(super) fn offer(&mut self, candidate: Found) {
        let before = |other: &Found| {
            other.similarity > candidate.similarity
                || (other.similarity == candidate.similarity && other.id < candidate.id)
        };
        let at = self.found.partition_point(before);
        if at >= self.limit || self.found.iter().any(|other| other.row == candidate.row) {
            return;
        }
        if self.found.len() >= self.limit {
            self.found.pop();
        }
        self.found.insert(at, candidate);
    }

    pub(super) fn into_found(self) -> Vec<Found> {
        self.found
    }
}
