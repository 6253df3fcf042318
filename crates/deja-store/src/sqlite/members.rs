//! Members of projects. Read by operators alone, so from the database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::{OperatorId, ProjectId};
use deja_core::member::{Member, Rank};
use deja_core::store::{Members, StoreError};
use rusqlite::{Connection, Row, params};

use super::fault::conflict;
use super::projects::must_be_there;
use super::rows::word;
use super::{Done, SqliteStore};

/// Makes the operator who makes a project its owner, in the savepoint of that change.
pub(super) fn add_owner(
    connection: &Connection,
    project: ProjectId,
    maker: OperatorId,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO members (project_id, operator_id, rank)
               SELECT ?1, operator_id, ?3 FROM operators WHERE operator_id = ?2";
    let owner = Rank::Owner.as_str();
    connection.execute(sql, params![project.as_bytes(), maker.as_bytes(), owner]).map(drop)
}

#[async_trait]
impl Members for SqliteStore {
    async fn rank(&self, project: ProjectId, operator: OperatorId) -> Result<Option<Rank>, StoreError> {
        let sql = "SELECT rank FROM members WHERE project_id = ?1 AND operator_id = ?2";
        self.readers.one(sql, (*project.as_bytes(), *operator.as_bytes()), |row| word(row, 0)).await
    }

    async fn ranks(&self, operator: OperatorId) -> Result<BTreeMap<ProjectId, Rank>, StoreError> {
        let sql = "SELECT project_id, rank FROM members WHERE operator_id = ?1";
        let rank = |row: &Row<'_>| Ok((ProjectId::from_bytes(row.get(0)?), word(row, 1)?));
        self.readers.all(sql, [*operator.as_bytes()], rank).await
    }

    async fn members(&self, project: ProjectId) -> Result<Vec<Member>, StoreError> {
        let sql = "SELECT o.operator_id, o.email, m.rank FROM members m JOIN operators o USING (operator_id)
                   WHERE m.project_id = ?1 ORDER BY o.email";
        self.readers.all(sql, [*project.as_bytes()], from_row).await
    }

    async fn set_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        rank: Rank,
        change: &Change,
    ) -> Result<bool, StoreError> {
        self.audited(change, move |connection| {
                must_be_there(connection, project)?;
                let sql = "INSERT INTO members (project_id, operator_id, rank) VALUES (?1, ?2, ?3)
                           ON CONFLICT DO UPDATE SET rank = excluded.rank WHERE members.rank <> excluded.rank";
                let values = params![project.as_bytes(), operator.as_bytes(), rank.as_str()];
                let set = connection.execute(sql, values);
                let set = set.map_err(|error| conflict(error, || "no project or operator for the rank".into()))?;
                Ok(Done::quiet(set > 0))
            })
            .await
    }

    async fn remove_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM members WHERE project_id = ?1 AND operator_id = ?2";
        self.audited_statement(change, sql, (*project.as_bytes(), *operator.as_bytes())).await
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Member> {
    Ok(Member { operator: OperatorId::from_bytes(row.get(0)?), email: word(row, 1)?, rank: word(row, 2)? })
}
