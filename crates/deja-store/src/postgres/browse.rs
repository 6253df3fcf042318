//! Looking into a cache, and answers that people found wrong.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{EntryDetail, WrongAnswer};
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::store::{Browse, EntryCursor, EntryFilter, StoreError, WrongAnswers, WrongHit};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connections::Params;
use super::entries::{self, Filter, passes};
use super::rows::{before, count, get, limit, text, text_or_none, time, uuid};

/// What [`detail`] reads of an entry `e`.
pub(super) fn detail_columns() -> String {
    format!("{}, e.context, e.hits, e.last_used, e.saved", entries::COLUMNS)
}

/// An entry with what is told about it.
pub(super) fn detail(row: &Row) -> Result<EntryDetail, StoreError> {
    let first = entries::WIDTH;
    let hits = count(row, first + 1)?;
    Ok(EntryDetail {
        entry: entries::from_row(row)?,
        context: text_or_none(row, first)?,
        hits,
        last_hit: if hits > 0 { Some(time(row, first + 2)?) } else { None },
        saved: NanoUsd::from_nanos(count(row, first + 3)?),
    })
}

#[async_trait]
impl Browse for PostgresStore {
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        after: Option<EntryCursor>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let after = after.unwrap_or(EntryCursor::NEWEST);
        let sql = format!(
            "SELECT {} FROM entries e WHERE {} AND (e.created, e.entry_id) < ($6, $7)
             ORDER BY e.created DESC, e.entry_id DESC LIMIT $8",
            detail_columns(),
            passes(),
        );
        let filter = Filter::of(project, filter);
        let (created, id) = (after.created.as_nanos(), uuid(after.id.as_bytes()));
        let limit = limit(at_most);
        let rows = self.connections.bulk(&sql, &filter.before(&[&created, &id, &limit])).await?;
        rows.iter().map(detail).collect()
    }

    async fn entry(&self, project: ProjectId, entry: EntryId) -> Result<Option<EntryDetail>, StoreError> {
        let sql =
            format!("SELECT {} FROM entries e WHERE e.project_id = $1 AND e.entry_id = $2", detail_columns());
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
        self.connections.query_opt(&sql, params).await?.as_ref().map(detail).transpose()
    }

    async fn count_matching(&self, project: ProjectId, filter: &EntryFilter) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM entries e WHERE {}", passes());
        let rows = self.connections.bulk(&sql, &Filter::of(project, filter).before(&[])).await?;
        rows.first().map_or(Ok(0), |row| count(row, 0))
    }

    async fn contexts_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        at_most: NonZeroUsize,
    ) -> Result<Vec<(Option<String>, u64)>, StoreError> {
        let sql = "SELECT context, count(*) AS entries
                   FROM (SELECT context FROM entries WHERE project_id = $1
                         ORDER BY created DESC, entry_id DESC LIMIT $2) newest
                   GROUP BY context ORDER BY entries DESC, context NULLS FIRST LIMIT $3";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit(among), &limit(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
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
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit(among), &limit(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
        rows.iter().map(|row| Ok((text(row, 0)?, count(row, 1)?))).collect()
    }
}

#[async_trait]
impl WrongAnswers for PostgresStore {
    async fn mark_wrong(
        &self,
        project: ProjectId,
        hit: WrongHit<'_>,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let choose = "SELECT project_id, entry_id, prompt, model FROM entries
                      WHERE project_id = $1 AND entry_id = $2 FOR UPDATE";
        let parts = format!(
            "{},
             kept AS (
                 INSERT INTO wrong_answers (project_id, at, asked, matched, similarity, model)
                 SELECT project_id, $3::bigint, $4::bytea, prompt, $5::real, model FROM chosen)",
            entries::removing(choose)
        );
        let (at, asked, similarity) = (change.at.as_nanos(), hit.asked.as_bytes(), hit.similarity.get());
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &uuid(hit.entry.as_bytes()), &at, &asked, &similarity];
        Ok(self.change(&parts, params, change).await? > 0)
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before_number: Option<u64>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        let sql = "SELECT number, at, asked, matched, similarity, model FROM wrong_answers
                   WHERE project_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &before(before_number), &limit(at_most)];
        let rows = self.connections.query(sql, params).await?;
        rows.iter()
            .map(|row| {
                Ok(WrongAnswer {
                    number: count(row, 0)?,
                    at: time(row, 1)?,
                    asked: text(row, 2)?,
                    matched: text(row, 3)?,
                    similarity: Similarity::from_cosine(get(row, 4)?),
                    model: text(row, 5)?,
                })
            })
            .collect()
    }
}
