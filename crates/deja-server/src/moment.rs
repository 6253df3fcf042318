//! Moments of deja as jiff knows them: all of them lie inside jiff's range.

use deja_core::clock::Timestamp;

/// To the nanosecond, for what is compared.
pub(crate) fn exact(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos())).unwrap_or_default()
}

/// To the second, for what people read.
pub(crate) fn whole(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(at.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_its_day() {
        for (nanos, day) in [(i64::MIN, "1677-09-21"), (0, "1970-01-01"), (i64::MAX, "2262-04-11")] {
            let at = Timestamp::from_nanos(nanos);
            for told in [exact(at), whole(at)] {
                assert!(told.to_string().starts_with(day), "{nanos}: {told}");
            }
        }
    }
}
