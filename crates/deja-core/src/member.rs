//! Members of projects: operators with a rank in one.

use serde::{Deserialize, Serialize};

use crate::id::OperatorId;
use crate::operator::Email;
use crate::words::words;

/// What an operator may do in a project, the lowest first; a higher rank may what a lower one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// Sees figures, and no text of a prompt, an answer or a context.
    Viewer,
    /// The daily work: keys, cache, providers, settings.
    Editor,
    /// Says besides who has which rank, suspends and deletes the project.
    Owner,
}

words! { Rank, "is not a rank: use viewer, editor or owner", Viewer = "viewer", Editor = "editor", Owner = "owner" }

/// An operator with a rank in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub operator: OperatorId,
    /// The address that they sign in with.
    pub email: Email,
    /// The rank, which says what they may do.
    pub rank: Rank,
}
