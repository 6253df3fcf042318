//! Bounded names in rollups: what callers write freely (contexts, models) must not become rows without end.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use deja_wire::MAX_MODEL_BYTES;
use sha2::{Digest, Sha256};

use crate::id::ProjectId;

/// Contexts, and models, of a project that are told apart in one hour. What comes later in the hour is counted as
/// "other" until the next one begins.
pub(super) const MAX_NAMES_PER_HOUR: usize = 64;

/// Models of a project that are told apart in one hour though requests for them were refused: they may be any word of a
/// client's, and take no place of those that answer.
pub const MAX_REFUSED_PER_HOUR: usize = 16;

/// Stands for the models beyond [`MAX_NAMES_PER_HOUR`], and for those with too long a name. No model is called so: names have no blank in front.
pub const OTHER_MODELS: &str = " other";

/// Characters of a context that are kept as its label.
const LABEL: usize = 120;

/// A context in rollups: a number, because a context may be a whole system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextKey(pub i64);

impl ContextKey {
    /// Requests without a context.
    pub const WITHOUT: Self = Self(0);
    /// Requests with contexts that are not told apart.
    pub const OTHER: Self = Self(1);

    /// The number of a context: the first 8 bytes of its SHA-256.
    pub fn of(context: Option<&str>) -> Self {
        let Some(context) = context else { return Self::WITHOUT };
        let mut first = [0; 8];
        first.copy_from_slice(&Sha256::digest(context.as_bytes())[..8]);
        match i64::from_be_bytes(first) {
            taken @ (0 | 1) => Self(taken + 2),
            number => Self(number),
        }
    }
}

/// The first words of a context, in one line.
pub(super) fn label(context: &str) -> Box<str> {
    let line: String = context.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LABEL).collect();
    line.into()
}

/// The names that were told apart in the running hour of each project.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    hash: RandomState,
    projects: HashMap<ProjectId, Hour>,
}

#[derive(Clone, Debug, Default)]
struct Hour {
    number: i64,
    /// By a keyed hash of the text, so that texts are neither kept nor hashed slowly for each request.
    contexts: HashMap<u64, ContextKey>,
    models: HashMap<Box<str>, Arc<str>>,
    /// The models of refused requests.
    refused: HashMap<Box<str>, Arc<str>>,
}

impl Names {
    /// The names of an event; `new` gets a context that is told apart for the first time in this hour.
    pub(super) fn of(
        &mut self,
        project: ProjectId,
        hour: i64,
        (model, refused): (&str, bool),
        context: Option<&str>,
        new: impl FnOnce(ContextKey, &str),
    ) -> (Arc<str>, ContextKey) {
        let names = self.projects.entry(project).or_default();
        if names.number != hour {
            *names = Hour { number: hour, ..Hour::default() };
        }
        (
            names.model(model, refused),
            context.map_or(ContextKey::WITHOUT, |text| names.context(&self.hash, text, new)),
        )
    }
}

impl Hour {
    fn model(&mut self, model: &str, refused: bool) -> Arc<str> {
        if let Some(known) = self.models.get(model) {
            return Arc::clone(known);
        }
        let (names, most) = if refused {
            (&mut self.refused, MAX_REFUSED_PER_HOUR)
        } else {
            (&mut self.models, MAX_NAMES_PER_HOUR)
        };
        if let Some(known) = names.get(model) {
            return Arc::clone(known);
        }
        // PostgreSQL has a bound for what is in the key of a table, and no model has a longer name.
        if names.len() >= most || model.len() > MAX_MODEL_BYTES {
            return OTHER_MODELS.into();
        }
        let name: Arc<str> = model.into();
        names.insert(model.into(), Arc::clone(&name));
        name
    }

    fn context(&mut self, hash: &RandomState, text: &str, new: impl FnOnce(ContextKey, &str)) -> ContextKey {
        let hash = hash.hash_one(text);
        if let Some(known) = self.contexts.get(&hash) {
            return *known;
        }
        if self.contexts.len() >= MAX_NAMES_PER_HOUR {
            return ContextKey::OTHER;
        }
        let key = ContextKey::of(Some(text));
        self.contexts.insert(hash, key);
        new(key, text);
        key
    }
}
