//! Taking entries out of the reference store.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::{MemoryStore, Stored};
use crate::cache::Entry;
use crate::clock::Timestamp;
use crate::embedding::Embedding;
use crate::id::ProjectId;
use crate::store::{EntryCursor, Export, PAGE_BYTES, StoreError, WholeEntry};

fn whole(stored: &Stored) -> WholeEntry {
    let vectors = stored.vectors.iter().map(|(embedder, vector)| {
        (embedder.clone(), vector.as_ref().and_then(|vector| Embedding::new(vector.as_slice()).ok()))
    });
    WholeEntry {
        entry: Entry::clone(&stored.entry),
        prompt_hash: stored.prompt_hash,
        kind: stored.scope.frame().kind(),
        context: stored.scope.frame().instructions().map(str::to_owned),
        parameters: stored.scope.frame().parameters().clone(),
        vectors: vectors.collect(),
    }
}

#[async_trait]
impl Export for MemoryStore {
    async fn export(
        &self,
        project: ProjectId,
        after: Option<EntryCursor>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<WholeEntry>, StoreError> {
        let state = self.state();
        let live = state
            .entries
            .iter()
            .filter(|((owner, _), stored)| *owner == project && stored.entry.is_live(now));
        let mut page: Vec<_> = live.map(|(_, stored)| whole(stored)).collect();
        page.retain(|entry| after.is_none_or(|after| entry.cursor() > after));
        page.sort_by_key(WholeEntry::cursor);
        page.truncate(limit.get());
        let fits = page
            .iter()
            .map(WholeEntry::bytes)
            .scan(0, |sum, length| Some(std::mem::replace(sum, *sum + length)));
        let fits = fits.take_while(|before| *before < PAGE_BYTES).count();
        page.truncate(fits);
        Ok(page)
    }
}
