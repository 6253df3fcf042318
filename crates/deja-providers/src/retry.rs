//! When a call is made again, and after which wait.
//!
//! The policy of the providers' own SDKs: 0.5 s doubling to 8 s plus jitter, or the wait that the
//! provider asks for. Never again: a quota that is used up, and a call that timed out or broke off after it was sent,
//! since the provider may have done and billed the work. A wait that does not fit into the deadline is
//! not waited for: the caller gets the error at once and can say "try again later" itself.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::http::HttpSettings;

const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Calls `attempt` until it succeeds, may not be repeated, or the deadline is near. `attempt` gets the time it
/// has. The whole takes no longer than the total deadline, because `attempt` keeps to its time.
pub(crate) async fn run<T, F, Fut>(settings: &HttpSettings, mut attempt: F) -> Result<T, Failure>
where
    F: FnMut(Duration) -> Fut,
    Fut: Future<Output = Result<T, Failure>>,
{
    let deadline = Instant::now() + settings.total_deadline;
    let waits = ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_max_times(settings.max_attempts.max(1) - 1)
        .with_jitter();
    let call = || attempt(deadline.saturating_duration_since(Instant::now()).min(settings.attempt_timeout));
    call.retry(waits)
        .when(|failure| failure.again)
        .adjust(|failure, wait| {
            let wait = wait.map(|wait| failure.error.retry_after.unwrap_or(wait))?;
            (Instant::now() + wait < deadline).then_some(wait)
        })
        .notify(|failure, wait| {
            let (provider, code) = (&failure.error.provider, failure.error.class.code());
            tracing::debug!(provider, code, wait_ms = wait.as_millis() as u64, "the call is made again");
        })
        .await
}
