//! Looking up ahead: where a look-up is a round trip, what a request asks for is looked up while it is admitted.
//!
//! What to look up depends on the key's project, and only the admission tells that. So it is worked out from the project
//! as it was when the key was last let in. That is a guess. It decides how fast an answer is found, and not which: what
//! was found counts if the project as it is admitted asks for the very same scope and prompt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::api_key::KeyHash;
use crate::clock::Timestamp;
use crate::project::Project;
use crate::store::{Found, LookUp};

/// Keys whose projects are remembered: some MB.
const REMEMBERED: u64 = 4096;

/// The result of a look-up made during admission.
#[derive(Debug)]
pub struct LookedAhead {
    pub(super) wanted: LookUp,
    pub(super) found: Found,
    /// When it was made: entries may expire since.
    pub(super) at: Timestamp,
    pub(super) began: Instant,
    /// How long it took, the admission included: both are one statement.
    pub(super) took: Duration,
}

/// The projects of keys, each as it was when the key was last let in.
pub(super) struct AdmittedProjects(Option<Cache<KeyHash, Arc<Project>>>);

impl AdmittedProjects {
    /// None are kept where nothing is looked up ahead.
    pub(super) fn new(looks_ahead: bool) -> Self {
        Self(looks_ahead.then(|| Cache::new(REMEMBERED)))
    }

    pub(super) fn get(&self, key: &KeyHash) -> Option<Arc<Project>> {
        self.0.as_ref()?.get(key)
    }

    /// Remembers the project that a key was admitted to. A key that was not admitted is forgotten: nothing is read for a stranger.
    pub(super) fn learn(&self, key: &KeyHash, project: Option<&Arc<Project>>) {
        let Some(projects) = &self.0 else { return };
        match project {
            // Mostly it is the same, and to read costs less than to write.
            Some(project) if projects.get(key).as_ref() == Some(project) => {}
            Some(project) => projects.insert(*key, Arc::clone(project)),
            None => projects.invalidate(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::tests::mine;

    #[test]
    fn so_many_keys_are_remembered_and_no_more() {
        let (admitted, project) = (AdmittedProjects::new(true), Arc::new(mine()));
        for number in 0..3 * REMEMBERED {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&number.to_be_bytes());
            admitted.learn(&KeyHash(hash), Some(&project));
        }
        let projects = admitted.0.as_ref().unwrap();
        projects.run_pending_tasks();
        assert_eq!(projects.entry_count(), REMEMBERED);
    }

    #[test]
    fn the_latest_is_remembered_and_nothing_where_nothing_is_looked_up_ahead() {
        let (one, key) = (mine(), KeyHash([7; 32]));
        let other = Project { suspended: true, ..one.clone() };
        for (looks_ahead, learned) in [(true, [&one, &other, &one]), (false, [&one; 3])] {
            let admitted = AdmittedProjects::new(looks_ahead);
            for project in learned {
                admitted.learn(&key, Some(&Arc::new(project.clone())));
                assert_eq!(admitted.get(&key).as_deref(), looks_ahead.then_some(project));
            }
            admitted.learn(&key, None);
            assert_eq!(admitted.get(&key), None);
        }
    }
}
