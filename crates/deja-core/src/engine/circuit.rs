//! Circuit breakers: what failed several times in a row is left alone for a while, so that not every request waits for
//! what is down. Each project has its own: the requests of one open none of another's.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Timestamp;
use crate::engine::Engine;
use crate::engine::count::Timed;
use crate::id::ProjectId;
use crate::provider::{FailureClass, Provider, ProviderError};

/// Calls without an answer in a row after which a provider is left alone.
const MOST_CALLS: u32 = 10;
/// How long a provider is left alone, at first and at most. Then one request asks. If it fails, the time doubles.
const REST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(1));
/// How long failures are remembered after the last call was heard of: the provider or its project may be gone. A provider that is asked less
/// often than that is asked each time.
const FORGOTTEN: Duration = Duration::from_mins(10);

/// What fails, by project and name.
#[derive(Debug)]
pub(super) struct Circuits {
    /// Failures in a row that open a circuit.
    most: u32,
    /// For how long it stays open before one more try: at first, and at most.
    rest: (Duration, Duration),
    failing: Mutex<HashMap<(ProjectId, String), Failing>>,
}

/// What failed last.
#[derive(Debug)]
struct Failing {
    /// Where it was called: elsewhere it may work.
    place: String,
    /// When the last call began that counted, one that has not ended included.
    tried: Timestamp,
    /// When a call was last begun or heard of: some take longer to fail than failures are remembered.
    noted: Timestamp,
    /// When an answer came last: failures of calls from before say nothing new. The beginning of time if none came.
    answered: Timestamp,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Calls pass; so many failed in a row.
    Closed(u32),
    Open(Rest),
}

/// How long something is left alone.
#[derive(Clone, Copy, Debug)]
struct Rest {
    length: Duration,
    began: Timestamp,
    /// Whether this is the rest during a try: a call passed when it began.
    trying: bool,
}

impl Rest {
    /// How long it still lasts. A clock that was set back does not make it longer.
    fn left(&self, now: Timestamp) -> Duration {
        if now < self.began { Duration::ZERO } else { self.length.saturating_sub(now.since(self.began)) }
    }
}

