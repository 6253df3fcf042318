//! Sessions of operators. Few and short, so read from the database.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Operator, PasswordHash, Session, TokenHash};
use deja_core::store::{Sessions, StoreError};
use rusqlite::{Row, params};

use super::fault::conflict;
use super::rows::time;
use super::{Done, SqliteStore, audit, operators};

const COLUMNS: &str = "s.token, s.operator_id, s.created, s.last_seen, s.expires, s.user_agent";

#[async_trait]
impl Sessions for SqliteStore {
    async fn create_session(
        &self,
        session: &Session,
        password: &PasswordHash,
        second_factor: bool,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let (session, password) = (session.clone(), password.clone());
        self.audited(change, move |connection| {
                let created = connection
                    .execute(
                        "INSERT INTO sessions (token, operator_id, created, last_seen, expires, user_agent)
                         SELECT ?1, o.operator_id, ?3, ?4, ?5, ?6 FROM operators o
                         WHERE o.operator_id = ?2 AND o.password = ?7 AND o.disabled IS NULL AND (?8 OR NOT EXISTS
                             (SELECT 1 FROM second_factors f WHERE f.operator_id = o.operator_id))",
                        params![
                            session.token.0,
                            session.operator.as_bytes(),
                            session.created.as_nanos(),
                            session.last_seen.as_nanos(),
                            session.expires.as_nanos(),
                            session.user_agent,
                            password.as_phc(),
                            second_factor,
                        ],
                    )
                    .map_err(|error| conflict(error, || "there is a session with this token".to_owned()))?;
                Ok(Done::quiet(created > 0))
            })
            .await
    }

    async fn session(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(Session, Operator)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {} FROM sessions s JOIN operators o ON o.operator_id = s.operator_id
             WHERE s.token = ?1 AND s.expires > ?2 AND o.disabled IS NULL",
            operators::COLUMNS
        );
        let both = |row: &Row<'_>| Ok((from_row(row)?, operators::from_row(row, 6)?));
        self.readers.one(sql, (token.0, now.as_nanos()), both).await
    }

    async fn touch_session(
        &self,
        token: &TokenHash,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET last_seen = ?2, expires = ?3 WHERE token = ?1";
        self.writer.execute(sql, (token.0, now.as_nanos(), expires.as_nanos())).await.map(drop)
    }

    async fn sessions(&self, operator: OperatorId, now: Timestamp) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions s WHERE s.operator_id = ?1 AND s.expires > ?2
             ORDER BY s.last_seen DESC, s.token"
        );
        self.readers.all(sql, (*operator.as_bytes(), now.as_nanos()), from_row).await
    }

    async fn end_session(
        &self,
        operator: OperatorId,
        token: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM sessions WHERE operator_id = ?1 AND token = ?2";
        self.audited_statement(change, sql, (*operator.as_bytes(), token.0)).await
    }

    async fn end_sessions(
        &self,
        operator: OperatorId,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let (keep, change) = (keep.map(|token| token.0), change.clone());
        self.writer
            .write(move |connection| {
                let sql = "DELETE FROM sessions WHERE operator_id = ?1 AND token IS NOT ?2";
                let ended = connection.execute(sql, params![operator.as_bytes(), keep])?;
                audit::write(connection, &change)?;
                Ok(Done::quiet(ended as u64))
            })
            .await
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.writer
            .write(move |connection| {
                let mut swept = 0;
                for sql in
                    ["DELETE FROM sessions WHERE expires <= ?1", "DELETE FROM invites WHERE expires <= ?1"]
                {
                    swept += connection.execute(sql, [now.as_nanos()])?;
                }
                Ok(Done::quiet(swept as u64))
            })
            .await
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        token: TokenHash(row.get(0)?),
        operator: OperatorId::from_bytes(row.get(1)?),
        created: time(row, 2)?,
        last_seen: time(row, 3)?,
        expires: time(row, 4)?,
        user_agent: row.get(5)?,
    })
}
