//! Members of projects.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::{OperatorId, ProjectId};
use deja_core::member::{Member, Rank};
use deja_core::store::{Members, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connections::Params;
use super::fault::conflict;
use super::rows::{id, uuid, word};

#[async_trait]
impl Members for PostgresStore {
    async fn rank(&self, project: ProjectId, operator: OperatorId) -> Result<Option<Rank>, StoreError> {
        let sql = "SELECT rank FROM members WHERE project_id = $1 AND operator_id = $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(operator.as_bytes())];
        self.connections.query_opt(sql, params).await?.map(|row| word(&row, 0)).transpose()
    }

    async fn ranks(&self, operator: OperatorId) -> Result<BTreeMap<ProjectId, Rank>, StoreError> {
        let sql = "SELECT project_id, rank FROM members WHERE operator_id = $1";
        let rows = self.connections.query(sql, &[&uuid(operator.as_bytes())]).await?;
        rows.iter().map(|row| Ok((ProjectId::from_bytes(id(row, 0)?), word(row, 1)?))).collect()
    }

    async fn members(&self, project: ProjectId) -> Result<Vec<Member>, StoreError> {
        let sql = "SELECT o.operator_id, o.email, m.rank FROM members m JOIN operators o USING (operator_id)
                   WHERE m.project_id = $1 ORDER BY o.email";
        self.connections.query(sql, &[&uuid(project.as_bytes())]).await?.iter().map(from_row).collect()
    }

    async fn set_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        rank: Rank,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (
            INSERT INTO members (project_id, operator_id, rank) VALUES ($1, $2, $3)
            ON CONFLICT (project_id, operator_id) DO UPDATE SET rank = excluded.rank
            WHERE members.rank <> excluded.rank RETURNING 1)";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(operator.as_bytes()), &rank.as_str()];
        let set = self.change(parts, params, change).await;
        Ok(set.map_err(|error| conflict(error, || "no project or operator for the rank".to_owned()))? > 0)
    }

    async fn remove_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM members WHERE project_id = $1 AND operator_id = $2 RETURNING 1)";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(operator.as_bytes())];
        Ok(self.change(parts, params, change).await? > 0)
    }
}

fn from_row(row: &Row) -> Result<Member, StoreError> {
    Ok(Member { operator: OperatorId::from_bytes(id(row, 0)?), email: word(row, 1)?, rank: word(row, 2)? })
}
