//! One-time links.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Invite, Operator, Purpose, TokenHash};
use deja_core::store::{Invites, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::audit::{Noted, When};
use super::connections::Params;
use super::fault::conflict;
use super::operators::{self, Columns, taken};
use super::rows::{get, hash, time, unreadable, uuid, word};

const SELECT: &str = "SELECT token, role, email, operator_id, created_by, created, expires FROM invites";

#[async_trait]
impl Invites for PostgresStore {
    async fn create_invite(&self, invite: &Invite, change: &Change) -> Result<(), StoreError> {
        let (role, email, operator) = match &invite.purpose {
            Purpose::Join { role, email } => (Some(role.as_str()), email.as_ref().map(Email::as_str), None),
            Purpose::ResetPassword { operator } => (None, None, Some(uuid(operator.as_bytes()))),
        };
        // What the new link replaces: those of the same operator, or those for the first owner.
        let parts = "replaced AS (
                DELETE FROM invites WHERE operator_id = $4::uuid
                    OR ($4::uuid IS NULL AND $3::text IS NULL AND operator_id IS NULL AND email IS NULL)),
            done AS (
                INSERT INTO invites (token, role, email, operator_id, created_by, created, expires)
                VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING 1)";
        let params: Params<'_> = &[
            &invite.token.0.as_slice(),
            &role,
            &email,
            &operator,
            &invite.created_by.map(|by| uuid(by.as_bytes())),
            &invite.created.as_nanos(),
            &invite.expires.as_nanos(),
        ];
        let created = self.change(parts, params, change).await;
        created.map(drop).map_err(|error| conflict(error, || "a link with this token".to_owned()))
    }

    async fn invite(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Invite>, StoreError> {
        let sql = format!("{SELECT} WHERE token = $1 AND expires > $2");
        let row =
            self.connections.of_strangers().query_opt(&sql, &[&token.0.as_slice(), &now.as_nanos()]).await?;
        row.as_ref().map(from_row).transpose()
    }

    async fn invites(&self, now: Timestamp) -> Result<Vec<Invite>, StoreError> {
        let sql = format!("{SELECT} WHERE expires > $1 ORDER BY created, token");
        self.connections.query(&sql, &[&now.as_nanos()]).await?.iter().map(from_row).collect()
    }

    async fn accept_invite(
        &self,
        token: &TokenHash,
        operator: &Operator,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.connections.begin().await?;
        // One caller deletes the row and so has the link. All others wait here, and then find no row.
        let use_up = "DELETE FROM invites WHERE token = $1 AND expires > $2
                      RETURNING token, role, email, operator_id, created_by, created, expires";
        let used = transaction.query(use_up, &[&token.0.as_slice(), &change.at.as_nanos()]).await?;
        let Some(invite) = used.first().map(from_row).transpose()? else {
            transaction.rollback().await?;
            return Ok(false);
        };
        let done = match invite.purpose {
            Purpose::Join { .. } => {
                let columns = Columns::of(operator);
                let added = transaction.query(operators::INSERT, &columns.params()).await;
                added.map_err(|error| taken(error, operator))?;
                true
            }
            Purpose::ResetPassword { operator: whose } if whose == operator.id => {
                let id = uuid(whose.as_bytes());
                let update = "UPDATE operators SET password = $2 WHERE operator_id = $1 RETURNING 1";
                let updated = transaction.query(update, &[&id, &operator.password.as_phc()]).await?;
                transaction.query("DELETE FROM sessions WHERE operator_id = $1", &[&id]).await?;
                !updated.is_empty()
            }
            Purpose::ResetPassword { .. } => false,
        };
        if !done {
            transaction.rollback().await?;
            return Ok(false);
        }
        let note = Noted::statement("done AS (SELECT)", 0, When::Always);
        transaction.query(&note, &Noted::of(change).after(&[])).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn revoke_invite(&self, token: &TokenHash, change: &Change) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM invites WHERE token = $1 RETURNING 1)";
        Ok(self.change(parts, &[&token.0.as_slice()], change).await? > 0)
    }
}

fn from_row(row: &Row) -> Result<Invite, StoreError> {
    let operator = |column| -> Result<Option<OperatorId>, StoreError> {
        Ok(get::<Option<Uuid>>(row, column)?.map(|id| OperatorId::from_bytes(id.into_bytes())))
    };
    let purpose = match operator(3)? {
        Some(operator) => Purpose::ResetPassword { operator },
        None => Purpose::Join {
            role: word(row, 1)?,
            email: get::<Option<&str>>(row, 2)?
                .map(str::parse)
                .transpose()
                .map_err(|error| unreadable(2, error))?,
        },
    };
    Ok(Invite {
        token: TokenHash(hash(row, 0)?),
        purpose,
        created_by: operator(4)?,
        created: time(row, 5)?,
        expires: time(row, 6)?,
    })
}
