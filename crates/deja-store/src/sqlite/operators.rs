//! Operators and the one-time links that let them in.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Invite, Operator, PasswordHash, Purpose, TokenHash};
use deja_core::store::{Invites, Operators, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::conflict;
use super::rows::{time, time_or_none, word};
use super::{Done, SqliteStore};

#[async_trait]
impl Operators for SqliteStore {
    async fn create_operator(&self, operator: &Operator, change: &Change) -> Result<(), StoreError> {
        let operator = operator.clone();
        self.audited(change, move |connection| {
            insert(connection, &operator)?;
            Ok(Done::quiet(true))
        })
        .await
        .map(drop)
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM operators o ORDER BY o.email");
        self.readers.all(sql, [], |row| from_row(row, 0)).await
    }

    async fn operator(&self, email: &Email) -> Result<Option<Operator>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM operators o WHERE o.email = ?1");
        self.readers.one(sql, [email.to_string()], |row| from_row(row, 0)).await
    }

    async fn operator_by_id(&self, id: OperatorId) -> Result<Option<Operator>, StoreError> {
        self.readers.read(move |connection| by_id(connection, id)).await
    }

    async fn update_operator(&self, operator: &Operator, change: &Change) -> Result<bool, StoreError> {
        let operator = operator.clone();
        self.audited(change, move |connection| {
            let Some(before) = by_id(connection, operator.id)? else {
                return Ok(Done::quiet(false));
            };
            update(connection, &operator)?;
            if !has_owner(connection)? {
                return Err(StoreError::last_owner().into());
            }
            if before.password != operator.password || operator.disabled.is_some() {
                end_sessions(connection, operator.id)?;
            }
            if !operator.is_active_owner() {
                end_links(connection, &operator)?;
            }
            Ok(Done::quiet(true))
        })
        .await
    }
}

#[async_trait]
impl Invites for SqliteStore {
    async fn create_invite(&self, invite: &Invite, change: &Change) -> Result<(), StoreError> {
        let invite = invite.clone();
        self.audited(change, move |connection| {
            replace_earlier(connection, &invite.purpose)?;
            insert_invite(connection, &invite)?;
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
        let sql = format!("{SELECT_INVITE} WHERE expires > ?1 ORDER BY created, token");
        self.readers.all(sql, [now.as_nanos()], invite_from_row).await
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
                Purpose::Join { .. } => insert(connection, &operator)?,
                Purpose::ResetPassword { operator: whose } => {
                    let found = by_id(connection, whose)?.filter(|_| whose == operator.id);
                    let Some(found) = found else { return Ok(Done::quiet(false)) };
                    let changed = Operator { password: operator.password, ..found };
                    update(connection, &changed)?;
                    end_sessions(connection, whose)?;
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

fn insert(connection: &Connection, operator: &Operator) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO operators (operator_id, email, role, password, created, disabled)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                operator.id.as_bytes(),
                operator.email.as_str(),
                operator.role.as_str(),
                operator.password.as_phc(),
                operator.created.as_nanos(),
                operator.disabled.map(Timestamp::as_nanos),
            ],
        )
        .map(drop)
        .map_err(|error| conflict(error, || format!("there is an operator '{}' already", operator.email)))
}

fn update(connection: &Connection, operator: &Operator) -> rusqlite::Result<usize> {
    connection.execute(
        "UPDATE operators SET role = ?2, password = ?3, disabled = ?4 WHERE operator_id = ?1",
        params![
            operator.id.as_bytes(),
            operator.role.as_str(),
            operator.password.as_phc(),
            operator.disabled.map(Timestamp::as_nanos),
        ],
    )
}

fn by_id(connection: &Connection, id: OperatorId) -> rusqlite::Result<Option<Operator>> {
    let sql = format!("SELECT {COLUMNS} FROM operators o WHERE o.operator_id = ?1");
    connection.prepare_cached(&sql)?.query_row([id.as_bytes()], |row| from_row(row, 0)).optional()
}

fn has_owner(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM operators WHERE role = 'owner' AND disabled IS NULL)";
    connection.query_row(sql, [], |row| row.get(0))
}

fn end_sessions(connection: &Connection, operator: OperatorId) -> rusqlite::Result<usize> {
    connection.execute("DELETE FROM sessions WHERE operator_id = ?1", [operator.as_bytes()])
}

/// Ends the links that an operator made who is no owner now, and those for their own password if they are disabled.
fn end_links(connection: &Connection, operator: &Operator) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM invites WHERE created_by = ?1 OR (operator_id = ?1 AND ?2)";
    connection.execute(sql, params![operator.id.as_bytes(), operator.disabled.is_some()])
}

/// What [`from_row`] reads of an operator `o`.
pub(super) const COLUMNS: &str = "o.operator_id, o.email, o.role, o.password, o.created, o.disabled";

/// The operator whose columns begin at `first`.
pub(super) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Operator> {
    Ok(Operator {
        id: OperatorId::from_bytes(row.get(first)?),
        email: word(row, first + 1)?,
        role: word(row, first + 2)?,
        password: PasswordHash::from_phc(row.get::<_, String>(first + 3)?),
        created: time(row, first + 4)?,
        disabled: time_or_none(row, first + 5)?,
    })
}

const SELECT_INVITE: &str =
    "SELECT token, role, email, operator_id, created_by, created, expires FROM invites";

fn working(connection: &Connection, token: TokenHash, now: Timestamp) -> rusqlite::Result<Option<Invite>> {
    let sql = format!("{SELECT_INVITE} WHERE token = ?1 AND expires > ?2");
    connection.prepare_cached(&sql)?.query_row(params![token.0, now.as_nanos()], invite_from_row).optional()
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

fn insert_invite(connection: &Connection, invite: &Invite) -> Result<(), StoreError> {
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

fn invite_from_row(row: &Row<'_>) -> rusqlite::Result<Invite> {
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
