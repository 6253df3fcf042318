//! Second factors of operators.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::OperatorId;
use deja_core::operator::TokenHash;
use deja_core::second_factor::SecondFactor;
use deja_core::store::{SecondFactors, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::{Noted, When};
use super::connections::Params;
use super::fault::conflict;
use super::rows::{count, get, id, signed, time, unreadable, uuid};

#[async_trait]
impl SecondFactors for PostgresStore {
    async fn second_factor(&self, operator: OperatorId) -> Result<Option<SecondFactor>, StoreError> {
        let sql = "SELECT secret, since, last_step, recovery FROM second_factors WHERE operator_id = $1";
        let row = self.connections.query_opt(sql, &[&uuid(operator.as_bytes())]).await?;
        row.map(|row| from_row(&row)).transpose()
    }

    async fn with_second_factor(&self) -> Result<Vec<OperatorId>, StoreError> {
        let rows = self.connections.query("SELECT operator_id FROM second_factors", &[]).await?;
        rows.iter().map(|row| id(row, 0).map(OperatorId::from_bytes)).collect()
    }

    async fn create_second_factor(
        &self,
        operator: OperatorId,
        factor: &SecondFactor,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<(), StoreError> {
        let mut transaction = self.connections.begin().await?;
        // A session that is being created comes before this lock, and is ended below; or after it, and sees the factor.
        let lock = "SELECT FROM operators WHERE operator_id = $1 FOR UPDATE";
        transaction.query(lock, &[&uuid(operator.as_bytes())]).await?;
        let parts = "done AS (
                INSERT INTO second_factors (operator_id, secret, since, last_step, recovery)
                VALUES ($1, $2, $3, $4, $5) RETURNING operator_id),
            ended AS (
                DELETE FROM sessions s USING done
                WHERE s.operator_id = done.operator_id AND s.token IS DISTINCT FROM $6::bytea)";
        let recovery: Vec<&[u8]> = factor.recovery.iter().map(|code| code.0.as_slice()).collect();
        let params: Params<'_> = &[
            &uuid(operator.as_bytes()),
            &factor.sealed_secret,
            &factor.since.as_nanos(),
            &signed(factor.last_step),
            &recovery,
            &keep.map(|token| token.0.as_slice()),
        ];
        let noted = Noted::of(change);
        let create = Noted::statement(parts, params.len(), When::Done);
        let created = transaction.query(&create, &noted.after(params)).await;
        created.map_err(|error| conflict(error, || "a second factor is there, or no operator".to_owned()))?;
        transaction.commit().await
    }

    async fn remove_second_factor(&self, operator: OperatorId, change: &Change) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM second_factors WHERE operator_id = $1 RETURNING 1)";
        Ok(self.change(parts, &[&uuid(operator.as_bytes())], change).await? > 0)
    }

    async fn use_code(&self, operator: OperatorId, step: u64) -> Result<bool, StoreError> {
        let sql =
            "UPDATE second_factors SET last_step = $2 WHERE operator_id = $1 AND last_step < $2 RETURNING 1";
        let params: Params<'_> = &[&uuid(operator.as_bytes()), &signed(step)];
        Ok(!self.connections.query(sql, params).await?.is_empty())
    }

    async fn use_recovery_code(
        &self,
        operator: OperatorId,
        code: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (
            UPDATE second_factors SET recovery = array_remove(recovery, $2)
            WHERE operator_id = $1 AND $2 = ANY (recovery) RETURNING 1)";
        let params: Params<'_> = &[&uuid(operator.as_bytes()), &code.0.as_slice()];
        Ok(self.change(parts, params, change).await? > 0)
    }
}

fn from_row(row: &Row) -> Result<SecondFactor, StoreError> {
    let code = |code: &[u8]| code.try_into().map(TokenHash).map_err(|_| unreadable(3, "not 32 bytes"));
    Ok(SecondFactor {
        sealed_secret: get(row, 0)?,
        since: time(row, 1)?,
        last_step: count(row, 2)?,
        recovery: get::<Vec<&[u8]>>(row, 3)?.into_iter().map(code).collect::<Result<_, _>>()?,
    })
}
