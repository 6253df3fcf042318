//! The port to taking entries out whole, to put them into another store.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::cache::Entry;
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding};
use crate::id::ProjectId;
use crate::store::{EntryCursor, StoreError};

/// Bytes of prompts and answers after which a page of an export ends.
pub const PAGE_BYTES: usize = 4 << 20;

/// An entry with all that another store needs to serve it.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeEntry {
    /// The entry.
    pub entry: Entry,
    /// Its context.
    pub context: Option<String>,
    /// Its vectors, by the name of their embedder: `None` if the prompt was too long for that one.
    pub vectors: Vec<(EmbedderId, Option<Embedding>)>,
}

impl WholeEntry {
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
