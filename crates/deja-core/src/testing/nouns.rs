//! The nouns as most tests want them. A test that wants another value sets it, so that a new field is written here only.

use crate::analytics::{ContextKey, Outcome, Surface};
use crate::api_key::{ApiKey, KeyHash};
use crate::audit::{Actor, Change};
use crate::cache::{Answer, Entry, LabelSource, Met, NewEntry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, KeyId, OperatorId, ProjectId, ProviderId};
use crate::money::NanoUsd;
use crate::operator::{Operator, PasswordHash, Role};
use crate::project::{Project, ProjectSettings, Tier};
use crate::provider::{ProviderConfig, ProviderKind};
use crate::quality::{Band, NewSample, SampleId};
use crate::request_log::LoggedRequest;
use crate::store::NewLabel;

/// An identity made of a number, ordered as the number.
pub fn bytes(number: u32) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// A project as they begin.
#[expect(clippy::unwrap_used, reason = "a test knows what a slug is")]
pub fn project(id: ProjectId, slug: &str, created: Timestamp) -> Project {
    Project {
        id,
        slug: slug.parse().unwrap(),
        name: slug.to_owned(),
        tier: Tier::Free,
        custom_quota: None,
        suspended: false,
        settings: ProjectSettings::default(),
        created,
        purges: 0,
    }
}

/// An operator who has a password.
#[expect(clippy::unwrap_used, reason = "a test knows what an address is")]
pub fn operator(number: u32, role: Role, created: Timestamp) -> Operator {
    Operator {
        id: OperatorId::from_bytes(bytes(number)),
        email: format!("o{number}@example.com").parse().unwrap(),
        role,
        password: PasswordHash::from_phc("$argon2id$hash"),
        created,
        disabled: None,
    }
}

/// A key for all models, without a limit of its own, that never expires.
pub fn key(number: u32, project: ProjectId, created: Timestamp) -> ApiKey {
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(&bytes(number));
    ApiKey {
        id: KeyId::from_bytes(bytes(number)),
        project,
        name: format!("key {number}"),
        shown: format!("dj_{number:04}"),
        hash: KeyHash(hash),
        models: None,
        quota: None,
        expires: None,
        created,
        revoked: None,
    }
}

/// A project's own provider, of the model `local`, without a secret.
pub fn provider(number: u32, project: ProjectId, created: Timestamp) -> ProviderConfig {
    ProviderConfig {
        id: ProviderId::from_bytes(bytes(number)),
        project,
        name: "own".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: "https://llm.example/v1".to_owned(),
        models: vec!["local".to_owned()],
        sealed_secret: None,
        allow_private: true,
        created,
    }
}

/// An entry of the model `m` that never expires.
pub fn entry(id: EntryId, prompt: &str, created: Timestamp) -> Entry {
    let answer = Answer {
        text: "answer".to_owned(),
        provider: "openai".to_owned(),
        served_model: None,
        input_tokens: 1,
        output_tokens: 1,
        tokens_estimated: false,
        record: None,
    };
    Entry { id, prompt: prompt.to_owned(), model: "m".to_owned(), answer, created, expires: None }
}

/// An entry on its way into a store, without a vector. It is stored when it was made.
pub fn new_entry(scope: Scope, entry: Entry) -> NewEntry {
    let prompt_hash = PromptHash::of(&entry.prompt);
    let now = entry.created;
    NewEntry { scope, prompt_hash, entry, vectors: Vec::new(), now, replaces: false, purges: None }
}

/// A sample of a prompt that the entry answered.
#[expect(clippy::unwrap_used, reason = "a test knows what is similar enough for a sample")]
pub fn sample(
    number: i64,
    project: ProjectId,
    entry: EntryId,
    asked: &str,
    similarity: Similarity,
    at: Timestamp,
) -> NewSample {
    NewSample {
        project,
        id: SampleId::new(number),
        at,
        expires: None,
        asked: asked.to_owned(),
        entry,
        similarity,
        band: Band::of(similarity).unwrap(),
        met: Met::Served,
        reason: None,
        score: None,
    }
}

/// A line of the log: a miss of the model `m`, and nothing more of it.
pub fn logged(project: ProjectId, at: Timestamp) -> LoggedRequest {
    LoggedRequest {
        project,
        at,
        request: None,
        key: KeyId::from_bytes(bytes(1)),
        surface: Surface::Query,
        model: "m".into(),
        context: ContextKey::WITHOUT,
        asked: None,
        text: None,
        outcome: Outcome::Miss,
        cause: None,
        joined: false,
        met: None,
        latency: None,
        saved: NanoUsd::ZERO,
    }
}

/// Somebody at the console says that the entry answered `asked` wrongly.
pub fn wrong(entry: EntryId, asked: &str) -> NewLabel<'_> {
    NewLabel {
        entry,
        asked,
        vector: None,
        similarity: Similarity::ONE,
        met: Met::Served,
        answers: false,
        source: LabelSource::Console,
        note: None,
    }
}

/// A change that a test makes at the epoch.
pub fn change() -> Change {
    change_at(Timestamp::default())
}

/// A change that a test makes.
pub fn change_at(at: Timestamp) -> Change {
    Change::new(at, Actor::System, "test")
}
