//! Personal access tokens: with one an operator's programs use the admin API in the operator's name.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::id::{Entropy, EntropyError, OperatorId};
use crate::operator::TokenHash;

const PREFIX: &str = "djt_";
const HEX_LENGTH: usize = 64;
/// `djt_` and the first four characters: what listings show.
const SHOWN_LENGTH: usize = PREFIX.len() + 4;

/// A whole token: `djt_` and 64 hexadecimal characters. Never stored, prints as `[REDACTED]`.
#[derive(Clone)]
pub struct PlainAccessToken(SecretString);

impl PlainAccessToken {
    /// A new token from 32 random bytes.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = [0; HEX_LENGTH / 2];
        entropy.fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", hex::encode(bytes)).into()))
    }

    /// The token in `text`, if it has a token's form, lower case as issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let form = digits.len() == HEX_LENGTH
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        form.then(|| Self(text.to_owned().into()))
    }

    /// What is stored and looked up. A plain hash is enough: the token itself is 256 random bits.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.expose_secret().as_bytes()).into())
    }

    /// The part that listings show.
    pub fn shown(&self) -> String {
        self.0.expose_secret().chars().take(SHOWN_LENGTH).collect()
    }

    /// The whole token, for the one time it is shown.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for PlainAccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainAccessToken([REDACTED])")
    }
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// What requests are matched by; names it in forms.
    pub hash: TokenHash,
    /// In whose name it acts.
    pub operator: OperatorId,
    /// What it is for.
    pub name: String,
    /// The first characters, for listings.
    pub shown: String,
    /// When it was made.
    pub created: Timestamp,
    /// From when on it is refused.
    pub expires: Timestamp,
    /// The last request with it, to within the time between two writes of it.
    pub last_used: Option<Timestamp>,
}

impl AccessToken {
    /// Whether its time is over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SystemEntropy;

    #[test]
    fn tokens_have_their_form_and_never_print() {
        let token = PlainAccessToken::generate(&SystemEntropy).unwrap();
        assert_eq!(PlainAccessToken::parse(token.reveal()).unwrap().hash(), token.hash());
        assert_eq!((token.reveal().len(), token.shown().as_str()), (68, &token.reveal()[..8]));
        assert!(!format!("{token:?}").contains(&token.reveal()[4..]));
        let upper = format!("djt_{}", "0A".repeat(32));
        for text in ["", "djt_", &token.reveal()[1..], &token.reveal()[..67], &upper, "dj_00"] {
            assert!(PlainAccessToken::parse(text).is_none(), "{text}");
        }
    }
}
