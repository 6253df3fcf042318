//! Second factors of operators.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::OperatorId;
use deja_core::operator::TokenHash;
use deja_core::second_factor::SecondFactor;
use deja_core::store::{SecondFactors, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::conflict;
use super::rows::{count, signed, time};
use super::{Done, SqliteStore};

#[async_trait]
impl SecondFactors for SqliteStore {
    async fn second_factor(&self, operator: OperatorId) -> Result<Option<SecondFactor>, StoreError> {
        self.readers.read(move |connection| find(connection, operator)).await
    }

    async fn with_second_factor(&self) -> Result<Vec<OperatorId>, StoreError> {
        let sql = "SELECT operator_id FROM second_factors";
        self.readers.all(sql, [], |row| row.get(0).map(OperatorId::from_bytes)).await
    }

    async fn create_second_factor(
        &self,
        operator: OperatorId,
        factor: &SecondFactor,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<(), StoreError> {
        let (factor, keep) = (factor.clone(), keep.copied());
        self.audited(change, move |connection| {
            insert(connection, operator, &factor)
                .map_err(|error| conflict(error, || "a second factor is there, or no operator".to_owned()))?;
            let sql = "DELETE FROM sessions WHERE operator_id = ?1 AND token IS NOT ?2";
            connection.execute(sql, params![operator.as_bytes(), keep.map(|token| token.0)])?;
            Ok(Done::quiet(true))
        })
        .await
        .map(drop)
    }

    async fn remove_second_factor(&self, operator: OperatorId, change: &Change) -> Result<bool, StoreError> {
        let sql = "DELETE FROM second_factors WHERE operator_id = ?1";
        self.audited_statement(change, sql, [*operator.as_bytes()]).await
    }

    async fn use_code(&self, operator: OperatorId, step: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE second_factors SET last_step = ?2 WHERE operator_id = ?1 AND last_step < ?2";
        Ok(self.writer.execute(sql, (*operator.as_bytes(), signed(step))).await? > 0)
    }

    async fn use_recovery_code(
        &self,
        operator: OperatorId,
        code: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM recovery_codes WHERE operator_id = ?1 AND hash = ?2";
        self.audited_statement(change, sql, (*operator.as_bytes(), code.0)).await
    }
}

fn find(connection: &Connection, operator: OperatorId) -> rusqlite::Result<Option<SecondFactor>> {
    let recovery = connection
        .prepare_cached("SELECT hash FROM recovery_codes WHERE operator_id = ?1 ORDER BY hash")?
        .query_map([operator.as_bytes()], |row| Ok(TokenHash(row.get(0)?)))?
        .collect::<Result<_, _>>()?;
    connection
        .prepare_cached("SELECT secret, since, last_step FROM second_factors WHERE operator_id = ?1")?
        .query_row([operator.as_bytes()], |row| {
            Ok(SecondFactor {
                sealed_secret: row.get(0)?,
                since: time(row, 1)?,
                last_step: count(row, 2)?,
                recovery,
            })
        })
        .optional()
}

fn insert(connection: &Connection, operator: OperatorId, factor: &SecondFactor) -> rusqlite::Result<()> {
    let id = operator.as_bytes();
    connection.execute(
        "INSERT INTO second_factors (operator_id, secret, since, last_step) VALUES (?1, ?2, ?3, ?4)",
        params![id, factor.sealed_secret, factor.since.as_nanos(), signed(factor.last_step)],
    )?;
    let mut statement =
        connection.prepare_cached("INSERT INTO recovery_codes (operator_id, hash) VALUES (?1, ?2)")?;
    for code in &factor.recovery {
        statement.execute(params![id, code.0])?;
    }
    Ok(())
}
