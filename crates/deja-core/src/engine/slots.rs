//! Places for calls to providers: so many for all projects together, and so many for each of them, so that one project
//! cannot keep the others waiting.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::id::ProjectId;
use crate::shares::Shares;

/// Calls to providers at the same time, at most.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Of all projects.
    pub all: usize,
    /// Of one project.
    pub each: usize,
}

/// The places and who has them.
pub(super) struct Slots {
    most: usize,
    all: Arc<Semaphore>,
    shares: Shares,
}

impl Slots {
    pub(super) fn new(limits: CallLimits) -> Self {
        let most = limits.all.min(Semaphore::MAX_PERMITS);
        Self { most, all: Arc::new(Semaphore::new(most)), shares: Shares::new(limits.each) }
    }

    /// A place for a call of `project`; `None` if it has its share, or all are taken.
    pub(super) fn take(&self, project: ProjectId) -> Option<Slot> {
        let own = self.shares.of(project).try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Slot { _own: own, _all: all })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.most - self.all.available_permits()
    }
}

/// A place, until it is dropped.
pub(super) struct Slot {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}
