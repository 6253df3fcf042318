//! Personal access tokens: with one an operator's programs use the admin API in the operator's name.

use crate::clock::Timestamp;
use crate::hex_secret::{Form, HexSecret};
use crate::id::OperatorId;
use crate::operator::TokenHash;

/// A whole token: `djt_` and 64 hexadecimal characters.
pub type PlainAccessToken = HexSecret<AccessTokenForm>;

/// The form of an access token.
#[derive(Clone, Copy, Debug)]
pub enum AccessTokenForm {}

impl Form for AccessTokenForm {
    const PREFIX: &'static str = "djt_";
    const BYTES: usize = 32;
    type Hash = TokenHash;
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// The hash of the token. Requests are looked up by it, and forms name the token by it.
    pub hash: TokenHash,
    /// The operator in whose name it acts.
    pub operator: OperatorId,
    /// What it is for, in a person's words.
    pub name: String,
    /// The first characters, for listings.
    pub shown: String,
    /// When it was made.
    pub created: Timestamp,
    /// From this moment on deja refuses it.
    pub expires: Timestamp,
    /// The last request with it. Written at most once a minute.
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