/// A provider that is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDown {
    /// Its name.
    pub name: String,
    /// The project that does not ask the provider for now.
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

    /// Lets a call at `place` pass, or says how long no call passes. After a rest one call passes. The others are refused until
    /// it has ended, or has taken as long as the rest.
    pub(super) fn admit(
        &self,
        project: ProjectId,
        name: &str,
        place: &str,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let mut failing = self.failing.lock();
        let found = failing.get_mut(&(project, name.to_owned())).filter(|found| found.place == place);
        let Some(Failing { tried, noted, state: State::Open(rest), .. }) = found else { return Ok(()) };
        let left = rest.left(now);
        if left.is_zero() {
            // A try that has not ended counts as failed.
            let length = if rest.trying { self.longer(rest.length) } else { rest.length };
            *rest = Rest { length, began: now, trying: true };
            (*tried, *noted) = (now, now);
            return Ok(());
        }
        Err(left)
    }

    /// Takes note of how the call ended that passed at `began`, at `place`.
    pub(super) fn heard(
        &self,
        project: ProjectId,
        name: &str,
        place: &str,
        began: Timestamp,
        failed: bool,
        now: Timestamp,
    ) {
        let mut failing = self.failing.lock();
        let key = (project, name.to_owned());
        if !failing.contains_key(&key) {
            if !failed {
                return;
            }
            forget(&mut failing, now);
        }
        let (first, _) = self.rest;
        let none = || Failing {
            place: place.to_owned(),
            tried: began,
            noted: now,
            answered: Timestamp::default(),
            state: State::Closed(0),
        };
        let found = failing.entry(key).or_insert_with(none);
        // A clock that was set back silences nobody.
        let is_before = |then: Timestamp| began < then && then <= now;
        if is_before(found.tried) && found.place != place || is_before(found.answered) && failed {
            return;
        }
        if !failed && matches!(found.state, State::Open(_)) {
            tracing::info!(project.id = %project, name, "calls have an answer again");
        }
        if found.place != place {
            *found = none();
        }
        if !is_before(found.tried) {
            found.tried = began;
        }
        found.noted = now;
        if !failed {
            (found.answered, found.state) = (now, State::Closed(0));
            return;
        }
        match &mut found.state {
            State::Closed(in_a_row) if *in_a_row + 1 < self.most => *in_a_row += 1,
            state @ State::Closed(_) => {
                *state = State::Open(Rest { length: first, began: now, trying: false });
                tracing::warn!(
                    project.id = %project,
                    name,
                    "{} calls in a row failed: deja makes none for {} s, then one at a time until one has an answer",
                    self.most,
                    first.as_secs()
                );
            }
            // The other calls that fail were under way when the circuit opened: they say nothing new.
            State::Open(rest) if rest.trying && rest.began == began => {
                *rest = Rest { length: self.longer(rest.length), began: now, trying: false };
            }
            State::Open(_) => {}
        }
    }

    /// Takes note that the caller gave up the call which passed at `began`: that says nothing of the provider.
    fn given_up(&self, project: ProjectId, name: &str, place: &str, began: Timestamp) {
        let mut failing = self.failing.lock();
        let found = failing.get_mut(&(project, name.to_owned())).filter(|found| found.place == place);
        if let Some(Failing { state: State::Open(rest), .. }) = found
            && rest.began == began
        {
            rest.trying = false;
        }
    }

    /// The length of the rest after a `rest` of this length.
    fn longer(&self, rest: Duration) -> Duration {
        let (_, longest) = self.rest;
        longest.min(rest * 2)
    }

    /// All that is left alone.
    fn open(&self, now: Timestamp) -> Vec<ProviderDown> {
        let mut failing = self.failing.lock();
        forget(&mut failing, now);
        let open = failing.iter().filter_map(|((project, name), failing)| match failing.state {
            State::Open(rest) => {
                let until = rest.began.plus(rest.length);
                Some(ProviderDown { name: name.clone(), project: *project, until })
            }
            State::Closed(_) => None,
        });
        open.collect()
    }
}

/// Forgets failures after which no call was begun or heard of for long.
fn forget(failing: &mut HashMap<(ProjectId, String), Failing>, now: Timestamp) {
    failing.retain(|(project, name), failing| {
        let kept = now.since(failing.noted) < FORGOTTEN;
        if !kept && matches!(failing.state, State::Open(_)) {
            tracing::info!(project.id = %project, name, "nobody has asked for ten minutes: it is not known whether calls have an answer again");
        }
        kept
    });
}

/// A call that was let pass. Dropped before [`Circuits::heard`], it is given up.
struct Try<'a> {
    circuits: &'a Circuits,
    project: ProjectId,
    name: &'a str,
    place: &'a str,
    began: Timestamp,
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        self.circuits.given_up(self.project, self.name, self.place, self.began);
    }
}

