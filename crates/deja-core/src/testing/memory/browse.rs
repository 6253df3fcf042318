//! Looking into the reference store's entries.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;

use super::entries::similarity;
use super::{MemoryStore, State, Stored};
use crate::cache::EntryDetail;
use crate::embedding::{EmbedderId, Embedding, Similarity};
use crate::id::{EntryId, ProjectId};
use crate::store::{Browse, Cursor, EntryFilter, EntryOrder, LISTED, StoreError};

impl Stored {
    pub(super) fn detail(&self) -> EntryDetail {
        EntryDetail {
            entry: Arc::unwrap_or_clone(self.without_record()),
            kind: self.scope.frame().kind(),
            context: self.scope.frame().instructions().map(str::to_owned),
            parameters: self.scope.frame().parameters().clone(),
            hits: self.hits,
            last_hit: (self.hits > 0).then_some(self.last_used),
            saved: self.saved,
        }
    }

    pub(super) fn listed(&self) -> EntryDetail {
        let mut detail = self.detail();
        detail.entry.answer.text = detail.entry.answer.text.chars().take(LISTED).collect();
        detail
    }
}

impl State {
    pub(super) fn matching(&self, project: ProjectId, filter: &EntryFilter) -> impl Iterator<Item = &Stored> {
        self.entries.values().filter(move |stored| stored.passes(project, filter))
    }

    /// A project's newest entries.
    fn newest(&self, project: ProjectId, count: NonZeroUsize) -> impl Iterator<Item = &Stored> {
        let mut entries: Vec<_> = self.matching(project, &EntryFilter::default()).collect();
        entries.sort_by_key(|stored| Reverse((stored.entry.created, stored.entry.id)));
        entries.into_iter().take(count.get())
    }
}

/// Up to `limit` of these rows behind `after`, in the order of their cursors.
pub(super) fn page<T, I: Ord>(
    mut rows: Vec<T>,
    descends: bool,
    cursor: impl Fn(&T) -> Cursor<I>,
    after: Option<Cursor<I>>,
    limit: NonZeroUsize,
) -> Vec<T> {
    let place = |Cursor { value, id }| {
        let none = value.is_none();
        if descends { (none, None, Some(Reverse((value, id)))) } else { (none, Some((value, id)), None) }
    };
    rows.sort_by_key(|row| place(cursor(row)));
    if let Some(after) = after.map(place) {
        rows.retain(|row| place(cursor(row)) > after);
    }
    rows.truncate(limit.get());
    rows
}

/// The most frequent names first, equal ones in their order.
fn ranked<T: Ord>(names: impl Iterator<Item = T>, limit: NonZeroUsize) -> Vec<(T, u64)> {
    let mut counts: BTreeMap<T, u64> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, count)| Reverse(*count));
    ranked.truncate(limit.get());
    ranked
}

#[async_trait]
impl Browse for MemoryStore {
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        order: EntryOrder,
        after: Option<Cursor<EntryId>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let state = self.state();
        let found = state.matching(project, filter).map(Stored::listed).collect();
        Ok(page(found, order.descends, |detail| order.cursor(detail), after, limit))
    }

    async fn similar(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        embedder: &EmbedderId,
        embedding: &Embedding,
        limit: NonZeroUsize,
    ) -> Result<Vec<(EntryDetail, Similarity)>, StoreError> {
        let state = self.state();
        let scored = |stored: &Stored| {
            let vector = stored.vectors.get(embedder)?.as_ref()?;
            let comparable = vector.len() == embedding.dimension();
            comparable.then(|| (stored.listed(), similarity(vector, embedding)))
        };
        let mut found: Vec<_> = state.matching(project, filter).filter_map(scored).collect();
        found.sort_by(|(a, one), (b, other)| {
            other.get().total_cmp(&one.get()).then(a.entry.id.cmp(&b.entry.id))
        });
        found.truncate(limit.get());
        Ok(found)
    }

    async fn entry(&self, project: ProjectId, entry: EntryId) -> Result<Option<EntryDetail>, StoreError> {
        Ok(self.state().entries.get(&(project, entry)).map(Stored::detail))
    }

    async fn count_matching(&self, project: ProjectId, filter: &EntryFilter) -> Result<u64, StoreError> {
        Ok(self.state().matching(project, filter).count() as u64)
    }

    async fn contexts_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(Option<String>, u64)>, StoreError> {
        let state = self.state();
        let contexts =
            state.newest(project, among).map(|stored| stored.scope.frame().context().map(str::to_owned));
        Ok(ranked(contexts, limit))
    }

    async fn models_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let state = self.state();
        Ok(ranked(state.newest(project, among).map(|stored| stored.entry.model.clone()), limit))
    }
}
