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
/// How long that is at first. Then one request asks; each that fails doubles the time, up to the second of these.
const REST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(1));

/// What fails, by project and name.
#[derive(Debug)]
pub(super) struct Circuits {
    /// Failures in a row that open a circuit.
    most: u32,
    /// For how long it stays open before one more try: at first, and at most.
    rest: (Duration, Duration),
    failing: Mutex<HashMap<(ProjectId, String), Failing>>,
}

#[derive(Debug)]
enum Failing {
    /// So many failures in a row.
    Closed(u32),
    Open(Rest),
}

/// How long something is left alone.
#[derive(Clone, Copy, Debug)]
struct Rest {
    length: Duration,
    began: Timestamp,
    /// Whether somebody tries since it ended.
    trying: bool,
}

impl Rest {
    /// What is left of it. A clock that was set back does not make it longer.
    fn left(&self, now: Timestamp) -> Duration {
        if now < self.began { Duration::ZERO } else { self.length.saturating_sub(now.since(self.began)) }
    }
}

/// A provider that is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDown {
    /// Its name.
    pub name: String,
    /// Whose requests do not ask it.
    pub project: ProjectId,
    /// When one asks again: the first miss from then on.
    pub until: Timestamp,
}

impl Circuits {
    pub(super) fn new(most: u32, rest: (Duration, Duration)) -> Self {
        Self { most, rest, failing: Mutex::default() }
    }

    /// Circuits of providers.
    pub(super) fn of_providers() -> Self {
        Self::new(MOST_CALLS, REST)
    }

    /// Lets a try pass, or says for how long not to. After a rest one request tries, and the others go on being refused
    /// until that has an end, or until it takes as long as the rest.
    pub(super) fn admit(&self, project: ProjectId, name: &str, now: Timestamp) -> Result<(), Duration> {
        let mut failing = self.lock();
        let Some(Failing::Open(rest)) = failing.get_mut(&(project, name.to_owned())) else { return Ok(()) };
        let left = rest.left(now);
        if left.is_zero() {
            // A try that has no end yet is as silent as one that failed.
            let length = if rest.trying { self.longer(rest.length) } else { rest.length };
            *rest = Rest { length, began: now, trying: true };
            return Ok(());
        }
        Err(left)
    }

    /// Takes in how a try ended.
    pub(super) fn heard(&self, project: ProjectId, name: &str, failed: bool, now: Timestamp) {
        let mut failing = self.lock();
        let key = (project, name.to_owned());
        if !failed {
            if let Some(Failing::Open(_)) = failing.remove(&key) {
                tracing::info!(project.id = %project, name, "it answers again");
            }
            return;
        }
        let (first, _) = self.rest;
        let failures = failing.entry(key).or_insert(Failing::Closed(0));
        match failures {
            Failing::Closed(in_a_row) if *in_a_row + 1 < self.most => *in_a_row += 1,
            Failing::Closed(_) => {
                *failures = Failing::Open(Rest { length: first, began: now, trying: false });
                tracing::warn!(
                    project.id = %project,
                    name,
                    "{} calls in a row failed: none is made for {} s, then one at a time until one works",
                    self.most,
                    first.as_secs()
                );
            }
            // Others that failed were under way when the circuit opened: they say nothing new.
            Failing::Open(rest) if rest.trying => {
                *rest = Rest { length: self.longer(rest.length), began: now, trying: false };
            }
            Failing::Open(_) => {}
        }
    }

    /// The rest after one of this length.
    fn longer(&self, rest: Duration) -> Duration {
        let (_, longest) = self.rest;
        longest.min(rest * 2)
    }

