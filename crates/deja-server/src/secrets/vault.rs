//! Keeps secrets of projects encrypted: XChaCha20-Poly1305 under the master key, a random nonce each.
//!
//! What a secret belongs to goes in as associated data ([`binding`](deja_core::provider::binding)): a sealed secret
//! that was moved to another provider, or whose provider was given another host, does not open.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use deja_core::admin::{AdminError, SecretSealer};
use deja_core::id::{Entropy, EntropyError};
use deja_core::store::{ProviderConfigs, StoreError};
use deja_store::StoreSettings;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use zeroize::{Zeroize, Zeroizing};

const FILE: &str = "master.key";
const VERSION: u8 = 1;
const NONCE: usize = 24;
const CHECK: &[u8] = b"deja master key check";

/// 32 bytes that everything is sealed with. Wiped when dropped.
pub struct MasterKey(Zeroizing<[u8; 32]>);

/// A text that is no master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("32 random bytes, as 64 hexadecimal digits or as base64 (for example from: openssl rand -hex 32)")]
pub struct NoMasterKey;

impl MasterKey {
    /// The key in `text`: 64 hexadecimal digits, or base64 of 32 bytes.
    pub fn parse(text: &SecretString) -> Result<Self, NoMasterKey> {
        let text = text.expose_secret().trim();
        let mut bytes = match hex::decode(text) {
            Ok(bytes) => bytes,
            Err(_) => [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD]
                .iter()
                .find_map(|alphabet| alphabet.decode(text).ok())
                .ok_or(NoMasterKey)?,
        };
        let key = <[u8; 32]>::try_from(bytes.as_slice()).map(|key| Self(Zeroizing::new(key)));
        bytes.zeroize();
        key.map_err(|_| NoMasterKey)
    }

    /// The key in `directory`'s file; makes the file, readable by its owner only, if it is not there. Where something is `sealed`
    /// it must be there: a new one opens nothing, and takes the place of the right one in the next backup.
    pub fn of_directory(directory: &Path, entropy: &dyn Entropy, sealed: bool) -> Result<Self, VaultError> {
        let path = key_file(directory);
        match File::open(&path) {
            Ok(file) => Self::read(file, &path),
            Err(error) if error.kind() == ErrorKind::NotFound && sealed => Err(VaultError::Missing(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::create(directory, &path, entropy),
            Err(error) => Err(VaultError::File(path, error)),
        }
    }

    fn read(mut file: File, path: &Path) -> Result<Self, VaultError> {
        let failed = |error| VaultError::File(path.into(), error);
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(VaultError::Exposed(path.into(), mode & 0o777));
        }
        let mut text = String::new();
        // A little more than any form of a key: a wrong file is not read whole.
        Read::by_ref(&mut file).take(1024).read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text.into()).map_err(|_| VaultError::NotAKey(path.into()))
    }

    fn create(directory: &Path, path: &Path, entropy: &dyn Entropy) -> Result<Self, VaultError> {
        let failed = |error| VaultError::File(path.into(), error);
        let mut key = Zeroizing::new([0; 32]);
        entropy.fill(&mut *key)?;
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        // Written aside and then named, so that no crash leaves half a key. Such files are made 0600.
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        let text = Zeroizing::new(format!("{}\n", hex::encode(*key)));
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        match file.persist_noclobber(path) {
            Ok(_) => {
                File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
                Ok(Self(key))
            }
            // Another process was faster.
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                Self::read(File::open(path).map_err(failed)?, path)
            }
            Err(error) => Err(failed(error.error)),
        }
    }
}

/// The file that holds the master key of a data directory.
pub fn key_file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Seals and opens secrets.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
    entropy: Arc<dyn Entropy>,
}

