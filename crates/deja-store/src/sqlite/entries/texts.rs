//! The texts of entries: from memory, or else from the database.

use std::sync::Arc;

use deja_core::cache::{Answer, Entry};
use deja_core::id::EntryId;
use deja_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension};

use super::super::SqliteStore;
use super::super::index::Row;
use super::super::rows::{count, time, time_or_none};

impl SqliteStore {
    /// The entry with this number; `None` if it was removed meanwhile.
    pub(super) async fn text(&self, row: Row) -> Result<Option<Arc<Entry>>, StoreError> {
        if let Some(entry) = self.memory.texts.get(&row) {
            return Ok(Some(entry));
        }
        let read = self.readers.read(move |connection| read(connection, row)).await?.map(Arc::new);
        if let Some(entry) = &read {
            self.memory.texts.insert(row, Arc::clone(entry));
        }
        Ok(read)
    }

    /// The entries with these numbers, in their order; those not in memory in one visit to the database.
    pub(super) async fn texts(
        &self,
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
                self.memory.texts.insert(row, Arc::clone(&entry));
                entries[at] = Some(entry);
            }
        }
        Ok(entries)
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
