//! What projects' models said of pairs of prompts.

use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;
use deja_core::cache::PairHash;
use deja_core::id::ProjectId;
use deja_core::money::NanoUsd;
use deja_core::store::{Opinions, Questions, StoreError};
use rusqlite::{OptionalExtension, Row, params};

use super::rows::{count, limit_of, signed};
use super::{Done, SqliteStore};
use crate::sums::plus;

#[async_trait]
impl Opinions for SqliteStore {
    async fn opinions(
        &self,
        project: ProjectId,
        pairs: &[PairHash],
    ) -> Result<Vec<Option<bool>>, StoreError> {
        let pairs = pairs.to_vec();
        self.readers
            .read(move |connection| {
                let mut select = connection
                    .prepare_cached("SELECT same FROM opinions WHERE project_id = ?1 AND pair = ?2")?;
                let mut said = |pair: &PairHash| {
                    select.query_row(params![project.as_bytes(), pair.0], |row| row.get(0)).optional()
                };
                pairs.iter().map(&mut said).collect()
            })
            .await
    }

    async fn keep_opinion(
        &self,
        project: ProjectId,
        pair: &PairHash,
        said: Option<bool>,
        day: i64,
        cost: NanoUsd,
    ) -> Result<(), StoreError> {
        let pair = *pair;
        self.writer
            .write_if_room(move |connection| {
                connection
                    .prepare_cached(&format!(
                        "INSERT INTO questions (project_id, day, asked, cost)
                         SELECT project_id, ?2, 1, ?3 FROM projects WHERE project_id = ?1
                         ON CONFLICT DO UPDATE SET asked = asked + 1, cost = {}",
                        plus("min", "cost", "excluded.cost")
                    ))?
                    .execute(params![project.as_bytes(), day, signed(cost.as_nanos())])?;
                if let Some(said) = said {
                    connection
                        .prepare_cached(
                            "INSERT INTO opinions (project_id, pair, same, day)
                             SELECT project_id, ?2, ?3, ?4 FROM projects WHERE project_id = ?1
                             ON CONFLICT DO UPDATE SET same = excluded.same, day = excluded.day",
                        )?
                        .execute(params![project.as_bytes(), pair.0, said, day])?;
                }
                Ok(Done::quiet(()))
            })
            .await
    }

    async fn questions(&self, project: ProjectId, days: Range<i64>) -> Result<Questions, StoreError> {
        let sql = "SELECT add_up(asked), add_up(cost) FROM questions
                   WHERE project_id = ?1 AND day >= ?2 AND day < ?3";
        let questions = |row: &Row<'_>| {
            Ok(Questions { asked: count(row, 0)?, cost: NanoUsd::from_nanos(count(row, 1)?) })
        };
        let found = self.readers.one(sql, (*project.as_bytes(), days.start, days.end), questions).await?;
        Ok(found.unwrap_or_default())
    }

    async fn sweep_opinions(&self, day: i64, limit: NonZeroUsize) -> Result<u64, StoreError> {
        self.writer
            .write(move |connection| {
                let delete = |table: &str, key: &str| {
                    let sql = format!(
                        "DELETE FROM {table} WHERE (project_id, {key}) IN
                             (SELECT project_id, {key} FROM {table} WHERE day < ?1 LIMIT ?2)"
                    );
                    connection.prepare_cached(&sql)?.execute(params![day, limit_of(limit)])
                };
                delete("questions", "day")?;
                Ok(Done::quiet(delete("opinions", "pair")? as u64))
            })
            .await
    }
}
