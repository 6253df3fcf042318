//! The log of requests of the reference store.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::browse::page;
use super::{MemoryStore, State};
use crate::cache::PromptHash;
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::project::Project;
use crate::request_log::{LOGGED_FOR, LogFilter, LogRow, LoggedRequest, Logging};
use crate::store::{Cursor, LogOrder, RequestLog, StoreError, folded};

impl State {
    pub(super) fn let_go_of_logged(&mut self, project: &Project) {
        let logging = Logging::from(&project.settings);
        let of = |row: &LogRow| row.logged.project == project.id;
        self.logged.retain(|row| !of(row) || logging.requests > 0);
        if logging.texts.is_zero() {
            self.logged.iter_mut().filter(|row| of(row)).for_each(|row| row.logged.text = None);
        }
    }

    /// How many requests of its project are newer.
    fn newer(&self, row: &LogRow) -> u64 {
        let same = |other: &&LogRow| other.logged.project == row.logged.project && other.number > row.number;
        self.logged.iter().filter(same).count() as u64
    }
}

fn passes(row: &LogRow, filter: &LogFilter) -> bool {
    let logged = &row.logged;
    let met = logged.met.as_ref().map(|met| met.entry);
    let kept = logged.text.as_deref().map(folded);
    let has = |part| kept.as_ref().is_some_and(|kept| kept.contains(&folded(part)));
    let asks = |hashes: [PromptHash; 2]| logged.asked.is_some_and(|asked| hashes.contains(&asked));
    filter.outcome.is_none_or(|outcome| outcome == logged.outcome)
        && (!filter.joined || logged.joined)
        && filter.key.is_none_or(|key| key == logged.key)
        && filter.model.as_ref().is_none_or(|model| *model == logged.model)
        && filter.context.is_none_or(|context| context == logged.context)
        && filter.entry.is_none_or(|entry| Some(entry) == met)
        && filter.within.contains(logged.at)
        && (filter.asked.is_none() || filter.hashes().is_some_and(asks) || filter.part().is_some_and(has))
}

#[async_trait]
impl RequestLog for MemoryStore {
    async fn log_requests(&self, requests: &[LoggedRequest]) -> Result<(), StoreError> {
        let mut state = self.state();
        for logged in requests {
            let Some(project) = state.projects.get(&logged.project) else { continue };
            let logging = Logging::from(&project.settings);
            if logging.requests > 0 {
                let text = logged.text.clone().filter(|_| !logging.texts.is_zero());
                let number = state.next_number();
                state.logged.push(LogRow { number, logged: LoggedRequest { text, ..logged.clone() } });
            }
        }
        Ok(())
    }

    async fn logged(
        &self,
        project: ProjectId,
        filter: &LogFilter,
        order: LogOrder,
        after: Option<Cursor<u64>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let state = self.state();
        let of = |row: &&LogRow| row.logged.project == project && passes(row, filter);
        let found = state.logged.iter().filter(of).cloned().collect();
        Ok(page(found, order.descends, |row| order.cursor(row), after, limit))
    }

    async fn logged_request(&self, project: ProjectId, number: u64) -> Result<Option<LogRow>, StoreError> {
        let state = self.state();
        let mut of = state.logged.iter().filter(|row| row.logged.project == project);
        Ok(of.find(|row| row.number == number).cloned())
    }

    async fn logged_beyond(
        &self,
        project: ProjectId,
        allowed: Logging,
        now: Timestamp,
    ) -> Result<(u64, u64), StoreError> {
        let state = self.state();
        let rows: Vec<_> = state.logged.iter().filter(|row| row.logged.project == project).collect();
        let since = allowed.texts_since(now);
        let old = |row: &&&LogRow| since.is_none_or(|since| row.logged.at < since);
        let texts = rows.iter().filter(|row| row.logged.text.is_some()).filter(old).count();
        Ok(((rows.len() as u64).saturating_sub(allowed.requests), texts as u64))
    }

    async fn sweep_logged(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let mut state = self.state();
        let settings = |row: &LogRow| {
            let project = state.projects.get(&row.logged.project);
            project.map(|project| Logging::from(&project.settings))
        };
        let gone = |row: &&LogRow| {
            row.logged.at < now.minus(LOGGED_FOR)
                || settings(row).is_none_or(|logging| state.newer(row) >= logging.requests)
        };
        let texts = |row: &&LogRow| {
            let old = settings(row).is_none_or(|logging| row.logged.at < now.minus(logging.texts));
            row.logged.text.is_some() && old
        };
        let number = |row: &LogRow| row.number;
        let gone: Vec<_> = state.logged.iter().filter(gone).map(number).take(limit.get()).collect();
        let texts: Vec<_> = state.logged.iter().filter(texts).map(number).take(limit.get()).collect();
        for row in state.logged.iter_mut().filter(|row| texts.contains(&row.number)) {
            row.logged.text = None;
        }
        state.logged.retain(|row| !gone.contains(&row.number));
        Ok(gone.len().max(texts.len()) as u64)
    }
}
