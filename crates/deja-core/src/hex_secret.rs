//! Random bytes in hexadecimal behind a prefix: what API keys, access tokens, and the tokens of cookies and links are.

use std::fmt;
use std::marker::PhantomData;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::id::{Entropy, EntropyError};

/// Characters behind the prefix that listings show.
const SHOWN: usize = 4;

/// The form of one kind of secret, and what deja keeps of it.
pub trait Form {
    /// What such a secret begins with.
    const PREFIX: &'static str;
    /// How many random bytes come behind the prefix.
    const BYTES: usize;
    /// The SHA-256 of such a secret.
    type Hash: From<[u8; 32]>;
}

/// A whole secret of one kind. Exists while it is created or checked, is never stored, and prints as `[REDACTED]`.
#[derive(Clone)]
pub struct HexSecret<F>(SecretString, PhantomData<F>);

impl<F: Form> HexSecret<F> {
    /// A new one.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = vec![0; F::BYTES];
        entropy.fill(&mut bytes)?;
        Ok(Self(format!("{}{}", F::PREFIX, hex::encode(bytes)).into(), PhantomData))
    }

    /// The one in `text`, if it has the form, in lower case as issued.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(F::PREFIX)?;
        let fits = digits.len() == 2 * F::BYTES
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(text.to_owned().into(), PhantomData))
    }

    /// The hash that is stored and looked up. A plain hash is enough for so many random bits.
    pub fn hash(&self) -> F::Hash {
        <[u8; 32]>::from(Sha256::digest(self.0.expose_secret().as_bytes())).into()
    }

    /// The part that listings show: the prefix and four characters.
    pub fn shown(&self) -> String {
        self.0.expose_secret().chars().take(F::PREFIX.len() + SHOWN).collect()
    }

    /// The whole of it, for the one time it is shown, or its cookie.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl<F> fmt::Debug for HexSecret<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Short;

    impl Form for Short {
        const PREFIX: &'static str = "t_";
        const BYTES: usize = 3;
        type Hash = [u8; 32];
    }

    #[test]
    fn a_secret_is_its_prefix_and_digits() {
        let secret = HexSecret::<Short>::parse("t_0a9f37").unwrap();
        assert_eq!((secret.reveal(), secret.shown().as_str()), ("t_0a9f37", "t_0a9f"));
        assert_eq!(format!("{secret:?}"), "[REDACTED]");
        // By sha256sum.
        let hash = "95cc40e1744bd09b05e1760ab74d6033b16e71bdfbe5fcb1cddb3b50b05a9735";
        assert_eq!(hex::encode(secret.hash()), hash);
        for other in
            ["0a9f37", "t_", "t_0a9f3", "t_0a9f370", "t_0a9F37", "t_0a9g37", "T_0a9f37", "t_0a9f3\u{e9}"]
        {
            assert!(HexSecret::<Short>::parse(other).is_none(), "{other}");
        }
    }
}