/// Why a secret could not be sealed or opened, or the master key not be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The setting holds no key.
    #[error("master_key (DEJA_MASTER_KEY) is not valid: it must be {0}")]
    Setting(NoMasterKey),
    /// The key file cannot be read or written.
    #[error("the master key file {path} cannot be used: {1}", path = .0.display())]
    File(PathBuf, std::io::Error),
    /// The key file may be read by others.
    #[error("the master key file {path} may be read by others (mode {1:o}): run chmod 600 {path}", path = .0.display())]
    Exposed(PathBuf, u32),
    /// The key file holds no key.
    #[error("the master key file {} holds no key: put back the right one from a backup", .0.display())]
    NotAKey(PathBuf),
    /// The key file is not there, and the store's secrets are sealed already.
    #[error(
        "the master key file {} is not there: put it back, from a backup or another machine, or set DEJA_MASTER_KEY to its content",
        .0.display()
    )]
    Missing(PathBuf),
    /// The store was sealed with another key.
    #[error(
        "the master key is not the one that the stored secrets are sealed with: set DEJA_MASTER_KEY to that key, \
         or put it back into the file master.key of the data directory"
    )]
    WrongKey,
    /// Sealed with another key or for something else, or damaged.
    #[error("a stored secret cannot be opened: it is damaged, or was stored for something else")]
    Sealed,
    /// No random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl VaultError {
    /// Whether the operator has to change settings or the key file. A file that cannot be read may be there later.
    pub const fn is_configuration(&self) -> bool {
        !matches!(self, Self::File(..) | Self::Sealed | Self::Entropy(_) | Self::Store(_))
    }
}

impl Vault {
    /// A vault under `key`.
    pub fn new(key: &MasterKey, entropy: Arc<dyn Entropy>) -> Self {
        Self { cipher: XChaCha20Poly1305::new((&*key.0).into()), entropy }
    }

    /// The vault of `store`, which is at `place`, under the key of the settings or, without one, of the data directory. `told` is what
    /// whoever keeps the key has to know.
    pub async fn load<S: ProviderConfigs + ?Sized>(
        setting: Option<&SecretString>,
        place: &StoreSettings,
        entropy: Arc<dyn Entropy>,
        store: &S,
        told: impl FnOnce(&str),
    ) -> Result<Self, VaultError> {
        let (key, begins) = if let Some(text) = setting {
            (MasterKey::parse(text).map_err(VaultError::Setting)?, false)
        } else {
            let sealed = store.key_check().await?.is_some();
            (MasterKey::of_directory(&place.data_dir, &*entropy, sealed)?, !sealed)
        };
        let vault = Self::new(&key, entropy);
        vault.verify(store).await?;
        // With PostgreSQL nothing else in the directory has to be kept, and other replicas do not see it.
        if begins && place.postgres.is_some() {
            told(&format!(
                "this new database is sealed with the key in {}: keep the file, or set DEJA_MASTER_KEY to the key, on every \
                 replica. Without the key nobody can open the stored secrets",
                key_file(&place.data_dir).display()
            ));
        }
        Ok(vault)
    }

    /// Encrypts `plaintext`; it opens with the same key and `aad` only.
    pub fn seal(&self, plaintext: &[u8], aad: &[u8]) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE];
        self.entropy.fill(&mut nonce)?;
        let payload = Payload { msg: plaintext, aad };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::Sealed)?;
        Ok([&[VERSION], nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts what [`Vault::seal`] made with the same `aad`.
    pub fn open(&self, sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let (version, rest) = sealed.split_first().ok_or(VaultError::Sealed)?;
        let (nonce, msg) = rest.split_first_chunk::<NONCE>().ok_or(VaultError::Sealed)?;
        if *version != VERSION {
            return Err(VaultError::Sealed);
        }
        let opened = self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad });
        opened.map(Zeroizing::new).map_err(|_| VaultError::Sealed)
    }

    /// Whether this is the key that the store's secrets are sealed with. The first start settles it.
    pub async fn verify<S: ProviderConfigs + ?Sized>(&self, store: &S) -> Result<(), VaultError> {
        if store.key_check().await?.is_none() {
            store.set_key_check(&self.seal(CHECK, CHECK)?).await?;
        }
        // Read again: of two first starts at the same time, one has stored its own.
        let sealed = store.key_check().await?.ok_or(VaultError::Sealed)?;
        self.open(&sealed, CHECK).map(drop).map_err(|_| VaultError::WrongKey)
    }
}

