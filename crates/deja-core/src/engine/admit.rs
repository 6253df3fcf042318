//! Admission: the key, its project's limit, the project it is for; in this order. Refused requests are counted.

use std::sync::Arc;
use std::time::Instant;

use crate::analytics::Surface;
use crate::api_key::KeyHash;
use crate::engine::count::Ended;
use crate::engine::{Engine, LookedAhead, NotAllowed};
use crate::project::Project;
use crate::rate_limit::Decision;
use crate::store::{Admission, Door, LookUp, StoreError};

/// A request that may go on.
#[derive(Debug)]
pub struct Admitted {
    /// The key and its project.
    pub caller: Admission,
    /// The decision of the rate limiter.
    pub limit: Decision,
    /// What the admission looked up, if it did.
    pub looked: Option<LookedAhead>,
}

/// Why a request may not go on.
#[derive(Debug)]
pub enum NotAdmitted {
    /// No key, or one that was revoked.
    UnknownKey,
    /// A key whose time is over.
    ExpiredKey,
    /// Over the limit of the key or of its project.
    RateLimited(Decision),
    /// The project is suspended, or another one than the request names.
    Forbidden(NotAllowed, Decision),
    /// Nobody can tell now.
    Store(StoreError),
}

impl Engine {
    /// The project that the bearer of a key will likely be admitted to, by which a look-up during admission is prepared. `None`
    /// if such a look-up saves nothing, if the key was not admitted lately, or if the project called `slug` is another one.
    pub fn guess(&self, key: &KeyHash, slug: Option<&str>) -> Option<Arc<Project>> {
        self.admitted_projects.get(key).filter(|project| open(project, slug).is_ok())
    }

    /// Admits the bearer of a key to the project of the key, which has to be the one called `slug` if that is given. The
    /// request has the name `request` and came through `surface`. `wanted` is looked up meanwhile, if that saves a round trip.
    pub async fn admit(
        &self,
        key: &KeyHash,
        slug: Option<&str>,
        surface: Surface,
        request: Option<&str>,
        wanted: Option<LookUp>,
    ) -> Result<Admitted, NotAdmitted> {
        let (began, at) = (Instant::now(), self.parts.clock.now());
        let store = &self.parts.store;
        let (door, looked) = match (store.looks_ahead(), wanted) {
            (Some(ahead), Some(wanted)) => {
                let admitted = ahead.admit_and_look_up(key, &wanted, at).await;
                let (door, found) = admitted.map_err(NotAdmitted::Store)?;
                (door, Some(LookedAhead { wanted, found, at, began, took: began.elapsed() }))
            }
            _ => (store.admit_within_limit(key, at).await.map_err(NotAdmitted::Store)?, None),
        };
        let let_in = self.let_in(door, slug, surface, request);
        self.admitted_projects.learn(key, let_in.as_ref().ok().map(|(caller, _)| &caller.project));
        let (caller, limit) = let_in?;
        Ok(Admitted { caller, limit, looked })
    }

    /// The caller, if the store's answer lets the request in.
    fn let_in(
        &self,
        door: Door,
        slug: Option<&str>,
        surface: Surface,
        request: Option<&str>,
    ) -> Result<(Admission, Decision), NotAdmitted> {
        let (caller, limit) = match door {
            Door::Unknown => return Err(NotAdmitted::UnknownKey),
            Door::Expired => return Err(NotAdmitted::ExpiredKey),
            Door::Open(caller, limit) => (caller, limit),
        };
        let project = &caller.project;
        if !limit.allowed {
            self.count(&caller, surface, request, Ended::RateLimited(limit.of));
            return Err(NotAdmitted::RateLimited(limit));
        }
        if let Err(why) = open(project, slug) {
            self.count(&caller, surface, request, Ended::Refused(why.refused_for(), why.code()));
            return Err(NotAdmitted::Forbidden(why, limit));
        }
        Ok((caller, limit))
    }

    /// Admits somebody at the console, who asks without a key, within the limit of the project; `None` if they are over it.
    pub async fn admit_from_console(
        &self,
        project: Arc<Project>,
        request: Option<&str>,
    ) -> Result<Option<Admission>, StoreError> {
        let caller = Admission::of_console(project);
        let project = &caller.project;
        let limit = self.parts.store.take(project.id, project.quota(), self.parts.clock.now()).await?;
        if !limit.allowed {
            self.count(&caller, Surface::Query, request, Ended::RateLimited(limit.of));
            return Ok(None);
        }
        Ok(Some(caller))
    }

    /// Admits feedback as [`admit`](Self::admit) does requests. Feedback asks for no answer: it takes from a bucket of its own, as
    /// large as that of requests, and counts as a request of its key only.
    pub async fn admit_feedback(&self, key: &KeyHash, slug: Option<&str>) -> Result<Admitted, NotAdmitted> {
        let store = &self.parts.store;
        let caller =
            store.key_by_hash(key).await.map_err(NotAdmitted::Store)?.ok_or(NotAdmitted::UnknownKey)?;
        let (project, now) = (&caller.project, self.parts.clock.now());
        if caller.key.has_expired(now) {
            return Err(NotAdmitted::ExpiredKey);
        }
        self.count_other(&caller);
        let limit =
            store.take_feedback(project.id, project.quota(), now).await.map_err(NotAdmitted::Store)?;
        if !limit.allowed {
            return Err(NotAdmitted::RateLimited(limit));
        }
        if let Err(why) = open(project, slug) {
            return Err(NotAdmitted::Forbidden(why, limit));
        }
        Ok(Admitted { caller, limit, looked: None })
    }
}

/// Refuses a project that is suspended, or another one than that called `slug`, if that is given.
fn open(project: &Project, slug: Option<&str>) -> Result<(), NotAllowed> {
    match slug {
        Some(slug) if slug != project.slug.as_str() => Err(NotAllowed::OtherProject),
        _ if project.suspended => Err(NotAllowed::Suspended),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::tests::mine;

    #[test]
    fn a_project_is_open_to_its_own_name_and_to_none_while_it_serves() {
        let serves = mine();
        let suspended = Project { suspended: true, ..serves.clone() };
        for (project, slug, said) in [
            (&serves, None, Ok(())),
            (&serves, Some("mine"), Ok(())),
            (&serves, Some("other"), Err(NotAllowed::OtherProject)),
            (&serves, Some(""), Err(NotAllowed::OtherProject)),
            (&suspended, None, Err(NotAllowed::Suspended)),
            (&suspended, Some("mine"), Err(NotAllowed::Suspended)),
            // Nobody learns of another's project whether it is suspended.
            (&suspended, Some("other"), Err(NotAllowed::OtherProject)),
        ] {
            assert_eq!(open(project, slug), said, "{slug:?}");
        }
    }
}
