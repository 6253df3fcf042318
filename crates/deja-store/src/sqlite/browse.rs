//! Looking into a cache: by people, so read from the database and not from memory.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::cache::EntryDetail;
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::store::{Browse, Cursor, EntryColumn, EntryFilter, EntryOrder, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::entries::remove::{self, CONTEXT, passes};
use super::entries::texts::{self, WIDTH};
use super::index::{Row as IndexRow, Vector};
use super::rows::{count, limit_of, parameters, time, unreadable, word};
use crate::lists::{beginning, entry_column, entry_place, reads_through, way};

/// What [`detail`] reads: of an entry `e`, its scope `s` and what it saved, `v`.
pub(super) fn detail_columns() -> String {
    format!("{}, s.kind, s.context, s.parameters, e.hits, e.last_used, coalesce(v.saved, 0)", texts::COLUMNS)
}

pub(super) fn detail(row: &Row<'_>) -> rusqlite::Result<EntryDetail> {
    let hits = count(row, WIDTH + 3)?;
    Ok(EntryDetail {
        entry: texts::from_row(row)?,
        kind: word(row, WIDTH)?,
        context: row.get(WIDTH + 1)?,
        parameters: parameters(row, WIDTH + 2)?,
        hits,
        last_hit: if hits > 0 { Some(time(row, WIDTH + 4)?) } else { None },
        saved: NanoUsd::from_nanos(count(row, WIDTH + 5)?),
    })
}

/// An entry as lists show it: [`detail`] with the beginning of its answer.
pub(super) fn listed(row: &Row<'_>) -> rusqlite::Result<EntryDetail> {
    detail(row).map(beginning)
}

/// How similar each entry that passes the filter is, as far as it has a vector to compare.
fn similarities(
    connection: &Connection,
    project: ProjectId,
    filter: &EntryFilter,
    embedder: &EmbedderId,
    embedding: &Embedding,
) -> rusqlite::Result<Vec<(EntryId, Similarity, IndexRow)>> {
    let (any_context, context) = remove::context_of(filter);
    let mut select = connection.prepare_cached(&format!(
        "SELECT e.entry, e.entry_id, v.vector FROM entries e JOIN scopes s ON s.scope = e.scope
         JOIN vectors v ON v.entry = e.entry AND v.embedder = (SELECT embedder FROM embedders WHERE name = ?6)
         WHERE {} AND v.vector IS NOT NULL",
        passes()
    ))?;
    let values =
        params![project.as_bytes(), filter.model, any_context, context, filter.text, embedder.as_str()];
    let (mut rows, mut found) = (select.query(values)?, Vec::new());
    while let Some(row) = rows.next()? {
        let number: IndexRow = row.get(0)?;
        let vector = Vector::from_bytes(row.get_ref(2)?.as_blob()?)
            .ok_or_else(|| unreadable(2, format!("the vector of entry {number} cannot be read")))?;
        if vector.dimension() == embedding.dimension() {
            found.push((EntryId::from_bytes(row.get(1)?), vector.similarity(embedding.as_slice()), number));
        }
    }
    Ok(found)
}

/// The ?2 newest entries of the project ?1.
const NEWEST: &str = "SELECT scope, model FROM entries INDEXED BY entries_by_age
     WHERE project_id = ?1 ORDER BY created DESC, entry_id DESC LIMIT ?2";

#[async_trait]
impl Browse for SqliteStore {
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        order: EntryOrder,
        after: Option<Cursor<EntryId>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let filter = filter.clone();
        let (value, id) = entry_place(order, after);
        let readers = if reads_through(&filter, order) { &self.searches } else { &self.readers };
        readers
            .read(move |connection| {
                let (column, (behind, way)) = (entry_column(order.by), way(&order));
                let index = match order.by {
                    EntryColumn::Created => "entries_by_age",
                    EntryColumn::LastUsed => "entries_by_use",
                    EntryColumn::Hits => "entries_by_hits",
                };
                let sql = format!(
                    "SELECT {} FROM entries e INDEXED BY {index}
                     CROSS JOIN scopes s ON s.scope = e.scope LEFT JOIN savings v ON v.entry = e.entry
                     WHERE {} AND (e.{column}, e.entry_id) {behind} (?6, ?7)
                     ORDER BY e.{column} {way}, e.entry_id {way} LIMIT ?8",
                    detail_columns(),
                    passes()
                );
                let (any_context, context) = remove::context_of(&filter);
                let values = params![
                    project.as_bytes(),
                    filter.model,
                    any_context,
                    context,
                    filter.text,
                    value,
                    id,
                    limit_of(limit),
                ];
                connection.prepare_cached(&sql)?.query_map(values, listed)?.collect()
            })
            .await
    }

    async fn similar(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        embedder: &EmbedderId,
        embedding: &Embedding,
        limit: NonZeroUsize,
    ) -> Result<Vec<(EntryDetail, Similarity)>, StoreError> {
        let (filter, embedder, embedding) = (filter.clone(), embedder.clone(), embedding.clone());
        self.searches
            .read(move |connection| {
                let mut best = similarities(connection, project, &filter, &embedder, &embedding)?;
                best.sort_by(|(a, one, _), (b, other, _)| other.get().total_cmp(&one.get()).then(a.cmp(b)));
                best.truncate(limit.get());
                let sql = format!(
                    "SELECT {} FROM entries e JOIN scopes s ON s.scope = e.scope
                     LEFT JOIN savings v ON v.entry = e.entry WHERE e.entry = ?1",
                    detail_columns()
                );
                let mut select = connection.prepare_cached(&sql)?;
                let mut found = Vec::with_capacity(best.len());
                for (_, similarity, row) in best {
                    let detail = select.query_row([row], listed).optional()?;
                    found.extend(detail.map(|detail| (detail, similarity)));
                }
                Ok(found)
            })
            .await
    }

    async fn entry(&self, project: ProjectId, entry: EntryId) -> Result<Option<EntryDetail>, StoreError> {
        let sql = format!(
            "SELECT {} FROM entries e JOIN scopes s ON s.scope = e.scope
             LEFT JOIN savings v ON v.entry = e.entry WHERE e.project_id = ?1 AND e.entry_id = ?2",
            detail_columns()
        );
        self.readers.one(sql, (*project.as_bytes(), *entry.as_bytes()), detail).await
    }

    async fn count_matching(&self, project: ProjectId, filter: &EntryFilter) -> Result<u64, StoreError> {
        let filter = filter.clone();
        self.readers_for(&filter)
            .read(move |connection| {
                let sql = format!(
                    "SELECT count(*) FROM entries e JOIN scopes s ON s.scope = e.scope WHERE {}",
                    passes()
                );
                let (any_context, context) = remove::context_of(&filter);
                let values = params![project.as_bytes(), filter.model, any_context, context, filter.text];
                connection.prepare_cached(&sql)?.query_row(values, |row| count(row, 0))
            })
            .await
    }

    async fn contexts_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(Option<String>, u64)>, StoreError> {
        // By scope first: the text of a context, which may be long, is read once.
        let sql = format!(
            "SELECT {CONTEXT} AS name, sum(n.entries) AS entries
             FROM (SELECT scope, count(*) AS entries FROM ({NEWEST}) GROUP BY scope) n
             CROSS JOIN scopes s ON s.scope = n.scope
             GROUP BY name ORDER BY entries DESC, name LIMIT ?3"
        );
        let values = (*project.as_bytes(), limit_of(among), limit_of(limit));
        self.readers.all(sql, values, |row| Ok((row.get(0)?, count(row, 1)?))).await
    }

    async fn models_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = format!(
            "SELECT model, count(*) AS entries FROM ({NEWEST})
             GROUP BY model ORDER BY entries DESC, model LIMIT ?3"
        );
        let values = (*project.as_bytes(), limit_of(among), limit_of(limit));
        self.readers.all(sql, values, |row| Ok((row.get(0)?, count(row, 1)?))).await
    }
}
