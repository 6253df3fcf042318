//! The texts of entries: from memory, or else from the database.

use std::sync::Arc;

use deja_core::cache::{Answer, Entry, PromptHash, ScopeKey};
use deja_core::id::EntryId;
use deja_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension};

use super::super::index::{Found, Row};
use super::super::rows::{count, time, time_or_none};
use super::super::{Memory, SqliteStore};

/// What a search found, with its text.
pub(super) type FoundText = (Found, Arc<Entry>);

impl SqliteStore {
    /// The entry with this number; `None` if it was removed meanwhile.
    pub(super) async fn text(&self, scope: ScopeKey, row: Row) -> Result<Option<Arc<Entry>>, StoreError> {
        if let Some(entry) = self.memory.texts.get(&row) {
            return Ok(Some(entry));
        }
        let Some((entry, prompt)) = self.readers.read(move |connection| read(connection, row)).await? else {
            return Ok(None);
        };
        let entry = Arc::new(entry);
        self.memory.keep(scope, prompt, row, &entry);
        Ok(Some(entry))
    }
}

impl Memory {
    /// The entries with their texts, if all are in memory.
    pub(super) fn with_texts(&self, found: &[Found]) -> Option<Vec<FoundText>> {
        found.iter().map(|found| Some((*found, self.texts.get(&found.row)?))).collect()
    }

    /// The entries with their texts. Those that are not in memory are read, without their records. Says how many entries have
    /// none: they were removed meanwhile.
    pub(super) fn read_texts(
        &self,
        connection: &Connection,
        scope: ScopeKey,
        found: Vec<Found>,
    ) -> rusqlite::Result<(Vec<FoundText>, usize)> {
        let (mut with_texts, mut gone) = (Vec::with_capacity(found.len()), 0);
        for found in found {
            let text = match self.texts.get(&found.row) {
                None => self.read_text(connection, scope, found.row)?,
                text => text,
            };
            match text {
                None => gone += 1,
                Some(text) => with_texts.push((found, text)),
            }
        }
        Ok((with_texts, gone))
    }

    /// The entry with this number, without its record. An entry that has no record is kept in memory.
    fn read_text(
        &self,
        connection: &Connection,
        scope: ScopeKey,
        row: Row,
    ) -> rusqlite::Result<Option<Arc<Entry>>> {
        // length() of the column at the end of the row reads its header only.
        let sql =
            format!("SELECT {COLUMNS}, e.prompt_hash, length(e.record) FROM entries e WHERE e.entry = ?1");
        connection
            .prepare_cached(&sql)?
            .query_row([row], |found| {
                let entry = Arc::new(from_row(found)?);
                if found.get::<_, Option<u32>>(WIDTH + 1)?.is_none() {
                    self.keep(scope, PromptHash(found.get(WIDTH)?), row, &entry);
                }
                Ok(entry)
            })
            .optional()
    }

    /// Keeps an entry that was read whole, unless it was deleted since. A deletion takes an entry out of the index first and then
    /// out of here. So an entry that is deleted meanwhile does not stay, whichever comes last.
    fn keep(&self, scope: ScopeKey, prompt: PromptHash, row: Row, entry: &Arc<Entry>) {
        self.texts.insert(row, Arc::clone(entry));
        if !self.index.holds(scope, prompt, row) {
            self.texts.invalidate(&row);
        }
    }
}

/// The entry with this number, and what it is found by.
pub(in super::super) fn read(
    connection: &Connection,
    row: Row,
) -> rusqlite::Result<Option<(Entry, PromptHash)>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, e.record, e.prompt_hash FROM entries e WHERE e.entry = ?1"
        ))?
        .query_row([row], |found| Ok((whole_from_row(found)?, PromptHash(found.get(WIDTH + 1)?))))
        .optional()
}

/// What [`from_row`] reads of an entry `e`, from column 0 on.
pub(in super::super) const COLUMNS: &str =
    "e.entry_id, e.prompt, e.model, e.answer, e.provider, e.served_model,
     e.input_tokens, e.output_tokens, e.tokens_estimated, e.created, e.expires";
/// How many they are.
pub(in super::super) const WIDTH: usize = 11;

/// An entry with its record, which is the column behind [`COLUMNS`].
pub(in super::super) fn whole_from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    let mut entry = from_row(row)?;
    entry.answer.record = row.get::<_, Option<Vec<u8>>>(WIDTH)?.map(Into::into);
    Ok(entry)
}

/// An entry without its record.
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
            record: None,
        },
        created: time(row, 9)?,
        expires: time_or_none(row, 10)?,
    })
}

#[cfg(test)]
mod tests {
    use deja_core::store::{Entries, Projects};
    use deja_core::testing::change;

    use super::super::super::fixtures::{NOW, entry, hash, project, scope};
    use super::*;
    use crate::StoreSettings;

    #[tokio::test]
    async fn a_text_that_is_read_while_its_entry_is_deleted_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        let (scope, prompt) = (scope(), hash(1));
        store.insert(entry(1)).await.unwrap();
        let row = store.memory.index.exact(scope.key(), prompt, NOW).unwrap();
        let text = store.text(scope.key(), row).await.unwrap().unwrap();
        store.memory.keep(scope.key(), prompt, row, &text);
        assert!(store.memory.texts.contains_key(&row));
        assert!(store.delete(project().id, text.id, &change()).await.unwrap());
        // The reader was slower than the deletion.
        store.memory.keep(scope.key(), prompt, row, &text);
        assert!(!store.memory.texts.contains_key(&row));
    }
}
