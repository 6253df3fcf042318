//! A project, its scope and its entries, for the tests of this backend's own parts.

use deja_core::cache::{Frame, NewEntry, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::project::Project;
use deja_core::testing;
use rusqlite::Connection;

pub(super) const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

pub(super) fn project() -> Project {
    testing::project(ProjectId::from_bytes([1; 16]), "p", NOW)
}

pub(super) fn scope() -> Scope {
    Scope::new(project().id, Frame::query(Some("m"), None))
}

pub(super) fn embedder() -> EmbedderId {
    EmbedderId::new("e")
}

pub(super) fn id(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

/// The hash of the prompt of entry `number`.
pub(super) fn hash(number: u8) -> PromptHash {
    PromptHash::of(&number.to_string())
}

/// The direction of entry `number`.
pub(super) fn vector(number: u8) -> Embedding {
    let values: Vec<f32> = (0..64).map(|at| if at == number { 1.0 } else { 0.0 }).collect();
    Embedding::new(values).unwrap()
}

pub(super) fn entry(number: u8) -> NewEntry {
    let entry = testing::entry(id(number), &number.to_string(), NOW);
    NewEntry { vectors: vec![(embedder(), vector(number))], ..testing::new_entry(scope(), entry) }
}

/// A query of some thousands of steps.
pub(super) fn count_to_a_thousand(connection: &Connection) -> rusqlite::Result<()> {
    let sql =
        "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 1000) SELECT count(*) FROM n";
    connection.query_row(sql, [], |_| Ok(()))
}
