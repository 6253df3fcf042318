//! What browsers hold for the console, in hidden fields and cookies: sealed with the server's key and bound to what it is for, so that
//! nobody else reads it or makes it up, nothing is kept anywhere, and any replica can open it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Console;
use super::error::ConsoleError;
use super::page::Visit;

/// The value, for a field or a cookie. It opens with the same `binding` only.
pub(super) fn seal(
    console: &Console,
    binding: &[u8],
    value: &impl Serialize,
) -> Result<String, ConsoleError> {
    let bytes = serde_json::to_vec(value).map_err(ConsoleError::failed)?;
    let sealed = console.vault.seal(&bytes, binding).map_err(ConsoleError::failed)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// What [`seal`] made with this `binding`.
pub(super) fn open<T: DeserializeOwned>(console: &Console, binding: &[u8], sealed: &str) -> Option<T> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let opened = console.vault.open(&sealed, binding).ok()?;
    serde_json::from_slice(&opened).ok()
}

impl Visit {
    /// The value, for a hidden field of this session. `what` it is keeps one field's from being taken for another's.
    pub(super) fn seal(&self, what: &str, value: &impl Serialize) -> Result<String, ConsoleError> {
        seal(&self.console, &self.binding(what), value)
    }

    /// What [`seal`](Self::seal) made in this session.
    pub(super) fn open<T: DeserializeOwned>(&self, what: &str, sealed: &str) -> Option<T> {
        open(&self.console, &self.binding(what), sealed)
    }

    /// What a form is filled with, for a hidden field of it: whoever signs in anew before they send it is the same person.
    pub(super) fn seal_filled(&self, what: &str, value: &impl Serialize) -> Result<String, ConsoleError> {
        seal(&self.console, &self.person(what), value)
    }

    /// What [`seal_filled`](Self::seal_filled) made for this person.
    pub(super) fn open_filled<T: DeserializeOwned>(&self, what: &str, sealed: &str) -> Option<T> {
        open(&self.console, &self.person(what), sealed)
    }

    fn binding(&self, what: &str) -> Vec<u8> {
        [b"console ".as_slice(), what.as_bytes(), b" ", &self.who.session.token.0].concat()
    }

    fn person(&self, what: &str) -> Vec<u8> {
        [b"console form ".as_slice(), what.as_bytes(), b" ", self.who.operator.id.as_bytes()].concat()
    }
}
