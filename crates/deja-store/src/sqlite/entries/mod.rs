//! Cache entries: found in memory, their texts from a cache or the database.

mod insert;
pub(super) mod remove;
pub(super) mod texts;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{Candidate, Entry, Inserted, NewEntry, PromptHash, Scope, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{Entries, EntryFilter, Probe, StoreError};
use rusqlite::Connection;

pub(super) use insert::{embedder_number, put_vector};

use super::audit;
use super::counts::correct_surplus;
use super::fault::Failed;
use super::index::{Found, Gone, Near, Row, Search, settled};
use super::projects::note_purge;
use super::vectors::halved;
use super::writer::Answer;
use super::{Done, EmbedderNumber, Memory, SqliteStore, Writer};
use crate::to_the_end;
use texts::FoundText;

/// Searches that one look-up makes at most, as long as entries that it finds are deleted meanwhile.
const SEARCHES: usize = 4;

/// Entries that a purge, or the deletion of a project, removes in one transaction: other writes wait for so many only.
pub(super) const PURGED_AT_ONCE: usize = 512;

#[async_trait]
impl Entries for SqliteStore {
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError> {
        // Asked before the look into memory: the load may end in between.
        let is_whole = self.memory.load.is_whole();
        let found = match self.memory.index.exact(scope.key(), *prompt, now) {
            None if !is_whole => self.stored(scope, *prompt, now).await?,
            found => found,
        };
        match found {
            None => Ok(None),
            Some(row) => self.text(scope.key(), row).await,
        }
    }

    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut search = Search {
            probe: probe.embedding.as_slice().into(),
            threshold: probe.threshold,
            limit: probe.limit,
            now,
        };
        let mut found = Vec::new();
        for _ in 0..SEARCHES {
            let near = self.near(scope.key(), &probe, &search).await?;
            let is_full = near.len() >= search.limit.get();
            let gone;
            (found, gone) = self.found(scope.key(), near, &search).await?;
            let stay = search.limit.get().saturating_sub(gone);
            if !is_full || stay >= probe.limit.get() {
                break;
            }
            // Others stand behind those that are gone. As many may go meanwhile.
            search.limit = probe.limit.saturating_add(gone.saturating_mul(4));
        }
        found.truncate(probe.limit.get());
        let pairs = self.memory.forbidden.of(scope.project());
        let is_forbidden = |found: &Found, entry: &Entry| {
            let matched = || PromptHash::of(&entry.prompt);
            self.memory.forbidden.is_in_quarantine(found.row)
                || pairs
                    .as_ref()
                    .is_some_and(|pairs| pairs.read().forbid(&probe, &matched(), found.similarity))
        };
        let candidates = found.into_iter().map(|(found, entry)| Candidate {
            similarity: found.similarity,
            forbidden: is_forbidden(&found, &entry),
            entry,
        });
        Ok(candidates.collect())
    }

    async fn whole(&self, project: ProjectId, entry: EntryId) -> Result<Option<Arc<Entry>>, StoreError> {
        let found = self.readers.read(move |connection| remove::place_of(connection, project, entry)).await?;
        match found {
            None => Ok(None),
            Some((row, scope)) => self.text(scope, row).await,
        }
    }

    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError> {
        self.begin_insert(new).await?.wait().await
    }

    async fn insert_all(&self, new: Vec<NewEntry>) -> Vec<Result<bool, StoreError>> {
        let mut begun = Vec::with_capacity(new.len());
        for new in new {
            begun.push(self.begin_insert(new).await);
        }
        let mut stored = Vec::with_capacity(begun.len());
        for insert in begun {
            let inserted = async { insert?.wait().await }.await;
            stored.push(inserted.map(|inserted| matches!(inserted, Inserted::New)));
        }
        stored
    }

    async fn count(&self, project: ProjectId) -> Result<u64, StoreError> {
        Ok(self.memory.index.count(project))
    }

    async fn count_by_project(&self) -> Result<BTreeMap<ProjectId, u64>, StoreError> {
        Ok(self.memory.index.counts())
    }

    async fn delete(&self, project: ProjectId, entry: EntryId, change: &Change) -> Result<bool, StoreError> {
        let change = change.clone();
        let removed = self
            .remove(move |connection| {
                let row = remove::row_of(connection, project, entry)?;
                audit::write_if(connection, &change, row.is_some())?;
                Ok(row.into_iter().collect())
            })
            .await?;
        Ok(removed > 0)
    }

