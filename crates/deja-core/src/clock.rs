//! Time as an argument, so that tests can set it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds since the Unix epoch, UTC. Good until the year 2262.
///
/// Nanoseconds, because the rate limiter divides a minute by the number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The timestamp `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The timestamp `seconds` seconds after the epoch.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since the epoch, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// This moment plus `span`; stops at the end of the representable range.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// This moment less `span`; stops at the end of the representable range.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to this moment; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The moments from one up to another; open where an end is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first moment.
    pub from: Option<Timestamp>,
    /// The first moment behind it.
    pub until: Option<Timestamp>,
}

impl TimeRange {
    /// Whether the moment lies in it.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Whether no moment lies in it: it does not end after it begins.
    pub fn is_empty(self) -> bool {
        self.from.zip(self.until).is_some_and(|(from, until)| until <= from)
    }
}

/// The nanoseconds of a span; stops at the largest number.
pub fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// A moment beyond the range is the end of the range.
impl From<jiff::Timestamp> for Timestamp {
    fn from(at: jiff::Timestamp) -> Self {
        let nanos = at.as_nanosecond().clamp(i64::MIN.into(), i64::MAX.into());
        Self(i64::try_from(nanos).unwrap_or_default())
    }
}

/// All of the range lies inside jiff's.
impl From<Timestamp> for jiff::Timestamp {
    fn from(at: Timestamp) -> Self {
        Self::from_nanosecond(i128::from(at.0)).unwrap_or_default()
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now, by the wall clock.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(nanos(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_before_its_second_end() {
        let at = |nanos| Some(Timestamp::from_nanos(nanos));
        let inside = |from, until| {
            let range = TimeRange { from, until };
            let inside: String = (1..=4)
                .filter(|nanos| range.contains(Timestamp::from_nanos(*nanos)))
                .map(|n| n.to_string())
                .collect();
            assert!(inside.is_empty() || !range.is_empty(), "{range:?}");
            inside
        };
        assert_eq!(
            [inside(at(2), at(4)), inside(at(2), None), inside(None, at(3)), inside(None, None)],
            ["23", "234", "12", "1234"]
        );
        for (from, until, is_empty) in [(2, 2, true), (3, 2, true), (2, 3, false)] {
            assert_eq!(TimeRange { from: at(from), until: at(until) }.is_empty(), is_empty);
        }
    }

    #[test]
    fn a_moment_beyond_the_range_is_its_end() {
        for (text, nanos) in [
            ("1970-01-01T00:00:01Z", 1_000_000_000),
            ("9000-01-01T00:00:00Z", i64::MAX),
            ("0001-01-01T00:00:00Z", i64::MIN),
        ] {
            assert_eq!(Timestamp::from(text.parse::<jiff::Timestamp>().unwrap()).as_nanos(), nanos, "{text}");
        }
    }

    #[test]
    fn every_moment_has_its_day() {
        for (nanos, day) in [(i64::MIN, "1677-09-21"), (0, "1970-01-01"), (i64::MAX, "2262-04-11")] {
            let told = jiff::Timestamp::from(Timestamp::from_nanos(nanos)).to_string();
            assert!(told.starts_with(day), "{nanos}: {told}");
        }
    }
}
