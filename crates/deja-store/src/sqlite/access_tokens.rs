//! Personal access tokens. Few and short, so read from the database.

use async_trait::async_trait;
use deja_core::access_token::AccessToken;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Operator, TokenHash};
use deja_core::store::{AccessTokens, StoreError};
use rusqlite::{Row, params};

use super::fault::conflict;
use super::rows::{time, time_or_none};
use super::{Done, SqliteStore, operators};

const COLUMNS: &str = "t.hash, t.operator_id, t.name, t.shown, t.created, t.expires, t.last_used";
const WIDTH: usize = 7;

#[async_trait]
impl AccessTokens for SqliteStore {
    async fn create_access_token(&self, token: &AccessToken, change: &Change) -> Result<(), StoreError> {
        let token = token.clone();
        self.audited(change, move |connection| {
            connection
                .execute(
                    "INSERT INTO access_tokens (hash, operator_id, name, shown, created, expires, last_used)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        token.hash.0,
                        token.operator.as_bytes(),
                        token.name,
                        token.shown,
                        token.created.as_nanos(),
                        token.expires.as_nanos(),
                        token.last_used.map(Timestamp::as_nanos),
                    ],
                )
                .map_err(|error| conflict(error, || "no operator for the token".to_owned()))?;
            Ok(Done::quiet(true))
        })
        .await
        .map(drop)
    }

    async fn access_token(&self, hash: &TokenHash) -> Result<Option<(AccessToken, Operator)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {} FROM access_tokens t JOIN operators o ON o.operator_id = t.operator_id
             WHERE t.hash = ?1 AND o.disabled IS NULL",
            operators::COLUMNS
        );
        let both = |row: &Row<'_>| Ok((from_row(row)?, operators::from_row(row, WIDTH)?));
        self.readers.one(sql, [hash.0], both).await
    }

    async fn touch_access_token(&self, hash: &TokenHash, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE access_tokens SET last_used = ?2 WHERE hash = ?1";
        self.writer.execute(sql, (hash.0, now.as_nanos())).await.map(drop)
    }

    async fn access_tokens(&self, operator: OperatorId) -> Result<Vec<AccessToken>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM access_tokens t WHERE t.operator_id = ?1 ORDER BY t.created, t.hash"
        );
        self.readers.all(sql, [*operator.as_bytes()], from_row).await
    }

    async fn revoke_access_token(
        &self,
        operator: OperatorId,
        hash: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM access_tokens WHERE operator_id = ?1 AND hash = ?2";
        self.audited_statement(change, sql, (*operator.as_bytes(), hash.0)).await
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<AccessToken> {
    Ok(AccessToken {
        hash: TokenHash(row.get(0)?),
        operator: OperatorId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        shown: row.get(3)?,
        created: time(row, 4)?,
        expires: time(row, 5)?,
        last_used: time_or_none(row, 6)?,
    })
}
