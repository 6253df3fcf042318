//! The limiter, as a function and in both stores, against a bucket of tokens told in another way.

use std::sync::Arc;

use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::rate_limit::{Bucket, Decision, LimitOf, MINUTE, Quota, take};
use deja_core::store::Store;
use deja_core::testing::{change, project};
use deja_store::{StoreSettings, open};

use crate::postgres::Database;
use crate::trial::{Goals, Rounds, Trial};
use crate::util::Random;

pub const TRIAL: Trial = Trial {
    name: "limiter",
    counts: "steps",
    goals: Goals { few: 40_000, short: 2_000_000, long: 10_000_000 },
    play,
};

/// Steps of a round: of the function, and of those each hundredth in both stores too.
const STEPS: u64 = 20_000;
const START: i64 = 1_700_000_000_000_000_000;

/// Tokens that drip into a bucket, in token-nanoseconds.
struct Tokens {
    level: i128,
    at: i128,
}

impl Tokens {
    fn take(&mut self, quota: Quota, now: i64) -> Decision {
        let interval =
            (i128::from(MINUTE) + i128::from(quota.per_minute()) - 1) / i128::from(quota.per_minute());
        let most = interval * i128::from(quota.burst());
        let now = i128::from(now);
        self.level = (self.level + now - self.at).min(most);
        self.at = now;
        let allowed = self.level >= interval;
        if allowed {
            self.level -= interval;
        }
        let seconds = |nanos: i128| (nanos + 999_999_999).div_euclid(1_000_000_000);
        Decision {
            of: LimitOf::Project,
            allowed,
            limit: quota.per_minute(),
            remaining: u32::try_from(self.level / interval).unwrap().min(quota.per_minute()),
            reset: i64::try_from(seconds(now + most - self.level)).unwrap(),
            retry_after: if allowed { 0 } else { u32::try_from(seconds(interval - self.level)).unwrap() },
        }
    }
}

fn play(rounds: &mut Rounds<'_>) {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let sqlite = open(&StoreSettings::new(directory.path())).await.unwrap();
        let database = Database::create().await;
        let postgres = database.store().await;
        while let Some(seed) = rounds.next() {
            round(seed, [&sqlite, &postgres]).await;
            rounds.done(STEPS);
            rounds.saw("of them in each store too", STEPS / 100);
        }
        postgres.close().await.unwrap();
    });
}

async fn round(seed: u64, stores: [&Arc<dyn Store>; 2]) {
    let mut random = Random::new(seed);
    let quota = |random: &mut Random| {
        let size = |random: &mut Random| {
            let most = random.pick(&[1, 2, 10, 100, 1_000, 1_000_000]);
            1 + random.below(most) as u32
        };
        Quota::new(size(random), size(random)).unwrap()
    };
    // The function alone: quotas that differ much, times that stand still, creep or leap.
    for _ in 0..20 {
        let quota = quota(&mut random);
        let mut now = START;
        let (mut bucket, mut tokens) = (Bucket::default(), full(quota, now));
        for step in 0..STEPS / 20 {
            now += pause(&mut random, quota);
            let (next, decision) = take(bucket, quota, Timestamp::from_nanos(now));
            assert_eq!(decision, tokens.take(quota, now), "{quota:?}, step {step}");
            bucket = next;
        }
    }
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    let project = project(ProjectId::from_bytes(bytes), &format!("p{seed}"), Timestamp::from_nanos(START));
    for store in stores {
        store.create_project(&project, &change()).await.unwrap();
    }
    let quota = quota(&mut random);
    let mut now = START;
    let mut tokens = full(quota, now);
    for step in 0..STEPS / 100 {
        now += pause(&mut random, quota);
        let expected = tokens.take(quota, now);
        for (store, name) in stores.iter().zip(["SQLite", "PostgreSQL"]) {
            let decision = store.take(project.id, quota, Timestamp::from_nanos(now)).await.unwrap();
            assert_eq!(decision, expected, "{name}, {quota:?}, step {step}");
        }
    }
    for store in stores {
        store.delete_project(project.id, &change()).await.unwrap();
    }
}

/// A bucket that was never used.
fn full(quota: Quota, now: i64) -> Tokens {
    Tokens { level: i128::from(quota.capacity()), at: i128::from(now) }
}

/// Time until the next request.
fn pause(random: &mut Random, quota: Quota) -> i64 {
    let interval = quota.interval() as usize;
    match random.below(6) {
        0 | 1 => 0,
        2 => 1,
        3 => random.below(interval) as i64,
        4 => random.pick(&[interval - 1, interval, interval + 1]) as i64,
        _ => random.below(quota.capacity() as usize + interval) as i64,
    }
}
