//! Sessions of operators.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Operator, PasswordHash, Session, TokenHash};
use deja_core::store::{Sessions, StoreError};
use tokio_postgres::Row;

use super::audit::{Noted, When};
use super::connections::Params;
use super::fault::conflict;
use super::rows::{count, get, hash, id, time, uuid};
use super::{PostgresStore, operators};

const COLUMNS: &str = "s.token, s.operator_id, s.created, s.last_seen, s.expires, s.user_agent";
const WIDTH: usize = 6;

#[async_trait]
impl Sessions for PostgresStore {
    async fn create_session(
        &self,
        session: &Session,
        password: &PasswordHash,
        second_factor: bool,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.connections.begin().await?;
        let operator = uuid(session.operator.as_bytes());
        // A change of the operator waits for this lock, and then ends the session; or it has the lock, and is seen here.
        let lock =
            "SELECT FROM operators WHERE operator_id = $1 AND password = $2 AND disabled IS NULL FOR SHARE";
        if transaction.query(lock, &[&operator, &password.as_phc()]).await?.is_empty() {
            transaction.rollback().await?;
            return Ok(false);
        }
        let parts = "done AS (
            INSERT INTO sessions (token, operator_id, created, last_seen, expires, user_agent)
            SELECT $1::bytea, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text
            WHERE $7::boolean OR NOT EXISTS (SELECT FROM second_factors WHERE operator_id = $2)
            RETURNING 1)";
        let params: Params<'_> = &[
            &session.token.0.as_slice(),
            &operator,
            &session.created.as_nanos(),
            &session.last_seen.as_nanos(),
            &session.expires.as_nanos(),
            &session.user_agent.replace('\0', ""),
            &second_factor,
        ];
        let noted = Noted::of(change);
        let create = Noted::statement(parts, params.len(), When::Done);
        let created = transaction.query(&create, &noted.after(params)).await;
        let created =
            created.map_err(|error| conflict(error, || "there is a session with this token".to_owned()))?;
        let created = created.first().map(|row| count(row, 0)).transpose()?.unwrap_or(0) > 0;
        transaction.commit().await?;
        Ok(created)
    }

    async fn session(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(Session, Operator)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {} FROM sessions s JOIN operators o ON o.operator_id = s.operator_id
             WHERE s.token = $1 AND s.expires > $2 AND o.disabled IS NULL",
            operators::COLUMNS
        );
        let row =
            self.connections.of_strangers().query_opt(&sql, &[&token.0.as_slice(), &now.as_nanos()]).await?;
        row.map(|row| Ok((from_row(&row)?, operators::from_row(&row, WIDTH)?))).transpose()
    }

    async fn touch_session(
        &self,
        token: &TokenHash,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET last_seen = $2, expires = $3 WHERE token = $1";
        let params: Params<'_> = &[&token.0.as_slice(), &now.as_nanos(), &expires.as_nanos()];
        self.connections.query(sql, params).await.map(drop)
    }

    async fn sessions(&self, operator: OperatorId, now: Timestamp) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions s WHERE s.operator_id = $1 AND s.expires > $2
             ORDER BY s.last_seen DESC, s.token"
        );
        let rows = self.connections.query(&sql, &[&uuid(operator.as_bytes()), &now.as_nanos()]).await?;
        rows.iter().map(from_row).collect()
    }

    async fn end_session(
        &self,
        operator: OperatorId,
        token: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM sessions WHERE operator_id = $1 AND token = $2 RETURNING 1)";
        let params: Params<'_> = &[&uuid(operator.as_bytes()), &token.0.as_slice()];
        Ok(self.change(parts, params, change).await? > 0)
    }

    async fn end_sessions(
        &self,
        operator: OperatorId,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let parts = "done AS (
            DELETE FROM sessions WHERE operator_id = $1 AND token IS DISTINCT FROM $2 RETURNING 1)";
        let keep = keep.map(|token| token.0.as_slice());
        let params: Params<'_> = &[&uuid(operator.as_bytes()), &keep];
        let noted = Noted::of(change);
        let sql = Noted::statement(parts, params.len(), When::Always);
        count(&self.connections.query_one(&sql, &noted.after(params)).await?, 0)
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let sql = "WITH sessions AS (DELETE FROM sessions WHERE expires <= $1 RETURNING 1),
                        links AS (DELETE FROM invites WHERE expires <= $1 RETURNING 1)
                   SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM links)";
        count(&self.connections.query_one(sql, &[&now.as_nanos()]).await?, 0)
    }
}

fn from_row(row: &Row) -> Result<Session, StoreError> {
    Ok(Session {
        token: TokenHash(hash(row, 0)?),
        operator: OperatorId::from_bytes(id(row, 1)?),
        created: time(row, 2)?,
        last_seen: time(row, 3)?,
        expires: time(row, 4)?,
        user_agent: get(row, 5)?,
    })
}
