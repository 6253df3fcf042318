//! API keys: `dj_` and 32 hexadecimal characters, kept only as a SHA-256 hash.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::id::{Entropy, EntropyError, KeyId, ProjectId};
use crate::rate_limit::Quota;

const PREFIX: &str = "dj_";
const HEX_LENGTH: usize = 32;
/// `dj_` and the first four characters: what listings show.
const SHOWN_LENGTH: usize = PREFIX.len() + 4;

/// A whole key. Exists while it is created or checked, is never stored, and prints as `[REDACTED]`.
#[derive(Clone)]
pub struct PlainKey(SecretString);

impl PlainKey {
    /// A new key from 16 random bytes.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = [0; HEX_LENGTH / 2];
        entropy.fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", hex::encode(bytes)).into()))
    }

    /// The key in `text`, if it has a key's form: `dj_` and 32 hexadecimal characters, lower case as issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let form = digits.len() == HEX_LENGTH
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        form.then(|| Self(text.to_owned().into()))
    }

    /// What is stored and looked up. A plain hash is enough: the key itself is 128 random bits.
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.0.expose_secret().as_bytes()).into())
    }

    /// The part that listings show.
    pub fn shown(&self) -> String {
        self.0.expose_secret().chars().take(SHOWN_LENGTH).collect()
    }

    /// The whole key, for the one time it is shown.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for PlainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainKey([REDACTED])")
    }
}

/// SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

/// A key as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The identity.
    pub id: KeyId,
    /// The one project it opens.
    pub project: ProjectId,
    /// What people call it.
    pub name: String,
    /// The first characters, for listings.
    pub shown: String,
    /// What requests are matched by.
    pub hash: KeyHash,
    /// The models it may ask for; `None` means all.
    pub models: Option<Vec<String>>,
    /// Its own limit, besides its project's; `None`: only the project's.
    pub quota: Option<Quota>,
    /// From when on it is refused; `None`: until it is revoked.
    pub expires: Option<Timestamp>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was revoked; `None` while it is active.
    pub revoked: Option<Timestamp>,
}

impl ApiKey {
    /// Whether requests may use it at `now`.
    pub fn status(&self, now: Timestamp) -> KeyStatus {
        match self.revoked {
            Some(_) => KeyStatus::Revoked,
            None if self.has_expired(now) => KeyStatus::Expired,
            None => KeyStatus::Active,
        }
    }

    /// Whether its time is over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether it may ask for `model`.
    pub fn allows_model(&self, model: &str) -> bool {
        self.models.as_ref().is_none_or(|models| models.iter().any(|allowed| allowed == model))
    }
}

/// The states of a key. There is no way out of `Expired` but to `Revoked`, and none out of `Revoked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyStatus {
    /// Requests may use it.
    Active,
    /// Its time is over: every request with it is refused with 401.
    Expired,
    /// Every request with it is refused with 401.
    Revoked,
}

impl KeyStatus {
    /// The name in listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Expired => "Expired",
            Self::Revoked => "Revoked",
        }
    }
}

/// How much a key was used. Written in batches, so a second or so late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyUsage {
    /// Requests made with it, whatever came of them.
    pub requests: u64,
    /// The last of them.
    pub last_used: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SystemEntropy;

    #[test]
    fn keys_have_the_published_form() {
        let key = PlainKey::generate(&SystemEntropy).unwrap();
        assert_eq!(key.reveal().len(), 35);
        assert!(PlainKey::parse(key.reveal()).is_some());
        assert_eq!(key.shown(), &key.reveal()[..7]);
        assert_eq!(PlainKey::parse(key.reveal()).unwrap().hash(), key.hash());
    }

    #[test]
    fn other_forms_are_no_keys() {
        let good = format!("dj_{}", "0a".repeat(16));
        assert!(PlainKey::parse(&good).is_some());
        let upper = format!("dj_{}", "0A".repeat(16));
        let long = format!("{good}0");
        let spaced = format!(" {good}");
        for text in ["", "dj_", &good[..34], &upper, &long, &spaced, "sk_00000000000000000000000000000000"] {
            assert!(PlainKey::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_plain_key_never_prints() {
        let key = PlainKey::generate(&SystemEntropy).unwrap();
        assert!(!format!("{key:?} {:?}", key.hash()).contains(&key.reveal()[3..]));
    }
}
