//! Personal access tokens.

use async_trait::async_trait;
use deja_core::access_token::AccessToken;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Operator, TokenHash};
use deja_core::store::{AccessTokens, StoreError};
use tokio_postgres::Row;

use super::connections::Params;
use super::fault::conflict;
use super::rows::{get, hash, id, time, time_or_none, uuid};
use super::{PostgresStore, operators};

const COLUMNS: &str = "t.hash, t.operator_id, t.name, t.shown, t.created, t.expires, t.last_used";
const WIDTH: usize = 7;

#[async_trait]
impl AccessTokens for PostgresStore {
    async fn create_access_token(&self, token: &AccessToken, change: &Change) -> Result<(), StoreError> {
        let parts = "done AS (
            INSERT INTO access_tokens (hash, operator_id, name, shown, created, expires, last_used)
            VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING 1)";
        let params: Params<'_> = &[
            &token.hash.0.as_slice(),
            &uuid(token.operator.as_bytes()),
            &token.name,
            &token.shown,
            &token.created.as_nanos(),
            &token.expires.as_nanos(),
            &token.last_used.map(Timestamp::as_nanos),
        ];
        let created = self.change(parts, params, change).await;
        created.map(drop).map_err(|error| conflict(error, || "no operator for the token".to_owned()))
    }

    async fn access_token(&self, hash: &TokenHash) -> Result<Option<(AccessToken, Operator)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {} FROM access_tokens t JOIN operators o ON o.operator_id = t.operator_id
             WHERE t.hash = $1 AND o.disabled IS NULL",
            operators::COLUMNS
        );
        let row = self.connections.of_strangers().query_opt(&sql, &[&hash.0.as_slice()]).await?;
        row.map(|row| Ok((from_row(&row)?, operators::from_row(&row, WIDTH)?))).transpose()
    }

    async fn touch_access_token(&self, hash: &TokenHash, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE access_tokens SET last_used = $2 WHERE hash = $1";
        self.connections.query(sql, &[&hash.0.as_slice(), &now.as_nanos()]).await.map(drop)
    }

    async fn access_tokens(&self, operator: OperatorId) -> Result<Vec<AccessToken>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM access_tokens t WHERE t.operator_id = $1 ORDER BY t.created, t.hash"
        );
        self.connections.query(&sql, &[&uuid(operator.as_bytes())]).await?.iter().map(from_row).collect()
    }

    async fn revoke_access_token(
        &self,
        operator: OperatorId,
        hash: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM access_tokens WHERE operator_id = $1 AND hash = $2 RETURNING 1)";
        let params: Params<'_> = &[&uuid(operator.as_bytes()), &hash.0.as_slice()];
        Ok(self.change(parts, params, change).await? > 0)
    }
}

fn from_row(row: &Row) -> Result<AccessToken, StoreError> {
    Ok(AccessToken {
        hash: TokenHash(hash(row, 0)?),
        operator: OperatorId::from_bytes(id(row, 1)?),
        name: get(row, 2)?,
        shown: get(row, 3)?,
        created: time(row, 4)?,
        expires: time(row, 5)?,
        last_used: time_or_none(row, 6)?,
    })
}
