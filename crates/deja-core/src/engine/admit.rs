//! Admission: the key, its project's limit, the project it is for; in this order, and what is refused is counted.

use crate::api_key::KeyHash;
use crate::engine::Engine;
use crate::engine::count::Ended;
use crate::rate_limit::Decision;
use crate::store::{Admission, StoreError};

/// A request that may go on.
#[derive(Debug)]
pub struct Admitted {
    /// The key and its project.
    pub caller: Admission,
    /// What the limiter said.
    pub limit: Decision,
}

/// Why a request may not go on.
#[derive(Debug)]
pub enum NotAdmitted {
    /// No active key.
    UnknownKey,
    /// Over the project's limit.
    RateLimited(Decision),
    /// The project is suspended, or not the one that was named.
    Forbidden(Decision),
    /// Nobody can tell now.
    Store(StoreError),
}

impl Engine {
    /// Admits the bearer of a key, to the project called `slug` if one is named.
    pub async fn admit(&self, key: &KeyHash, slug: Option<&str>) -> Result<Admitted, NotAdmitted> {
        let admission = self.parts.store.admit_within_limit(key, self.parts.clock.now()).await;
        let admission = admission.map_err(NotAdmitted::Store)?;
        let (caller, limit) = admission.ok_or(NotAdmitted::UnknownKey)?;
        let project = &caller.project;
        if !limit.allowed {
            self.count(&caller, Ended::RateLimited);
            return Err(NotAdmitted::RateLimited(limit));
        }
        if project.suspended || slug.is_some_and(|slug| slug != project.slug.as_str()) {
            self.count(&caller, Ended::Refused);
            return Err(NotAdmitted::Forbidden(limit));
        }
        Ok(Admitted { caller, limit })
    }
}
