//! Random bytes in hexadecimal behind a prefix: what API keys, access tokens, and the tokens of cookies and links are.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::id::{Entropy, EntropyError};

/// Characters behind the prefix that listings show.
const SHOWN: usize = 4;

/// How secrets of one kind look.
pub(crate) struct Form {
    /// What they begin with.
    pub(crate) prefix: &'static str,
    /// How many random bytes come behind it.
    pub(crate) bytes: usize,
}

/// A whole secret. Never stored, prints as `[REDACTED]`.
#[derive(Clone)]
pub(crate) struct HexSecret(SecretString);

impl HexSecret {
    /// A new secret of this form.
    pub(crate) fn generate(form: &Form, entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = vec![0; form.bytes];
        entropy.fill(&mut bytes)?;
        Ok(Self(format!("{}{}", form.prefix, hex::encode(bytes)).into()))
    }

    /// The secret in `text`, if it has this form, lower case as issued.
    pub(crate) fn parse(form: &Form, text: &str) -> Option<Self> {
        let digits = text.strip_prefix(form.prefix)?;
        let fits = digits.len() == 2 * form.bytes
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(text.to_owned().into()))
    }

    /// What is stored and looked up. A plain hash is enough for so many random bits.
    pub(crate) fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.expose_secret().as_bytes()).into()
    }

    /// The part that listings show.
    pub(crate) fn shown(&self, form: &Form) -> String {
        self.0.expose_secret().chars().take(form.prefix.len() + SHOWN).collect()
    }

    /// The whole secret.
    pub(crate) fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for HexSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form { prefix: "t_", bytes: 3 };

    #[test]
    fn a_secret_is_its_prefix_and_digits() {
        let secret = HexSecret::parse(&FORM, "t_0a9f37").unwrap();
        assert_eq!((secret.reveal(), secret.shown(&FORM).as_str()), ("t_0a9f37", "t_0a9f"));
        assert_eq!(format!("{secret:?}"), "[REDACTED]");
        // By sha256sum.
        let hash = "95cc40e1744bd09b05e1760ab74d6033b16e71bdfbe5fcb1cddb3b50b05a9735";
        assert_eq!(hex::encode(secret.sha256()), hash);
        for other in
            ["0a9f37", "t_", "t_0a9f3", "t_0a9f370", "t_0a9F37", "t_0a9g37", "T_0a9f37", "t_0a9f3\u{e9}"]
        {
            assert!(HexSecret::parse(&FORM, other).is_none(), "{other}");
        }
    }
}
