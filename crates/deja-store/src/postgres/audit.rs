//! The audit log: the row of a change is written by the statement that makes the change.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::{Actor, AuditFilter, AuditRow, Change};
use deja_core::clock::Timestamp;
use deja_core::id::{OperatorId, ProjectId};
use deja_core::store::{Audit, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresStore;
use super::connections::Params;
use super::rows::{count, get, id, limit_of, number_before, signed, time, total, uuid};
use crate::lists::{actor_of, audit_reads_through, audit_rows};

/// When the row of a change is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// If the change was made.
    Done,
    /// In any case.
    Always,
}

/// The columns of a change, as parameters.
pub(super) struct Noted {
    at: i64,
    actor_id: Option<Uuid>,
    actor: String,
    action: String,
    project: Option<Uuid>,
    subject: String,
    detail: String,
}

impl Noted {
    pub(super) fn of(change: &Change) -> Self {
        Self {
            at: change.at.as_nanos(),
            actor_id: change.actor.operator().as_ref().map(|id| uuid(id.as_bytes())),
            actor: clean(change.actor.name()),
            action: clean(&change.action),
            project: change.project.as_ref().map(|id| uuid(id.as_bytes())),
            subject: clean(&change.subject),
            detail: clean(&change.detail),
        }
    }

    /// The columns of a change in its table.
    pub(super) const COLUMNS: &str = "at, actor_id, actor, action, project_id, subject, detail";
    const TYPES: [&str; 7] = ["bigint", "uuid", "text", "text", "uuid", "text", "text"];
    /// How many they are.
    pub(super) const WIDTH: usize = Self::TYPES.len();

    /// The parameters of a change that come after `before` others.
    pub(super) fn values(before: usize) -> String {
        let values = (before + 1..).zip(Self::TYPES).map(|(number, kind)| format!("${number}::{kind}"));
        values.collect::<Vec<_>>().join(", ")
    }

    /// The statement that does what `parts` say (one of them is called `done` and has a row for each thing that
    /// was changed), writes the change and says how many things were. The change's parameters come after those
    /// of the parts, which are `before` many.
    pub(super) fn statement(parts: &str, before: usize, when: When) -> String {
        let condition = match when {
            When::Done => "EXISTS (SELECT FROM done)",
            When::Always => "true",
        };
        format!(
            "WITH {parts},
             noted AS (INSERT INTO changes ({}) SELECT {} WHERE {condition})
             SELECT count(*) FROM done",
            Self::COLUMNS,
            Self::values(before)
        )
    }

    /// The statement that does what `parts` say and writes the change if it was done, with its parameters.
    fn with<'a>(&'a self, parts: &str, params: Params<'a>) -> (String, Vec<&'a (dyn ToSql + Sync)>) {
        (Self::statement(parts, params.len(), When::Done), self.after(params))
    }

    /// The parameters of the parts, and then those of the change.
    pub(super) fn after<'a>(&'a self, params: Params<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
        let own: [&(dyn ToSql + Sync); 7] =
            [&self.at, &self.actor_id, &self.actor, &self.action, &self.project, &self.subject, &self.detail];
        params.iter().copied().chain(own).collect()
    }
}

/// PostgreSQL takes no NUL in a text.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl PostgresStore {
    /// Does what `parts` say and writes the change if it was done; says how many things were changed.
    pub(super) async fn change(
        &self,
        parts: &str,
        params: Params<'_>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let noted = Noted::of(change);
        let (sql, params) = noted.with(parts, params);
        count(&self.connections.query_one(&sql, &params).await?, 0)
    }

    /// The same, of parts that may touch many rows.
    pub(super) async fn change_much(
        &self,
        parts: &str,
        params: Params<'_>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let noted = Noted::of(change);
        let (sql, params) = noted.with(parts, params);
        total(&self.connections.bulk(&sql, &params).await?)
    }
}

#[async_trait]
impl Audit for PostgresStore {
    async fn note(&self, change: &Change) -> Result<(), StoreError> {
        self.change("done AS (SELECT)", &[], change).await.map(drop)
    }

    async fn changes(
        &self,
        filter: &AuditFilter,
        before_number: Option<u64>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let of = if filter.project.is_some() { "project_id = $3" } else { "$3::uuid IS NULL" };
        let sql = audit_rows(of, ["$1", "$2"], ["$4::text", "$5::text", "$6::bigint", "$7::bigint"]);
        let params: Params<'_> = &[
            &number_before(before_number),
            &limit_of(at_most),
            &filter.project.map(|project| uuid(project.as_bytes())),
            &filter.action.as_deref().map(clean),
            &actor_of(filter).map(clean),
            &filter.within.from.map(Timestamp::as_nanos),
            &filter.within.until.map(Timestamp::as_nanos),
        ];
        let rows = if audit_reads_through(filter) {
            self.connections.search(&sql, params).await?
        } else {
            self.connections.query(&sql, params).await?
        };
        rows.iter().map(from_row).collect()
    }

    async fn sweep_changes(
        &self,
        action: &str,
        before: Timestamp,
        newest: u64,
        at_most: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        // Skipping locked ones: replicas that sweep at the same time share the work.
        let sql = "WITH kept AS (SELECT number FROM changes WHERE action = $1 ORDER BY number DESC LIMIT $3),
                        surplus AS (SELECT number FROM changes
                                    WHERE action = $1 AND (at < $2 OR number NOT IN (SELECT number FROM kept))
                                    ORDER BY number LIMIT $4 FOR UPDATE SKIP LOCKED),
                        gone AS (DELETE FROM changes WHERE number IN (SELECT number FROM surplus) RETURNING 1)
                   SELECT count(*) FROM gone";
        let params: Params<'_> = &[&action, &before.as_nanos(), &signed(newest), &limit_of(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
        total(&rows)
    }
}

fn from_row(row: &Row) -> Result<AuditRow, StoreError> {
    let operator = get::<Option<Uuid>>(row, 2)?.map(|id| OperatorId::from_bytes(id.into_bytes()));
    let project = get::<Option<Uuid>>(row, 5)?.is_some();
    Ok(AuditRow {
        number: count(row, 0)?,
        change: Change {
            at: time(row, 1)?,
            actor: Actor::from_parts(operator, get(row, 3)?),
            action: get::<String>(row, 4)?.into(),
            project: if project { Some(ProjectId::from_bytes(id(row, 5)?)) } else { None },
            subject: get(row, 6)?,
            detail: get(row, 7)?,
        },
    })
}
