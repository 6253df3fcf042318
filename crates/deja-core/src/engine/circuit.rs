//! Circuit breakers: what failed several times in a row is left alone for a while, so that not every request waits for
//! what is down. Each project has its own: the requests of one open none of another's.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::Engine;
use crate::id::ProjectId;
use crate::provider::{FailureClass, Provider, ProviderError};

/// Calls without an answer in a row after which a provider is left alone.
const MOST_CALLS: u32 = 10;
/// How long that is. Then one request asks; if that fails too, it is as long again.
const REST: Duration = Duration::from_secs(5);

/// What fails, by project and name.
#[derive(Debug)]
pub(super) struct Circuits {
    /// Failures in a row that open a circuit.
    most: u32,
    /// For how long it stays open before one more try.
    rest: Duration,
    failing: Mutex<HashMap<(ProjectId, String), Failures>>,
}

#[derive(Debug)]
struct Failures {
    in_a_row: u32,
    /// The last of them, or the last try after a rest.
    last: Timestamp,
}

impl Circuits {
    pub(super) fn new(most: u32, rest: Duration) -> Self {
        Self { most, rest, failing: Mutex::default() }
    }

    /// Circuits of providers.
    pub(super) fn of_providers() -> Self {
        Self::new(MOST_CALLS, REST)
    }

    /// Whether to try now. After a rest one request tries, and the others go on being refused until that has an end.
    pub(super) fn is_closed(&self, project: ProjectId, name: &str, now: Timestamp) -> bool {
        let mut failing = self.lock();
        let Some(failures) = failing.get_mut(&(project, name.to_owned())) else { return true };
        if failures.in_a_row < self.most {
            return true;
        }
        // A clock that was set back does not make the rest longer.
        let rested = now < failures.last || now.since(failures.last) >= self.rest;
        if rested {
            failures.last = now;
        }
        rested
    }

    /// Takes in how a try ended.
    pub(super) fn heard(&self, project: ProjectId, name: &str, failed: bool, now: Timestamp) {
        let mut failing = self.lock();
        let key = (project, name.to_owned());
        if !failed {
            failing.remove(&key);
            return;
        }
        let failures = failing.entry(key).or_insert(Failures { in_a_row: 0, last: now });
        (failures.in_a_row, failures.last) = (failures.in_a_row.saturating_add(1), now);
        if failures.in_a_row == self.most {
            tracing::warn!(
                project.id = %project,
                name,
                "{} calls in a row failed: one is made every {} s until one works",
                self.most,
                self.rest.as_secs()
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(ProjectId, String), Failures>> {
        // The counts are whole after every statement under the lock.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Makes `call` of `provider`, unless the last ones of the project had no answer at all. An error that the provider
    /// answered with is an answer: it came at once, and may be about the one request.
    pub(super) async fn unless_down<T>(
        &self,
        project: ProjectId,
        provider: &dyn Provider,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let (name, clock) = (provider.name(), &self.parts.clock);
        if !self.providers_down.is_closed(project, name, clock.now()) {
            return Err(ProviderError {
                provider: name.to_owned(),
                class: FailureClass::Down,
                retryable: true,
                retry_after: Some(REST),
                code: None,
                message: format!("the last {MOST_CALLS} calls had no answer"),
            });
        }
        let done = call.await;
        let silent = matches!(&done, Err(error) if error.class.is_silence());
        self.providers_down.heard(project, name, silent, clock.now());
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_left_alone_for_a_while() {
        let circuits = Circuits::new(3, Duration::from_secs(10));
        let (one, two) = (ProjectId::from_bytes([1; 16]), ProjectId::from_bytes([2; 16]));
        let at = |seconds: i64| Timestamp::from_secs(1_000 + seconds);
        for failed in [true, true, false, true, true] {
            assert!(circuits.is_closed(one, "m", at(0)));
            circuits.heard(one, "m", failed, at(0));
        }
        assert!(circuits.is_closed(one, "m", at(0)), "an answer in between begins the count anew");
        circuits.heard(one, "m", true, at(0));
        assert!(!circuits.is_closed(one, "m", at(9)));
        assert!(circuits.is_closed(two, "m", at(9)) && circuits.is_closed(one, "other", at(9)));
        // After the rest one tries, and the rest begins anew until that has an end.
        assert!(circuits.is_closed(one, "m", at(10)) && !circuits.is_closed(one, "m", at(10)));
        circuits.heard(one, "m", true, at(11));
        assert!(!circuits.is_closed(one, "m", at(20)));
        assert!(circuits.is_closed(one, "m", at(21)));
        circuits.heard(one, "m", false, at(21));
        assert!(circuits.is_closed(one, "m", at(21)) && circuits.is_closed(one, "m", at(21)));
    }
}
