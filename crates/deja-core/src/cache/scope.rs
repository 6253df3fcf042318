//! What partitions a cache: project, model and context. Nothing is ever compared across scopes.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::id::ProjectId;

/// A hard partition of the cache.
///
/// There is no scope without a project, and every read and write of entries takes a scope or a project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    project: ProjectId,
    /// `None` where the project shares answers across models.
    model: Option<Box<str>>,
    /// `None` is a scope of its own, different from the empty string.
    context: Option<Box<str>>,
    key: ScopeKey,
}

impl Scope {
    /// The scope of these three, compared byte for byte. `model` is `None` where models share answers.
    pub fn new(project: ProjectId, model: Option<&str>, context: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        hash.update(project.as_bytes());
        for part in [model, context] {
            // Tag and length first: no two different triples give the same bytes.
            match part {
                None => hash.update([0]),
                Some(text) => {
                    hash.update([1]);
                    hash.update((text.len() as u64).to_le_bytes());
                    hash.update(text.as_bytes());
                }
            }
        }
        let key = ScopeKey(hash.finalize().into());
        Self { project, model: model.map(Into::into), context: context.map(Into::into), key }
    }

    /// The project.
    pub const fn project(&self) -> ProjectId {
        self.project
    }

    /// The model, unless models share answers.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The context.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The key that indexes and tables partition by.
    pub const fn key(&self) -> ScopeKey {
        self.key
    }
}

/// SHA-256 of a scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeKey(pub [u8; 32]);

impl fmt::Debug for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeKey({})", hex::encode(&self.0[..4]))
    }
}

/// SHA-256 of a prompt's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptHash(pub [u8; 32]);

impl PromptHash {
    /// The hash of `prompt`.
    pub fn of(prompt: &str) -> Self {
        Self(Sha256::digest(prompt.as_bytes()).into())
    }
}

impl fmt::Debug for PromptHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PromptHash({})", hex::encode(&self.0[..4]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn different_triples_have_different_keys() {
        let projects = [ProjectId::from_bytes([1; 16]), ProjectId::from_bytes([2; 16])];
        let texts = [None, Some(""), Some("a"), Some("ab"), Some("\0"), Some("\u{1}a")];
        let mut keys = HashSet::new();
        for project in projects {
            for model in texts {
                for context in texts {
                    assert!(keys.insert(Scope::new(project, model, context).key()), "{model:?} {context:?}");
                }
            }
        }
    }
}
