//! The log of requests, off the request path: what ended waits in memory and is written in batches.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::analytics::{ContextKey, Outcome, UsageEvent};
use crate::cache::{Met, PromptHash};
use crate::embedding::Similarity;
use crate::engine::count::Ended;
use crate::engine::{Cause as _, Engine, Query, Reply, Source};
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::project::ProjectSettings;
use crate::quality::FORBIDDEN;
use crate::request_log::{GUARD_COST, LoggedRequest, Logging, MetEntry, kept_text};
use crate::store::{Store, StoreError};

/// Requests that wait for the next write, about a second, at most: of a project, and of all. More are not logged.
const MOST_OF_A_PROJECT: usize = 512;
const MOST: usize = 4096;
/// Of a project, those that a limit refused, beside the others: a client that floods must not fill the log.
const MOST_LIMITED: usize = 16;
/// Bytes of a name that a caller wrote freely.
const NAME: usize = 256;

/// Requests that are not written yet.
#[derive(Default)]
pub(super) struct Logger {
    pending: Mutex<Pending>,
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Pending {
    requests: Vec<LoggedRequest>,
    of_project: HashMap<Kind, usize>,
}

/// Requests that share a bound: those of a project that a limit refused, or all its others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    project: ProjectId,
    limited: bool,
}

impl Pending {
    /// Whether one more of its kind would be kept.
    fn has_room(&self, kind: Kind) -> bool {
        let most = if kind.limited { MOST_LIMITED } else { MOST_OF_A_PROJECT };
        self.requests.len() < MOST && self.of_project.get(&kind).is_none_or(|waiting| *waiting < most)
    }
}

impl Logger {
    /// Keeps the request of a kind that `read` gives. If there is no room, it is not read. Nothing is read under the lock, so
    /// another request may take the last room meanwhile.
    fn keep(&self, kind: Kind, read: impl FnOnce() -> LoggedRequest) {
        if !self.pending.lock().has_room(kind) {
            return;
        }
        let request = read();
        let mut pending = self.pending.lock();
        if pending.has_room(kind) {
            *pending.of_project.entry(kind).or_default() += 1;
            pending.requests.push(request);
        }
    }

    /// Writes all that ended before this call. What cannot be written is lost.
    pub(super) async fn flush(&self, store: &dyn Store) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        let Pending { requests, .. } = std::mem::take(&mut *self.pending.lock());
        if requests.is_empty() { Ok(()) } else { store.log_requests(&requests).await }
    }
}

