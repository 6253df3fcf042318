//! Operators, links, sessions and the audit log of the reference store.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::audit::{AuditRow, Change};
use crate::clock::Timestamp;
use crate::id::{OperatorId, ProjectId};
use crate::operator::{Email, Invite, Operator, PasswordHash, Purpose, Session, TokenHash};
use crate::store::{Audit, Invites, Operators, Sessions, StoreError};

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

#[async_trait]
impl Sessions for MemoryStore {
    async fn create_session(
        &self,
        session: &Session,
        password: &PasswordHash,
        second_factor: bool,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let as_shown = state
            .operator(session.operator)
            .is_some_and(|operator| operator.password == *password && operator.disabled.is_none());
        if !as_shown || (state.second_factors.contains_key(&session.operator) && !second_factor) {
            return Ok(false);
        }
        if state.sessions.iter().any(|other| other.token == session.token) {
            return Err(StoreError::Conflict("there is a session with this token".to_owned()));
        }
        state.sessions.push(session.clone());
        Ok(state.note_if(true, change))
    }

    async fn session(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(Session, Operator)>, StoreError> {
        let state = self.state();
        let live = |session: &&Session| session.token == *token && now < session.expires;
        let Some(session) = state.sessions.iter().find(live) else { return Ok(None) };
        let enabled = state.operator(session.operator).filter(|operator| operator.disabled.is_none());
        Ok(enabled.map(|operator| (session.clone(), operator.clone())))
    }

    async fn touch_session(
        &self,
        token: &TokenHash,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(session) = state.sessions.iter_mut().find(|session| session.token == *token) {
            (session.last_seen, session.expires) = (now, expires);
        }
        Ok(())
    }

    async fn sessions(&self, operator: OperatorId, now: Timestamp) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.state().sessions.clone();
        sessions.retain(|session| session.operator == operator && now < session.expires);
        sessions.sort_by_key(|session| (std::cmp::Reverse(session.last_seen), session.token));
        Ok(sessions)
    }

    async fn end_session(
        &self,
        operator: OperatorId,
        token: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let own = |session: &mut Session| (session.operator, session.token) == (operator, *token);
        let ended = state.sessions.extract_if(.., own).count() > 0;
        Ok(state.note_if(ended, change))
    }

    async fn end_sessions(
        &self,
        operator: OperatorId,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let mut state = self.state();
        state.changes.push(change.clone());
        let ends = |session: &mut Session| session.operator == operator && Some(&session.token) != keep;
        Ok(state.sessions.extract_if(.., ends).count() as u64)
    }

    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut state = self.state();
        let sessions = state.sessions.extract_if(.., |session| session.expires <= now).count();
        let invites = state.invites.extract_if(.., |invite| invite.expires <= now).count();
        Ok((sessions + invites) as u64)
    }
}

#[async_trait]
impl Audit for MemoryStore {
    async fn note(&self, change: &Change) -> Result<(), StoreError> {
        self.state().changes.push(change.clone());
        Ok(())
    }

    async fn changes(
        &self,
        project: Option<ProjectId>,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let state = self.state();
        let rows = state.changes.rows.iter().rev();
        let rows = rows
            .filter(|row| before.is_none_or(|before| row.number < before))
            .filter(|row| project.is_none() || row.change.project == project);
        Ok(rows.take(limit.get()).cloned().collect())
    }

    async fn sweep_changes(
        &self,
        action: &str,
        before: Timestamp,
        newest: u64,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        let rows = &mut self.state().changes.rows;
        let of = rows.iter().filter(|row| row.change.action == action).count() as u64;
        let mut seen = 0_u64;
        let surplus = rows.extract_if(.., |row| {
            let is_of = row.change.action == action;
            seen += u64::from(is_of);
            is_of && (row.change.at < before || newest.saturating_add(seen) <= of)
        });
        Ok(surplus.take(limit.get()).count() as u64)
    }
}

/// The audit log. A row keeps its number when others are removed.
#[derive(Default)]
pub(super) struct Log {
    rows: Vec<AuditRow>,
    last: u64,
}

impl Log {
    pub(super) fn push(&mut self, change: Change) {
        self.last += 1;
        self.rows.push(AuditRow { number: self.last, change });
    }
}
