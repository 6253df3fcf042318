//! Deletes what is too old to be of use.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::Step;
use deja_core::audit::{FEEDBACK_RIGHT, FEEDBACK_WRONG, SIGN_IN_REFUSED};
use deja_core::clock::{Clock, Timestamp};
use deja_core::store::{Store, StoreError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const SWEEP_EVERY: Duration = Duration::from_mins(1);
const SWEEP_BATCH: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
/// How long a refused sign-in stays in the audit log, and how many do at most: anybody may cause them.
const REFUSALS_KEPT: Duration = Duration::from_hours(30 * 24);
const MOST_REFUSALS: u64 = 10_000;
/// Days that a model's word on a pair of prompts is kept.
const OPINIONS_KEPT: i64 = 90;

/// How long the words of keys that changed what is answered stay in the audit log, and how many of each kind do at most:
/// any application may cause them.
const FEEDBACK_KEPT: Duration = Duration::from_hours(90 * 24);
const MOST_FEEDBACK: u64 = 100_000;
/// How far the clock may be ahead of the time that went by, and how long one that is further ahead is not believed.
const AHEAD: Duration = Duration::from_mins(5);
const DOUBTED: Duration = Duration::from_hours(1);
/// What a project keeps at most of answered requests, of labels and of wrong answers: the newest.
const NEWEST_KEPT: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The time by which data is old. A clock that jumps ahead is not believed for a while: it may be set back, and what was deleted
/// does not come back.
struct SweepClock {
    clock: Arc<dyn Clock>,
    /// What the clock showed when it was last believed, and when that was.
    at: Timestamp,
    read: Instant,
    /// What it showed when it was first too far ahead, and when that was.
    jump: Option<(Timestamp, Instant)>,
}

impl SweepClock {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self { at: clock.now(), clock, read: Instant::now(), jump: None }
    }

    fn now(&mut self) -> Timestamp {
        let (shown, went_by) = (self.clock.now(), self.at.plus(self.read.elapsed()));
        if shown > went_by.plus(AHEAD) {
            // Each jump is doubted for an hour of its own.
            let same = |(then, since): &(Timestamp, Instant)| shown <= then.plus(since.elapsed()).plus(AHEAD);
            let jump = self.jump.filter(same).unwrap_or_else(|| {
                let seconds = shown.since(went_by).as_secs();
                tracing::warn!(
                    seconds,
                    "the clock jumped ahead: nothing is deleted as too old by it for an hour"
                );
                (shown, Instant::now())
            });
            self.jump = Some(jump);
            if jump.1.elapsed() < DOUBTED {
                return went_by;
            }
        }
        (self.at, self.read, self.jump) = (shown, Instant::now(), None);
        shown
    }
}

/// Forgets old rollups, samples, logged requests, refused sign-ins, feedback and words of models, and sessions and links that expired.
pub async fn history(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
    let mut time = SweepClock::new(clock);
    let work = async {
        loop {
            if sweep_batch(&*store, time.now()).await < SWEEP_BATCH.get() as u64 {
                sleep(SWEEP_EVERY).await;
            }
        }
    };
    stop.run_until_cancelled(work).await;
}

/// A batch of each; says the size of the largest one.
async fn sweep_batch(store: &dyn Store, now: Timestamp) -> u64 {
    let changes = |action, kept, most| store.sweep_changes(action, now.minus(kept), most, SWEEP_BATCH);
    let oldest = Step::Day.period_of(now) - OPINIONS_KEPT;
    largest([
        ("counts", store.sweep_usage(now, SWEEP_BATCH)),
        ("samples", store.sweep_samples(now, SWEEP_BATCH)),
        ("logged requests", store.sweep_logged(now, SWEEP_BATCH)),
        ("refused sign-ins", changes(SIGN_IN_REFUSED, REFUSALS_KEPT, MOST_REFUSALS)),
        ("labels", store.sweep_labels(now, NEWEST_KEPT, SWEEP_BATCH)),
        ("words of wrong answers", changes(FEEDBACK_WRONG, FEEDBACK_KEPT, MOST_FEEDBACK)),
        ("words of right answers", changes(FEEDBACK_RIGHT, FEEDBACK_KEPT, MOST_FEEDBACK)),
        ("opinions", store.sweep_opinions(oldest, SWEEP_BATCH)),
        ("sessions", store.sweep_sessions(now)),
    ])
    .await
}

