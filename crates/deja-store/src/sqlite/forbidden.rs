//! What must not answer what, in memory: a hit asks for it without a look at the database. The writer thread keeps it
//! as the tables are.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deja_core::cache::PromptHash;
use deja_core::embedding::Similarity;
use deja_core::id::ProjectId;
use deja_core::store::Probe;
use parking_lot::RwLock;
use rusqlite::{Connection, Params, params};

use super::EmbedderNumber;
use super::index::{Row, Vector};
use super::rows::unreadable;

/// Pairs of prompts by project, and the entries in quarantine.
#[derive(Default)]
pub(super) struct Forbidden {
    projects: RwLock<HashMap<ProjectId, Arc<RwLock<Pairs>>>>,
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
    pub(super) fn of(&self, project: ProjectId) -> Option<Arc<RwLock<Pairs>>> {
        self.projects.read().get(&project).cloned()
    }

    fn put(&self, project: ProjectId, pairs: Pairs) {
        self.projects.write().insert(project, Arc::new(RwLock::new(pairs)));
    }

    /// Has one pair of a project as it is now.
    pub(super) fn set(&self, project: ProjectId, pair: Pair) {
        let pairs = self.projects.write().entry(project).or_default().clone();
        pairs.write().set(pair);
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

/// The pairs of prompts of a project that must not answer each other: the prompts by the prompt of an entry, with the vectors of
/// those that were asked. Each pair stands under both of its prompts.
#[derive(Default)]
pub(super) struct Pairs(HashMap<PromptHash, HashMap<PromptHash, Option<Vector>>>);

/// A pair of prompts with its rows, as they are now.
pub(super) struct Pair {
    prompts: [PromptHash; 2],
    rows: Pairs,
}

impl Pair {
    /// What the database holds for two prompts of a project, whichever of them was asked, with vectors of the embedder `own`.
    pub(super) fn read(
        connection: &Connection,
        project: ProjectId,
        own: Option<EmbedderNumber>,
        [one, other]: [&str; 2],
    ) -> rusqlite::Result<Self> {
        let sql = "SELECT asked, matched, iif(embedder = ?2, vector, NULL) FROM wrong_answers
                   WHERE project_id = ?1 AND asked IN (?3, ?4) AND (asked, matched) IN (VALUES (?3, ?4), (?4, ?3))";
        let rows = Pairs::select(connection, sql, params![project.as_bytes(), own, one, other])?;
        Ok(Self { prompts: [one, other].map(PromptHash::of), rows })
    }
}

impl Pairs {
    /// What the database holds for a project, with vectors of the embedder `own`.
    fn read(
        connection: &Connection,
        project: ProjectId,
        own: Option<EmbedderNumber>,
    ) -> rusqlite::Result<Self> {
        let sql = "SELECT asked, matched, iif(embedder = ?2, vector, NULL) FROM wrong_answers WHERE project_id = ?1";
        Self::select(connection, sql, params![project.as_bytes(), own])
    }

    fn select(connection: &Connection, sql: &str, values: impl Params) -> rusqlite::Result<Self> {
        let mut pairs = Self::default();
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(values)?;
        while let Some(row) = rows.next()? {
            let asked = PromptHash::of(row.get_ref(0)?.as_str()?);
            let matched = PromptHash::of(row.get_ref(1)?.as_str()?);
            pairs.of(asked).entry(matched).or_default();
            let blocked = pairs.of(matched).entry(asked).or_default();
            if let Some(bytes) = row.get_ref(2)?.as_blob_or_null()? {
                *blocked = Some(Vector::from_bytes(bytes).ok_or_else(|| unreadable(2, "not a vector"))?);
            }
        }
        Ok(pairs)
    }

    fn of(&mut self, prompt: PromptHash) -> &mut HashMap<PromptHash, Option<Vector>> {
        self.0.entry(prompt).or_default()
    }

    fn set(&mut self, Pair { prompts: [one, other], rows }: Pair) {
        for (prompt, other) in [(one, other), (other, one)] {
            if let Entry::Occupied(mut others) = self.0.entry(prompt) {
                others.get_mut().remove(&other);
                if others.get().is_empty() {
                    others.remove();
                }
            }
        }
        for (prompt, others) in rows.0 {
            self.of(prompt).extend(others);
        }
    }

    /// See `WrongAnswers::is_forbidden`, for a probe of the embedder whose vectors these are.
    pub(super) fn forbid(&self, probe: &Probe<'_>, matched: &PromptHash, similarity: Similarity) -> bool {
        if probe.prompt == *matched {
            return false;
        }
        let Some(others) = self.0.get(matched) else { return false };
        let nearer = |blocked: &Vector| blocked.similarity(probe.embedding.as_slice()) > similarity;
        others.contains_key(&probe.prompt) || others.values().flatten().any(nearer)
    }

    /// Whether these two prompts, which differ, must not answer each other.
    pub(super) fn forbid_pair(&self, one: &PromptHash, other: &PromptHash) -> bool {
        one != other && self.0.get(one).is_some_and(|others| others.contains_key(other))
    }
}
