//! Who changed what, and when. A store writes a change's row in the transaction of the change itself: there is
//! no change without its row and no row without its change.

use std::borrow::Cow;
use std::str::FromStr;

use crate::api_key::ApiKey;
use crate::clock::{TimeRange, Timestamp};
use crate::id::{OperatorId, ProjectId};
use crate::operator::{Email, Operator};
use crate::store::{QUARANTINE_FROM, QUARANTINE_WITHIN};

/// The action of a sign-in that was refused. Anybody may cause one, so such rows are not kept for ever.
pub const SIGN_IN_REFUSED: &str = "session.refuse";
/// The action of a key's bearer who said that an entry answers wrongly. Such rows are not kept for ever either.
pub const FEEDBACK_WRONG: &str = "feedback.wrong";
/// The action of a key's bearer who said that an entry answers rightly.
pub const FEEDBACK_RIGHT: &str = "feedback.right";

/// Every action: what a filter may ask for. A row of another version of deja may have one more.
pub const ACTIONS: [&str; 44] = [
    "cache.export", "cache.import", "cache.purge", "entry.delete", "entry.quarantine", "entry.release",
    "entry.restore", "entry.right", "entry.wrong", FEEDBACK_RIGHT, FEEDBACK_WRONG, "key.create",
    "key.revoke", "member.remove", "member.set", "operator.change-password", "operator.create",
    "operator.invite", "operator.join", "operator.recovery-code", "operator.reset-link",
    "operator.reset-password", "operator.revoke-link", "operator.second-factor", "operator.set",
    "operator.setup-link", "pair.allow", "price.set", "price.unset", "project.create", "project.delete",
    "project.resume", "project.set", "project.suspend", "provider.add", "provider.remove", "provider.set",
    "quality.judge", "session.begin", "session.end", "session.end_all", SIGN_IN_REFUSED, "token.create",
    "token.revoke",
];

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
pub const KEY: &str = "key ";

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

/// Whose rows are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActorFilter {
    /// Those of the bearers of all API keys.
    AnyKey,
    /// Those of this [name](Actor::name).
    Named(String),
}

impl ActorFilter {
    /// Every bearer of a key, in a filter.
    pub const ANY_KEY: &str = "key";

    /// Whether it is this one.
    pub fn is(&self, actor: &Actor) -> bool {
        match self {
            Self::AnyKey => matches!(actor, Actor::Key(_)),
            Self::Named(name) => name == actor.name(),
        }
    }
}

/// No actor is called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the actor must be an operator's e-mail address, cli, system, key for all API keys, or one of them as rows name it, such as 'key dj_0123abcd'"
)]
pub struct UnknownActor;

impl FromStr for ActorFilter {
    type Err = UnknownActor;

    fn from_str(text: &str) -> Result<Self, UnknownActor> {
        let is_fixed = [Actor::Cli, Actor::System].iter().any(|actor| actor.name() == text);
        let is_key = text.strip_prefix(KEY).is_some_and(|shown| !shown.is_empty());
        match text {
            Self::ANY_KEY => Ok(Self::AnyKey),
            name if is_fixed || is_key => Ok(Self::Named(name.into())),
            // Rows have an address as operators do: in lower case.
            name => {
                name.parse().map(|email: Email| Self::Named(email.as_str().into())).map_err(|_| UnknownActor)
            }
        }
    }
}

/// Which rows of the audit log are meant. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only changes in this project.
    pub project: Option<ProjectId>,
    /// Only changes of this kind.
    pub action: Option<String>,
    /// Only changes by these.
    pub by: Option<ActorFilter>,
    /// Only changes of this time.
    pub within: TimeRange,
}

impl AuditFilter {
    /// All changes in a project.
    pub fn of(project: ProjectId) -> Self {
        Self { project: Some(project), ..Self::default() }
    }

    /// Whether the change is meant.
    pub fn passes(&self, change: &Change) -> bool {
        self.project.is_none_or(|project| change.project == Some(project))
            && self.action.as_ref().is_none_or(|action| change.action == *action)
            && self.by.as_ref().is_none_or(|by| by.is(&change.actor))
            && self.within.contains(change.at)
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
