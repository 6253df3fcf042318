//! API keys: `dj_` and 32 hexadecimal characters, kept only as a SHA-256 hash.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::hex_secret::{Form, HexSecret};
use crate::id::{KeyId, ProjectId};
use crate::rate_limit::Quota;

/// A whole key.
pub type PlainKey = HexSecret<KeyForm>;

/// The form of a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyForm {}

impl Form for KeyForm {
    const PREFIX: &'static str = "dj_";
    const BYTES: usize = 16;
    type Hash = KeyHash;
}

/// SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl From<[u8; 32]> for KeyHash {
    fn from(sha256: [u8; 32]) -> Self {
        Self(sha256)
    }
}

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
    /// The name for people.
    pub name: String,
    /// The first characters, for listings.
    pub shown: String,
    /// The SHA-256 of the key. Requests are looked up by it.
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
    use crate::testing;

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
        assert_eq!(format!("{key:?} {:?}", key.hash()), "[REDACTED] KeyHash(..)");
    }

    fn kept() -> ApiKey {
        testing::key(1, ProjectId::from_bytes([2; 16]), Timestamp::from_secs(1))
    }

    #[test]
    fn a_key_ends_at_the_very_moment_and_revoked_is_for_ever() {
        let at = |nanos| Timestamp::from_nanos(nanos);
        let open = kept();
        let ends = ApiKey { expires: Some(at(1_000)), ..kept() };
        let revoked = ApiKey { revoked: Some(at(5_000)), ..ends.clone() };
        for (now, of_ends) in
            [(999, KeyStatus::Active), (1_000, KeyStatus::Expired), (1_001, KeyStatus::Expired)]
        {
            assert_eq!(
                [&open, &ends, &revoked].map(|key| key.status(at(now))),
                [KeyStatus::Active, of_ends, KeyStatus::Revoked]
            );
            assert_eq!(
                [&open, &ends].map(|key| key.has_expired(at(now))),
                [false, of_ends == KeyStatus::Expired]
            );
        }
        let names = [KeyStatus::Active, KeyStatus::Expired, KeyStatus::Revoked].map(KeyStatus::as_str);
        assert_eq!(names, ["Active", "Expired", "Revoked"]);
    }

    #[test]
    fn a_key_of_some_models_is_for_these_alone() {
        let of = |models: &[&str]| ApiKey {
            models: Some(models.iter().map(|model| (*model).to_owned()).collect()),
            ..kept()
        };
        assert!(kept().allows_model("any"));
        let (two, none) = (of(&["a", "b"]), of(&[]));
        assert_eq!(
            ["a", "b", "A", "ab", ""].map(|model| two.allows_model(model)),
            [true, true, false, false, false]
        );
        assert!(!none.allows_model("a"));
    }
}
