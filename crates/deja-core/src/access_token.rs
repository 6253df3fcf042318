//! Personal access tokens: with one an operator's programs use the admin API in the operator's name.

use crate::clock::Timestamp;
use crate::hex_secret::{Form, HexSecret};
use crate::id::{Entropy, EntropyError, OperatorId};
use crate::operator::TokenHash;

const FORM: Form = Form { prefix: "djt_", bytes: 32 };

/// A whole token: `djt_` and 64 hexadecimal characters. Never stored, prints as `[REDACTED]`.
#[derive(Clone, Debug)]
pub struct PlainAccessToken(HexSecret);

impl PlainAccessToken {
    /// A new token from 32 random bytes.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        HexSecret::generate(&FORM, entropy).map(Self)
    }

    /// The token in `text`, if it has a token's form: `djt_` and 64 hexadecimal characters, lower case as issued.
    pub fn parse(text: &str) -> Option<Self> {
        HexSecret::parse(&FORM, text).map(Self)
    }

    /// What is stored and looked up.
    pub fn hash(&self) -> TokenHash {
        TokenHash(self.0.sha256())
    }

    /// The part that listings show: the prefix and four characters.
    pub fn shown(&self) -> String {
        self.0.shown(&FORM)
    }

    /// The whole token, for the one time it is shown.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
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