    /// What is left alone.
    fn open(&self) -> Vec<ProviderDown> {
        let failing = self.lock();
        let open = failing.iter().filter_map(|((project, name), failing)| match failing {
            Failing::Open(rest) => {
                let until = rest.began.plus(rest.length);
                Some(ProviderDown { name: name.clone(), project: *project, until })
            }
            Failing::Closed(_) => None,
        });
        open.collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(ProjectId, String), Failing>> {
        // What is known is whole after every statement under the lock.
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
        if let Err(left) = self.providers_down.admit(project, name, clock.now()) {
            return Err(ProviderError {
                provider: name.to_owned(),
                class: FailureClass::Down,
                retryable: true,
                retry_after: Some(left),
                code: None,
                message: format!("{MOST_CALLS} calls in a row had no answer"),
            });
        }
        let done = call.await;
        let silent = matches!(&done, Err(error) if error.class.is_silence());
        self.providers_down.heard(project, name, silent, clock.now());
        done
    }

    /// The providers that are left alone, each by the projects that had no answer of it.
    pub fn providers_down(&self) -> Vec<ProviderDown> {
        self.providers_down.open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProjectId = ProjectId::from_bytes([1; 16]);
    const TWO: ProjectId = ProjectId::from_bytes([2; 16]);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000 + seconds)
    }

    /// Closed until three failures in a row, then open for 10 s, and for 35 s at most.
    fn circuits() -> Circuits {
        Circuits::new(3, (Duration::from_secs(10), Duration::from_secs(35)))
    }

    fn left(circuits: &Circuits, seconds: i64) -> u64 {
        circuits.admit(ONE, "m", at(seconds)).err().unwrap_or_default().as_secs()
    }

    #[test]
    fn what_fails_is_left_alone_for_a_while() {
        let circuits = circuits();
        for failed in [true, true, false, true, true] {
            assert_eq!(circuits.admit(ONE, "m", at(0)), Ok(()));
            circuits.heard(ONE, "m", failed, at(0));
        }
        assert_eq!(left(&circuits, 0), 0, "an answer in between begins the count anew");
        circuits.heard(ONE, "m", true, at(0));
        assert_eq!(left(&circuits, 3), 7);
        assert_eq!(circuits.open(), [ProviderDown { name: "m".into(), project: ONE, until: at(10) }]);
        for other in [circuits.admit(TWO, "m", at(9)), circuits.admit(ONE, "other", at(9))] {
            assert_eq!(other, Ok(()));
        }
        // After the rest one tries, and the others wait for what comes of it.
        assert_eq!((left(&circuits, 10), left(&circuits, 11)), (0, 9));
        circuits.heard(ONE, "m", false, at(12));
        assert_eq!((left(&circuits, 12), left(&circuits, 12)), (0, 0));
        assert_eq!(circuits.open(), []);
    }

    #[test]
    fn each_try_that_fails_doubles_the_rest_up_to_a_bound() {
        let circuits = circuits();
        // Five calls were under way when the third of them failed: the others say nothing new.
        for _ in 0..5 {
            circuits.heard(ONE, "m", true, at(0));
        }
        let mut now = 0;
        for rest in [10, 20, 35, 35] {
            assert_eq!(left(&circuits, now), rest);
            now += rest as i64;
            assert_eq!(left(&circuits, now), 0, "one tries after {rest} s");
            circuits.heard(ONE, "m", true, at(now));
        }
        circuits.heard(ONE, "m", false, at(now));
        for _ in 0..3 {
            circuits.heard(ONE, "m", true, at(now));
        }
        assert_eq!(left(&circuits, now), 10, "the next outage begins with a short rest");
    }

    #[test]
    fn a_try_that_never_ends_keeps_nobody_from_the_next() {
        let circuits = circuits();
        for _ in 0..3 {
            circuits.heard(ONE, "m", true, at(0));
        }
        assert_eq!((left(&circuits, 10), left(&circuits, 15), left(&circuits, 20)), (0, 5, 0));
        assert_eq!(left(&circuits, 25), 15, "it is as silent as one that failed");
        // Nor does a clock that was set back.
        assert_eq!(left(&circuits, -500), 0);
    }
}