/// What is known of a request that ended, beside its end.
#[derive(Clone, Copy)]
pub(super) enum Ending<'a> {
    /// It was no query; this is its name.
    Unread(Option<&'a str>),
    /// It was this query.
    Read(&'a Query),
}

impl Engine {
    /// Logs a request that is counted as `event`.
    pub(super) fn log(
        &self,
        settings: &ProjectSettings,
        event: &UsageEvent<'_>,
        ending: Ending<'_>,
        ended: Ended<'_>,
    ) {
        let logging = Logging::from(settings);
        if logging.requests > 0 {
            let kind = Kind { project: event.project, limited: event.outcome == Outcome::RateLimited };
            self.logger.keep(kind, || logged(event, ending, ended, !logging.texts.is_zero()));
        }
    }

    /// Writes what ended since the last call.
    pub(crate) async fn flush_log(&self) {
        if let Err(error) = self.logger.flush(&*self.parts.store).await {
            tracing::warn!(error = %error, "requests could not be logged; the log lacks them");
        }
    }
}

fn logged(event: &UsageEvent<'_>, ending: Ending<'_>, ended: Ended<'_>, texts: bool) -> LoggedRequest {
    let (request, query) = match ending {
        Ending::Unread(request) => (request, None),
        Ending::Read(query) => (query.request.as_deref(), Some(query)),
    };
    let reply = ended.reply();
    // Of a request that is passed on unread no prompt is known.
    let prompt = query.map(|query| query.prompt.as_str()).filter(|prompt| !prompt.is_empty());
    LoggedRequest {
        project: event.project,
        at: event.at,
        request: request.map(str::to_owned),
        key: event.key,
        surface: event.surface,
        model: event.model[..event.model.floor_char_boundary(NAME)].to_owned(),
        context: ContextKey::of(event.context),
        asked: prompt.map(PromptHash::of),
        text: prompt.filter(|_| texts).map(kept_text),
        outcome: event.outcome,
        cause: cause(query, ended),
        joined: reply.is_some_and(|reply| reply.trace.joined),
        met: reply.and_then(met),
        latency: (!event.latency.is_zero()).then_some(event.latency),
        saved: event.saved,
    }
}

/// Why it was refused, failed or passed on, its answer not stored, or nothing saved by it.
fn cause(query: Option<&Query>, ended: Ended<'_>) -> Option<String> {
    match ended {
        Ended::Refused(_, cause) => Some(cause.to_owned()),
        Ended::RateLimited(limit) => Some(limit.cause().to_owned()),
        Ended::Failed(error, _) => Some(error.cause().to_owned()),
        Ended::Passed(reply) => {
            // The reasons of other requests say why these are not matched by meaning.
            let bypassed = query.and_then(|query| query.wire.as_ref()).filter(|wired| wired.is_passed());
            let reasons =
                bypassed.map(|wired| wired.reasons.join(", ")).filter(|reasons| !reasons.is_empty());
            reasons.or_else(|| reply.and_then(not_stored))
        }
        Ended::Answered(reply) => not_stored(reply).or_else(|| used_up(reply)),
    }
}

/// Why the answer of a provider was not stored.
fn not_stored(reply: &Reply) -> Option<String> {
    match reply.source {
        Source::Provider(Err(reason)) => Some(reason.code().to_owned()),
        _ => None,
    }
}

/// Whether asking the project's model took all that a hit would have saved.
fn used_up(reply: &Reply) -> Option<String> {
    let none = NanoUsd::ZERO;
    (reply.is_hit() && reply.cost.amount > none && reply.saved() == none).then(|| GUARD_COST.to_owned())
}

/// The entry that answered; of a miss, the one that the guard refused, or else the nearest.
fn met(reply: &Reply) -> Option<MetEntry> {
    let of = |entry: EntryId, similarity: Similarity, met: Met, reason: Option<&str>| {
        Some(MetEntry { entry, similarity, met, reason: reason.map(str::to_owned) })
    };
    if let Some(similarity) = reply.similarity() {
        return of(reply.entry.id, similarity, Met::Served, None);
    }
    match (reply.refused(), reply.trace.near_miss) {
        (Some(refused), _) => {
            of(refused.entry, refused.similarity, Met::Refused, Some(refused.reason.as_str()))
        }
        (None, Some(near)) if near.forbidden => {
            of(near.entry, near.similarity, Met::Refused, Some(FORBIDDEN))
        }
        (None, Some(near)) => of(near.entry, near.similarity, Met::NearMiss, None),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::clock::Timestamp;
    use crate::id::KeyId;

    #[test]
    fn many_at_once_do_not_pass_the_bound() {
        let logger = Logger::default();
        let one = ProjectId::from_bytes([1; 16]);
        let event =
            UsageEvent::bare(one, KeyId::from_bytes([1; 16]), Outcome::Passed, Timestamp::from_secs(1));
        let read = || logged(&event, Ending::Unread(None), Ended::Passed(None), false);
        let all_read = std::sync::Barrier::new(8);
        let logger = &logger;
        let kind = Kind { project: one, limited: false };
        for _ in 0..MOST_OF_A_PROJECT - 3 {
            logger.keep(kind, read);
        }
        // Eight that found room for three.
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    logger.keep(kind, || {
                        all_read.wait();
                        read()
                    });
                });
            }
        });
        let kept = || logger.pending.lock().requests.len();
        assert_eq!(kept(), MOST_OF_A_PROJECT);
        logger.keep(kind, || panic!("there is no room, so it is not read"));
        logger.keep(Kind { project: ProjectId::from_bytes([2; 16]), ..kind }, read);
        assert_eq!(kept(), MOST_OF_A_PROJECT + 1, "another project has room of its own");
        for _ in 0..=MOST_LIMITED {
            logger.keep(Kind { limited: true, ..kind }, read);
        }
        assert_eq!(kept(), MOST_OF_A_PROJECT + 1 + MOST_LIMITED, "refusals have a small room of their own");
    }
}
