//! Moving projects, keys and entries between stores, in pieces that are small enough for the admin socket: a page
//! goes out, a batch comes in. Each piece stands alone, so that what was interrupted can go on.

mod export;
mod import;
pub mod line;
mod record;
mod samples;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub(super) use export::entry;
pub use export::{entries, head};
pub use import::import;
pub use record::{
    AnswerRecord, EntryRecord, KeyRecord, ProjectRecord, ProviderRecord, Record, SampleRecord, VectorRecord,
};
pub use samples::samples;

use crate::clock::Timestamp;

/// What an export asks for before a project's entries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The project's slug.
    pub project: String,
    /// The project itself, with its own providers.
    pub settings: bool,
    /// Its keys: their hashes, so that the keys go on working.
    pub keys: bool,
    /// The secrets of its providers, as they are sealed. Never into a file.
    pub secrets: bool,
}

/// A place in a project's entries, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// When the last entry seen was stored.
    pub created: jiff::Timestamp,
    /// Its identity.
    pub id: String,
}

/// The records of one step of an import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Batch {
    /// In the order of an export: a project before what belongs to it.
    pub records: Vec<Record>,
    /// Whether to go on behind a record that cannot be taken.
    pub skip_bad: bool,
    /// Whether it is the first of its import: that is what the audit log tells of.
    pub first: bool,
    /// Where it may put more than answers.
    pub open: Open,
}

/// The projects that an import may put keys and providers into. With a key the author of a file would get the answers of a
/// project, with a provider its prompts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Open {
    /// The slugs of the projects that the import made itself, in earlier batches.
    pub made: BTreeSet<String>,
    /// Whether keys may come into any project.
    pub keys: bool,
    /// Whether providers may come into any project.
    pub providers: bool,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Imported {
    /// It is stored.
    Stored,
    /// It was there already, and stays as it was.
    There,
    /// It was there already, and is a provider that lacks the secret which it had where it comes from.
    WithoutSecret,
    /// It is an entry that is no longer served, or a sample that ended.
    Expired,
    /// It is a sample whose entry is not here, or one more than its project keeps.
    LeftOut,
    /// It cannot be taken.
    Bad(String),
}

fn timestamp(moment: jiff::Timestamp) -> Result<Timestamp, String> {
    let nanos = i64::try_from(moment.as_nanosecond());
    nanos.map(Timestamp::from_nanos).map_err(|_| format!("the time {moment} lies outside what deja can keep"))
}
