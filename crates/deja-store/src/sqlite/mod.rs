//! The SQLite backend.
//!
//! One thread writes ([`writer`]), a few connections read ([`readers`]), and what every request needs is in
//! memory ([`catalog`], [`index`], [`limits`]), so that a hit touches no file. Memory follows the database:
//! it changes after a commit and before the acknowledgement, and is rebuilt at start ([`open`]).

mod audit;
mod backup;
mod browse;
mod catalog;
mod entries;
mod export;
mod fault;
mod index;
mod keys;
mod limits;
mod lock;
mod migrations;
mod open;
mod operators;
mod projects;
mod providers;
mod readers;
mod rows;
mod sessions;
mod usage;
mod vectors;
mod writer;
mod wrong_answers;

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::cache::Entry;
use deja_core::embedding::EmbedderId;
use deja_core::store::{Store, StoreError};

pub(crate) use backup::backup;
use catalog::Catalog;
use fault::fault;
use index::{EmbedderNumber, Index, Row};
use limits::Buckets;
use readers::Readers;
use vectors::StaleClaims;
use writer::{Done, Writer};
use wrong_answers::Forbidden;

pub(crate) use open::schema;

/// What is kept in memory. Changed by the writer thread only, the caches and buckets apart.
struct Memory {
    catalog: Catalog,
    index: Index,
    buckets: Buckets,
    forbidden: Forbidden,
    /// Whose vectors the index holds.
    embedder: Option<(EmbedderId, EmbedderNumber)>,
    stale_claims: StaleClaims,
    /// Entries by row, bounded in bytes. A row's content never changes and its number is never given twice,
    /// so nothing here can be stale: whether an entry still exists is for the index to say.
    texts: moka::sync::Cache<Row, Arc<Entry>>,
}

/// The store.
pub(crate) struct SqliteStore {
    memory: Arc<Memory>,
    writer: Writer,
    readers: Readers,
    reader_count: usize,
}

#[async_trait]
impl Store for SqliteStore {
    async fn ready(&self) -> Result<(), StoreError> {
        self.readers.read(|connection| connection.query_row("SELECT 1", [], |_| Ok(()))).await?;
        // Turned over each time, so that a page is really written.
        let sql = "INSERT INTO facts (name, value) VALUES ('ready', x'00')
                   ON CONFLICT (name) DO UPDATE SET value = iif(value = x'00', x'01', x'00')";
        self.writer
            .write(|connection| connection.execute(sql, []).map(|_| Done::quiet(())).map_err(fault))
            .await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.readers.close(self.reader_count).await;
        self.writer.close().await;
        Ok(())
    }
}

/// About the bytes that an entry takes in memory.
fn weight(entry: &Entry) -> u32 {
    let texts =
        entry.prompt.len() + entry.answer.text.len() + entry.model.len() + entry.answer.provider.len();
    u32::try_from(texts + 256).unwrap_or(u32::MAX)
}
