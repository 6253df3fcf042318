//! Projects, keys, entries and vectors for the cases.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::cache::{
    Answer, Candidate, Entry, Frame, Inserted, Kind, NewEntry, Parameters, PromptHash, Scope,
};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Threshold};
use crate::id::{EntryId, OperatorId, ProjectId};
use crate::operator::{Operator, Role};
use crate::project::Project;
use crate::rate_limit::Decision;
use crate::store::{Admission, Door, Probe, Store};
use crate::testing::{self, change};

pub(super) use crate::testing::bytes;

/// When the cases play.
pub(super) const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

/// As many as there are.
pub(super) const MANY: NonZeroUsize = NonZeroUsize::MAX;

/// `seconds` after [`NOW`].
pub(super) fn later(seconds: i64) -> Timestamp {
    Timestamp::from_secs(NOW.as_secs() + seconds)
}

pub(super) fn project_id(number: u32) -> ProjectId {
    ProjectId::from_bytes(bytes(number))
}

pub(super) fn entry_id(number: u32) -> EntryId {
    EntryId::from_bytes(bytes(number))
}

/// A project called `p<number>`.
pub(super) fn project(number: u32) -> Project {
    testing::project(project_id(number), &format!("p{number}"), NOW)
}

/// Stores [`project`].
pub(super) async fn with_project(store: &dyn Store, number: u32) -> ProjectId {
    store.create_project(&project(number), &change()).await.unwrap();
    project_id(number)
}

/// Has a project keep so many entries at most.
pub(super) async fn keep_at_most(store: &dyn Store, id: ProjectId, most: u64) {
    let projects = store.projects().await.unwrap();
    let mut project = projects.into_iter().find(|project| project.id == id).unwrap();
    project.settings.max_entries = most;
    assert!(store.update_project(&project, &change()).await.unwrap());
}

/// Stores [`project`], which keeps so many entries at most.
pub(super) async fn with_project_of_at_most(store: &dyn Store, number: u32, most: u64) -> ProjectId {
    let id = with_project(store, number).await;
    keep_at_most(store, id, most).await;
    id
}

/// The id of [`operator`].
pub(super) fn operator_id(number: u32) -> OperatorId {
    OperatorId::from_bytes(bytes(number))
}

/// An owner of deja.
pub(super) fn operator(number: u32) -> Operator {
    testing::operator(number, Role::Owner, NOW)
}

/// Stores [`operator`].
pub(super) async fn with_operator(store: &dyn Store, number: u32) -> Operator {
    let operator = operator(number);
    store.create_operator(&operator, &change()).await.unwrap();
    operator
}

/// An active key.
pub(super) fn key(number: u32, project: ProjectId) -> ApiKey {
    testing::key(number, project, later(i64::from(number)))
}

/// What a key that works finds.
#[track_caller]
pub(super) fn opened(door: Door) -> (Admission, Decision) {
    let opened = if let Door::Open(admission, decision) = door { Some((admission, decision)) } else { None };
    opened.unwrap()
}

pub(super) fn embedder(name: &str) -> EmbedderId {
    EmbedderId::new(name)
}

/// A vector in the plane, `degrees` from the first axis.
pub(super) fn at_angle(degrees: f32) -> Embedding {
    let (sin, cos) = degrees.to_radians().sin_cos();
    Embedding::new(vec![cos, sin]).unwrap()
}

/// The scope of a project, model `m` and no context.
pub(super) fn scope(project: ProjectId) -> Scope {
    Scope::new(project, Frame::query(Some("m"), None))
}

/// A record: bytes, whatever they are.
pub(super) const RECORD: &[u8] = b"{\n  \"choices\": [],\t\"x\": \"\xC3\xA4\0\"\n}\n";

/// A scope of chats.
pub(super) fn chat(project: ProjectId) -> Scope {
    let parameters =
        Parameters::from([("temperature".into(), "0.70".into()), ("user".into(), "\"\\u0000\"".into())]);
    Scope::new(project, Frame::of_wire(Kind::Chat, "m", Some("be brief"), parameters))
}