impl Engine {
    /// Makes `call` of `provider`, unless the last calls of the project had no answer at all. An error that the provider answers
    /// with is an answer: it came at once, and may be about this one request. The [`Timed`] call ends when its answer has come.
    pub(super) async fn unless_down<T>(
        &self,
        project: ProjectId,
        provider: &dyn Provider,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<(T, Timed<'_>), ProviderError> {
        let (name, place, clock) = (provider.name(), provider.base_url(), &self.parts.clock);
        let (circuits, began) = (&*self.providers_down, clock.now());
        if let Err(left) = circuits.admit(project, name, place, began) {
            let why = format!("{MOST_CALLS} calls in a row had no answer");
            let down = ProviderError::new(name, FailureClass::Down, why);
            return Err(ProviderError { retry_after: Some(left), ..down });
        }
        let _until_heard = Try { circuits, project, name, place, began };
        let timed = Timed::begin(&*self.parts.listener);
        let done = call.await;
        let silent = matches!(&done, Err(error) if error.class.is_silence());
        circuits.heard(project, name, place, began, silent, clock.now());
        Ok((done?, timed))
    }

    /// The providers that are left alone, once for each project that leaves them alone.
    pub fn providers_down(&self) -> Vec<ProviderDown> {
        self.providers_down.open(self.parts.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProjectId = ProjectId::from_bytes([1; 16]);
    const TWO: ProjectId = ProjectId::from_bytes([2; 16]);

    const HERE: &str = "https://here.example/v1";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000 + seconds)
    }

    /// Closed until three failures in a row, then open for 10 s, and for 35 s at most.
    fn circuits() -> Circuits {
        Circuits::new(3, (Duration::from_secs(10), Duration::from_secs(35)))
    }

    fn left(circuits: &Circuits, seconds: i64) -> u64 {
        circuits.admit(ONE, "m", HERE, at(seconds)).err().unwrap_or_default().as_secs()
    }

    #[test]
    fn what_fails_is_left_alone_for_a_while() {
        let circuits = circuits();
        for failed in [true, true, false, true, true] {
            assert_eq!(circuits.admit(ONE, "m", HERE, at(0)), Ok(()));
            circuits.heard(ONE, "m", HERE, at(0), failed, at(0));
        }
        assert_eq!(left(&circuits, 0), 0, "an answer in between begins the count anew");
        circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        assert_eq!(left(&circuits, 3), 7);
        assert_eq!(circuits.open(at(3)), [ProviderDown { name: "m".into(), project: ONE, until: at(10) }]);
        for other in [circuits.admit(TWO, "m", HERE, at(9)), circuits.admit(ONE, "other", HERE, at(9))] {
            assert_eq!(other, Ok(()));
        }
        // After the rest one tries, and the others wait for what comes of it.
        assert_eq!((left(&circuits, 10), left(&circuits, 11)), (0, 9));
        circuits.heard(ONE, "m", HERE, at(12), false, at(12));
        assert_eq!((left(&circuits, 12), left(&circuits, 12)), (0, 0));
        assert_eq!(circuits.open(at(12)), []);
    }

    /// A model may think for ten minutes, so a call may take that long to fail.
    #[test]
    fn calls_that_take_long_to_fail_open_it_too() {
        let circuits = circuits();
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(601));
            assert_eq!(circuits.admit(TWO, "m", HERE, at(601)), Ok(()));
            circuits.heard(TWO, "m", HERE, at(601), true, at(601));
        }
        assert_eq!((circuits.open(at(602)).len(), left(&circuits, 602)), (2, 9));
        assert_eq!(circuits.open(at(601 + 600)), []);
    }

    #[test]
    fn each_try_that_fails_doubles_the_rest_up_to_a_bound() {
        let circuits = circuits();
        // Five calls were under way when the third of them failed: the others say nothing new.
        for _ in 0..5 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        }
        let mut now = 0;
        for rest in [10, 20, 35, 35] {
            assert_eq!(left(&circuits, now), rest);
            now += rest as i64;
            assert_eq!(left(&circuits, now), 0, "one tries after {rest} s");
            circuits.heard(ONE, "m", HERE, at(now), true, at(now));
        }
        circuits.heard(ONE, "m", HERE, at(now), false, at(now));
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(now), true, at(now));
        }
        assert_eq!(left(&circuits, now), 10, "the next outage begins with a short rest");
    }

    #[test]
    fn a_try_that_never_ends_keeps_nobody_from_the_next() {
        let circuits = circuits();
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        }
        assert_eq!((left(&circuits, 10), left(&circuits, 15), left(&circuits, 20)), (0, 5, 0));
        assert_eq!(left(&circuits, 25), 15, "it is as silent as one that failed");
        // Nor does a clock that was set back.
        assert_eq!(left(&circuits, -500), 0);
    }

    #[test]
    fn a_try_that_was_given_up_says_nothing() {
        let circuits = circuits();
        let given_up = |at_seconds| circuits.given_up(ONE, "m", HERE, at(at_seconds));
        given_up(0);
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        }
        assert_eq!(left(&circuits, 10), 0);
        given_up(10);
        assert_eq!(
            (left(&circuits, 11), left(&circuits, 20), left(&circuits, 20)),
            (9, 0, 10),
            "the rest is as long"
        );
        // A call from before says nothing of the try that is under way.
        given_up(0);
        circuits.heard(ONE, "m", HERE, at(20), true, at(21));
        assert_eq!(left(&circuits, 21), 20);
    }

    #[test]
    fn what_is_called_elsewhere_begins_anew() {
        const THERE: &str = "https://there.example/v1";
        let circuits = circuits();
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        }
        assert_eq!(circuits.admit(ONE, "m", THERE, at(1)), Ok(()));
        circuits.heard(ONE, "m", THERE, at(1), true, at(1));
        assert_eq!(circuits.admit(ONE, "m", THERE, at(1)), Ok(()), "one failure there is no outage");
        assert_eq!(circuits.open(at(1)), []);
    }

    #[test]
    fn calls_from_before_say_nothing_of_the_try_and_after_an_answer_nothing_at_all() {
        let circuits = circuits();
        let fails = |began, now| circuits.heard(ONE, "m", HERE, at(began), true, at(now));
        for began in 0..3 {
            fails(began, 3);
        }
        assert_eq!(left(&circuits, 13), 0);
        // The try is under way.
        fails(2, 14);
        assert_eq!(left(&circuits, 14), 9, "the rest began with the try");
        fails(13, 15);
        assert_eq!(left(&circuits, 15), 20);
        fails(13, 20);
        assert_eq!(left(&circuits, 34), 1, "each try counts once");
        circuits.heard(ONE, "m", HERE, at(2), false, at(34));
        for began in 3..10 {
            fails(began, 34);
        }
        assert_eq!(left(&circuits, 34), 0, "it has answered since");
        for began in [34, 35, 36] {
            assert_eq!(left(&circuits, 37), 0);
            fails(began, 37);
        }
        assert_eq!(left(&circuits, 37), 10);
        // After a clock was set back, too, failures count.
        circuits.heard(ONE, "m", HERE, at(37), false, at(37));
        for _ in 0..3 {
            fails(-500, -490);
        }
        assert_eq!(left(&circuits, -490), 10);
    }

    #[test]
    fn what_comes_of_a_call_elsewhere_from_before_says_nothing() {
        const OLD: &str = "https://old.example/v1";
        let circuits = circuits();
        circuits.heard(ONE, "m", OLD, at(0), true, at(1));
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(5), true, at(6));
        }
        for failed in [true, false] {
            circuits.heard(ONE, "m", OLD, at(4), failed, at(7));
            assert_eq!(left(&circuits, 7), 9, "{failed}");
        }
        circuits.heard(ONE, "m", OLD, at(8), false, at(8));
        assert_eq!((left(&circuits, 8), circuits.open(at(8))), (0, vec![]), "it was moved back");
    }

    #[test]
    fn what_nobody_tries_any_more_is_forgotten() {
        let circuits = circuits();
        for _ in 0..3 {
            circuits.heard(ONE, "m", HERE, at(0), true, at(0));
        }
        circuits.heard(TWO, "m", HERE, at(0), true, at(0));
        let last = FORGOTTEN.as_secs() as i64 - 1;
        assert_eq!(circuits.open(at(last)).len(), 1);
        assert_eq!(left(&circuits, last), 0, "a try is a sign of life");
        assert_eq!(circuits.open(at(last + 1)).len(), 1);
        assert_eq!(circuits.failing.lock().len(), 1, "nor is what failed once kept for ever");
        circuits.heard(TWO, "m", HERE, at(2 * last + 1), true, at(2 * last + 1));
        assert_eq!(circuits.failing.lock().len(), 1, "nor without anybody who looks");
    }
}
