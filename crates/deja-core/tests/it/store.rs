//! The reference store, made to fail and to wait where a test says so.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use deja_core::access_token::AccessToken;
use deja_core::analytics::{ContextKey, Dimension, Rollup, Slice, Step, Totals, UsageBatch};
use deja_core::api_key::{ApiKey, KeyHash, KeyUsage};
use deja_core::audit::{AuditFilter, AuditRow, Change};
use deja_core::cache::{
    Answered, Candidate, Entry, EntryDetail, Inserted, Label, Labelled, NewEntry, PairHash, PromptHash,
    Scope, ShortLabel, WrongAnswer,
};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, KeyId, OperatorId, ProjectId};
use deja_core::member::{Member, Rank};
use deja_core::money::NanoUsd;
use deja_core::operator::{Email, Invite, Operator, PasswordHash, Session, TokenHash};
use deja_core::project::Project;
use deja_core::provider::ProviderConfig;
use deja_core::quality::{NewSample, Sample, SamplePlace};
use deja_core::rate_limit::{Decision, Quota};
use deja_core::request_log::{LogFilter, LogRow, LoggedRequest, Logging};
use deja_core::second_factor::SecondFactor;
use deja_core::store::{
    AccessTokens, Admission, Audit, Browse, Claims, Cursor, Door, Entries, EntryCursor, EntryFilter,
    EntryOrder, EntryPlace, Export, Found, Invites, Keys, Labels, Limits, LogOrder, LookUp, LooksAhead,
    Members, NewLabel, Operators, Opinions, Probe, Projects, ProviderConfigs, Quarantined, Questions,
    RequestLog, Samples, SecondFactors, Sessions, StaleCount, StaleEntry, Store, StoreError, Usage, Vectors,
    WholeEntry, WrongAnswers,
};
use deja_core::testing::MemoryStore;
use tokio::sync::Semaphore;

/// A store that can be told to misbehave.
#[derive(Default)]
pub struct OddStore {
    inner: MemoryStore,
    /// Every `insert` fails while this is set.
    pub fail_insert: AtomicBool,
    /// Every `record` fails while this is set.
    pub fail_record: AtomicBool,
    /// Every `record` fails for good while this is set.
    pub refuse_record: AtomicBool,
    /// Every `record` is done and says that it failed while this is set: its answer is lost.
    pub lose_record: AtomicBool,
    /// Other processes use it too.
    pub shared: AtomicBool,
    /// Every `keep_answered` fails while this is set.
    pub fail_answered: AtomicBool,
    /// Every `keep_answered` fails for good while this is set.
    pub refuse_answered: AtomicBool,
    /// The next `keep_answered` waits for a permit before it does anything.
    pub hold_answered: Mutex<Option<Arc<Semaphore>>>,
    /// What `record` was given.
    pub recorded: Mutex<Vec<UsageBatch>>,
    /// Every request is over the limit while this is set.
    pub over_limit: AtomicBool,
    /// Every look-up fails while this is set.
    pub fail_search: AtomicBool,
    /// The next `nearest` waits for a permit after it looked.
    pub hold_nearest: Mutex<Option<Arc<Semaphore>>>,
    /// Noting that a session or a token was used fails while this is set.
    pub fail_touch: AtomicBool,
    /// Counting what passes a filter takes too long.
    pub fail_count: AtomicBool,
    /// Lists of the audit log do not end in time.
    pub fail_changes: AtomicBool,
    /// How often `exact` was asked.
    pub exact_calls: AtomicUsize,
    /// How often `nearest` was asked.
    pub nearest_calls: AtomicUsize,
    /// Every second `nearest` says this, however often it was asked: entries that come and go.
    pub flicker: Mutex<Option<Candidate>>,
}

fn down() -> StoreError {
    StoreError::Unavailable("the disk is gone".into())
}

fn refused() -> StoreError {
    StoreError::Internal("bigint out of range".into())
}

impl OddStore {
    /// Why this call fails, if it does.
    fn failure(&self, call: &str) -> Option<StoreError> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        match call {
            "exact" | "whole" | "is_forbidden" => is_set(&self.fail_search).then(down),
            "insert" => is_set(&self.fail_insert).then(down),
            "record" if is_set(&self.fail_record) => Some(down()),
            "record" => is_set(&self.refuse_record).then(refused),
            "keep_answered" if is_set(&self.fail_answered) => Some(down()),
            "keep_answered" => is_set(&self.refuse_answered).then(refused),
            "count_matching" => is_set(&self.fail_count).then_some(StoreError::SearchTimeout),
            "changes" => is_set(&self.fail_changes).then_some(StoreError::SearchTimeout),
            touch if touch.starts_with("touch_") => is_set(&self.fail_touch).then(down),
            _ => None,
        }
    }
}

