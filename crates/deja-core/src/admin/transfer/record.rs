//! What a line of an export holds. A member that is added later has a default here; one that changes its meaning
//! needs another format number.

use serde::{Deserialize, Serialize};

use super::Cursor;
use crate::admin::Hidden;
use crate::cache::{Kind, Parameters};
use crate::embedding::Similarity;
use crate::project::{ProjectSettings, Tier};
use crate::provider::ProviderKind;
use crate::quality::{Band, SampleId, SamplePlace};

/// One line of an export: a project, a provider, a key, an entry or a sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// A project with its limits and settings.
    Project(Box<ProjectRecord>),
    /// A provider of a project's own.
    Provider(ProviderRecord),
    /// A key's hash.
    Key(KeyRecord),
    /// A stored answer.
    Entry(Box<EntryRecord>),
    /// A sample of a query, behind the entries.
    Sample(SampleRecord),
}

impl Record {
    /// The slug of the project that it is, or belongs to.
    pub fn project(&self) -> &str {
        match self {
            Self::Project(record) => &record.project,
            Self::Provider(record) => &record.project,
            Self::Key(record) => &record.project,
            Self::Entry(record) => &record.project,
            Self::Sample(record) => &record.project,
        }
    }

    /// Its place, if it is an entry.
    pub fn cursor(&self) -> Option<Cursor> {
        match self {
            Self::Entry(record) => Some(Cursor { created: record.created, id: record.id.clone() }),
            _ => None,
        }
    }

    /// Its place, if it is a sample.
    pub fn place(&self) -> Option<SamplePlace> {
        let Self::Sample(record) = self else { return None };
        let band = Band::of(Similarity::from_cosine(record.similarity))?;
        Some(SamplePlace { band, id: SampleId::new(record.id) })
    }
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectRecord {
    /// The slug.
    pub project: String,
    /// The identity.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Limits of its own; both or none.
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    pub burst: Option<u32>,
    /// Whether its requests are refused.
    pub suspended: bool,
    /// The settings of its cache.
    pub settings: ProjectSettings,
    /// When it was made.
    pub created: jiff::Timestamp,
}

/// A provider of a project's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProviderRecord {
    /// The slug of the project.
    pub project: String,
    /// The identity.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The format that it speaks.
    #[serde(default)]
    pub kind: ProviderKind,
    /// Its base URL: deja puts the path of the kind behind it.
    pub base_url: String,
    /// The models it answers.
    pub models: Vec<String>,
    /// Whether it may stand in a private network.
    pub allow_private: bool,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// Whether it had a secret, which has to be given again.
    pub has_secret: bool,
    /// The secret as it is sealed, in base64: between two stores with one master key only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
}

/// A key, as far as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The slug of the project.
    pub project: String,
    /// The identity.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The first characters, for listings.
    pub shown: String,
    /// SHA-256 of the key, in hexadecimal.
    pub hash: Hidden,
    /// The models it may ask for; `None` means all.
    pub models: Option<Vec<String>>,
    /// Its own limit; both or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// From when on it is refused; `None` is until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// When it was revoked; `None` while it is active.
    pub revoked: Option<jiff::Timestamp>,
}

/// A stored answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntryRecord {
    /// The slug of the project.
    pub project: String,
    /// The identity.
    pub id: String,
    /// The model that was asked for.
    pub model: String,
    /// The kind of request that it answers.
    #[serde(default, skip_serializing_if = "is_query")]
    pub kind: Kind,
    /// `None` is not the same as the empty text.
    #[serde(default)]
    pub context: Option<String>,
    /// The parameters of the request that the answer depends on.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// The prompt.
    pub prompt: String,
    /// The hash that it is found by, in hexadecimal; `None` is the SHA-256 of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The answer of the provider.
    pub answer: AnswerRecord,
    /// When it was made.
    pub created: jiff::Timestamp,
    /// When it is served no more; `None` is until it is evicted.
    #[serde(default)]
    pub expires: Option<jiff::Timestamp>,
    /// The vector of the prompt; `None` if it was too long for one.
    #[serde(default)]
    pub vector: Option<VectorRecord>,
    /// Its vectors of other embedders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_vectors: Vec<VectorRecord>,
}

/// The answer of the provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The visible text.
    pub text: String,
    /// The provider's name.
    pub provider: String,
    /// The model that really answered, if the provider said.
    #[serde(default)]
    pub served_model: Option<String>,
    /// Tokens of the question.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Whether the tokens are an estimate.
    #[serde(default)]
    pub tokens_estimated: bool,
    /// The whole answer in its wire format, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_query(kind: &Kind) -> bool {
    *kind == Kind::Query
}

/// A prompt's vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VectorRecord {
    /// The name of the embedder that made it.
    pub embedder: String,
    /// The components at half precision, little-endian, in base64.
    pub f16: String,
}

/// A sample of a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleRecord {
    /// The slug of the project.
    pub project: String,
    /// Its number.
    pub id: i64,
    /// When it was asked.
    pub at: jiff::Timestamp,
    /// When it ends; `None` is with its entry.
    #[serde(default)]
    pub expires: Option<jiff::Timestamp>,
    /// The prompt that was asked.
    pub asked: String,
    /// The identity of the entry that came nearest.
    pub entry: String,
    /// The cosine similarity of the two prompts, 0 to 1.
    pub similarity: f32,
    /// What became of it: `served`, `refused` or `near_miss`.
    pub met: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The guard's score, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}
