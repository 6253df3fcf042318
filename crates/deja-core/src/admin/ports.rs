//! What use cases need of the outside, besides the store.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{SecretSlice, SecretString};
use url::Url;

use super::AdminError;
use crate::clock::Clock;
use crate::operator::PasswordHash;
use crate::pricing::PriceList;

/// Makes secrets unreadable for whoever reads the database.
pub trait SecretSealer: Send + Sync {
    /// Encrypts `plaintext`; it opens with the same `binding` only ([`crate::provider::binding`]).
    fn seal(&self, plaintext: &[u8], binding: &[u8]) -> Result<Vec<u8>, AdminError>;

    /// Decrypts what [`Self::seal`] made with the same `binding`.
    fn open(&self, sealed: &[u8], binding: &[u8]) -> Result<SecretSlice<u8>, AdminError>;
}

/// Hashes and checks passwords, a few at a time: callers wait for their turn.
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// The hash of a password. Another one each time.
    async fn hash(&self, password: SecretString) -> Result<PasswordHash, AdminError>;

    /// Whether `password` is the one that `hash` was made of. Without a hash, because there is no such operator,
    /// it is not, and takes as long to say so.
    async fn verify(&self, password: SecretString, hash: Option<PasswordHash>) -> Result<bool, AdminError>;
}

/// The prices in force, and where fresh ones come from.
#[async_trait]
pub trait Prices: Send + Sync {
    /// The prices in force.
    fn current(&self) -> Arc<PriceList>;

    /// Whether there is somewhere to fetch fresh ones from.
    fn is_refreshed(&self) -> bool;

    /// Fetches prices. Gives whether they are new; if they cannot be had or are refused, the old ones stay in force.
    async fn refresh(&self, clock: &dyn Clock) -> Result<bool, AdminError>;

    /// Which built-in provider answers `model`, by the model's name; the empty text if none does.
    fn provider_of(&self, model: &str) -> &'static str;
}

/// Whether deja calls this URL, with private networks allowed or not; the error is one line for people.
pub type UrlCheck = fn(&str, bool) -> Result<Url, String>;