/// A port whose calls the inner store answers unless they fail, and those that are written out.
macro_rules! forward {
    ($port:ident: $(fn $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+ $({ $($own:tt)* })?) => {
        #[async_trait]
        impl $port for OddStore {
            $(async fn $name(&self, $($argument: $kind),*) -> Result<$answer, StoreError> {
                match self.failure(stringify!($name)) {
                    Some(error) => Err(error),
                    None => self.inner.$name($($argument),*).await,
                }
            })+
            $($($own)*)?
        }
    };
}

forward! { Entries:
    fn whole(project: ProjectId, entry: EntryId) -> Option<Arc<Entry>>;
    fn insert(new: NewEntry) -> Inserted;
    fn count(project: ProjectId) -> u64;
    fn count_by_project() -> BTreeMap<ProjectId, u64>;
    fn delete(project: ProjectId, entry: EntryId, change: &Change) -> bool;
    fn purge(project: ProjectId, filter: &EntryFilter, change: &Change) -> u64;
    fn sweep(now: Timestamp, limit: NonZeroUsize) -> u64;
    {
        async fn exact(
            &self,
            scope: &Scope,
            prompt: &PromptHash,
            now: Timestamp,
        ) -> Result<Option<Arc<Entry>>, StoreError> {
            self.exact_calls.fetch_add(1, Ordering::SeqCst);
            match self.failure("exact") {
                Some(error) => Err(error),
                None => self.inner.exact(scope, prompt, now).await,
            }
        }

        async fn nearest(
            &self,
            scope: &Scope,
            probe: Probe<'_>,
            now: Timestamp,
        ) -> Result<Vec<Candidate>, StoreError> {
            let call = self.nearest_calls.fetch_add(1, Ordering::SeqCst);
            let found = self.inner.nearest(scope, probe, now).await;
            let hold = self.hold_nearest.lock().unwrap().take();
            if let Some(gate) = hold {
                drop(gate.acquire().await.unwrap());
            }
            match self.flicker.lock().unwrap().clone() {
                Some(candidate) if call % 2 == 1 => Ok(vec![candidate]),
                _ => found,
            }
        }
    }
}
forward! { Limits:
    fn take_of_key(project: ProjectId, key: KeyId, quota: Quota, now: Timestamp) -> Decision;
    fn give_back_to_key(project: ProjectId, key: KeyId, quota: Quota) -> ();
    fn take_feedback(project: ProjectId, quota: Quota, now: Timestamp) -> Decision;
    {
        async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
            let decision = self.inner.take(project, quota, now).await?;
            let allowed = decision.allowed && !self.over_limit.load(Ordering::SeqCst);
            Ok(Decision { allowed, ..decision })
        }
    }
}
forward! { Usage:
    fn totals(from: i64, until: i64) -> BTreeMap<ProjectId, Totals>;
    fn usage_series(project: ProjectId, slice: &Slice, step: Step, periods: Range<i64>) -> BTreeMap<i64, Rollup>;
    fn usage_by(project: ProjectId, slice: &Slice, by: Dimension, step: Step, periods: Range<i64>, limit: NonZeroUsize) -> Vec<(Slice, Totals)>;
    fn top_entries(project: ProjectId, filter: &EntryFilter, since: Timestamp, limit: NonZeroUsize) -> Vec<EntryDetail>;
    fn context_labels(project: ProjectId, contexts: &[ContextKey]) -> BTreeMap<ContextKey, String>;
    fn sweep_usage(now: Timestamp, limit: NonZeroUsize) -> u64;
    {
        async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
            if let Some(error) = self.failure("record") {
                return Err(error);
            }
            self.recorded.lock().unwrap().push(batch.clone());
            self.inner.record(batch).await?;
            if self.lose_record.load(Ordering::SeqCst) { Err(down()) } else { Ok(()) }
        }
    }
}
forward! { Vectors:
    fn stale_count(project: Option<ProjectId>, embedder: &EmbedderId, now: Timestamp) -> StaleCount;
    fn claim_stale(embedder: &EmbedderId, after: Option<EntryPlace>, now: Timestamp, until: Timestamp, limit: NonZeroUsize) -> Vec<StaleEntry>;
    fn set_aside(project: ProjectId, entry: EntryId, embedder: &EmbedderId, until: Timestamp) -> bool;
    fn put_vector(project: ProjectId, entry: EntryId, embedder: &EmbedderId, vector: Option<&Embedding>) -> bool;
}
forward! { Projects:
    fn create_project(project: &Project, change: &Change) -> ();
    fn project(slug: &str) -> Option<Project>;
    fn projects() -> Vec<Project>;
    fn update_project(project: &Project, change: &Change) -> bool;
    fn delete_project(project: ProjectId, change: &Change) -> bool;
}
forward! { Keys:
    fn create_key(key: &ApiKey, change: &Change) -> ();
    fn key_by_hash(hash: &KeyHash) -> Option<Admission>;
    fn keys(project: ProjectId) -> Vec<(ApiKey, KeyUsage)>;
    fn find_keys(text: &str) -> Vec<ApiKey>;
    fn revoke_key(project: ProjectId, key: KeyId, change: &Change) -> bool;
}
forward! { ProviderConfigs:
    fn add_provider(provider: &ProviderConfig, change: &Change) -> ();
    fn update_provider(provider: &ProviderConfig, change: &Change) -> bool;
    fn providers(project: ProjectId) -> Vec<ProviderConfig>;
    fn provider_of(project: ProjectId, model: &str) -> Option<ProviderConfig>;
    fn remove_provider(project: ProjectId, name: &str, change: &Change) -> bool;
    fn key_check() -> Option<Vec<u8>>;
    fn set_key_check(sealed: &[u8]) -> ();
}
forward! { Browse:
    fn browse(project: ProjectId, filter: &EntryFilter, order: EntryOrder, after: Option<Cursor<EntryId>>, limit: NonZeroUsize) -> Vec<EntryDetail>;
    fn similar(project: ProjectId, filter: &EntryFilter, embedder: &EmbedderId, embedding: &Embedding, limit: NonZeroUsize) -> Vec<(EntryDetail, Similarity)>;
    fn entry(project: ProjectId, entry: EntryId) -> Option<EntryDetail>;
    fn count_matching(project: ProjectId, filter: &EntryFilter) -> u64;
    fn contexts_of(project: ProjectId, among: NonZeroUsize, limit: NonZeroUsize) -> Vec<(Option<String>, u64)>;
    fn models_of(project: ProjectId, among: NonZeroUsize, limit: NonZeroUsize) -> Vec<(String, u64)>;
}
forward! { Export:
    fn export(project: ProjectId, after: Option<EntryCursor>, now: Timestamp, limit: NonZeroUsize) -> Vec<WholeEntry>;
}
forward! { Labels:
    fn label(project: ProjectId, label: NewLabel<'_>, change: &Change) -> Option<Labelled>;
    fn labels(project: ProjectId, since: Timestamp, limit: NonZeroUsize) -> Vec<Label>;
    fn short_labels(project: ProjectId, limit: NonZeroUsize) -> Vec<ShortLabel>;
    fn answered(project: ProjectId, request: &str) -> Option<Answered>;
    fn sweep_labels(now: Timestamp, newest: NonZeroUsize, limit: NonZeroUsize) -> u64;
    {
        async fn keep_answered(&self, answered: &[Answered]) -> Result<(), StoreError> {
            let hold = self.hold_answered.lock().unwrap().take();
            if let Some(gate) = hold {
                drop(gate.acquire().await.unwrap());
            }
            match self.failure("keep_answered") {
                Some(error) => Err(error),
                None => self.inner.keep_answered(answered).await,
            }
        }
    }
}
forward! { WrongAnswers:
    fn is_forbidden(project: ProjectId, probe: Probe<'_>, matched: &PromptHash, similarity: Similarity) -> bool;
    fn wrong_answers(project: ProjectId, before: Option<u64>, limit: NonZeroUsize) -> Vec<WrongAnswer>;
    fn allow(project: ProjectId, number: u64, change: &Change) -> bool;
    fn quarantine(project: ProjectId, limit: NonZeroUsize) -> Vec<Quarantined>;
    fn quarantined(project: ProjectId, entry: EntryId) -> Option<Timestamp>;
    fn end_quarantine(project: ProjectId, entry: EntryId, change: &Change) -> bool;
}
forward! { Samples:
    fn keep_samples(samples: &[NewSample], now: Timestamp) -> ();
    fn samples(project: ProjectId, after: Option<SamplePlace>, now: Timestamp, limit: NonZeroUsize) -> Vec<Sample>;
    fn sample(project: ProjectId, place: SamplePlace, now: Timestamp) -> Option<Sample>;
    fn sample_places(project: ProjectId, now: Timestamp) -> Vec<SamplePlace>;
    fn samples_beyond(project: ProjectId, allowed: u64) -> u64;
    fn sweep_samples(now: Timestamp, limit: NonZeroUsize) -> u64;
}
forward! { RequestLog:
    fn log_requests(requests: &[LoggedRequest]) -> ();
    fn logged(project: ProjectId, filter: &LogFilter, order: LogOrder, after: Option<Cursor<u64>>, limit: NonZeroUsize) -> Vec<LogRow>;
    fn logged_request(project: ProjectId, number: u64) -> Option<LogRow>;
    fn logged_beyond(project: ProjectId, allowed: Logging, now: Timestamp) -> (u64, u64);
    fn sweep_logged(now: Timestamp, limit: NonZeroUsize) -> u64;
}
forward! { Opinions:
    fn opinions(project: ProjectId, pairs: &[PairHash]) -> Vec<Option<bool>>;
    fn keep_opinion(project: ProjectId, pair: &PairHash, said: Option<bool>, day: i64, cost: NanoUsd) -> ();
    fn questions(project: ProjectId, days: Range<i64>) -> Questions;
    fn sweep_opinions(day: i64, limit: NonZeroUsize) -> u64;
}
forward! { Operators:
    fn create_operator(operator: &Operator, change: &Change) -> ();
    fn operators() -> Vec<Operator>;
    fn operator(email: &Email) -> Option<Operator>;
    fn operator_by_id(id: OperatorId) -> Option<Operator>;
    fn update_operator(operator: &Operator, change: &Change) -> bool;
}
forward! { Invites:
    fn create_invite(invite: &Invite, change: &Change) -> ();
    fn invite(token: &TokenHash, now: Timestamp) -> Option<Invite>;
    fn invites(now: Timestamp) -> Vec<Invite>;
    fn accept_invite(token: &TokenHash, operator: &Operator, change: &Change) -> bool;
    fn revoke_invite(token: &TokenHash, change: &Change) -> bool;
}
forward! { Sessions:
    fn create_session(session: &Session, password: &PasswordHash, second_factor: bool, change: &Change) -> bool;
    fn session(token: &TokenHash, now: Timestamp) -> Option<(Session, Operator)>;
    fn touch_session(token: &TokenHash, now: Timestamp, expires: Timestamp) -> ();
    fn sessions(operator: OperatorId, now: Timestamp) -> Vec<Session>;
    fn end_session(operator: OperatorId, token: &TokenHash, change: &Change) -> bool;
    fn end_sessions(operator: OperatorId, keep: Option<&TokenHash>, change: &Change) -> u64;
    fn sweep_sessions(now: Timestamp) -> u64;
}
forward! { AccessTokens:
    fn create_access_token(token: &AccessToken, change: &Change) -> ();
    fn access_token(hash: &TokenHash) -> Option<(AccessToken, Operator)>;
    fn touch_access_token(hash: &TokenHash, now: Timestamp) -> ();
    fn access_tokens(operator: OperatorId) -> Vec<AccessToken>;
    fn revoke_access_token(operator: OperatorId, hash: &TokenHash, change: &Change) -> bool;
}
forward! { SecondFactors:
    fn second_factor(operator: OperatorId) -> Option<SecondFactor>;
    fn with_second_factor() -> Vec<OperatorId>;
    fn create_second_factor(operator: OperatorId, factor: &SecondFactor, keep: Option<&TokenHash>, change: &Change) -> ();
    fn remove_second_factor(operator: OperatorId, change: &Change) -> bool;
    fn use_code(operator: OperatorId, step: u64) -> bool;
    fn use_recovery_code(operator: OperatorId, code: &TokenHash, change: &Change) -> bool;
}
forward! { Members:
    fn rank(project: ProjectId, operator: OperatorId) -> Option<Rank>;
    fn ranks(operator: OperatorId) -> BTreeMap<ProjectId, Rank>;
    fn members(project: ProjectId) -> Vec<Member>;
    fn set_rank(project: ProjectId, operator: OperatorId, rank: Rank, change: &Change) -> bool;
    fn remove_rank(project: ProjectId, operator: OperatorId, change: &Change) -> bool;
}
forward! { Audit:
    fn note(change: &Change) -> ();
    fn changes(filter: &AuditFilter, before: Option<u64>, limit: NonZeroUsize) -> Vec<AuditRow>;
    fn sweep_changes(action: &str, before: Timestamp, newest: u64, limit: NonZeroUsize) -> u64;
}

#[async_trait]
impl LooksAhead for OddStore {
    async fn admit_and_look_up(
        &self,
        hash: &KeyHash,
        wanted: &LookUp,
        now: Timestamp,
    ) -> Result<(Door, Found), StoreError> {
        let (door, found) = self.inner.admit_and_look_up(hash, wanted, now).await?;
        Ok((door, if self.fail_search.load(Ordering::SeqCst) { Err(down()) } else { found }))
    }
}

#[async_trait]
impl Store for OddStore {
    async fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready().await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }

    fn looks_ahead(&self) -> Option<&dyn LooksAhead> {
        if self.shared.load(Ordering::SeqCst) { Some(self) } else { None }
    }

    fn claims(&self) -> Option<&dyn Claims> {
        self.shared.load(Ordering::SeqCst).then_some(&self.inner)
    }
}
