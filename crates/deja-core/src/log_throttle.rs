//! Lines of the log that would come with each request while something is down.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const PAUSE: Duration = Duration::from_secs(5);

/// A line of the log that is written once in five seconds at most.
pub struct LogThrottle(Mutex<(Option<Instant>, u64)>);

impl LogThrottle {
    /// A line that was not written yet.
    #[expect(clippy::new_without_default, reason = "each is a static")]
    pub const fn new() -> Self {
        Self(Mutex::new((None, 0)))
    }

    /// For how many events the line is to be written, this one and those since the last line; `None` while it waits.
    pub fn turn(&self) -> Option<u64> {
        self.turn_at(Instant::now())
    }

    fn turn_at(&self, now: Instant) -> Option<u64> {
        let (last, held) = &mut *self.0.lock();
        *held += 1;
        if last.is_some_and(|last| now.duration_since(last) < PAUSE) {
            return None;
        }
        *last = Some(now);
        Some(std::mem::take(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_for_those_that_were_held_back() {
        let (line, begin) = (LogThrottle::new(), Instant::now());
        let turns =
            [0, 1, 4999, 5000, 5001, 20_000].map(|ms| line.turn_at(begin + Duration::from_millis(ms)));
        assert_eq!(turns, [Some(1), None, None, Some(3), None, Some(2)]);
    }
}
