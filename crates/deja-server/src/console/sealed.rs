//! What a page gives its own form to hold: sealed with the server's key and bound to the session, so that nobody else reads it or
//! makes it up, nothing is kept anywhere, and any replica can open it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ConsoleError;
use super::page::Visit;

impl Visit {
    /// The value, for a hidden field. `what` it is keeps one field's from being taken for another's.
    pub(super) fn seal(&self, what: &str, value: &impl Serialize) -> Result<String, ConsoleError> {
        let bytes = serde_json::to_vec(value).map_err(|error| ConsoleError::Failed(error.to_string()))?;
        let sealed = self.console.vault.seal(&bytes, &self.binding(what));
        let sealed = sealed.map_err(|error| ConsoleError::Failed(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What [`seal`](Self::seal) made in this session.
    pub(super) fn open<T: DeserializeOwned>(&self, what: &str, sealed: &str) -> Option<T> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let opened = self.console.vault.open(&sealed, &self.binding(what)).ok()?;
        serde_json::from_slice(&opened).ok()
    }

    fn binding(&self, what: &str) -> Vec<u8> {
        [b"console ".as_slice(), what.as_bytes(), b" ", &self.who.session.token.0].concat()
    }
}
