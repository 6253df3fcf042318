//! Long work of a request, beside which other requests go on.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does `work` of a request. Where that is long, a millisecond and more, other requests go on meanwhile, on another thread.
pub fn block_in_place_if<T>(is_long: bool, work: impl FnOnce() -> T) -> T {
    let has_workers = |runtime: Handle| matches!(runtime.runtime_flavor(), RuntimeFlavor::MultiThread);
    if is_long && Handle::try_current().is_ok_and(has_workers) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
