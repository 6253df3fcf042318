//! The port to taking entries out whole, to put them into another store.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use bytes::Bytes;

use crate::cache::{Entry, Kind, Parameters, PromptHash};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding};
use crate::id::{EntryId, ProjectId};
use crate::store::StoreError;

/// Bytes of prompts, contexts, parameters, answers and their records after which a page of an export ends.
pub const PAGE_BYTES: usize = 4 << 20;

/// A place in a project's entries, by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryCursor {
    /// When the last entry seen was stored.
    pub created: Timestamp,
    /// Its identity, where several were stored at once.
    pub id: EntryId,
}

impl EntryCursor {
    /// Before all entries.
    pub const OLDEST: Self =
        Self { created: Timestamp::from_nanos(i64::MIN), id: EntryId::from_bytes([0; 16]) };
}

/// An entry with all that another store needs to serve it.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeEntry {
    /// The entry, with the record of its answer.
    pub entry: Entry,
    /// The hash that it is found by.
    pub prompt_hash: PromptHash,
    /// The kind of request that it answers.
    pub kind: Kind,
    /// Its context: the instructions of its frame.
    pub context: Option<String>,
    /// The parameters of its frame.
    pub parameters: Parameters,
    /// Its vectors, by the name of their embedder: `None` if the prompt was too long for that one.
    pub vectors: Vec<(EmbedderId, Option<Embedding>)>,
}

impl WholeEntry {
    /// Its bytes, as far as they count for a page.
    pub fn bytes(&self) -> usize {
        let Entry { prompt, answer, .. } = &self.entry;
        let scope = self.context.as_ref().map_or(0, String::len)
            + self.parameters.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        scope + prompt.len() + answer.text.len() + answer.record.as_ref().map_or(0, Bytes::len)
    }

    /// Its place in the order of an export.
    pub fn cursor(&self) -> EntryCursor {
        EntryCursor { created: self.entry.created, id: self.entry.id }
    }
}

/// Taking entries out.
#[async_trait]
pub trait Export: Send + Sync {
    /// Entries of the project that are live at `now`, oldest first (equal ones by id), those behind `after` if it
    /// is given. At most `limit`, and fewer where they are long, so that a page is a few megabytes; an empty page
    /// is the end. Whatever is written meanwhile, an entry that is there all the time comes exactly once.
    async fn export(
        &self,
        project: ProjectId,
        after: Option<EntryCursor>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<WholeEntry>, StoreError>;
}
