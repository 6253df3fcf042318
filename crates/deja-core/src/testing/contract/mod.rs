//! The contract of the store, case by case: what the doc lines of the ports promise.
//!
//! Every backend runs every case, by name, so that a backend cannot be right in its own way. A case gets an
//! empty store. It calls [`Subject::reopen`] where an answer must hold after a restart too.

mod access_tokens;
mod ahead;
mod audit;
mod batches;
mod browse;
mod claims;
mod counts;
mod entries;
mod export;
mod fixtures;
mod keys;
mod labels;
mod lifetime;
mod limits;
mod members;
mod nearest;
mod opinions;
mod people;
mod projects;
mod providers;
mod request_log;
mod rollups;
mod samples;
mod second_factors;
mod vectors;
mod wrong_answers;

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use crate::embedding::EmbedderId;
use crate::store::Store;

/// A future that owns all it needs.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Closes a store and opens it again, for an embedder.
pub type Reopen = Arc<dyn Fn(Arc<dyn Store>, EmbedderId) -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>;
/// The embedder for which the store is opened first.
pub const EMBEDDER: &str = "e";

/// One promise.
pub struct Case {
    /// The noun and what is promised, as `entries::purge_hides_from_nearest`.
    pub name: &'static str,
    /// Panics if the promise is broken.
    pub run: fn(Subject) -> BoxFuture<'static, ()>,
}

/// An empty store to try a case on.
pub struct Subject {
    store: Arc<dyn Store>,
    /// The stores that were opened before: replicas that run on.
    before: Vec<Arc<dyn Store>>,
    reopen: Option<Reopen>,
    restarts: bool,
    embedder: EmbedderId,
}

impl Deref for Subject {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl Subject {
    /// A store that serves any embedder and is never closed in the middle of a case.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let embedder = EmbedderId::new(EMBEDDER);
        Self { store, before: Vec::new(), reopen: None, restarts: false, embedder }
    }

    /// A store that is closed and opened again where a case searches by another embedder's vectors; and if it
    /// `restarts`, before a case reads what it wrote too.
    pub fn reopening(store: Arc<dyn Store>, reopen: Reopen, restarts: bool) -> Self {
        Self { reopen: Some(reopen), restarts, ..Self::new(store) }
    }

    /// The store, for a task of its own.
    fn shared(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Restarts the store, if this subject restarts.
    async fn reopen(&mut self) {
        if self.restarts {
            self.reopen_with(self.embedder.clone()).await;
        }
    }

    /// Makes it the store of a process with this embedder.
    async fn reopen_for(&mut self, name: &str) {
        let embedder = EmbedderId::new(name);
        if embedder != self.embedder {
            self.reopen_with(embedder).await;
        }
    }

    async fn reopen_with(&mut self, embedder: EmbedderId) {
        if let Some(reopen) = &self.reopen {
            let store = reopen(self.shared(), embedder.clone()).await;
            self.before.push(std::mem::replace(&mut self.store, store));
            self.embedder = embedder;
        }
    }
}

/// Cases of a store that several processes share.
pub fn cases_of_shared() -> Vec<Case> {
    [ahead::cases(), claims::cases(), vectors::cases_of_shared()].into_iter().flatten().collect()
}

/// Cases of every store.
pub fn cases() -> Vec<Case> {
    [
        projects::cases(),
        keys::cases(),
        entries::cases(),
        batches::cases(),
        lifetime::cases(),
        nearest::cases(),
        vectors::cases(),
        limits::cases(),
        counts::cases(),
        providers::cases(),
        rollups::cases(),
        samples::cases(),
        request_log::cases(),
        browse::cases(),
        labels::cases(),
        wrong_answers::cases(),
        opinions::cases(),
        people::cases(),
        access_tokens::cases(),
        second_factors::cases(),
        members::cases(),
        audit::cases(),
        export::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Lists the case functions of a file: one that is not listed is dead code, and the compiler says so.
macro_rules! register {
    ($noun:literal: $($case:ident),+ $(,)?) => {
        pub(super) fn cases() -> Vec<super::Case> {
            vec![$(super::Case {
                name: concat!($noun, "::", stringify!($case)),
                run: |store| Box::pin($case(store)),
            }),+]
        }
    };
}
use register;
