//! A clock that stands still until it is told to move.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, Timestamp};

/// Time by command.
#[derive(Debug)]
pub struct ManualClock {
    nanos: AtomicI64,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub const fn at(now: Timestamp) -> Self {
        Self { nanos: AtomicI64::new(now.as_nanos()) }
    }

    /// Sets the clock, backwards too.
    pub fn set(&self, now: Timestamp) {
        self.nanos.store(now.as_nanos(), Ordering::SeqCst);
    }

    /// Moves the clock on.
    pub fn advance(&self, span: Duration) {
        self.set(self.now().plus(span));
    }
}

impl Default for ManualClock {
    /// 14 November 2023, 22:13:20 UTC.
    fn default() -> Self {
        Self::at(Timestamp::from_secs(1_700_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.nanos.load(Ordering::SeqCst))
    }
}
