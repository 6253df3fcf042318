//! The rate limiter's buckets: one row a project, one statement a request, exact however many replicas ask.
//!
//! The statement is [`deja_core::rate_limit::take`] in SQL. Time comes from the replicas, and their clocks
//! differ: a bucket's own time never goes back by up to [`SKEW`], or else a slow clock would hand back what a
//! fast one took. A larger step back is a clock that was set, and counts.

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::rate_limit::{Bucket, Decision, Quota, take};
use deja_core::store::{Limits, StoreError};

use super::PostgresStore;
use super::rows::{get, time, uuid};

/// Nanoseconds that replicas' clocks may lie apart.
const SKEW: i64 = 60_000_000_000;

/// $1 project, $2 now, $3 emission interval, $4 capacity, $5 skew.
const TAKE: &str = "
    INSERT INTO buckets AS b (project_id, full_at, seen, allowed) VALUES ($1, $2::bigint + $3::bigint, $2, true)
    ON CONFLICT (project_id) DO UPDATE SET (full_at, seen, allowed) = (
        SELECT CASE WHEN fits THEN start + $3 ELSE start END, now, fits
        FROM (SELECT now, start, start + $3 - now <= $4::bigint AS fits
              FROM (SELECT now, least(greatest(b.full_at, now), now + $4) AS start
                    FROM (SELECT CASE WHEN b.seen - $2 BETWEEN 0 AND $5::bigint THEN b.seen ELSE $2 END AS now)
                         AS clock)
                   AS bucket)
             AS request)
    RETURNING full_at, seen, allowed";

#[async_trait]
impl Limits for PostgresStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        let (interval, capacity) = (quota.interval(), quota.capacity());
        let params: super::connections::Params<'_> =
            &[&uuid(project.as_bytes()), &now.as_nanos(), &interval, &capacity, &SKEW];
        let row = self.connections.query_one(TAKE, params).await?;
        let (full_at, seen, allowed): (i64, _, bool) = (get(&row, 0)?, time(&row, 1)?, get(&row, 2)?);
        // The bucket as it was before: from there the rule itself tells the same once more, with its headers.
        let before = if allowed { full_at - interval } else { full_at };
        let (_, decision) = take(Bucket { full_at: Timestamp::from_nanos(before) }, quota, seen);
        Ok(decision)
    }
}
