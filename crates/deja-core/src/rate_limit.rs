//! The rate limit: GCRA (generic cell rate algorithm, ITU-T I.371) per project, as a pure function.
//!
//! The state of a bucket is the theoretical arrival time (TAT), the moment at which the bucket would be full
//! again, and the time of the last request, which shows a clock that was set back. With emission interval
//! T = 60 s / rpm and a capacity of `burst` requests, a request at `now` is allowed if after it the bucket
//! needs at most `burst` x T to refill.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// A minute in nanoseconds.
pub const MINUTE: i64 = 60_000_000_000;
/// Nanoseconds that the times of requests which come at once may be out of order.
const UNORDERED: i64 = 1_000_000_000;
/// Keeps T at 60 us or more, so that rounding T to whole nanoseconds cannot matter.
pub(crate) const MAX_PER_MINUTE: u32 = 1_000_000;

/// A limit: requests a minute and how many may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    per_minute: u32,
    burst: u32,
}

/// A quota outside what the limiter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuota {
    /// Requests a minute.
    #[error("requests a minute must lie between 1 and {MAX_PER_MINUTE}")]
    PerMinute,
    /// Requests at once.
    #[error("the burst, requests at once, must lie between 1 and {MAX_PER_MINUTE}")]
    Burst,
}

impl InvalidQuota {
    /// The part of a request that it is about.
    pub(crate) const fn part(self) -> &'static str {
        match self {
            Self::PerMinute => "per_minute",
            Self::Burst => "burst",
        }
    }
}

impl Quota {
    /// `per_minute` requests a minute, bursts of `burst`; both 1 to [`MAX_PER_MINUTE`].
    pub fn new(per_minute: u32, burst: u32) -> Result<Self, InvalidQuota> {
        let range = 1..=MAX_PER_MINUTE;
        if !range.contains(&per_minute) {
            Err(InvalidQuota::PerMinute)
        } else if !range.contains(&burst) {
            Err(InvalidQuota::Burst)
        } else {
            Ok(Self { per_minute, burst })
        }
    }

    /// As [`Quota::new`] for the constants of this crate.
    pub(crate) const fn of(per_minute: u32, burst: u32) -> Self {
        Self { per_minute, burst }
    }

    /// Requests a minute: `X-RateLimit-Limit`.
    pub const fn per_minute(self) -> u32 {
        self.per_minute
    }

    /// Requests at once.
    pub const fn burst(self) -> u32 {
        self.burst
    }

    /// Emission interval T in nanoseconds, rounded up so that never more than the quota passes.
    pub const fn interval(self) -> i64 {
        (MINUTE + self.per_minute as i64 - 1) / self.per_minute as i64
    }

    /// Nanoseconds that an empty bucket takes to be full again.
    pub const fn capacity(self) -> i64 {
        self.interval() * self.burst as i64
    }
}

/// A bucket's state. A new bucket is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// The theoretical arrival time: the moment at which it is full again.
    pub full_at: Timestamp,
    /// The time of the last request.
    pub seen: Timestamp,
}

/// The owner of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOf {
    /// The project's.
    Project,
    /// A key's own.
    Key,
}

impl LimitOf {
    /// Why a request over it is refused, as in `X-Deja-Error`.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Project => "rate_limited",
            Self::Key => "key_rate_limited",
        }
    }
}

/// The decision of the limiter, with the values of the response headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// The owner of the limit that decided.
    pub of: LimitOf,
    /// `X-RateLimit-Limit`: requests a minute.
    pub limit: u32,
    /// `X-RateLimit-Remaining`: whole requests left, never above `limit`.
    pub remaining: u32,
    /// `X-RateLimit-Reset`: the epoch second, rounded up, at which the bucket is full again.
    pub reset: i64,
    /// `Retry-After` in seconds, rounded up; 0 when allowed.
    pub retry_after: u32,
}

impl Decision {
    /// The same decision, as one of a key's own limit.
    #[must_use]
    pub const fn of_key(self) -> Self {
        Self { of: LimitOf::Key, ..self }
    }

