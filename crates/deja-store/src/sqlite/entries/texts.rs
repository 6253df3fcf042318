//! The texts of entries: from memory, or else from the database.

use std::sync::Arc;

use deja_core::cache::{Answer, Entry, PromptHash, ScopeKey};
use deja_core::id::EntryId;
use deja_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension};

use super::super::index::Row;
use super::super::rows::{count, time, time_or_none};
use super::super::{Memory, SqliteStore};

impl SqliteStore {
    /// The entry with this number; `None` if it was removed meanwhile.
    pub(super) async fn text(&self, scope: ScopeKey, row: Row) -> Result<Option<Arc<Entry>>, StoreError> {
        if let Some(entry) = self.memory.texts.get(&row) {
            return Ok(Some(entry));
        }
        let read = self.readers.read(move |connection| read(connection, row)).await?.map(Arc::new);
        if let Some(entry) = &read {
            self.memory.keep(scope, row, entry);
        }
        Ok(read)
    }

    /// The entries with these numbers, in their order; those not in memory in one visit to the database.
    pub(super) async fn texts(
        &self,
        scope: ScopeKey,
        rows: impl Iterator<Item = Row> + Send,
    ) -> Result<Vec<Option<Arc<Entry>>>, StoreError> {
        let rows: Vec<Row> = rows.collect();
        let mut entries: Vec<_> = rows.iter().map(|row| self.memory.texts.get(row)).collect();
        let missing: Vec<(usize, Row)> = (0..).zip(rows).filter(|(at, _)| entries[*at].is_none()).collect();
        if missing.is_empty() {
            return Ok(entries);
        }
        let read = self
            .readers
            .read(move |connection| {
                let found = missing.into_iter().map(|(at, row)| Ok((at, row, read(connection, row)?)));
                found.collect::<rusqlite::Result<Vec<_>>>()
            })
            .await?;
        for (at, row, entry) in read {
            if let Some(entry) = entry.map(Arc::new) {
                self.memory.keep(scope, row, &entry);
                entries[at] = Some(entry);
            }
        }
        Ok(entries)
    }
}

impl Memory {
    /// Keeps a text that was read, unless its entry was deleted since. One that is deleted from now on is taken out of
    /// the index first and then out of here: whichever comes last, it does not stay.
    fn keep(&self, scope: ScopeKey, row: Row, entry: &Arc<Entry>) {
        self.texts.insert(row, Arc::clone(entry));
        if !self.index.holds(scope, PromptHash::of(&entry.prompt), row) {
            self.texts.invalidate(&row);
        }
    }
}

/// The entry with this number.
pub(in super::super) fn read(connection: &Connection, row: Row) -> rusqlite::Result<Option<Entry>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM entries e WHERE e.entry = ?1"))?
        .query_row([row], from_row)
        .optional()
}

/// What [`from_row`] reads of an entry `e`, from column 0 on.
pub(in super::super) const COLUMNS: &str =
    "e.entry_id, e.prompt, e.model, e.answer, e.provider, e.served_model,
     e.input_tokens, e.output_tokens, e.tokens_estimated, e.created, e.expires";

pub(in super::super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: EntryId::from_bytes(row.get(0)?),
        prompt: row.get(1)?,
        model: row.get(2)?,
        answer: Answer {
            text: row.get(3)?,
            provider: row.get(4)?,
            served_model: row.get(5)?,
            input_tokens: count(row, 6)?,
            output_tokens: count(row, 7)?,
            tokens_estimated: row.get(8)?,
        },
        created: time(row, 9)?,
        expires: time_or_none(row, 10)?,
    })
}

#[cfg(test)]
mod tests {
    use deja_core::cache::{Frame, NewEntry, Scope};
    use deja_core::clock::Timestamp;
    use deja_core::id::ProjectId;
    use deja_core::project::{Project, ProjectSettings, Tier};
    use deja_core::store::{Entries, Projects};
    use deja_core::testing::change;

    use super::*;
    use crate::StoreSettings;

    const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn project() -> Project {
        Project {
            id: ProjectId::from_bytes([1; 16]),
            slug: "p".parse().unwrap(),
            name: "P".to_owned(),
            tier: Tier::Free,
            custom_quota: None,
            suspended: false,
            settings: ProjectSettings::default(),
            created: NOW,
        }
    }

    fn entry(scope: &Scope) -> NewEntry {
        let answer = Answer {
            text: "secret".to_owned(),
            provider: "openai".to_owned(),
            served_model: None,
            input_tokens: 1,
            output_tokens: 1,
            tokens_estimated: false,
        };
        let entry = Entry {
            id: EntryId::from_bytes([1; 16]),
            prompt: "hello".to_owned(),
            model: "m".to_owned(),
            answer,
            created: NOW,
            expires: None,
        };
        let prompt_hash = PromptHash::of("hello");
        NewEntry { scope: scope.clone(), prompt_hash, entry, vector: None, max_entries: 10 }
    }

    #[tokio::test]
    async fn a_text_that_is_read_while_its_entry_is_deleted_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        let scope = Scope::new(project().id, Frame::query(Some("m"), None));
        store.insert(entry(&scope)).await.unwrap();
        let row = store.memory.index.exact(scope.key(), PromptHash::of("hello"), NOW).unwrap();
        let text = store.text(scope.key(), row).await.unwrap().unwrap();
        store.memory.keep(scope.key(), row, &text);
        assert!(store.memory.texts.contains_key(&row));
        assert!(store.delete(project().id, text.id, &change()).await.unwrap());
        // The reader was slower than the deletion.
        store.memory.keep(scope.key(), row, &text);
        assert!(!store.memory.texts.contains_key(&row));
    }
}