impl SecretSealer for Vault {
    fn seal(&self, plaintext: &[u8], binding: &[u8]) -> Result<Vec<u8>, AdminError> {
        Self::seal(self, plaintext, binding).map_err(|error| AdminError::Failed(error.to_string()))
    }

    fn open(&self, sealed: &[u8], binding: &[u8]) -> Result<SecretSlice<u8>, AdminError> {
        let opened =
            Self::open(self, sealed, binding).map_err(|error| AdminError::Failed(error.to_string()))?;
        Ok(opened.to_vec().into())
    }
}

#[cfg(test)]
mod tests {
    use deja_core::id::SystemEntropy;
    use deja_core::testing::MemoryStore;
    use proptest::prelude::*;

    use std::fs;

    use super::*;

    fn vault(byte: u8) -> Vault {
        Vault::new(&MasterKey(Zeroizing::new([byte; 32])), Arc::new(SystemEntropy))
    }

    #[test]
    fn a_sealed_secret_opens_with_its_key_and_binding_only() {
        let sealed = vault(1).seal(b"hush", b"a").unwrap();
        assert_eq!(vault(1).open(&sealed, b"a").unwrap().as_slice(), b"hush");
        assert!(vault(1).open(&sealed, b"b").is_err());
        assert!(vault(2).open(&sealed, b"a").is_err());
        assert_ne!(vault(1).seal(b"hush", b"a").unwrap(), sealed);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(vault(1).open(&changed, b"a").is_err(), "byte {at}");
            assert!(vault(1).open(&sealed[..at], b"a").is_err(), "length {at}");
        }
    }

    #[test]
    fn keys_have_two_forms() {
        let bytes = [0xfb; 32];
        for text in [
            hex::encode(bytes),
            hex::encode_upper(bytes),
            STANDARD.encode(bytes),
            URL_SAFE_NO_PAD.encode(bytes),
        ] {
            assert_eq!(*MasterKey::parse(&text.into()).unwrap().0, bytes);
        }
        for text in
            ["", "hush", &"a".repeat(63), &"ab".repeat(31), &"ab".repeat(33), &STANDARD.encode([0; 31])]
        {
            assert!(MasterKey::parse(&text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let key = || MasterKey::of_directory(directory.path(), &SystemEntropy, false);
        let missing = MasterKey::of_directory(directory.path(), &SystemEntropy, true).err().unwrap();
        assert!(missing.is_configuration() && matches!(missing, VaultError::Missing(_)), "{missing}");
        assert!(!path.exists(), "not where something is sealed already");
        let made = key().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(*key().unwrap().0, *made.0);
        let late = MasterKey::create(directory.path(), &path, &SystemEntropy).unwrap();
        assert_eq!(*late.0, *made.0, "another process was faster");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = key().err().unwrap();
        assert!(
            error.is_configuration()
                && ["640", "chmod 600"].iter().all(|said| error.to_string().contains(said)),
            "{error}"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "half").unwrap();
        assert!(matches!(key(), Err(VaultError::NotAKey(_))));
    }

    #[tokio::test]
    async fn a_wrong_master_key_is_noticed() {
        let store = MemoryStore::new();
        vault(1).verify(&*store).await.unwrap();
        vault(1).verify(&*store).await.unwrap();
        assert!(matches!(vault(2).verify(&*store).await, Err(VaultError::WrongKey)));
    }

    proptest! {
        #[test]
        fn nothing_stored_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(vault(1).open(&bytes, b"").is_err());
        }
    }
}