    async fn purge(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        change: &Change,
    ) -> Result<u64, StoreError> {
        // First: what is stored behind this is not found below, and is of a call that began later.
        if filter.is_all() {
            note_purge(Arc::clone(&self.memory), &self.writer, project).await?;
        }
        let (of, readers) = (filter.clone(), self.readers_for(filter));
        let find = move |connection: &Connection| remove::rows_that_pass(connection, project, &of);
        // A search by text has an end. By model and context all of a large cache can be purged.
        let rows = if filter.text.is_some() {
            readers.read(find).await?
        } else {
            readers.read_to_the_end(find).await?
        };
        let purged = purged(Arc::clone(&self.memory), self.writer.clone(), rows, Some(change.clone()));
        to_the_end(purged).await
    }

    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let expired = self.remove(move |connection| Ok(remove::expired(connection, now, limit)?)).await?;
        // How many entries are too many is known when the expired ones are gone.
        let left = limit.get().saturating_sub(usize::try_from(expired).unwrap_or(limit.get()));
        let memory = Arc::clone(&self.memory);
        let evict = move |connection: &Connection| {
            // A number that is wrong must not evict entries.
            let corrected = correct_surplus(connection)?;
            let rows = remove::surplus(connection, left)?;
            let gone = remove::remove(connection, memory.own_embedder(), &rows)?;
            Ok(Done::then(gone.len() as u64, move || {
                for (project, more) in corrected {
                    memory.index.count_more(project, more);
                }
                memory.forget(&gone);
            }))
        };
        Ok(expired + self.writer.write(evict).await?)
    }
}

impl SqliteStore {
    /// Has an entry stored behind those for which this was called before.
    async fn begin_insert(&self, new: NewEntry) -> Result<Answer<Inserted>, StoreError> {
        let memory = Arc::clone(&self.memory);
        let halved = |(by, embedding): &(EmbedderId, Embedding)| Ok((by.clone(), halved(embedding)?));
        let vectors = new.vectors.iter().map(halved).collect::<Result<_, StoreError>>()?;
        let insert = move |connection: &Connection| insert::insert(connection, memory, new, vectors);
        self.writer.begin_if_room(insert).await
    }

    /// The row of the live entry for exactly this prompt, from the database.
    async fn stored(
        &self,
        scope: &Scope,
        prompt: PromptHash,
        now: Timestamp,
    ) -> Result<Option<Row>, StoreError> {
        let (project, scope) = (scope.project(), scope.key());
        let find = move |connection: &Connection| insert::place(connection, project, scope, prompt);
        let found = self.readers.read(find).await?;
        let is_live = |expires: Option<i64>| expires.is_none_or(|expires| now.as_nanos() < expires);
        Ok(found.and_then(|(row, expires)| is_live(expires).then_some(row)))
    }

    /// What `search` comes near to.
    async fn near(
        &self,
        scope: ScopeKey,
        probe: &Probe<'_>,
        search: &Search,
    ) -> Result<Vec<Near>, StoreError> {
        let own = self.memory.embedder.as_ref().filter(|(embedder, _)| embedder == probe.embedder);
        let target = own.and_then(|_| self.memory.index.target(scope, probe.embedding.dimension()));
        let Some(target) = target else {
            return Ok(Vec::new());
        };
        if !target.is_long(search) {
            return Ok(target.nearest(&[search]).pop().unwrap_or_default());
        }
        let found = self.memory.scans.nearest(target, search.clone()).await;
        found.map_err(|error| StoreError::Internal(Box::new(error)))
    }

    /// The best of what a search came near to, and how many were deleted since. What is not in memory, vectors that decide and
    /// texts, is read in one visit to the database.
    async fn found(
        &self,
        scope: ScopeKey,
        near: Vec<Near>,
        search: &Search,
    ) -> Result<(Vec<FoundText>, usize), StoreError> {
        let (threshold, limit) = (search.threshold, search.limit);
        let memory = Arc::clone(&self.memory);
        if near.iter().all(Near::is_settled) {
            let found = settled(near, threshold, limit, |_| Ok::<_, StoreError>(None))?;
            return match memory.with_texts(&found) {
                Some(found) => Ok((found, 0)),
                None => {
                    self.readers.read(move |connection| memory.read_texts(connection, scope, found)).await
                }
            };
        }
        let probe = search.probe.clone();
        let read = move |connection: &Connection| {
            let mut gone = 0;
            let similarity = |row| {
                let stored = super::vectors::read(connection, row, memory.own_embedder())?;
                gone += usize::from(stored.is_none());
                Ok(stored.map(|vector| vector.similarity(&probe)))
            };
            let found = settled::<rusqlite::Error>(near, threshold, limit, similarity)?;
            let (found, without_text) = memory.read_texts(connection, scope, found)?;
            Ok((found, gone + without_text))
        };
        self.readers.read(read).await
    }

    /// Removes the entries that `choose` names, and says how many.
    pub(super) async fn remove<F>(&self, choose: F) -> Result<u64, StoreError>
    where
        F: FnOnce(&Connection) -> Result<Vec<Row>, Failed> + Send + 'static,
    {
        removed(Arc::clone(&self.memory), &self.writer, choose).await
    }
}

