//! Operators.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Operator, PasswordHash};
use deja_core::store::{Operators, StoreError};
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

pub(super) fn insert(connection: &Connection, operator: &Operator) -> Result<(), StoreError> {
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

pub(super) fn update(connection: &Connection, operator: &Operator) -> rusqlite::Result<usize> {
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

pub(super) fn by_id(connection: &Connection, id: OperatorId) -> rusqlite::Result<Option<Operator>> {
    let sql = format!("SELECT {COLUMNS} FROM operators o WHERE o.operator_id = ?1");
    connection.prepare_cached(&sql)?.query_row([id.as_bytes()], |row| from_row(row, 0)).optional()
}

fn has_owner(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM operators WHERE role = 'owner' AND disabled IS NULL)";
    connection.query_row(sql, [], |row| row.get(0))
}

pub(super) fn end_sessions(connection: &Connection, operator: OperatorId) -> rusqlite::Result<usize> {
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
