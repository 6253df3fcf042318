//! Passwords of operators: argon2id, off the async threads, a few at a time.
//!
//! Parameters are the first choice of the OWASP password storage cheat sheet: 19 MiB, two passes, one lane.

use std::sync::{Arc, LazyLock};

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use async_trait::async_trait;
use deja_core::admin::{AdminError, PasswordHasher};
use deja_core::id::Entropy;
use deja_core::operator::{PASSWORD_MAX_BYTES, PasswordHash};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

/// Hashes computed at once: each takes 19 MiB and a core for tens of milliseconds.
const AT_ONCE: usize = 2;

/// Callers that compute or wait. One more is refused: strangers cause these hashes, and an operator should not wait behind
/// thousands of them.
const PLACES: usize = 64;

/// Hashes and checks passwords. Callers wait for their turn.
pub struct Passwords {
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    entropy: Arc<dyn Entropy>,
}

impl Passwords {
    /// With salts from `entropy`.
    pub fn new(entropy: Arc<dyn Entropy>) -> Self {
        let room = |permits| Arc::new(Semaphore::new(permits));
        Self { places: room(PLACES), turns: room(AT_ONCE), entropy }
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AdminError> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            AdminError::Unavailable("too many passwords are being checked: try again in a few seconds".into())
        })?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(failed)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop((turn, place));
            done
        });
        done.await.map_err(failed)
    }
}

#[async_trait]
impl PasswordHasher for Passwords {
    async fn hash(&self, password: SecretString) -> Result<PasswordHash, AdminError> {
        let mut salt = [0; 16];
        self.entropy.fill(&mut salt)?;
        self.in_turn(move || hash(&password, &salt)).await?
    }

    async fn verify(&self, password: SecretString, hash: Option<PasswordHash>) -> Result<bool, AdminError> {
        if password.expose_secret().len() > PASSWORD_MAX_BYTES {
            return Ok(false);
        }
        self.in_turn(move || {
            let known = hash.is_some();
            let hash = hash.as_ref().or(NOBODYS.as_ref());
            hash.is_some_and(|hash| matches(&password, hash)) && known
        })
        .await
    }
}

fn failed(error: impl std::fmt::Display) -> AdminError {
    AdminError::Failed(format!("the password cannot be hashed: {error}"))
}

/// What passwords of unknown operators are checked against.
static NOBODYS: LazyLock<Option<PasswordHash>> = LazyLock::new(|| hash(&"nobody".into(), &[0; 16]).ok());

fn argon2() -> Argon2<'static> {
    // The default parameters of the crate are those of the cheat sheet; a test holds them to it.
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::default())
}

fn hash(password: &SecretString, salt: &[u8]) -> Result<PasswordHash, AdminError> {
    let salt = SaltString::encode_b64(salt).map_err(failed)?;
    let hash = argon2().hash_password(password.expose_secret().as_bytes(), &salt).map_err(failed)?;
    Ok(PasswordHash::from_phc(hash.to_string()))
}

fn matches(password: &SecretString, hash: &PasswordHash) -> bool {
    let parsed = argon2::PasswordHash::new(hash.as_phc());
    parsed.is_ok_and(|parsed| argon2().verify_password(password.expose_secret().as_bytes(), &parsed).is_ok())
}

#[cfg(test)]
mod tests {
    use deja_core::id::SystemEntropy;

    use super::*;

    #[tokio::test]
    async fn only_the_right_password_is_right() {
        let passwords = Passwords::new(Arc::new(SystemEntropy));
        let hash = passwords.hash("correct horse battery".into()).await.unwrap();
        assert!(hash.as_phc().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.as_phc());
        assert!(passwords.verify("correct horse battery".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("correct horse batterx".into(), Some(hash)).await.unwrap());
        assert!(!passwords.verify("nobody".into(), None).await.unwrap());
        assert!(!passwords.verify("x".into(), Some(PasswordHash::from_phc("nonsense"))).await.unwrap());
    }

    #[tokio::test]
    async fn whoever_finds_no_place_to_wait_is_refused_at_once() {
        let passwords = Passwords::new(Arc::new(SystemEntropy));
        let slow = || std::thread::sleep(std::time::Duration::from_millis(5));
        let done = futures::future::join_all((0..10 * PLACES).map(|_| passwords.in_turn(slow))).await;
        let refused = done.iter().filter(|done| matches!(done, Err(AdminError::Unavailable(_)))).count();
        let served = done.iter().filter(|done| done.is_ok()).count();
        assert_eq!(refused + served, done.len());
        assert!(served >= PLACES && refused > 0, "{served} served, {refused} refused");
        assert!(passwords.in_turn(slow).await.is_ok(), "the places are free again");
    }

    #[tokio::test]
    async fn a_password_that_is_too_long_is_wrong() {
        let passwords = Passwords::new(Arc::new(SystemEntropy));
        for (bytes, right) in [(PASSWORD_MAX_BYTES, true), (PASSWORD_MAX_BYTES + 1, false)] {
            let password = "x".repeat(bytes);
            let hash = passwords.hash(password.clone().into()).await.unwrap();
            assert_eq!(passwords.verify(password.into(), Some(hash)).await.unwrap(), right, "{bytes}");
        }
    }
}
