//! Brings a database to the schema of this program: plain numbered SQL, each file in one transaction, one
//! replica at a time.
//!
//! A released file never changes; a change of the schema is a new file at the end of [`MIGRATIONS`]. Replicas
//! of the version before keep running meanwhile, so a file only adds; what nobody uses any more is removed by
//! the version after. The first line of each file says which schema versions' programs it still serves.

use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

const MIGRATIONS: &[(i32, &str)] = &[
    (1, include_str!("../../migrations/postgres/0001_first.sql")),
    (2, include_str!("../../migrations/postgres/0002_provider_kind.sql")),
    (3, include_str!("../../migrations/postgres/0003_days.sql")),
    (4, include_str!("../../migrations/postgres/0004_recorders.sql")),
    (5, include_str!("../../migrations/postgres/0005_frames.sql")),
    (6, include_str!("../../migrations/postgres/0006_forbidden.sql")),
    (7, include_str!("../../migrations/postgres/0007_vectors.sql")),
    (8, include_str!("../../migrations/postgres/0008_claims.sql")),
    (9, include_str!("../../migrations/postgres/0009_own_providers.sql")),
    (10, include_str!("../../migrations/postgres/0010_samples.sql")),
    (11, include_str!("../../migrations/postgres/0011_feedback.sql")),
    (12, include_str!("../../migrations/postgres/0012_opinions.sql")),
    (13, include_str!("../../migrations/postgres/0013_wires.sql")),
    (14, include_str!("../../migrations/postgres/0014_surfaces.sql")),
    (15, include_str!("../../migrations/postgres/0015_new_scopes.sql")),
    (16, include_str!("../../migrations/postgres/0016_request_log.sql")),
    (17, include_str!("../../migrations/postgres/0017_keys.sql")),
    (18, include_str!("../../migrations/postgres/0018_refused.sql")),
    (19, include_str!("../../migrations/postgres/0019_access_tokens.sql")),
    (20, include_str!("../../migrations/postgres/0020_second_factors.sql")),
    (21, include_str!("../../migrations/postgres/0021_members.sql")),
    (22, include_str!("../../migrations/postgres/0022_waited_for.sql")),
    (23, include_str!("../../migrations/postgres/0023_entries_by_hits.sql")),
    (24, include_str!("../../migrations/postgres/0024_claims_again.sql")),
    (25, include_str!("../../migrations/postgres/0025_taken.sql")),
    (26, include_str!("../../migrations/postgres/0026_label_in_quarantine.sql")),
    (27, include_str!("../../migrations/postgres/0027_claims_alone.sql")),
    (28, include_str!("../../migrations/postgres/0028_purges.sql")),
];
/// Between two tries to get a table's lock.
const PAUSE: Duration = Duration::from_secs(2);
/// Between two tries to be the replica that migrates.
const TURN: Duration = Duration::from_millis(100);
/// Any number will do as long as all versions of deja use the same one.
const LOCK: i64 = 0x6465_6a61;

/// The schema of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// The version that the database has; 0 is an empty one.
    pub(super) found: i32,
    /// The oldest version whose programs the database still serves.
    pub(super) serves: i32,
}

/// The newest version that this program knows.
pub(super) fn known() -> i32 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// What the database has.
pub(super) async fn schema(client: &Client) -> Result<Schema, Error> {
    let there = client.query_one("SELECT to_regclass('migrations') IS NOT NULL", &[]).await?;
    if !there.try_get::<_, bool>(0)? {
        return Ok(Schema { found: 0, serves: 0 });
    }
    let sql = "SELECT coalesce(max(version), 0), coalesce(max(serves), 0) FROM migrations";
    let row = client.query_one(sql, &[]).await?;
    Ok(Schema { found: row.try_get(0)?, serves: row.try_get(1)? })
}

/// Applies what is missing, and says what the database has then.
pub(super) async fn migrate(client: &mut Client) -> Result<Schema, Error> {
    let before = schema(client).await?;
    if before.found >= known() {
        return Ok(before);
    }
    // Held by the session: it goes when the connection is closed, whatever happens.
    client.batch_execute("SET statement_timeout = 0; SET lock_timeout = 0").await?;
    // A statement that waits keeps its snapshot, and a graph that is being built waits for all who have one.
    while !client.query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK]).await?.try_get::<_, bool>(0)? {
        sleep(TURN).await;
    }
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS migrations (version integer NOT NULL PRIMARY KEY, serves integer NOT NULL)",
        )
        .await?;
    let found = schema(client).await?.found;
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        while let Err(error) = apply(client, *version, sql).await {
            if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
                return Err(error);
            }
            tracing::info!(version, "the new schema waits for a long transaction, such as a backup, to end");
            sleep(PAUSE).await;
        }
        tracing::info!(version, "the schema of the database was brought up to date");
    }
    client.query("SELECT pg_advisory_unlock($1)", &[&LOCK]).await?;
    schema(client).await
}

/// Applies one file. Behind a table's lock that is waited for, all who use the table wait: so not for long.
async fn apply(client: &mut Client, version: i32, sql: &str) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute("SET LOCAL lock_timeout = '300ms'").await?;
    transaction.batch_execute(sql).await?;
    let row = "INSERT INTO migrations (version, serves) VALUES ($1, $2)";
    transaction.execute(row, &[&version, &serves(sql)]).await?;
    transaction.commit().await
}

/// What the first line of a file says; a test sees to it that each says something.
fn serves(sql: &str) -> i32 {
    let line = sql.lines().next().unwrap_or_default();
    line.strip_prefix("-- oldest: ").and_then(|number| number.parse().ok()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_and_say_whom_they_serve() {
        for (at, (version, sql)) in (1..).zip(MIGRATIONS) {
            assert_eq!(*version, at);
            assert!((1..=at).contains(&serves(sql)), "migration {version}");
        }
    }
}
