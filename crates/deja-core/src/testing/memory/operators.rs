//! Operators and links of the reference store.

use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{Email, Invite, Operator, PasswordHash, Purpose, TokenHash};
use crate::store::{Invites, Operators, StoreError};

fn taken(email: &Email) -> StoreError {
    StoreError::Conflict(format!("there is an operator '{email}' already"))
}

/// Whether the later of two links makes the earlier one useless.
fn replaces(later: &Purpose, earlier: &Purpose) -> bool {
    match (later, earlier) {
        (Purpose::ResetPassword { operator: a }, Purpose::ResetPassword { operator: b }) => a == b,
        (Purpose::Join { email: a, .. }, Purpose::Join { email: b, .. }) => a.is_none() && b.is_none(),
        _ => false,
    }
}

impl State {
    fn add_operator(&mut self, operator: &Operator) -> Result<(), StoreError> {
        if self.operators.iter().any(|other| other.email == operator.email || other.id == operator.id) {
            return Err(taken(&operator.email));
        }
        self.operators.push(operator.clone());
        Ok(())
    }

    fn set_password(&mut self, operator: OperatorId, password: &PasswordHash) -> bool {
        let Some(kept) = self.operators.iter_mut().find(|other| other.id == operator) else { return false };
        kept.password = password.clone();
        self.sessions.retain(|session| session.operator != operator);
        true
    }
}

#[async_trait]
impl Operators for MemoryStore {
    async fn create_operator(&self, operator: &Operator, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        state.add_operator(operator)?;
        state.changes.push(change.clone());
        Ok(())
    }

    async fn operators(&self) -> Result<Vec<Operator>, StoreError> {
        let mut operators = self.state().operators.clone();
        operators.sort_by(|a, b| a.email.cmp(&b.email));
        Ok(operators)
    }

    async fn operator(&self, email: &Email) -> Result<Option<Operator>, StoreError> {
        Ok(self.state().operators.iter().find(|operator| operator.email == *email).cloned())
    }

    async fn operator_by_id(&self, id: OperatorId) -> Result<Option<Operator>, StoreError> {
        Ok(self.state().operator(id).cloned())
    }

    async fn update_operator(&self, operator: &Operator, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let others = state.operators.iter().any(|other| other.id != operator.id && other.is_active_owner());
        let Some(kept) = state.operators.iter_mut().find(|other| other.id == operator.id) else {
            return Ok(false);
        };
        if !others && !operator.is_active_owner() {
            return Err(StoreError::last_owner());
        }
        let ends = kept.password != operator.password || operator.disabled.is_some();
        *kept = Operator { email: kept.email.clone(), created: kept.created, ..operator.clone() };
        if ends {
            state.sessions.retain(|session| session.operator != operator.id);
        }
        let own = Purpose::ResetPassword { operator: operator.id };
        let (owner, disabled) = (operator.is_active_owner(), operator.disabled.is_some());
        state.invites.retain(|invite| {
            (owner || invite.created_by != Some(operator.id)) && !(disabled && invite.purpose == own)
        });
        Ok(state.note_if(true, change))
    }
}

#[async_trait]
impl Invites for MemoryStore {
    async fn create_invite(&self, invite: &Invite, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        state.invites.retain(|earlier| !replaces(&invite.purpose, &earlier.purpose));
        state.invites.push(invite.clone());
        state.changes.push(change.clone());
        Ok(())
    }

    async fn invite(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Invite>, StoreError> {
        let state = self.state();
        Ok(state.invites.iter().find(|invite| invite.token == *token && now < invite.expires).cloned())
    }

    async fn invites(&self, now: Timestamp) -> Result<Vec<Invite>, StoreError> {
        let mut invites = self.state().invites.clone();
        invites.retain(|invite| now < invite.expires);
        invites.sort_by_key(|invite| (invite.created, invite.token));
        Ok(invites)
    }

    async fn accept_invite(
        &self,
        token: &TokenHash,
        operator: &Operator,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let works = |invite: &Invite| invite.token == *token && change.at < invite.expires;
        let Some(at) = state.invites.iter().position(works) else { return Ok(false) };
        match state.invites[at].purpose.clone() {
            Purpose::Join { .. } => state.add_operator(operator)?,
            Purpose::ResetPassword { operator: whose } => {
                if whose != operator.id || !state.set_password(whose, &operator.password) {
                    return Ok(false);
                }
            }
        }
        state.invites.remove(at);
        Ok(state.note_if(true, change))
    }

    async fn revoke_invite(&self, token: &TokenHash, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let revoked = state.invites.extract_if(.., |invite| invite.token == *token).count() > 0;
        Ok(state.note_if(revoked, change))
    }
}