/// An entry of a wire format: it has a record, and is found by what is not the hash of its prompt.
pub(super) fn recorded(number: u32, scope: &Scope, prompt: &str) -> NewEntry {
    let mut new = entry(number, scope, prompt);
    new.prompt_hash = request(prompt);
    new.entry.answer.record = Some(RECORD.into());
    new.vectors.retain(|_| !scope.frame().is_exact());
    new
}

/// What [`recorded`] is found by.
pub(super) fn request(prompt: &str) -> PromptHash {
    PromptHash::of(&format!("a request with {prompt}"))
}

/// An entry that never expires, with the vector at 0 degrees of the embedder `e`.
pub(super) fn entry(number: u32, scope: &Scope, prompt: &str) -> NewEntry {
    let mut entry = testing::entry(entry_id(number), prompt, NOW);
    scope.frame().model().unwrap_or("shared").clone_into(&mut entry.model);
    entry.answer = Answer {
        text: format!("answer {number} \0 to {prompt} \u{1F98A}"),
        served_model: Some("m-2023-11-06".to_owned()),
        input_tokens: 11,
        output_tokens: u64::from(number),
        tokens_estimated: number % 2 == 1,
        ..entry.answer
    };
    NewEntry { vectors: vec![(embedder("e"), at_angle(0.0))], ..testing::new_entry(scope.clone(), entry) }
}

/// `new` with another vector.
pub(super) fn turned(mut new: NewEntry, degrees: f32) -> NewEntry {
    new.vectors = vec![(embedder("e"), at_angle(degrees))];
    new
}

/// Stores an entry that is new.
pub(super) async fn put(store: &dyn Store, new: NewEntry) -> Arc<Entry> {
    let entry = Arc::new(new.entry.clone());
    let inserted = store.insert(new).await.unwrap();
    assert!(matches!(inserted, Inserted::New), "the entry is new");
    entry
}

/// What is found from `degrees` by the embedder `e`.
pub(super) async fn near(
    store: &dyn Store,
    scope: &Scope,
    degrees: f32,
    threshold: f64,
    now: Timestamp,
) -> Vec<Candidate> {
    near_by(store, scope, "e", &at_angle(degrees), threshold, 10, now).await
}

/// What is found by any probe.
pub(super) async fn near_by(
    store: &dyn Store,
    scope: &Scope,
    by: &str,
    embedding: &Embedding,
    threshold: f64,
    limit: usize,
    now: Timestamp,
) -> Vec<Candidate> {
    let embedder = embedder(by);
    let probe = Probe {
        embedder: &embedder,
        embedding,
        prompt: PromptHash::of("a prompt of nobody's"),
        threshold: Threshold::new(threshold).unwrap(),
        limit: NonZeroUsize::new(limit).unwrap(),
    };
    store.nearest(scope, probe, now).await.unwrap()
}

/// The identities of candidates, in their order.
pub(super) fn ids(candidates: &[Candidate]) -> Vec<EntryId> {
    candidates.iter().map(|candidate| candidate.entry.id).collect()
}

/// The entry for exactly `prompt`.
pub(super) async fn exactly(
    store: &dyn Store,
    scope: &Scope,
    prompt: &str,
    now: Timestamp,
) -> Option<Arc<Entry>> {
    store.exact(scope, &PromptHash::of(prompt), now).await.unwrap()
}

/// Asserts that an entry is found, or not, both ways.
pub(super) async fn assert_found(
    store: &dyn Store,
    scope: &Scope,
    prompt: &str,
    now: Timestamp,
    found: bool,
) {
    let exact = exactly(store, scope, prompt, now).await;
    assert_eq!(exact.is_some(), found, "exact: {prompt}");
    let candidates = near(store, scope, 0.0, 0.0, now).await;
    let near = candidates.iter().any(|candidate| candidate.entry.prompt == prompt);
    assert_eq!(near, found, "nearest: {prompt}");
}
