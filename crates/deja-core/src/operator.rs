//! The people who sign in to the console: operators, their sessions, and the one-time links that let them in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::hex_secret::{Form, HexSecret};
use crate::id::OperatorId;
use crate::words::words;

/// What an operator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything: operators, limits and deletion included.
    Owner,
    /// The daily work in projects.
    Member,
}

words! { Role, "is not a role: use owner or member", Owner = "owner", Member = "member" }

/// An address to sign in with: lower case, without blanks. Whether mail arrives there is not deja's business.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not an email address: use one like ada@example.com, of at most 254 characters")]
pub struct InvalidEmail;

impl Email {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Email {
    type Err = InvalidEmail;

    fn from_str(text: &str) -> Result<Self, InvalidEmail> {
        let text = text.trim().to_lowercase();
        let (name, host) = text.split_once('@').ok_or(InvalidEmail)?;
        let blank = |c: char| c.is_whitespace() || c.is_control();
        let fits = !name.is_empty() && !host.is_empty() && text.len() <= 254;
        if fits && !host.contains('@') && !text.chars().any(blank) {
            Ok(Self(text))
        } else {
            Err(InvalidEmail)
        }
    }
}

impl TryFrom<String> for Email {
    type Error = InvalidEmail;

    fn try_from(text: String) -> Result<Self, InvalidEmail> {
        text.parse()
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters that a password has at least: length is what makes it strong.
pub(crate) const PASSWORD_CHARACTERS: usize = 12;
/// Bytes that a password has at most.
pub const PASSWORD_MAX_BYTES: usize = 1024;

/// The hash of a password in PHC form (`$argon2id$...`). Prints as `[REDACTED]`.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// The hash with this text.
    pub fn from_phc(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for checking a password and for storing.
    pub fn as_phc(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash([REDACTED])")
    }
}

/// A person who may sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The identity, never reused.
    pub id: OperatorId,
    /// The address that they sign in with, unique.
    pub email: Email,
    /// The role, which says what they may do.
    pub role: Role,
    /// The hash of their password.
    pub password: PasswordHash,
    /// When they joined.
    pub created: Timestamp,
    /// Since when they may not sign in; `None` while they may.
    pub disabled: Option<Timestamp>,
}

impl Operator {
    /// Whether they are an owner who may sign in.
    pub fn is_active_owner(&self) -> bool {
        self.role == Role::Owner && self.disabled.is_none()
    }
}

/// A token in a cookie or a one-time link: 64 hexadecimal characters.
pub type PlainToken = HexSecret<TokenForm>;

/// The form of [`PlainToken`].
#[derive(Clone, Copy, Debug)]
pub enum TokenForm {}

impl Form for TokenForm {
    const PREFIX: &'static str = "";
    const BYTES: usize = 32;
    type Hash = TokenHash;
}

/// SHA-256 of a token. Opens nothing: look-ups hash what they are given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl From<[u8; 32]> for TokenHash {
    fn from(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }
}

impl TokenHash {
    /// In hexadecimal, to name a session or an invite in a form.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The hash that [`Self::to_hex`] wrote.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| Self(bytes))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The hash of the cookie's token.
    pub token: TokenHash,
    /// The operator.
    pub operator: OperatorId,
    /// When they signed in.
    pub created: Timestamp,
    /// The last request, to within the time between two writes of it.
    pub last_seen: Timestamp,
    /// When it ends unless it is used: pushed on by use.
    pub expires: Timestamp,
    /// What the browser calls itself, as [`short_user_agent`] leaves it.
    pub user_agent: String,
}

/// A browser's name for a listing: one line of at most 160 characters.
pub(crate) fn short_user_agent(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(160).collect()
}

/// What a one-time link is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Makes an operator.
    Join {
        /// The role they get.
        role: Role,
        /// The address they get; `None` lets them choose (the first owner).
        email: Option<Email>,
    },
    /// Sets a new password.
    ResetPassword {
        /// The operator.
        operator: OperatorId,
    },
}

/// A one-time link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    /// The hash of the link's token.
    pub token: TokenHash,
    /// What the link is for.
    pub purpose: Purpose,
    /// The operator who made it; `None` is the command line or the server itself.
    pub created_by: Option<OperatorId>,
    /// When it was made.
    pub created: Timestamp,
    /// When it stops working.
    pub expires: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SystemEntropy;

    #[test]
    fn addresses_are_normalised() {
        assert_eq!(" Ada@Example.COM ".parse::<Email>().unwrap().as_str(), "ada@example.com");
        for text in ["", "ada", "@b", "a@", "a@b@c", "a b@c", "a@b\n.c", &format!("{}@b", "a".repeat(260))] {
            assert!(text.parse::<Email>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn tokens_have_their_form_and_never_print() {
        let token = PlainToken::generate(&SystemEntropy).unwrap();
        assert_eq!(PlainToken::parse(token.reveal()).unwrap().hash(), token.hash());
        assert_eq!(TokenHash::from_hex(&token.hash().to_hex()), Some(token.hash()));
        assert!(!format!("{token:?}{:?}", token.hash()).contains(&token.reveal()[..8]));
        for text in ["", &token.reveal()[1..], &token.reveal().to_uppercase().replace(char::is_numeric, "A")]
        {
            assert!(PlainToken::parse(text).is_none(), "{text}");
        }
        let hash = PasswordHash::from_phc("$argon2id$secret");
        assert!(!format!("{hash:?}").contains("secret"));
    }

    #[test]
    fn user_agents_are_one_short_line() {
        assert_eq!(short_user_agent("Moz\r\nilla\u{7}"), "Mozilla");
        assert_eq!(short_user_agent(&"ä".repeat(500)).chars().count(), 160);
    }
}
