//! Who asks is known though nothing can be written: a session and a token are read, and their use is noted if it can be.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use deja_core::admin::keys::Expiry;
use deja_core::admin::tokens::Shown;
use deja_core::admin::{
    Admin, AdminError, PasswordHasher, Prices, SecretSealer, operators, sessions, tokens,
};
use deja_core::audit::Actor;
use deja_core::clock::Clock;
use deja_core::id::SystemEntropy;
use deja_core::operator::PasswordHash;
use deja_core::pricing::{PriceBook, PriceList};
use deja_core::testing::ManualClock;
use secrecy::{SecretSlice, SecretString};

use crate::store::OddStore;

/// Nothing here is sealed, and no price is looked up.
struct Nothing;

impl SecretSealer for Nothing {
    fn seal(&self, _: &[u8], _: &[u8]) -> Result<Vec<u8>, AdminError> {
        Err(AdminError::Failed("no sealer".into()))
    }

    fn open(&self, _: &[u8], _: &[u8]) -> Result<SecretSlice<u8>, AdminError> {
        Err(AdminError::Failed("no sealer".into()))
    }
}

#[async_trait]
impl PasswordHasher for Nothing {
    async fn hash(&self, _: SecretString) -> Result<PasswordHash, AdminError> {
        Ok(PasswordHash::from_phc("none"))
    }

    async fn verify(&self, _: SecretString, _: Option<PasswordHash>) -> Result<bool, AdminError> {
        Ok(false)
    }
}

#[async_trait]
impl Prices for Nothing {
    fn current(&self) -> Arc<PriceList> {
        PriceBook::compiled_in().current()
    }

    fn is_refreshed(&self) -> bool {
        false
    }

    async fn refresh(&self, _: &dyn Clock) -> Result<bool, AdminError> {
        Ok(false)
    }

    fn provider_of(&self, _: &str) -> &'static str {
        ""
    }
}

fn over(store: &Arc<OddStore>, clock: &Arc<ManualClock>) -> Admin {
    Admin {
        store: store.clone(),
        clock: clock.clone(),
        entropy: Arc::new(SystemEntropy),
        sealer: Arc::new(Nothing),
        passwords: Arc::new(Nothing),
        prices: Arc::new(Nothing),
        url_check: |_, _| Err("no URL".into()),
        public_url: String::new(),
        readings: Arc::new(deja_core::cache::Readings::new(|_: &str, _: &str| None)),
        embedder: None,
        providers: None,
        imported: Arc::default(),
        changes: tokio::sync::Mutex::default(),
    }
}

#[tokio::test]
async fn the_use_of_a_token_is_noted_once_a_minute_until_it_ends() {
    let (store, clock) = (Arc::new(OddStore::default()), Arc::new(ManualClock::default()));
    let admin = over(&store, &clock);
    let by = admin.acting(Actor::Cli);
    operators::create(&by, "ada@example.com", None, "a password that is long".into()).await.unwrap();
    let until = Some(Expiry::In(600));
    let token = tokens::create(&by, "ada@example.com", "ci", until).await.unwrap().plain;
    tokens::create(&by, "ada@example.com", "other", until).await.unwrap();
    let made = clock.now();
    // Seconds after it was made: when it is used, and what is noted then.
    for (at, noted) in [(5, 5), (64, 5), (65, 65), (100, 65), (599, 599), (660, 599)] {
        clock.set(made.plus(Duration::from_secs(at)));
        let shown = tokens::find(&admin, &token).await.unwrap();
        assert_eq!(matches!(shown, Shown::Of(_)), at < 600, "{at}: {shown:?}");
        let listed = tokens::list(&by, "ada@example.com").await.unwrap();
        let last_used = |name: &str| listed.iter().find(|token| token.name == name).unwrap().last_used;
        assert_eq!(last_used("ci"), Some(made.plus(Duration::from_secs(noted))), "{at}");
        assert_eq!(last_used("other"), None);
    }
}

#[tokio::test]
async fn who_asks_is_known_though_their_use_cannot_be_noted() {
    let (store, clock) = (Arc::new(OddStore::default()), Arc::new(ManualClock::default()));
    let admin = over(&store, &clock);
    let by = admin.acting(Actor::Cli);
    let ada =
        operators::create(&by, "ada@example.com", None, "a password that is long".into()).await.unwrap();
    let cookie = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let token = tokens::create(&by, "ada@example.com", "ci", None).await.unwrap().plain;
    clock.advance(Duration::from_mins(2));
    store.fail_touch.store(true, Ordering::SeqCst);
    let (_, who) = sessions::find(&admin, &cookie).await.unwrap().unwrap();
    assert_eq!(who, ada);
    assert!(matches!(tokens::find(&admin, &token).await.unwrap(), Shown::Of(who) if who == ada));
}
