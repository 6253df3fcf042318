//! The audit log: written by the jobs that change something, in their own savepoints.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::{Actor, AuditFilter, AuditRow, Change};
use deja_core::clock::Timestamp;
use deja_core::id::{OperatorId, ProjectId};
use deja_core::store::{Audit, StoreError};
use rusqlite::{Connection, Params, Row, params};

use super::fault::Failed;
use super::rows::{count, limit_of, number_before, signed, time};
use super::writer::numbers;
use super::{Done, SqliteStore};
use crate::lists::{actor_of, audit_reads_through, audit_rows};

impl SqliteStore {
    /// Has `work` done, which says whether it did anything, and writes the row of the change with it if so.
    pub(super) async fn audited<F>(&self, change: &Change, work: F) -> Result<bool, StoreError>
    where
        F: FnOnce(&Connection) -> Result<Done<bool>, Failed> + Send + 'static,
    {
        self.writer.write(with_row(change.clone(), work)).await
    }

    /// Runs one statement. If it changed a row, writes the row of the change with it.
    pub(super) async fn audited_statement(
        &self,
        change: &Change,
        sql: &'static str,
        params: impl Params + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.audited(change, move |connection| {
            let rows = connection.execute(sql, params)?;
            Ok(Done::quiet(rows > 0))
        })
        .await
    }
}

/// `work`, which says whether it did anything, and the row of the change behind it if so.
pub(super) fn with_row(
    change: Change,
    work: impl FnOnce(&Connection) -> Result<Done<bool>, Failed> + Send + 'static,
) -> impl FnOnce(&Connection) -> Result<Done<bool>, Failed> + Send + 'static {
    move |connection| {
        let done = work(connection)?;
        write_if(connection, &change, done.value)?;
        Ok(done)
    }
}

/// Writes the row of a change, in the savepoint of the change.
pub(super) fn write(connection: &Connection, change: &Change) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO changes (at, actor_id, actor, action, project_id, subject, detail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            change.at.as_nanos(),
            change.actor.operator().as_ref().map(OperatorId::as_bytes),
            change.actor.name(),
            change.action,
            change.project.as_ref().map(ProjectId::as_bytes),
            change.subject,
            change.detail,
        ])
        .map(drop)
}

/// Writes the row of a change if the change was done.
pub(super) fn write_if(connection: &Connection, change: &Change, done: bool) -> rusqlite::Result<()> {
    if done { write(connection, change) } else { Ok(()) }
}

#[async_trait]
impl Audit for SqliteStore {
    async fn note(&self, change: &Change) -> Result<(), StoreError> {
        let change = change.clone();
        self.writer.write(move |connection| Ok(Done::quiet(write(connection, &change)?))).await
    }

    async fn changes(
        &self,
        filter: &AuditFilter,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let of = if filter.project.is_some() { "project_id = ?3" } else { "?3 IS NULL" };
        let sql = audit_rows(of, ["?1", "?2"], ["?4", "?5", "?6", "?7"]);
        let values = (
            number_before(before),
            limit_of(limit),
            filter.project.map(|project| *project.as_bytes()),
            filter.action.clone(),
            actor_of(filter).map(str::to_owned),
            filter.within.from.map(Timestamp::as_nanos),
            filter.within.until.map(Timestamp::as_nanos),
        );
        let readers = if audit_reads_through(filter) { &self.searches } else { &self.readers };
        readers.all(sql, values, from_row).await
    }

    async fn sweep_changes(
        &self,
        action: &str,
        before: Timestamp,
        newest: u64,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        let action = action.to_owned();
        let find = move |connection: &Connection| surplus(connection, &action, before, newest, limit);
        let surplus = self.readers.read(find).await?;
        self.writer.each("DELETE FROM changes WHERE number = ?1", surplus).await
    }
}

/// The numbers of rows of an action that are old, or beyond its newest: of so many at most, the smallest.
fn surplus(
    connection: &Connection,
    action: &str,
    before: Timestamp,
    newest: u64,
    limit: NonZeroUsize,
) -> rusqlite::Result<Vec<[i64; 1]>> {
    let sql = "SELECT number FROM changes WHERE action = ?1 AND at < ?2 ORDER BY number LIMIT ?3";
    let mut old = numbers(connection, sql, params![action, before.as_nanos(), limit_of(limit)])?;
    let sql = "SELECT count(*) FROM changes WHERE action = ?1";
    let all = connection.prepare_cached(sql)?.query_row([action], |row| count(row, 0))?;
    if all > newest {
        let sql = "SELECT number FROM changes WHERE action = ?1 ORDER BY number LIMIT ?2";
        let beyond = params![action, signed(all - newest).min(limit_of(limit))];
        old.extend(numbers(connection, sql, beyond)?);
        old.sort_unstable();
        old.dedup();
        old.truncate(limit.get());
    }
    Ok(old)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    let operator: Option<[u8; 16]> = row.get(2)?;
    let project: Option<[u8; 16]> = row.get(5)?;
    Ok(AuditRow {
        number: count(row, 0)?,
        change: Change {
            at: time(row, 1)?,
            actor: Actor::from_parts(operator.map(OperatorId::from_bytes), row.get(3)?),
            action: row.get::<_, String>(4)?.into(),
            project: project.map(ProjectId::from_bytes),
            subject: row.get(6)?,
            detail: row.get(7)?,
        },
    })
}
