//! The second factor of an operator: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for the day it is lost.

use std::fmt;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::{Digest, Sha256};
use totp_rs::{Builder, Totp};

use crate::clock::Timestamp;
use crate::id::{Entropy, EntropyError, OperatorId};
use crate::operator::{Email, TokenHash};

/// Recovery codes that come with a second factor.
pub(crate) const RECOVERY_CODES: usize = 10;
/// 160 bits, as RFC 4226 recommends in section 4.
const SECRET_BYTES: usize = 20;
const RECOVERY_BYTES: usize = 10;

/// The secret that an authenticator app and deja share. Prints as `[REDACTED]`.
#[derive(Clone)]
pub struct TotpSecret(SecretSlice<u8>);

impl TotpSecret {
    /// A new secret.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = vec![0; SECRET_BYTES];
        entropy.fill(&mut bytes)?;
        Ok(Self(bytes.into()))
    }

    /// The secret with these bytes, if they are as many as it has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == SECRET_BYTES).then(|| Self(bytes.to_vec().into()))
    }

    /// The bytes, for sealing.
    pub fn expose(&self) -> &[u8] {
        self.0.expose_secret()
    }

    /// In base32, to be typed into an app.
    pub fn to_base32(&self) -> String {
        self.totp("").secret().to_base32()
    }

    /// As an address of the scheme `otpauth`, which apps read as a QR code.
    pub fn to_url(&self, of: &Email) -> Option<String> {
        // The scheme has colons between its parts.
        self.totp(&of.as_str().replace(':', "-")).to_url().ok()
    }

    /// The step of 30 seconds whose code this is: the present one, the one before or the one after (RFC 6238, section 5.2).
    pub fn step_of(&self, code: &str, now: Timestamp) -> Option<u64> {
        let seconds = u64::try_from(now.as_secs()).ok()?;
        // Apps show it in two groups.
        let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        self.totp("").check(&code, seconds)
    }

    fn totp(&self, account: &str) -> Totp {
        let secret = self.expose().to_vec();
        // What `build` would refuse is fixed here: length of the secret, digits and step; and neither name has a colon.
        Builder::new()
            .with_secret(secret)
            .with_issuer(Some("deja"))
            .with_account_name(account)
            .build_noncompliant()
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret([REDACTED])")
    }
}

/// Opens the door once without the app: 80 random bits. Never stored, prints as `[REDACTED]`.
#[derive(Clone)]
pub struct RecoveryCode(SecretString);

impl RecoveryCode {
    /// A new code.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = Zeroizing::new([0; RECOVERY_BYTES]);
        entropy.fill(&mut *bytes)?;
        Ok(Self(hex::encode(*bytes).into()))
    }

    /// The code in `text`, if it has a code's form; dashes, blanks and capitals do not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
        let form = digits.len() == 2 * RECOVERY_BYTES && digits.bytes().all(|b| b.is_ascii_hexdigit());
        form.then(|| Self(digits.to_ascii_lowercase().into()))
    }

    /// The hash that is stored and looked up. A plain hash is enough for 80 random bits that open nothing without the
    /// password.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.expose_secret().as_bytes()).into())
    }

    /// The code in groups of five, for the one time it is shown.
    pub fn reveal(&self) -> String {
        let digits = self.0.expose_secret();
        let groups: Vec<_> = (0..digits.len()).step_by(5).filter_map(|at| digits.get(at..at + 5)).collect();
        groups.join("-")
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode([REDACTED])")
    }
}

/// A second factor as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// The secret, encrypted and bound to its operator.
    pub sealed_secret: Vec<u8>,
    /// When it was turned on.
    pub since: Timestamp,
    /// Codes of this step and of earlier ones are used up.
    pub last_step: u64,
    /// The recovery codes that are left.
    pub recovery: Vec<TokenHash>,
}

/// What the secret of an operator is bound to when it is sealed.
pub fn binding(operator: OperatorId) -> Vec<u8> {
    [b"second factor ".as_slice(), operator.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SystemEntropy;

    /// The secret and the times of RFC 6238, appendix B; its codes have eight digits, of which the last six are these.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890").unwrap();
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
        ] {
            let step = u64::try_from(seconds / 30).unwrap();
            for drift in [-30, 0, 30] {
                assert_eq!(secret.step_of(code, Timestamp::from_secs(seconds + drift)), Some(step), "{code}");
            }
            for drift in [-90, 90] {
                assert_eq!(secret.step_of(code, Timestamp::from_secs(seconds + drift)), None, "{code}");
            }
        }
        for typed in ["287 082", " 287082\n", "287\u{a0}082"] {
            assert_eq!(secret.step_of(typed, Timestamp::from_secs(59)), Some(1), "{typed}");
        }
        for wrong in ["", "28708", "2870820", "abcdef", "２８７０８２"] {
            assert_eq!(secret.step_of(wrong, Timestamp::from_secs(59)), None, "{wrong}");
        }
    }

    #[test]
    fn an_app_can_be_told_the_secret() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890").unwrap();
        assert_eq!(secret.to_base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        let url = secret.to_url(&"a:da@example.com".parse().unwrap()).unwrap();
        assert_eq!(
            url,
            "otpauth://totp/deja:a-da%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=deja"
        );
        assert!(TotpSecret::from_bytes(b"short").is_none());
        assert!(!format!("{secret:?}").contains("GEZD"));
    }

    #[test]
    fn a_secret_is_bound_to_its_operator() {
        // Stores hold secrets that were sealed with these bytes.
        let bound = [b"second factor ".as_slice(), &[7; 16]].concat();
        assert_eq!(binding(OperatorId::from_bytes([7; 16])), bound);
    }

    #[test]
    fn recovery_codes_are_read_as_people_type_them() {
        let code = RecoveryCode::generate(&SystemEntropy).unwrap();
        let shown = code.reveal();
        assert_eq!((shown.len(), shown.matches('-').count()), (23, 3));
        for typed in [shown.clone(), shown.to_uppercase(), shown.replace('-', " "), shown.replace('-', "")] {
            assert_eq!(RecoveryCode::parse(&typed).unwrap().hash(), code.hash(), "{typed}");
        }
        for wrong in ["", "123456", &shown[1..], &format!("{shown}0"), &shown.replace('-', "g")] {
            assert!(RecoveryCode::parse(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{code:?}").contains(&shown[..5]));
    }
}
