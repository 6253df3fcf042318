//! Places for calls to providers: so many for all projects together, and so many for each of them, so that one project
//! cannot keep the others waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::id::ProjectId;

/// Calls to providers at the same time, at most.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Of all projects.
    pub all: usize,
    /// Of one project.
    pub each: usize,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_project: HashMap<ProjectId, usize>,
}

/// The places and who has them.
pub(super) struct Slots {
    limits: CallLimits,
    taken: Mutex<Taken>,
}

impl Slots {
    pub(super) fn new(limits: CallLimits) -> Self {
        Self { limits, taken: Mutex::default() }
    }

    /// A place for a call of `project`; `None` if it has its share, or all are taken.
    pub(super) fn take(self: &Arc<Self>, project: ProjectId) -> Option<Slot> {
        let mut taken = self.lock();
        let own = taken.by_project.get(&project).copied().unwrap_or(0);
        if own >= self.limits.each || taken.all >= self.limits.all {
            return None;
        }
        taken.by_project.insert(project, own + 1);
        taken.all += 1;
        Some(Slot { slots: Arc::clone(self), project })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // The counts are whole after every statement under the lock.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place, until it is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    project: ProjectId,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all -= 1;
        if let Some(own) = taken.by_project.get_mut(&self.project) {
            *own -= 1;
            if *own == 0 {
                taken.by_project.remove(&self.project);
            }
        }
    }
}
