//! The reference model of the store: plain maps under one lock and a scan of everything.
//!
//! It is what the contract means. It is slow, and so short that it can be seen to be right.

mod access_tokens;
mod audit;
mod browse;
mod claims;
mod entries;
mod export;
mod keys;
mod labels;
mod members;
mod operators;
mod opinions;
mod providers;
mod request_log;
mod samples;
mod second_factors;
mod sessions;
mod usage;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::access_token::AccessToken;
use crate::analytics::{ContextKey, ContextLabel, Rollup, RollupKey};
use crate::api_key::{ApiKey, KeyUsage};
use crate::audit::Change;
use crate::cache::{Answered, Entry, Label, PairHash, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::EmbedderId;
use crate::id::{EntryId, KeyId, OperatorId, ProjectId, RecorderId};
use crate::member::Rank;
use crate::money::NanoUsd;
use crate::operator::{Invite, Operator, Session};
use crate::project::Project;
use crate::provider::ProviderConfig;
use crate::quality::{Band, NewSample, SampleId};
use crate::rate_limit::{Bucket, Decision, Quota, take};
use crate::request_log::LogRow;
use crate::second_factor::SecondFactor;
use crate::store::{
    Claims, EntryPlace, FlightKey, Limits, LooksAhead, Projects, Questions, Store, StoreError,
};

/// A store without a disk.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    /// Wakes who waits for a claim.
    released: Notify,
}

#[derive(Default)]
struct State {
    projects: BTreeMap<ProjectId, Project>,
    keys: Vec<(ApiKey, KeyUsage)>,
    entries: BTreeMap<(ProjectId, EntryId), Stored>,
    buckets: HashMap<ProjectId, Bucket>,
    key_buckets: HashMap<(ProjectId, KeyId), Bucket>,
    feedback_buckets: HashMap<ProjectId, Bucket>,
    rollups: BTreeMap<RollupKey, Rollup>,
    contexts: BTreeMap<(ProjectId, ContextKey), ContextLabel>,
    /// When the last batch of each was taken.
    recorders: HashMap<RecorderId, Timestamp>,
    providers: Vec<ProviderConfig>,
    key_check: Option<Vec<u8>>,
    /// Given out so far, to labels, wrong answers and logged requests.
    numbers: u64,
    labels: Vec<(ProjectId, Label)>,
    answered: BTreeMap<(ProjectId, String), Answered>,
    wrong: Vec<labels::Wrong>,
    quarantine: BTreeMap<(ProjectId, EntryId), Timestamp>,
    samples: BTreeMap<(ProjectId, Band, SampleId), NewSample>,
    /// By their numbers.
    logged: Vec<LogRow>,
    /// What was said of a pair, and the day.
    opinions: HashMap<(ProjectId, PairHash), (bool, i64)>,
    questions: BTreeMap<(ProjectId, i64), Questions>,
    /// Until when an entry is claimed for an embedder, and whether it was set aside.
    stale_claims: HashMap<(EmbedderId, EntryPlace), (Timestamp, bool)>,
    operators: Vec<Operator>,
    invites: Vec<Invite>,
    sessions: Vec<Session>,
    access_tokens: Vec<AccessToken>,
    second_factors: BTreeMap<OperatorId, SecondFactor>,
    members: BTreeMap<(ProjectId, OperatorId), Rank>,
    claims: HashMap<FlightKey, claims::Held>,
    changes: audit::Log,
}

struct Stored {
    scope: Scope,
    prompt_hash: PromptHash,
    entry: Arc<Entry>,
    /// The vectors at f16, by embedder: `None` for which the prompt was too long.
    vectors: BTreeMap<EmbedderId, Option<Vec<f32>>>,
    /// The last hit, or else the creation.
    last_used: Timestamp,
    hits: u64,
    saved: NanoUsd,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        state.forget_what_was_of_gone_entries();
        state
    }
}

