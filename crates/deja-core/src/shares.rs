//! What all projects have together, and how much of it is one project's at most: so no project keeps the others waiting. The same
//! holds for whatever else has shares.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::id::ProjectId;

/// Permits of something, such as bytes or calls: a number for all projects together, and a number for each.
#[derive(Debug)]
pub struct Shares<K = ProjectId> {
    most: usize,
    all: Arc<Semaphore>,
    each: usize,
    owners: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Shares<K> {
    /// `all` permits for all projects together, `each` for one project.
    pub fn new(all: usize, each: usize) -> Self {
        let [most, each] = [all, each].map(|permits| permits.min(Semaphore::MAX_PERMITS));
        Self { most, all: Arc::new(Semaphore::new(most)), each, owners: Mutex::default() }
    }

    /// `all` permits for all projects together. One project has half of them, or as many as `one` holder may take.
    pub fn halves(all: usize, one: usize) -> Self {
        Self::new(all, (all / 2).max(one))
    }

    /// The most permits of one project.
    pub const fn each(&self) -> usize {
        self.each
    }

    /// An empty holder, which takes from the share of a project.
    pub fn of(&self, project: K) -> Held {
        let mut owners = self.owners.lock();
        let own = owners.get(&project).and_then(Weak::upgrade).unwrap_or_else(|| {
            owners.retain(|_, own| own.strong_count() > 0);
            let own = Arc::new(Semaphore::new(self.each));
            owners.insert(project, Arc::downgrade(&own));
            own
        });
        self.beside(own)
    }

    /// An empty holder that belongs to no project.
    pub fn whole(&self) -> Held {
        self.beside(Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)))
    }

    /// One permit from the share of a project; `None` if the project has its share, or all are taken.
    pub fn one(&self, project: K) -> Option<Held> {
        let mut held = self.of(project);
        held.try_take(1).then_some(held)
    }

    /// How many permits are taken.
    pub fn taken(&self) -> usize {
        self.most - self.all.available_permits()
    }

    fn beside(&self, own: Arc<Semaphore>) -> Held {
        Held { own: Part::of(own), all: Part::of(Arc::clone(&self.all)) }
    }
}

/// The permits that somebody has, until it is dropped.
#[derive(Debug)]
pub struct Held {
    own: Part,
    all: Part,
}

impl Held {
    /// `bytes`, for which these permits are held until the last copy of them is dropped.
    pub fn around(self, bytes: impl Into<Bytes>) -> Bytes {
        Bytes::from_owner(Around { bytes: bytes.into(), _held: self })
    }

    /// Takes so many more permits, if they are free. Says whether they were.
    pub fn try_take(&mut self, permits: usize) -> bool {
        let Ok(permits) = u32::try_from(permits) else { return false };
        let semaphore = |part: &Part| Arc::clone(&part.of).try_acquire_many_owned(permits);
        let Ok(own) = semaphore(&self.own) else { return false };
        let Ok(all) = semaphore(&self.all) else { return false };
        self.own.add(own);
        self.all.add(all);
        true
    }

    /// Takes so many more, as soon as they are there. It waits for the share of the project first: meanwhile it keeps nothing from
    /// other projects. `false` if there are never so many.
    pub async fn take(&mut self, permits: usize) -> bool {
        let Ok(permits) = u32::try_from(permits) else { return false };
        for part in [&mut self.own, &mut self.all] {
            let Ok(more) = Arc::clone(&part.of).acquire_many_owned(permits).await else { return false };
            part.add(more);
        }
        true
    }
}

/// Bytes, and what is held for them.
struct Around {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Around {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Debug)]
struct Part {
    of: Arc<Semaphore>,
    permits: Option<OwnedSemaphorePermit>,
}

impl Part {
    const fn of(of: Arc<Semaphore>) -> Self {
        Self { of, permits: None }
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.permits {
            Some(held) => held.merge(more),
            None => self.permits = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn project(number: u8) -> ProjectId {
        ProjectId::from_bytes([number; 16])
    }

    #[test]
    fn each_project_has_one_share_as_long_as_somebody_holds_part_of_it() {
        let shares = Shares::new(9, 3);
        let mut held = shares.of(project(1));
        assert!(held.try_take(2));
        assert!(shares.of(project(2)).try_take(3), "another has its own");
        assert!(!shares.of(project(1)).try_take(2), "one is left of its share");
        assert!(held.try_take(1), "what was refused was not taken");
        drop(held);
        assert!(shares.of(project(1)).try_take(3));
        assert_eq!(shares.taken(), 0);
        shares.of(project(1));
        assert_eq!(shares.owners.lock().len(), 1, "those that nobody holds are forgotten");
    }

    #[test]
    fn all_projects_together_are_bounded_and_who_has_none_has_no_share() {
        let shares = Shares::halves(10, 6);
        let (mut one, mut other) = (shares.of(project(1)), shares.of(project(2)));
        assert!(one.try_take(6) && !one.try_take(1), "as many as one holder may take");
        assert!(!other.try_take(5), "four are left of all");
        assert!(other.try_take(1), "its share has lost nothing");
        assert!(shares.whole().try_take(3) && !shares.whole().try_take(4));
        assert_eq!(shares.taken(), 7);
        assert!(shares.one(project(2)).is_some());
    }

    #[tokio::test]
    async fn who_waits_for_a_share_has_it_as_soon_as_it_is_there() {
        let shares = Shares::new(3, 2);
        let (mut held, mut waiting) = (shares.of(project(1)), shares.of(project(1)));
        assert!(held.take(2).await);
        assert!(!waiting.take(usize::MAX).await, "there are never so many");
        let more = waiting.take(1);
        tokio::pin!(more);
        assert!(futures::poll!(&mut more).is_pending(), "the project has its share");
        drop(held);
        assert!(more.await);
        assert_eq!(shares.taken(), 1);
    }
}
