//! One-time links that let operators in.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Invite, Operator, Purpose, TokenHash};
use deja_core::store::{Invites, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::conflict;
use super::rows::{time, word};
use super::{Done, SqliteStore, operators};

const SELECT: &str = "SELECT token, role, email, operator_id, created_by, created, expires FROM invites";

#[async_trait]
impl Invites for SqliteStore {
    async fn create_invite(&self, invite: &Invite, change: &Change) -> Result<(), StoreError> {
        let invite = invite.clone();
        self.audited(change, move |connection| {
            replace_earlier(connection, &invite.purpose)?;
            insert(connection, &invite)?;
            Ok(Done::quiet(true))
        })
        .await
        .map(drop)
    }

    async fn invite(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Invite>, StoreError> {
        let token = *token;
        self.readers.read(move |connection| working(connection, token, now)).await
    }

    async fn invites(&self, now: Timestamp) -> Result<Vec<Invite>, StoreError> {
        let sql = format!("{SELECT} WHERE expires > ?1 ORDER BY created, token");
        self.readers.all(sql, [now.as_nanos()], from_row).await
    }

    async fn accept_invite(
        &self,
        token: &TokenHash,
        operator: &Operator,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let (token, operator, now) = (*token, operator.clone(), change.at);
        self.audited(change, move |connection| {
            let Some(invite) = working(connection, token, now)? else {
                return Ok(Done::quiet(false));
            };
            match invite.purpose {
                Purpose::Join { .. } => operators::insert(connection, &operator)?,
                Purpose::ResetPassword { operator: whose } => {
                    let found = operators::by_id(connection, whose)?.filter(|_| whose == operator.id);
                    let Some(found) = found else { return Ok(Done::quiet(false)) };
                    let changed = Operator { password: operator.password, ..found };
                    operators::update(connection, &changed)?;
                    operators::end_sessions(connection, whose)?;
                }
            }
            connection.execute("DELETE FROM invites WHERE token = ?1", [token.0])?;
            Ok(Done::quiet(true))
        })
        .await
    }

    async fn revoke_invite(&self, token: &TokenHash, change: &Change) -> Result<bool, StoreError> {
        self.audited_statement(change, "DELETE FROM invites WHERE token = ?1", [token.0]).await
    }
}

fn working(connection: &Connection, token: TokenHash, now: Timestamp) -> rusqlite::Result<Option<Invite>> {
    let sql = format!("{SELECT} WHERE token = ?1 AND expires > ?2");
    connection.prepare_cached(&sql)?.query_row(params![token.0, now.as_nanos()], from_row).optional()
}

fn replace_earlier(connection: &Connection, purpose: &Purpose) -> rusqlite::Result<usize> {
    match purpose {
        Purpose::ResetPassword { operator } => {
            connection.execute("DELETE FROM invites WHERE operator_id = ?1", [operator.as_bytes()])
        }
        Purpose::Join { email: None, .. } => {
            connection.execute("DELETE FROM invites WHERE operator_id IS NULL AND email IS NULL", [])
        }
        Purpose::Join { email: Some(_), .. } => Ok(0),
    }
}

fn insert(connection: &Connection, invite: &Invite) -> Result<(), StoreError> {
    let (role, email, operator) = match &invite.purpose {
        Purpose::Join { role, email } => (Some(role.as_str()), email.as_ref().map(Email::as_str), None),
        Purpose::ResetPassword { operator } => (None, None, Some(operator.as_bytes())),
    };
    connection
        .execute(
            "INSERT INTO invites (token, role, email, operator_id, created_by, created, expires)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                invite.token.0,
                role,
                email,
                operator,
                invite.created_by.as_ref().map(OperatorId::as_bytes),
                invite.created.as_nanos(),
                invite.expires.as_nanos(),
            ],
        )
        .map(drop)
        .map_err(|error| conflict(error, || "a link with this token".to_owned()))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Invite> {
    let purpose = match row.get::<_, Option<[u8; 16]>>(3)? {
        Some(id) => Purpose::ResetPassword { operator: OperatorId::from_bytes(id) },
        None => Purpose::Join {
            role: word(row, 1)?,
            email: row.get_ref(2)?.as_str_or_null()?.map(|_| word(row, 2)).transpose()?,
        },
    };
    Ok(Invite {
        token: TokenHash(row.get(0)?),
        purpose,
        created_by: row.get::<_, Option<[u8; 16]>>(4)?.map(OperatorId::from_bytes),
        created: time(row, 5)?,
        expires: time(row, 6)?,
    })
}