/// Takes each step, whatever becomes of the others: what keeps one from its end must not keep what is old of all else.
async fn largest<F: Future<Output = Result<u64, StoreError>>>(
    steps: impl IntoIterator<Item = (&'static str, F)>,
) -> u64 {
    let mut largest = 0;
    for (what, step) in steps {
        match step.await {
            Ok(swept) => largest = swept.max(largest),
            Err(error) => tracing::error!(what, error = %error, "old data could not be deleted"),
        }
    }
    largest
}

/// Deletes entries that expired or are beyond a maximum, in small batches so that writes of queries fit between.
pub async fn entries(store: Arc<dyn Store>, clock: Arc<dyn Clock>, stop: CancellationToken) {
    let mut time = SweepClock::new(clock);
    let work = async {
        let mut swept = 0;
        loop {
            match store.sweep(time.now(), SWEEP_BATCH).await {
                Ok(n) if n == SWEEP_BATCH.get() as u64 => {
                    swept += n;
                    continue;
                }
                Ok(n) if swept + n > 0 => {
                    tracing::info!(
                        entries = swept + n,
                        "entries that expired, or that were more than max_entries, are deleted"
                    );
                    swept = 0;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(error = %error, "expired and surplus entries could not be deleted");
                }
            }
            sleep(SWEEP_EVERY).await;
        }
    };
    stop.run_until_cancelled(work).await;
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use deja_core::audit::{Actor, AuditFilter, Change};
    use deja_core::cache::{Entry, Frame, PairHash, Scope};
    use deja_core::id::{EntryId, ProjectId};
    use deja_core::money::NanoUsd;
    use deja_core::testing::{self, ManualClock, MemoryStore, bytes, change, new_entry};
    use tokio::time::timeout;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);
    const MORE_THAN_A_BATCH: u32 = SWEEP_BATCH.get() as u32 + 1;

    async fn with_project(clock: &ManualClock) -> (Arc<dyn Store>, ProjectId) {
        let project = testing::project(ProjectId::from_bytes([1; 16]), "p", clock.now());
        let store: Arc<dyn Store> = MemoryStore::new();
        store.create_project(&project, &change()).await.unwrap();
        (store, project.id)
    }

    #[tokio::test(start_paused = true)]
    async fn entries_that_expired_go_at_once_however_many_and_later_ones_a_minute_later() {
        let (clock, stop) = (Arc::new(ManualClock::default()), CancellationToken::new());
        let (store, project) = with_project(&clock).await;
        let scope = Scope::new(project, Frame::query(Some("m"), None));
        for number in 0..=MORE_THAN_A_BATCH {
            let entry = testing::entry(EntryId::from_bytes(bytes(number)), &number.to_string(), clock.now());
            let after = if number == 0 { DAY } else { Duration::ZERO };
            let entry = Entry { expires: Some(clock.now().plus(after)), ..entry };
            store.insert(new_entry(scope.clone(), entry)).await.unwrap();
        }
        let job = entries(store.clone(), clock.clone(), stop.clone());
        tokio::pin!(job);
        assert!(timeout(Duration::from_secs(1), &mut job).await.is_err());
        assert_eq!(store.count(project).await.unwrap(), 1);
        clock.advance(DAY);
        tokio::time::advance(DAY).await;
        assert!(timeout(SWEEP_EVERY, &mut job).await.is_err());
        assert_eq!(store.count(project).await.unwrap(), 0);
        stop.cancel();
        job.await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_ahead_deletes_nothing_for_a_while() {
        let (clock, stop) = (Arc::new(ManualClock::default()), CancellationToken::new());
        let (store, project) = with_project(&clock).await;
        let entry = testing::entry(EntryId::from_bytes(bytes(1)), "cats", clock.now());
        let entry = Entry { expires: Some(clock.now().plus(DAY)), ..entry };
        let scope = Scope::new(project, Frame::query(Some("m"), None));
        store.insert(new_entry(scope, entry)).await.unwrap();
        let job = entries(store.clone(), clock.clone(), stop.clone());
        tokio::pin!(job);
        let before = clock.now();
        for (shown, lasts, kept) in [
            (before, SWEEP_EVERY, 1),
            (before.plus(2 * DAY), DOUBTED, 1),
            (before, SWEEP_EVERY, 1),
            (before.plus(DAY / 2), Duration::from_mins(59), 1),
            (before.plus(2 * DAY), Duration::from_mins(59), 1),
            (before.plus(2 * DAY), 3 * SWEEP_EVERY, 0),
        ] {
            clock.set(shown);
            assert!(timeout(lasts, &mut job).await.is_err());
            assert_eq!(store.count(project).await.unwrap(), kept);
        }
        stop.cancel();
        job.await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_is_forgotten_however_much_and_nothing_younger() {
        let clock = Arc::new(ManualClock::at(Timestamp::default().plus(1000 * DAY)));
        let (now, stop) = (clock.now(), CancellationToken::new());
        let (store, project) = with_project(&clock).await;
        let before = |days: u32| now.minus(days * DAY);
        let noted = async |action, at| store.note(&Change::new(at, Actor::System, action)).await.unwrap();
        for _ in 0..MORE_THAN_A_BATCH {
            noted(SIGN_IN_REFUSED, before(31)).await;
        }
        for (action, days) in [(SIGN_IN_REFUSED, 29), ("project.set", 900)] {
            noted(action, before(days)).await;
        }
        for action in [FEEDBACK_RIGHT, FEEDBACK_WRONG] {
            noted(action, before(91)).await;
            noted(action, before(89)).await;
        }
        let pairs = [91, 90].map(|days| (PairHash([days; 32]), Step::Day.period_of(now) - i64::from(days)));
        for (pair, day) in pairs {
            store.keep_opinion(project, &pair, Some(true), day, NanoUsd::ZERO).await.unwrap();
        }
        let job = history(store.clone(), clock.clone(), stop.clone());
        tokio::pin!(job);
        assert!(timeout(Duration::from_secs(1), &mut job).await.is_err());
        let left = store.changes(&AuditFilter::default(), None, SWEEP_BATCH).await.unwrap();
        let left: Vec<_> = left.iter().map(|row| (row.change.action.as_ref(), row.change.at)).collect();
        let kept = [(FEEDBACK_WRONG, 89), (FEEDBACK_RIGHT, 89), ("project.set", 900), (SIGN_IN_REFUSED, 29)];
        let kept = kept.into_iter().map(|(action, days)| (action, before(days)));
        assert_eq!(left, kept.chain([("test", Timestamp::default())]).collect::<Vec<_>>());
        assert_eq!(store.opinions(project, &pairs.map(|(pair, _)| pair)).await.unwrap(), [None, Some(true)]);
        stop.cancel();
        job.await;
    }

    #[tokio::test]
    async fn a_step_that_fails_keeps_no_other_from_being_taken() {
        let mut taken = Vec::new();
        let failed = || StoreError::Internal("unsupported Unicode escape sequence".into());
        let steps = [("first", Ok(3)), ("second", Err(failed())), ("third", Ok(7)), ("fourth", Ok(5))];
        let steps = steps.map(|(what, swept)| (what, ready(swept)));
        assert_eq!(largest(steps.into_iter().inspect(|(what, _)| taken.push(*what))).await, 7);
        assert_eq!(taken, ["first", "second", "third", "fourth"]);
    }
}