    /// `self` is the decision of a key's own limit, `project` the decision of its project's. Gives the decision that tells the
    /// caller more: a refusal, or else the decision that leaves fewer requests.
    #[must_use]
    pub const fn or_tighter(self, project: Self) -> Self {
        if project.allowed && self.remaining < project.remaining { self } else { project }
    }
}

impl Bucket {
    /// The bucket with one request more, which was taken from it.
    #[must_use]
    pub const fn with_one_back(self, quota: Quota) -> Self {
        Self {
            full_at: Timestamp::from_nanos(self.full_at.as_nanos().saturating_sub(quota.interval())),
            ..self
        }
    }
}

/// Takes one request from `bucket`. A refused request takes nothing.
pub fn take(bucket: Bucket, quota: Quota, now: Timestamp) -> (Bucket, Decision) {
    let (full_at, seen) = (bucket.full_at.as_nanos(), bucket.seen.as_nanos());
    let (now, full_at) = match seen.saturating_sub(now.as_nanos()) {
        // The clock was set back. Nobody knows how long ago the last request was: the bucket is full.
        back if back > UNORDERED => (now.as_nanos(), now.as_nanos()),
        back if back > 0 => (seen, full_at),
        _ => (now.as_nanos(), full_at),
    };
    let interval = quota.interval();
    let capacity = quota.capacity();
    // A bucket further ahead than a full drain is from a larger quota: without the bound such a project would be locked out
    // for that long.
    let start = full_at.clamp(now, now.saturating_add(capacity));
    let after = start.saturating_add(interval);
    let allowed = after - now <= capacity;
    let full_at = if allowed { after } else { start };
    let left = (capacity - (full_at - now)) / interval;
    let wait = if allowed { 0 } else { after - now - capacity };
    let decision = Decision {
        allowed,
        of: LimitOf::Project,
        limit: quota.per_minute,
        remaining: u32::try_from(left).unwrap_or(0).min(quota.per_minute),
        reset: full_at.saturating_add(999_999_999).div_euclid(1_000_000_000),
        retry_after: u32::try_from((wait + 999_999_999) / 1_000_000_000).unwrap_or(u32::MAX),
    };
    (Bucket { full_at: Timestamp::from_nanos(full_at), seen: Timestamp::from_nanos(now) }, decision)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_700_000_000_000_000_000;

    /// The same rule told another way: tokens that drip, counted in exact rationals (token-nanoseconds).
    struct TokenBucket {
        level: i128,
        at: i128,
    }

    impl TokenBucket {
        fn take(&mut self, interval: i128, burst: i128, now: i128) -> (bool, i128) {
            self.level = (self.level + (now - self.at)).min(burst * interval);
            self.at = now;
            let allowed = self.level >= interval;
            if allowed {
                self.level -= interval;
            }
            (allowed, self.level / interval)
        }
    }

    #[test]
    fn a_burst_passes_and_one_more_does_not() {
        let quota = Quota::of(100, 120);
        let mut bucket = Bucket::default();
        let now = Timestamp::from_nanos(START);
        for n in 0..120 {
            let (next, decision) = take(bucket, quota, now);
            assert!(decision.allowed, "request {n}");
            assert_eq!(decision.remaining, (119 - n).min(100));
            bucket = next;
        }
        let (next, refused) = take(bucket, quota, now);
        assert!(!refused.allowed);
        assert_eq!(next, bucket);
        assert_eq!((refused.limit, refused.remaining, refused.retry_after), (100, 0, 1));
        assert_eq!(refused.reset, START / 1_000_000_000 + 72);
        assert!(take(bucket, quota, Timestamp::from_nanos(START + 600_000_000)).1.allowed);
    }

    #[test]
    fn a_quota_is_an_interval_and_a_capacity() {
        let quota = Quota::new(60, 10).unwrap();
        assert_eq!((quota.per_minute(), quota.burst()), (60, 10));
        assert_eq!((quota.interval(), quota.capacity()), (1_000_000_000, 10_000_000_000));
        // Rounded up: seven of them are a minute or more.
        assert_eq!(Quota::of(7, 2).interval(), 8_571_428_572);
        assert_eq!(Quota::of(7, 2).capacity(), 17_142_857_144);
        for wrong in [0, MAX_PER_MINUTE + 1] {
            assert_eq!(Quota::new(wrong, 1), Err(InvalidQuota::PerMinute));
            assert_eq!(Quota::new(1, wrong), Err(InvalidQuota::Burst));
        }
        assert!(Quota::new(MAX_PER_MINUTE, MAX_PER_MINUTE).is_ok());
    }

    #[test]
    fn who_is_refused_is_told_the_second_in_which_it_passes() {
        let quota = Quota::of(1, 1);
        let (taken, _) = take(Bucket::default(), quota, Timestamp::from_nanos(START));
        for (waited, retry_after) in
            [(1, 60), (1_000_000_000, 59), (1_000_000_001, 59), (59_000_000_000, 1), (MINUTE - 1, 1)]
        {
            let (left, refused) = take(taken, quota, Timestamp::from_nanos(START + waited));
            let told = (refused.allowed, refused.retry_after, left.full_at);
            assert_eq!(told, (false, retry_after, taken.full_at), "{waited}");
            assert_eq!(refused.reset, START / 1_000_000_000 + 60);
        }
        assert!(take(taken, quota, Timestamp::from_nanos(START + MINUTE)).1.allowed);
    }

    #[test]
    fn of_two_limits_the_tighter_one_is_told() {
        let of_project = |allowed, remaining| Decision {
            allowed,
            of: LimitOf::Project,
            limit: 60,
            remaining,
            reset: 7,
            retry_after: u32::from(!allowed),
        };
        let key = of_project(true, 3).of_key();
        assert_eq!(key, Decision { of: LimitOf::Key, ..of_project(true, 3) });
        for (project, of) in [
            (of_project(true, 4), LimitOf::Key),
            (of_project(true, 3), LimitOf::Project),
            (of_project(true, 2), LimitOf::Project),
            (of_project(false, 0), LimitOf::Project),
            (of_project(false, 4), LimitOf::Project),
        ] {
            let told = key.or_tighter(project);
            assert_eq!(told, if of == LimitOf::Key { key } else { project });
        }
        assert_eq!(
            [LimitOf::Project, LimitOf::Key].map(LimitOf::cause),
            ["rate_limited", "key_rate_limited"]
        );
    }

    #[test]
    fn a_smaller_quota_does_not_lock_a_project_out() {
        let now = Timestamp::from_nanos(START);
        let bucket = Bucket { full_at: Timestamp::from_nanos(START + 60 * MINUTE), seen: now };
        assert_eq!(take(bucket, Quota::of(60, 10), now).1.retry_after, 1);
    }

    proptest! {
        #[test]
        fn gcra_is_a_token_bucket(
            per_minute in 1u32..5_000,
            burst in 1u32..300,
            steps in prop::collection::vec(0i64..2_000_000_000, 1..400),
        ) {
            let quota = Quota::new(per_minute, burst).unwrap();
            let interval = i128::from(quota.interval());
            let mut now = START;
            let mut model = TokenBucket { level: i128::from(burst) * interval, at: i128::from(now) };
            let mut bucket = Bucket::default();
            for step in steps {
                now += step / i64::from(per_minute.max(10) / 10);
                let (next, decision) = take(bucket, quota, Timestamp::from_nanos(now));
                let (allowed, left) = model.take(interval, i128::from(burst), i128::from(now));
                prop_assert_eq!(decision.allowed, allowed);
                prop_assert_eq!(i128::from(decision.remaining), left.min(i128::from(per_minute)));
                prop_assert!(decision.reset * 1_000_000_000 >= next.full_at.as_nanos());
                prop_assert_eq!(decision.retry_after == 0, allowed);
                bucket = next;
            }
        }
    }
}
