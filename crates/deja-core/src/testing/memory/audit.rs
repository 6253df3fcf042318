//! The audit log of the reference store.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::{AuditFilter, AuditRow, Change};
use crate::clock::Timestamp;
use crate::store::{Audit, StoreError};

#[async_trait]
impl Audit for MemoryStore {
    async fn note(&self, change: &Change) -> Result<(), StoreError> {
        self.state().changes.push(change.clone());
        Ok(())
    }

    async fn changes(
        &self,
        filter: &AuditFilter,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let state = self.state();
        let rows = state.changes.rows.iter().rev();
        let rows = rows
            .filter(|row| before.is_none_or(|before| row.number < before))
            .filter(|row| filter.passes(&row.change));
        Ok(rows.take(limit.get()).cloned().collect())
    }

    async fn sweep_changes(
        &self,
        action: &str,
        before: Timestamp,
        newest: u64,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        let rows = &mut self.state().changes.rows;
        let of = rows.iter().filter(|row| row.change.action == action).count() as u64;
        let mut seen = 0_u64;
        let surplus = rows.extract_if(.., |row| {
            let is_of = row.change.action == action;
            seen += u64::from(is_of);
            is_of && (row.change.at < before || newest.saturating_add(seen) <= of)
        });
        Ok(surplus.take(limit.get()).count() as u64)
    }
}

/// The audit log. A row keeps its number when others are removed.
#[derive(Default)]
pub(super) struct Log {
    rows: Vec<AuditRow>,
    last: u64,
}

impl Log {
    pub(super) fn push(&mut self, change: Change) {
        self.last += 1;
        self.rows.push(AuditRow { number: self.last, change });
    }
}
