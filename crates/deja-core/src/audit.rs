//! Who changed what, and when. A store writes a change's row in the transaction of the change itself: there is
//! no change without its row and no row without its change.

use std::borrow::Cow;

use crate::api_key::ApiKey;
use crate::clock::Timestamp;
use crate::id::{OperatorId, ProjectId};
use crate::operator::Operator;
use crate::store::{QUARANTINE_FROM, QUARANTINE_WITHIN};

/// The action of a sign-in that was refused. Anybody may cause one, so such rows are not kept for ever.
pub const SIGN_IN_REFUSED: &str = "session.refuse";
/// The action of a key's bearer who said that an entry answers wrongly. Such rows are not kept for ever either.
pub const FEEDBACK_WRONG: &str = "feedback.wrong";
/// The action of a key's bearer who said that an entry answers rightly.
pub const FEEDBACK_RIGHT: &str = "feedback.right";

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person, in the console.
    Operator {
        /// The identity.
        id: OperatorId,
        /// The address at that time; stays readable whatever becomes of the operator.
        email: String,
    },
    /// The bearer of an API key, called `key` and the key's first characters.
    Key(String),
    /// The command line, on the machine itself.
    Cli,
    /// deja by itself.
    System,
}

/// What the names of keys begin with.
const KEY: &str = "key ";

impl Actor {
    /// The bearer of this key.
    pub fn key(key: &ApiKey) -> Self {
        Self::Key(format!("{KEY}{}", key.shown))
    }

    /// The name in listings: an address, a key, `cli` or `system`.
    pub fn name(&self) -> &str {
        match self {
            Self::Operator { email, .. } => email,
            Self::Key(name) => name,
            Self::Cli => "cli",
            Self::System => "system",
        }
    }

    /// The identity, if it is a person.
    pub const fn operator(&self) -> Option<OperatorId> {
        match self {
            Self::Operator { id, .. } => Some(*id),
            Self::Key(_) | Self::Cli | Self::System => None,
        }
    }

    /// The actor with this identity and name, as a store keeps them.
    pub fn from_parts(operator: Option<OperatorId>, name: String) -> Self {
        match operator {
            Some(id) => Self::Operator { id, email: name },
            None if name == "cli" => Self::Cli,
            None if name.starts_with(KEY) => Self::Key(name),
            None => Self::System,
        }
    }
}

impl From<&Operator> for Actor {
    fn from(operator: &Operator) -> Self {
        Self::Operator { id: operator.id, email: operator.email.to_string() }
    }
}

/// A change, as it is told to the store with the change itself. Never holds a secret, a prompt or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// What, as noun and verb: `key.revoke`.
    pub action: Cow<'static, str>,
    /// In which project, if in one.
    pub project: Option<ProjectId>,
    /// To what, in words that stay readable when it is gone: a name, a prefix, an address.
    pub subject: String,
    /// How: `tier free -> pro`. May be empty.
    pub detail: String,
}

impl Change {
    /// A change of nothing in particular yet.
    pub fn new(at: Timestamp, actor: Actor, action: &'static str) -> Self {
        Self {
            at,
            actor,
            action: action.into(),
            project: None,
            subject: String::new(),
            detail: String::new(),
        }
    }

    /// In this project.
    #[must_use]
    pub fn within(self, project: ProjectId) -> Self {
        Self { project: Some(project), ..self }
    }

    /// To this.
    #[must_use]
    pub fn of(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }

    /// The change that this one brought with it: deja put the entry into quarantine.
    #[must_use]
    pub fn quarantining(&self) -> Self {
        let actor = Actor::System;
        let detail =
            format!("{QUARANTINE_FROM} wrong answers within {} hours", QUARANTINE_WITHIN.as_secs() / 3600);
        Self { actor, action: "entry.quarantine".into(), detail, ..self.clone() }
    }

    /// In this way.
    #[must_use]
    pub fn how(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// A change as it is kept. Never changed, never deleted with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number: later rows have greater ones. The cursor for paging.
    pub number: u64,
    /// The change.
    pub change: Change,
}
