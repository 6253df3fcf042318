//! What all projects have together, and how much of it is one project's at most: so no project keeps the others waiting.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::id::ProjectId;

/// The share that each project has of something, in permits.
#[derive(Debug)]
pub struct Shares {
    each: usize,
    by_project: Mutex<HashMap<ProjectId, Weak<Semaphore>>>,
}

impl Shares {
    /// Shares of so many permits each.
    pub fn new(each: usize) -> Self {
        Self { each: each.min(Semaphore::MAX_PERMITS), by_project: Mutex::default() }
    }

    /// The share of a project. It is there while somebody holds it or a permit of it.
    pub fn of(&self, project: ProjectId) -> Arc<Semaphore> {
        let mut by_project = self.by_project.lock();
        if let Some(own) = by_project.get(&project).and_then(Weak::upgrade) {
            return own;
        }
        by_project.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.each));
        by_project.insert(project, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_one_share_as_long_as_somebody_holds_part_of_it() {
        let shares = Shares::new(3);
        let [one, other] = [1, 2].map(|byte| ProjectId::from_bytes([byte; 16]));
        let held = shares.of(one).try_acquire_many_owned(2).unwrap();
        assert_eq!(shares.of(one).available_permits(), 1);
        assert_eq!(shares.of(other).available_permits(), 3);
        drop(held);
        assert_eq!(shares.of(one).available_permits(), 3);
        shares.of(one);
        assert_eq!(shares.by_project.lock().len(), 1, "those that nobody holds are forgotten");
    }
}