impl State {
    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        self.operators.iter().find(|operator| operator.id == id)
    }

    /// Writes the row of a change that was done.
    fn note_if(&mut self, done: bool, change: &Change) -> bool {
        if done {
            self.changes.push(change.clone());
        }
        done
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn looks_ahead(&self) -> Option<&dyn LooksAhead> {
        Some(self)
    }

    fn claims(&self) -> Option<&dyn Claims> {
        Some(self)
    }
}

#[async_trait]
impl Projects for MemoryStore {
    async fn create_project(&self, project: &Project, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        let taken = state.projects.values().any(|other| other.slug == project.slug || other.id == project.id);
        if taken {
            return Err(StoreError::Conflict(format!("a project called '{}'", project.slug)));
        }
        state.projects.insert(project.id, project.clone());
        let maker = change.actor.operator().filter(|id| state.operator(*id).is_some());
        state.members.extend(maker.map(|maker| ((project.id, maker), Rank::Owner)));
        state.changes.push(change.clone());
        Ok(())
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.state().projects.values().find(|project| project.slug.as_str() == slug).cloned())
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut projects: Vec<Project> = self.state().projects.values().cloned().collect();
        projects.sort_by(|a, b| a.slug.cmp(&b.slug));
        Ok(projects)
    }

    async fn update_project(&self, project: &Project, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(stored) = state.projects.get_mut(&project.id) else { return Ok(false) };
        let (slug, created, purges) = (stored.slug.clone(), stored.created, stored.purges);
        *stored = Project { slug, created, purges, ..project.clone() };
        state.trim_samples();
        state.let_go_of_logged(project);
        Ok(state.note_if(true, change))
    }

    async fn delete_project(&self, project: ProjectId, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        state.keys.retain(|(key, _)| key.project != project);
        state.entries.retain(|(owner, _), _| *owner != project);
        state.claims.retain(|flight, _| flight.project != project);
        state.rollups.retain(|key, _| key.project != project);
        state.contexts.retain(|(owner, _), _| *owner != project);
        state.wrong.retain(|wrong| wrong.project != project);
        state.opinions.retain(|(owner, _), _| *owner != project);
        state.questions.retain(|(owner, _), _| *owner != project);
        state.logged.retain(|row| row.logged.project != project);
        state.providers.retain(|provider| provider.project != project);
        state.members.retain(|(owner, _), _| *owner != project);
        state.buckets.remove(&project);
        state.key_buckets.retain(|(owner, _), _| *owner != project);
        state.feedback_buckets.remove(&project);
        let found = state.projects.remove(&project).is_some();
        state.trim_samples();
        Ok(state.note_if(found, change))
    }
}

/// Takes from the bucket `of` a project or a key, if the project is there.
fn take_from<K: Eq + Hash>(
    buckets: &mut HashMap<K, Bucket>,
    of: K,
    is_there: bool,
    quota: Quota,
    now: Timestamp,
) -> Decision {
    let (left, decision) = take(buckets.get(&of).copied().unwrap_or_default(), quota, now);
    if is_there {
        buckets.insert(of, left);
    }
    decision
}

#[async_trait]
impl Limits for MemoryStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        let mut state = self.state();
        let is_there = state.projects.contains_key(&project);
        Ok(take_from(&mut state.buckets, project, is_there, quota, now))
    }

    async fn take_of_key(
        &self,
        project: ProjectId,
        key: KeyId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let mut state = self.state();
        let is_there = state.projects.contains_key(&project);
        Ok(take_from(&mut state.key_buckets, (project, key), is_there, quota, now))
    }

    async fn give_back_to_key(&self, project: ProjectId, key: KeyId, quota: Quota) -> Result<(), StoreError> {
        if let Some(bucket) = self.state().key_buckets.get_mut(&(project, key)) {
            *bucket = bucket.with_one_back(quota);
        }
        Ok(())
    }

    async fn take_feedback(
        &self,
        project: ProjectId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let mut state = self.state();
        let is_there = state.projects.contains_key(&project);
        Ok(take_from(&mut state.feedback_buckets, project, is_there, quota, now))
    }
}
