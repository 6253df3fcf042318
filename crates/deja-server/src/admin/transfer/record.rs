//! What a line of an export holds. A member that is added later has a default here; one that changes its meaning
//! needs another format number.

use deja_core::project::{ProjectSettings, Tier};
use deja_core::provider::ProviderKind;
use serde::{Deserialize, Serialize};

use super::Cursor;
use crate::admin::Hidden;

/// One thing that moves.
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
}

impl Record {
    /// The slug of the project that it is, or belongs to.
    pub fn project(&self) -> &str {
        match self {
            Self::Project(record) => &record.project,
            Self::Provider(record) => &record.project,
            Self::Key(record) => &record.project,
            Self::Entry(record) => &record.project,
        }
    }

    /// Its place, if it is an entry.
    pub fn cursor(&self) -> Option<Cursor> {
        match self {
            Self::Entry(record) => Some(Cursor { created: record.created, id: record.id.clone() }),
            _ => None,
        }
    }
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectRecord {
    /// The slug.
    pub project: String,
    pub id: String,
    pub name: String,
    pub tier: Tier,
    /// Limits of its own; both or none.
    pub requests_per_minute: Option<u32>,
    pub burst: Option<u32>,
    pub suspended: bool,
    pub settings: ProjectSettings,
    pub created: jiff::Timestamp,
}

/// A provider of a project's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProviderRecord {
    pub project: String,
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub kind: ProviderKind,
    pub base_url: String,
    pub models: Vec<String>,
    pub allow_private: bool,
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
    pub project: String,
    pub id: String,
    pub name: String,
    pub shown: String,
    /// SHA-256 of the key, in hexadecimal.
    pub hash: Hidden,
    /// The models it may ask for; `None` means all.
    pub models: Option<Vec<String>>,
    pub created: jiff::Timestamp,
    pub revoked: Option<jiff::Timestamp>,
}

/// A stored answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntryRecord {
    pub project: String,
    pub id: String,
    pub model: String,
    /// `None` is not the same as the empty text.
    #[serde(default)]
    pub context: Option<String>,
    pub prompt: String,
    pub answer: AnswerRecord,
    pub created: jiff::Timestamp,
    #[serde(default)]
    pub expires: Option<jiff::Timestamp>,
    #[serde(default)]
    pub vector: Option<VectorRecord>,
}

/// What the provider said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerRecord {
    pub text: String,
    pub provider: String,
    #[serde(default)]
    pub served_model: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub tokens_estimated: bool,
}

/// A prompt's vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VectorRecord {
    /// Who made it.
    pub embedder: String,
    /// The components at half precision, little-endian, in base64.
    pub f16: String,
}