/// Removes the entries that `choose` names in one transaction, and says how many.
pub(super) async fn removed<F>(memory: Arc<Memory>, writer: &Writer, choose: F) -> Result<u64, StoreError>
where
    F: FnOnce(&Connection) -> Result<Vec<Row>, Failed> + Send + 'static,
{
    let remove = move |connection: &Connection| {
        let rows = choose(connection)?;
        let gone = remove::remove(connection, memory.own_embedder(), &rows)?;
        Ok(Done::then(gone.len() as u64, move || memory.forget(&gone)))
    };
    writer.write(remove).await
}

/// Removes these entries in parts, and says how many were there. The change is written with the first part.
pub(super) async fn purged(
    memory: Arc<Memory>,
    writer: Writer,
    mut rows: Vec<Row>,
    mut change: Option<Change>,
) -> Result<u64, StoreError> {
    let mut purged = 0;
    loop {
        let (change, part) = (change.take(), rows.split_off(rows.len().saturating_sub(PURGED_AT_ONCE)));
        let choose = move |connection: &Connection| {
            if let Some(change) = change {
                audit::write(connection, &change)?;
            }
            Ok(part)
        };
        purged += removed(Arc::clone(&memory), &writer, choose).await?;
        if rows.is_empty() {
            return Ok(purged);
        }
    }
}

impl Memory {
    /// The number of the embedder whose vectors the index holds.
    pub(super) fn own_embedder(&self) -> Option<EmbedderNumber> {
        self.embedder.as_ref().map(|(_, number)| *number)
    }

    /// Takes entries out of memory that are no longer in the database.
    pub(super) fn forget(&self, gone: &[Gone]) {
        for entry in gone {
            self.index.remove(entry);
            self.texts.invalidate(&entry.row);
            self.forbidden.release(entry.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use deja_core::embedding::Threshold;
    use deja_core::store::{Projects as _, Store as _};
    use deja_core::testing::{self, change};

    use super::super::fixtures::{NOW, embedder, project, scope};
    use super::*;
    use crate::StoreSettings;

    /// Entries of which each is less similar to the first one than the one before it.
    const NEAR: u16 = 530;
    /// More than one chunk.
    const ALL: u16 = 1_100;

    fn numbered(number: u16) -> EntryId {
        EntryId::from_bytes(u128::from(number).to_be_bytes())
    }

    fn direction(number: u16) -> Embedding {
        let mut values = [0.0_f32; 64];
        match number.checked_sub(NEAR) {
            None => (values[0], values[1]) = (1.0, f32::from(number) / 1_000.0),
            Some(other) => values[2 + usize::from(other % 62)] = 1.0,
        }
        Embedding::new(values).unwrap()
    }

    #[tokio::test]
    async fn entries_that_are_deleted_during_a_search_hide_none_that_stay() {
        for int8_from in [usize::MAX, 0] {
            let directory = tempfile::tempdir().unwrap();
            let embedder = embedder();
            let settings = StoreSettings {
                embedder: Some(embedder.clone()),
                int8_from,
                ..StoreSettings::new(directory.path())
            };
            let store = SqliteStore::open(&settings).unwrap();
            store.create_project(&project(), &change()).await.unwrap();
            let new = |number| {
                let entry = testing::entry(numbered(number), &number.to_string(), NOW);
                let vectors = vec![(embedder.clone(), direction(number))];
                NewEntry { vectors, ..testing::new_entry(scope(), entry) }
            };
            let stored = store.insert_all((0..ALL).map(new).collect()).await;
            assert!(stored.into_iter().all(Result::unwrap));
            store.close().await.unwrap();

            let store = SqliteStore::open(&settings).unwrap();
            let database = Connection::open(directory.path().join("deja.db")).unwrap();
            database.execute_batch("PRAGMA foreign_keys = ON").unwrap();
            // One, as many as are looked for, and as many as a purge deletes at once.
            for gone in [0, 1, 8, PURGED_AT_ONCE as u16] {
                // The database has deleted them, and memory has not yet followed.
                let sql = "DELETE FROM entries WHERE entry_id < ?1";
                database.execute(sql, [numbered(gone).as_bytes()]).unwrap();
                store.memory.texts.invalidate_all();
                let probe = Probe {
                    embedder: &embedder,
                    embedding: &direction(0),
                    prompt: PromptHash::of("a prompt of nobody's"),
                    threshold: Threshold::DEFAULT,
                    limit: NonZeroUsize::new(8).unwrap(),
                };
                let found = store.nearest(&scope(), probe, NOW).await.unwrap();
                let found: Vec<_> = found.into_iter().map(|candidate| candidate.entry.id).collect();
                assert_eq!(found, (gone..gone + 8).map(numbered).collect::<Vec<_>>(), "{int8_from}, {gone}");
            }
            store.close().await.unwrap();
        }
    }
}
