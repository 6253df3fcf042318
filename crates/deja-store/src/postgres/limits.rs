//! The rate limiter's buckets: one row a project, or a key with a limit of its own, exact however many replicas ask.
//!
//! The statement is [`deja_core::rate_limit::take`] in SQL. Time comes from the replicas, and their clocks
//! differ: a bucket's own time never goes back by up to [`SKEW`], or else a slow clock would hand back what a
//! fast one took. A larger step back is a clock that was set, and the bucket is full.

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::rate_limit::{Bucket, Decision, Quota, take};
use deja_core::store::{Limits, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connections::{Connections, Params};
use super::rows::{get, time, uuid};

/// Nanoseconds that replicas' clocks may lie apart.
pub(super) const SKEW: i64 = 60_000_000_000;

/// A table of buckets.
#[derive(Clone, Copy)]
pub(super) struct Buckets {
    table: &'static str,
    /// What names a bucket.
    of: &'static str,
    /// Where a statement says which bucket is meant, and what it holds.
    quota: &'static str,
}

/// The buckets of queries.
pub(super) const QUERIES: Buckets = Buckets { table: "buckets", of: "project_id", quota: "quota" };
/// Those of keys with a limit of their own.
pub(super) const KEYS: Buckets =
    Buckets { table: "key_buckets", of: "project_id, key_id", quota: "key_quota" };
/// Those of feedback.
const FEEDBACK: Buckets = Buckets { table: "feedback_buckets", ..QUERIES };

/// Takes requests from the bucket that `quota` (what names it, step, capacity, how many are asked for) names, if it names
/// one: as many of them as it holds; $1 now, $2 skew.
pub(super) fn take_from(Buckets { table, of, quota }: Buckets) -> String {
    format!(
        "INSERT INTO {table} AS b ({of}, full_at, seen, taken)
         SELECT {of}, $1::bigint + fit * step, $1, fit
         FROM (SELECT *, least(asked, capacity / step) AS fit FROM {quota}) AS request
         ON CONFLICT ({of}) DO UPDATE SET (full_at, seen, taken) = (
             SELECT start + fit * step, now, fit
             FROM (SELECT now, start, step, least(asked, (now + capacity - start) / step) AS fit
                   FROM (SELECT now, asked, step, capacity,
                                CASE WHEN b.seen - $1 > $2 THEN now ELSE least(greatest(b.full_at, now), now + capacity) END
                                    AS start
                         FROM {quota}, (SELECT CASE WHEN b.seen - $1 BETWEEN 0 AND $2::bigint THEN b.seen ELSE $1 END
                                             AS now) AS clock)
                        AS bucket)
                  AS request)
         RETURNING b.project_id, b.full_at, b.seen, b.taken"
    )
}

#[async_trait]
impl Limits for PostgresStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        self.take_of(QUERIES, project, None, quota, now).await
    }

    async fn take_of_key(
        &self,
        project: ProjectId,
        key: KeyId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        self.take_of(KEYS, project, Some(key), quota, now).await
    }

    async fn give_back_to_key(&self, project: ProjectId, key: KeyId, quota: Quota) -> Result<(), StoreError> {
        give_back(&self.connections, (project, key), quota, 1).await
    }

    async fn take_feedback(
        &self,
        project: ProjectId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        self.take_of(FEEDBACK, project, None, quota, now).await
    }
}

impl PostgresStore {
    async fn take_of(
        &self,
        buckets: Buckets,
        project: ProjectId,
        key: Option<KeyId>,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let sql = format!(
            "WITH {} AS (SELECT $3::uuid AS project_id, $6::uuid AS key_id, $4::bigint AS step, $5::bigint AS capacity,
                               1::bigint AS asked),
                  taken AS ({})
             SELECT full_at, seen, taken FROM taken",
            buckets.quota,
            take_from(buckets)
        );
        let (step, capacity) = (quota.interval(), quota.capacity());
        let key = key.as_ref().map(|key| uuid(key.as_bytes()));
        let params: Params<'_> = &[&now.as_nanos(), &SKEW, &uuid(project.as_bytes()), &step, &capacity, &key];
        decision(&self.connections.of(project).query_one(&sql, params).await?, 0, quota, 0)
    }
}

/// Gives so many `requests` back to the bucket of a key.
pub(super) async fn give_back(
    connections: &Connections,
    (project, key): (ProjectId, KeyId),
    quota: Quota,
    requests: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE key_buckets SET full_at = full_at - $3 WHERE project_id = $1 AND key_id = $2";
    let back = requests * quota.interval();
    let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(key.as_bytes()), &back];
    connections.of(project).query(sql, params).await.map(drop)
}

/// What the limiter said to a request, from the columns `full_at`, `seen` and `taken` that begin at `first`. `earlier` are the
/// requests that were asked for before it by the same statement.
pub(super) fn decision(
    row: &Row,
    first: usize,
    quota: Quota,
    earlier: usize,
) -> Result<Decision, StoreError> {
    let (full_at, seen, taken): (i64, _, i64) =
        (get(row, first)?, time(row, first + 1)?, get(row, first + 2)?);
    // The bucket as the request found it: from there the rule itself tells the same once more, with its headers.
    let later = taken.saturating_sub_unsigned(earlier as u64).max(0);
    let found = Bucket { full_at: Timestamp::from_nanos(full_at - later * quota.interval()), seen };
    let (_, decision) = take(found, quota, seen);
    Ok(decision)
}
