//! Sessions of the reference store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{Operator, PasswordHash, Session, TokenHash};
use crate::store::{Sessions, StoreError};

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
