//! What partitions a cache: the project, and the frame that a prompt is asked in. Nothing is ever compared across scopes.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::cache::Frame;
use crate::id::ProjectId;

/// A hard partition of the cache.
///
/// There is no scope without a project, and every read and write of entries takes a scope or a project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    project: ProjectId,
    frame: Frame,
    key: ScopeKey,
}

impl Scope {
    /// The scope of the prompts that are asked in this frame.
    pub fn new(project: ProjectId, frame: Frame) -> Self {
        let hash = Sha256::new().chain_update(project.as_bytes()).chain_update(frame.bytes());
        Self { project, key: ScopeKey(hash.finalize().into()), frame }
    }

    /// The project.
    pub const fn project(&self) -> ProjectId {
        self.project
    }

    /// The frame.
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The key that indexes and tables partition by.
    pub const fn key(&self) -> ScopeKey {
        self.key
    }
}

/// SHA-256 over the project and the bytes of the frame.
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

/// SHA-256 of two prompts in any order, and of the model that was asked whether one answer serves both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairHash(pub [u8; 32]);

impl PairHash {
    /// The hash of these prompts for `model`.
    pub fn of(model: &str, one: &PromptHash, other: &PromptHash) -> Self {
        let hash = Sha256::new().chain_update(one.min(other).0).chain_update(one.max(other).0);
        Self(hash.chain_update(model).finalize().into())
    }
}

impl fmt::Debug for PairHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PairHash({})", hex::encode(&self.0[..4]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_pair_has_no_order_and_another_model_makes_another_one() {
        let [a, b, c] = ["a", "b", "c"].map(PromptHash::of);
        assert_eq!(PairHash::of("m", &a, &b), PairHash::of("m", &b, &a));
        let others = [PairHash::of("m", &a, &c), PairHash::of("n", &a, &b), PairHash::of("m", &a, &a)];
        assert!(others.iter().all(|other| *other != PairHash::of("m", &a, &b)));
    }

    #[test]
    fn different_scopes_have_different_keys() {
        let projects = [ProjectId::from_bytes([1; 16]), ProjectId::from_bytes([2; 16])];
        let texts = [None, Some(""), Some("a"), Some("ab"), Some("\0"), Some("\u{1}a")];
        let mut keys = HashSet::new();
        for project in projects {
            for model in texts {
                for context in texts {
                    let scope = Scope::new(project, Frame::query(model, context));
                    assert!(keys.insert(scope.key()), "{model:?} {context:?}");
                }
            }
        }
    }
}
