//! What a page has to say about the form before it: a message, and once a secret that is shown a single time.
//!
//! It travels through the browser in a cookie, sealed with the server's own key and bound to the session and to the address of
//! the next page: nobody can make one up or read one, another tab that loads a page meanwhile does not take it, it lives a
//! minute, and any replica can open it. A page that shows it clears it.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Redirect, Response};
use deja_core::operator::TokenHash;
use serde::{Deserialize, Serialize};

use super::Console;
use super::error::ConsoleError;
use super::sealed;
use super::session::{Cookies, cookie, expired};

const NAME: &str = "deja_flash";
const SECONDS: i64 = 60;
/// Bytes of a text at most. Browsers drop a cookie of more than 4,096 bytes without a word, and the secret in it.
const TEXT_BYTES: usize = 1200;

/// A message for the next page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Flash {
    /// Whether it is good news.
    pub(super) good: bool,
    /// What is said; may be empty where `secret` says it all.
    pub(super) text: String,
    /// What is shown once, with what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<(String, String)>,
    /// Where a form without fields goes that takes it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undo: Option<String>,
}

impl Flash {
    pub(super) fn good(text: impl Into<String>) -> Self {
        Self { good: true, text: text.into(), ..Self::default() }
    }

    pub(super) fn bad(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With a button that takes it back.
    #[must_use]
    pub(super) fn undone_at(self, undo: Option<String>) -> Self {
        Self { undo, ..self }
    }

    /// This message, short enough for a cookie.
    fn bounded(&self) -> Self {
        let mut flash = self.clone();
        if flash.text.len() > TEXT_BYTES {
            flash.text.truncate(flash.text.floor_char_boundary(TEXT_BYTES));
            flash.text.push('…');
        }
        flash
    }

    /// A secret to show once, and what it is.
    pub(super) fn secret(what: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { good: true, secret: Some((what.into(), secret.into())), ..Self::default() }
    }
}

/// Goes to `to` and says `flash` there.
pub(super) fn redirect(
    console: &Console,
    session: Option<&TokenHash>,
    to: &str,
    flash: &Flash,
) -> Result<Response, ConsoleError> {
    let sealed = sealed::seal(console, &binding(session, to), &flash.bounded())?;
    let cookie = cookie(console.secure, NAME, &sealed, Some(SECONDS))?;
    let mut response = Redirect::to(to).into_response();
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// The message that came with the request, if it was made for this session and the page at `place`.
pub(super) fn read(
    console: &Console,
    cookies: &Cookies,
    session: Option<&TokenHash>,
    place: &str,
) -> Option<Flash> {
    sealed::open(console, &binding(session, place), &cookies.get(console.secure, NAME)?)
}

/// The header that clears the message.
pub(super) fn clear(console: &Console) -> HeaderValue {
    expired(console.secure, NAME)
}

fn binding(session: Option<&TokenHash>, place: &str) -> Vec<u8> {
    let path = place.split(['?', '#']).next().unwrap_or_default();
    [b"console flash ".as_slice(), session.map_or(&[][..], |hash| &hash.0), path.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_a_secret_is_not() {
        let secret = "s".repeat(500);
        for text in ["\"".repeat(9000), "ä".repeat(9000)] {
            let flash = Flash { text, ..Flash::secret("key", secret.clone()) }.bounded();
            assert!(flash.text.ends_with('…') && flash.secret == Some(("key".into(), secret.clone())));
            let sealed = serde_json::to_vec(&flash).unwrap().len() + 40;
            assert!(sealed.div_ceil(3) * 4 + "__Host-deja_flash".len() <= 4096, "{sealed}");
        }
        let short = Flash::good("ä".repeat(600));
        assert_eq!(short.bounded(), short);
    }
}
