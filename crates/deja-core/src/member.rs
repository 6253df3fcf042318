//! Members of projects: operators with a rank in one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::OperatorId;
use crate::operator::Email;

/// What an operator may do in a project; a higher rank may what a lower one may.
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

impl Rank {
    /// All, the lowest first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Owner];

    /// The name in listings and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }
}

impl FromStr for Rank {
    type Err = UnknownRank;

    fn from_str(text: &str) -> Result<Self, UnknownRank> {
        let found = Self::ALL.into_iter().find(|rank| rank.as_str() == text);
        found.ok_or_else(|| UnknownRank(text.to_owned()))
    }
}

/// A word that is no rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a rank: use viewer, editor or owner")]
pub struct UnknownRank(String);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An operator with a rank in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub operator: OperatorId,
    /// What they sign in with.
    pub email: Email,
    /// What they may do.
    pub rank: Rank,
}
