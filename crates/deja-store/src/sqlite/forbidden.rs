//! What must not answer what, in memory: a hit asks for it without a look at the database. The writer thread keeps it
//! as the tables are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deja_core::cache::PromptHash;
use deja_core::embedding::Similarity;
use deja_core::id::ProjectId;
use deja_core::store::Probe;
use parking_lot::RwLock;
use rusqlite::{Connection, params};

use super::EmbedderNumber;
use super::index::{Row, Vector};
use super::rows::unreadable;

/// Pairs of prompts by project, and the entries in quarantine.
#[derive(Default)]
pub(super) struct Forbidden {
    projects: RwLock<HashMap<ProjectId, Arc<Pairs>>>,
    quarantine: RwLock<HashSet<Row>>,
}

impl Forbidden {
    /// What the database holds, with vectors of the embedder `own`.
    pub(super) fn load(connection: &Connection, own: Option<EmbedderNumber>) -> rusqlite::Result<Self> {
        let forbidden = Self::default();
        let mut projects = connection.prepare("SELECT DISTINCT project_id FROM wrong_answers")?;
        for project in projects.query_map([], |row| row.get(0).map(ProjectId::from_bytes))? {
            let project = project?;
            forbidden.put(project, Pairs::read(connection, project, own)?);
        }
        let mut entries = connection.prepare("SELECT entry FROM quarantine")?;
        forbidden
            .quarantine
            .write()
            .extend(entries.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<Row>>>()?);
        Ok(forbidden)
    }

    /// The pairs of a project, if it has any.
    pub(super) fn of(&self, project: ProjectId) -> Option<Arc<Pairs>> {
        self.projects.read().get(&project).cloned()
    }

    pub(super) fn put(&self, project: ProjectId, pairs: Pairs) {
        self.projects.write().insert(project, Arc::new(pairs));
    }

    /// Whether an entry answers its own prompt only.
    pub(super) fn is_in_quarantine(&self, row: Row) -> bool {
        self.quarantine.read().contains(&row)
    }

    pub(super) fn quarantine(&self, row: Row) {
        self.quarantine.write().insert(row);
    }

    pub(super) fn release(&self, row: Row) {
        self.quarantine.write().remove(&row);
    }

    pub(super) fn forget(&self, project: ProjectId) {
        self.projects.write().remove(&project);
    }
}

/// The pairs of prompts of a project that must not answer each other.
#[derive(Default)]
pub(super) struct Pairs {
    /// The prompts whose entries must not answer a prompt.
    others: HashMap<PromptHash, HashSet<PromptHash>>,
    /// The vectors of the prompts that entries of a prompt must not answer.
    blocked: HashMap<PromptHash, Vec<Vector>>,
}

impl Pairs {
    /// What the database holds for a project, with vectors of the embedder `own`.
    pub(super) fn read(
        connection: &Connection,
        project: ProjectId,
        own: Option<EmbedderNumber>,
    ) -> rusqlite::Result<Self> {
        let mut pairs = Self::default();
        let mut select = connection.prepare_cached(
            "SELECT asked, matched, iif(embedder = ?2, vector, NULL) FROM wrong_answers WHERE project_id = ?1",
        )?;
        let mut rows = select.query(params![project.as_bytes(), own])?;
        while let Some(row) = rows.next()? {
            let asked = PromptHash::of(row.get_ref(0)?.as_str()?);
            let matched = PromptHash::of(row.get_ref(1)?.as_str()?);
            pairs.others.entry(asked).or_default().insert(matched);
            pairs.others.entry(matched).or_default().insert(asked);
            if let Some(bytes) = row.get_ref(2)?.as_blob_or_null()? {
                let vector = Vector::from_bytes(bytes).ok_or_else(|| unreadable(2, "not a vector"))?;
                pairs.blocked.entry(matched).or_default().push(vector);
            }
        }
        Ok(pairs)
    }

    /// See `WrongAnswers::is_forbidden`, for a probe of the embedder whose vectors these are.
    pub(super) fn forbid(&self, probe: &Probe<'_>, matched: &PromptHash, similarity: Similarity) -> bool {
        if probe.prompt == *matched {
            return false;
        }
        let nearer = |blocked: &Vector| blocked.similarity(probe.embedding.as_slice()) > similarity;
        self.forbid_pair(&probe.prompt, matched)
            || self.blocked.get(matched).is_some_and(|blocked| blocked.iter().any(nearer))
    }

    /// Whether these two prompts, which differ, must not answer each other.
    pub(super) fn forbid_pair(&self, one: &PromptHash, other: &PromptHash) -> bool {
        one != other && self.others.get(one).is_some_and(|others| others.contains(other))
    }
}
