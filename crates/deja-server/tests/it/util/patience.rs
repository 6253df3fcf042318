//! Waiting for what comes by itself.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything may take on a slow machine; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The longest pause between two looks. The first ones are short.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until `holds`.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    assert!(within(PATIENCE, || holds().then_some(())).is_some(), "not after {PATIENCE:?}: {what}");
}

/// Waits so long for something; `None` if it does not come.
pub(crate) fn within<T>(patience: Duration, mut get: impl FnMut() -> Option<T>) -> Option<T> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        let got = get();
        if got.is_some() || began.elapsed() >= patience {
            return got;
        }
        sleep(pause);
        pause = (2 * pause).min(PAUSE);
    }
}
