//! Looking into a cache.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::cache::EntryDetail;
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::store::{Browse, Cursor, EntryFilter, EntryOrder, LISTED, StoreError};
use pgvector::HalfVector;
use tokio_postgres::Row;

use super::PostgresStore;
use super::connections::Params;
use super::entries::{self, CONTEXT, Filter, candidates, passes};
use super::rows::{count, get, limit_of, parameters, text, text_or_none, time, total, uuid, word};
use super::vectors;
use crate::lists::{beginning, entry_column, entry_place, reads_through, way};

/// What [`detail`] reads of an entry `e` in a list.
pub(super) fn listed_columns() -> String {
    // A text is kept as bytes, of which a character has four at most. What is cut ends between two characters.
    let most = 4 * LISTED;
    let inside = |back: usize| format!("get_byte(e.answer, {}) & 192 = 128", most - back);
    let [first, second, third] = [0, 1, 2].map(inside);
    let back =
        format!("CASE WHEN NOT {first} THEN 0 WHEN NOT {second} THEN 1 WHEN NOT {third} THEN 2 ELSE 3 END");
    let cut = format!("substring(e.answer FROM 1 FOR {most} - {back})");
    let answer = format!("CASE WHEN octet_length(e.answer) <= {most} THEN e.answer ELSE {cut} END");
    detail_columns().replace("e.answer", &answer)
}

/// What [`detail`] reads of an entry `e`.
fn detail_columns() -> String {
    format!("{}, e.kind, e.context, e.parameters, e.hits, e.last_used, e.saved", entries::COLUMNS)
}

/// An entry with what is told about it.
pub(super) fn detail(row: &Row) -> Result<EntryDetail, StoreError> {
    let first = entries::WIDTH;
    let hits = count(row, first + 3)?;
    Ok(EntryDetail {
        entry: entries::from_row(row, 0)?,
        kind: word(row, first)?,
        context: text_or_none(row, first + 1)?,
        parameters: parameters(row, first + 2)?,
        hits,
        last_hit: if hits > 0 { Some(time(row, first + 4)?) } else { None },
        saved: NanoUsd::from_nanos(count(row, first + 5)?),
    })
}

/// An entry as lists show it: [`detail`] with the beginning of its answer.
pub(super) fn listed(row: &Row) -> Result<EntryDetail, StoreError> {
    detail(row).map(beginning)
}

#[async_trait]
impl Browse for PostgresStore {
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        order: EntryOrder,
        after: Option<Cursor<EntryId>>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let (column, (behind, way)) = (entry_column(order.by), way(&order));
        let sql = format!(
            "SELECT {} FROM entries e WHERE {} AND (e.{column}, e.entry_id) {behind} ($6, $7)
             ORDER BY e.{column} {way}, e.entry_id {way} LIMIT $8",
            listed_columns(),
            passes(),
        );
        let ((value, id), limit) = (entry_place(order, after), limit_of(at_most));
        let id = uuid(&id);
        let rest: Params<'_> = &[&value, &id, &limit];
        let passing = Filter::of(project, filter);
        let rows = if reads_through(filter, order) {
            self.connections.search(&sql, &passing.before(rest)).await?
        } else {
            self.connections.bulk(&sql, &passing.before(rest)).await?
        };
        rows.iter().map(listed).collect()
    }

    async fn similar(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        embedder: &EmbedderId,
        embedding: &Embedding,
        at_most: NonZeroUsize,
    ) -> Result<Vec<(EntryDetail, Similarity)>, StoreError> {
        let sql = format!(
            "SELECT {}, v.vector FROM entries e
             JOIN vectors v ON v.project_id = e.project_id AND v.entry_id = e.entry_id
             WHERE {} AND v.embedder = $6 AND v.dimension = $7
             ORDER BY least(v.vector <#> $8, 0), e.entry_id LIMIT $9",
            listed_columns(),
            passes(),
        );
        let half = HalfVector::from_f32_slice(embedding.as_slice());
        let wanted = candidates(limit_of(at_most));
        let rest: Params<'_> = &[&embedder.as_str(), &vectors::dimension(embedding), &half, &wanted];
        let filter = Filter::of(project, filter);
        let rows = self.connections.search(&sql, &filter.before(rest)).await?;
        let scored = |row: &Row| {
            let vector: HalfVector = get(row, entries::WIDTH + 6)?;
            Ok((listed(row)?, vectors::similarity(vector.as_slice(), embedding)))
        };
        let mut found = rows.iter().map(scored).collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_by(|(a, one), (b, other)| {
            other.get().total_cmp(&one.get()).then(a.entry.id.cmp(&b.entry.id))
        });
        found.truncate(at_most.get());
        Ok(found)
    }

    async fn entry(&self, project: ProjectId, entry: EntryId) -> Result<Option<EntryDetail>, StoreError> {
        let sql =
            format!("SELECT {} FROM entries e WHERE e.project_id = $1 AND e.entry_id = $2", detail_columns());
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
        self.connections.query_opt(&sql, params).await?.as_ref().map(detail).transpose()
    }

    async fn count_matching(&self, project: ProjectId, filter: &EntryFilter) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM entries e WHERE {}", passes());
        let rows = Filter::of(project, filter).rows(&self.connections, &sql, &[]).await?;
        total(&rows)
    }

    async fn contexts_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        at_most: NonZeroUsize,
    ) -> Result<Vec<(Option<String>, u64)>, StoreError> {
        let sql = format!(
            "SELECT name, count(*) AS entries
             FROM (SELECT {CONTEXT} AS name FROM entries e WHERE project_id = $1
                   ORDER BY created DESC, entry_id DESC LIMIT $2) newest
             GROUP BY name ORDER BY entries DESC, name NULLS FIRST LIMIT $3"
        );
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit_of(among), &limit_of(at_most)];
        let rows = self.connections.bulk(&sql, params).await?;
        rows.iter().map(|row| Ok((text_or_none(row, 0)?, count(row, 1)?))).collect()
    }

    async fn models_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        at_most: NonZeroUsize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT model, count(*) AS entries
                   FROM (SELECT model FROM entries WHERE project_id = $1
                         ORDER BY created DESC, entry_id DESC LIMIT $2) newest
                   GROUP BY model ORDER BY entries DESC, model LIMIT $3";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit_of(among), &limit_of(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
        rows.iter().map(|row| Ok((text(row, 0)?, count(row, 1)?))).collect()
    }
}
