//! What projects' models said of pairs of prompts.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;
use deja_core::cache::PairHash;
use deja_core::id::ProjectId;
use deja_core::money::NanoUsd;
use deja_core::store::{Opinions, Questions, StoreError};

use super::PostgresStore;
use super::connections::Params;
use super::rows::{count, get, hash, limit_of, signed, sum_of, uuid};
use crate::sums::plus;

#[async_trait]
impl Opinions for PostgresStore {
    async fn opinions(
        &self,
        project: ProjectId,
        pairs: &[PairHash],
    ) -> Result<Vec<Option<bool>>, StoreError> {
        let sql = "SELECT pair, same FROM opinions WHERE project_id = $1 AND pair = ANY($2)";
        let asked: Vec<&[u8]> = pairs.iter().map(|pair| pair.0.as_slice()).collect();
        let params: Params<'_> = &[&uuid(project.as_bytes()), &asked];
        let mut said = HashMap::new();
        for row in self.connections.of(project).query(sql, params).await? {
            said.insert(hash(&row, 0)?, get::<bool>(&row, 1)?);
        }
        Ok(pairs.iter().map(|pair| said.get(&pair.0).copied()).collect())
    }

    async fn keep_opinion(
        &self,
        project: ProjectId,
        pair: &PairHash,
        said: Option<bool>,
        day: i64,
        cost: NanoUsd,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "WITH there AS (SELECT project_id FROM projects WHERE project_id = $1 FOR KEY SHARE),
             counted AS (
                 INSERT INTO questions AS q (project_id, day, asked, cost)
                 SELECT project_id, $2::bigint, 1, $3::bigint FROM there
                 ON CONFLICT (project_id, day)
                 DO UPDATE SET asked = q.asked + 1, cost = {})
             INSERT INTO opinions (project_id, pair, same, day)
             SELECT project_id, $4::bytea, $5::boolean, $2 FROM there WHERE $5 IS NOT NULL
             ON CONFLICT (project_id, pair) DO UPDATE SET same = excluded.same, day = excluded.day",
            plus("least", "q.cost", "excluded.cost")
        );
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &day, &signed(cost.as_nanos()), &pair.0.as_slice(), &said];
        self.connections.of(project).query(&sql, params).await.map(drop)
    }

    async fn questions(&self, project: ProjectId, days: Range<i64>) -> Result<Questions, StoreError> {
        let sql = format!(
            "SELECT {}, {} FROM questions WHERE project_id = $1 AND day >= $2 AND day < $3",
            sum_of("asked"),
            sum_of("cost")
        );
        let params: Params<'_> = &[&uuid(project.as_bytes()), &days.start, &days.end];
        let row = self.connections.of(project).query_one(&sql, params).await?;
        Ok(Questions { asked: count(&row, 0)?, cost: NanoUsd::from_nanos(count(&row, 1)?) })
    }

    async fn sweep_opinions(&self, day: i64, at_most: NonZeroUsize) -> Result<u64, StoreError> {
        // Replicas sweep at the same time: a row that another one deletes is left to it. An array is made once; a plan
        // may ask what is in a subquery again for each row.
        let sql = "WITH days AS (
                 DELETE FROM questions WHERE ctid = ANY (ARRAY(
                     SELECT ctid FROM questions WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))),
             gone AS (
                 DELETE FROM opinions WHERE ctid = ANY (ARRAY(
                     SELECT ctid FROM opinions WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))
                 RETURNING 1)
             SELECT count(*) FROM gone";
        count(&self.connections.query_one(sql, &[&day, &limit_of(at_most)]).await?, 0)
    }
}
