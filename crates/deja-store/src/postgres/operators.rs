//! Operators.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Operator, PasswordHash};
use deja_core::store::{Operators, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::{Noted, When};
use super::fault::conflict;
use super::rows::{get, id, time, time_or_none, uuid, word};

/// Columns of an operator `o`, for [`from_row`].
pub(super) const COLUMNS: &str = "o.operator_id, o.email, o.role, o.password, o.created, o.disabled";

/// Adds the operator $1 to $6.
pub(super) const INSERT: &str =
    "INSERT INTO operators (operator_id, email, role, password, created, disabled)
                                 VALUES ($1, $2, $3, $4, $5, $6)";

#[async_trait]
impl Operators for PostgresStore {
    async fn create_operator(&self, operator: &Operator, change: &Change) -> Result<(), StoreError> {
        let parts = format!("done AS ({INSERT} RETURNING 1)");
        let columns = Columns::of(operator);
        let created = self.change(&parts, &columns.params(), change).await;
        created.map(drop).map_err(|error| taken(error, operator))
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM operators o ORDER BY o.email");
        self.connections.query(&sql, &[]).await?.iter().map(|row| from_row(row, 0)).collect()
    }

    async fn operator(&self, email: &Email) -> Result<Option<Operator>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM operators o WHERE o.email = $1");
        let row = self.connections.query_opt(&sql, &[&email.as_str()]).await?;
        row.map(|row| from_row(&row, 0)).transpose()
    }

    async fn operator_by_id(&self, id: OperatorId) -> Result<Option<Operator>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM operators o WHERE o.operator_id = $1");
        let row = self.connections.query_opt(&sql, &[&uuid(id.as_bytes())]).await?;
        row.map(|row| from_row(&row, 0)).transpose()
    }

    async fn update_operator(&self, operator: &Operator, change: &Change) -> Result<bool, StoreError> {
        let mut transaction = self.connections.begin().await?;
        // Two replicas must not each disable one of the last two owners.
        transaction.query("LOCK TABLE operators IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
        let id = uuid(operator.id.as_bytes());
        let before = "SELECT password FROM operators WHERE operator_id = $1";
        let Some(before) = transaction.query(before, &[&id]).await?.into_iter().next() else {
            transaction.rollback().await?;
            return Ok(false);
        };
        let (role, password) = (operator.role.as_str(), operator.password.as_phc());
        let disabled = operator.disabled.map(Timestamp::as_nanos);
        let update = "UPDATE operators SET role = $2, password = $3, disabled = $4 WHERE operator_id = $1";
        transaction.query(update, &[&id, &role, &password, &disabled]).await?;
        let owner = "SELECT FROM operators WHERE role = 'owner' AND disabled IS NULL LIMIT 1";
        if transaction.query(owner, &[]).await?.is_empty() {
            transaction.rollback().await?;
            return Err(StoreError::last_owner());
        }
        if get::<&str>(&before, 0)? != password || disabled.is_some() {
            transaction.query("DELETE FROM sessions WHERE operator_id = $1", &[&id]).await?;
        }
        if !operator.is_active_owner() {
            let links = "DELETE FROM invites WHERE created_by = $1 OR (operator_id = $1 AND $2)";
            transaction.query(links, &[&id, &disabled.is_some()]).await?;
        }
        let note = Noted::statement("done AS (SELECT)", 0, When::Always);
        transaction.query(&note, &Noted::of(change).after(&[])).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

/// An operator as parameters.
pub(super) struct Columns<'a> {
    id: uuid::Uuid,
    email: &'a str,
    role: &'static str,
    password: &'a str,
    created: i64,
    disabled: Option<i64>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(operator: &'a Operator) -> Self {
        Self {
            id: uuid(operator.id.as_bytes()),
            email: operator.email.as_str(),
            role: operator.role.as_str(),
            password: operator.password.as_phc(),
            created: operator.created.as_nanos(),
            disabled: operator.disabled.map(Timestamp::as_nanos),
        }
    }

    pub(super) fn params(&self) -> [&(dyn tokio_postgres::types::ToSql + Sync); 6] {
        [&self.id, &self.email, &self.role, &self.password, &self.created, &self.disabled]
    }
}

/// The address is taken.
pub(super) fn taken(error: StoreError, operator: &Operator) -> StoreError {
    conflict(error, || format!("there is an operator '{}' already", operator.email))
}

/// The operator whose columns begin at `first`.
pub(super) fn from_row(row: &Row, first: usize) -> Result<Operator, StoreError> {
    Ok(Operator {
        id: OperatorId::from_bytes(id(row, first)?),
        email: word(row, first + 1)?,
        role: word(row, first + 2)?,
        password: PasswordHash::from_phc(get::<String>(row, first + 3)?),
        created: time(row, first + 4)?,
        disabled: time_or_none(row, first + 5)?,
    })
}
