//! What a request asks of the cache, by headers: `X-Deja-*`, as far as the project allows them, and `Cache-Control`.

use std::str::FromStr;
use std::time::Duration;

use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderName};
use deja_core::embedding::Threshold;
use deja_core::engine::Control;
use deja_core::project::{ClientControl, ProjectSettings};
use deja_wire::Malformed;

use super::error::WireError;
use crate::state::RequestLimits;

pub(super) const CACHE: HeaderName = HeaderName::from_static("x-deja-cache");
const THRESHOLD: HeaderName = HeaderName::from_static("x-deja-threshold");
const CONTEXT: HeaderName = HeaderName::from_static("x-deja-context");
const TTL: HeaderName = HeaderName::from_static("x-deja-ttl");
const DEBUG: HeaderName = HeaderName::from_static("x-deja-debug");
const PACE: HeaderName = HeaderName::from_static("x-deja-pace");

/// What a request asks of the cache.
#[derive(Debug, PartialEq)]
pub(super) struct Controls {
    pub(super) control: Control,
    pub(super) threshold: Threshold,
    /// Segments the cache, and goes nowhere else.
    pub(super) context: Option<String>,
    /// Whether the answer's headers tell how it went.
    pub(super) debug: bool,
    /// Tokens a second at which a stream from the cache comes; all at once without.
    pub(super) pace: Option<u32>,
}

impl Controls {
    pub(super) fn read(
        headers: &HeaderMap,
        settings: &ProjectSettings,
        limits: &RequestLimits,
    ) -> Result<Self, WireError> {
        let asked = Asked { headers, settings };
        let threshold =
            asked.value(&THRESHOLD, ClientControl::Threshold, "a number from 0 to 1", |text| {
                Threshold::new(text.parse().ok()?)
            })?;
        let must_be = format!("text of at most {} bytes", limits.context_bytes);
        let context = asked.value(&CONTEXT, ClientControl::Context, &must_be, |text| {
            (text.len() <= limits.context_bytes).then(|| text.to_owned())
        })?;
        let ttl =
            asked.value(&TTL, ClientControl::Ttl, "a whole number of seconds, 1 to 9999999999", seconds)?;
        let debug = asked.value(&DEBUG, ClientControl::Debug, "1 or 0", |text| match text {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        })?;
        let must_be = "a whole number of tokens a second, 1 to 1000";
        let pace = asked.value(&PACE, ClientControl::Pace, must_be, |text| {
            number(text)?.try_into().ok().filter(|pace| (1..=1000).contains(pace))
        })?;
        let words = "on, exact, refresh, off or only";
        let control = match asked.value(&CACHE, ClientControl::Cache, words, of_word)? {
            Some(control) => control,
            None if asked.allows(ClientControl::Cache) => of_cache_control(headers),
            None => Control::default(),
        };
        Ok(Self {
            control: Control { ttl, ..control },
            threshold: settings.threshold(threshold),
            context,
            debug: debug.unwrap_or(false),
            pace,
        })
    }
}

struct Asked<'a> {
    headers: &'a HeaderMap,
    settings: &'a ProjectSettings,
}

impl Asked<'_> {
    fn allows(&self, control: ClientControl) -> bool {
        self.settings.client_controls.contains(&control)
    }

    /// The value of a control; an error that says what it `must_be`, or that the project does not allow it.
    fn value<T>(
        &self,
        name: &HeaderName,
        control: ClientControl,
        must_be: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, WireError> {
        let mut values = self.headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        let refuse = |message: String| {
            WireError::Malformed(Malformed { message, param: Some(name.to_string()), code: None })
        };
        if !self.allows(control) {
            return Err(refuse(format!("This project does not let its keys send {name}.")));
        }
        let value = std::str::from_utf8(value.as_bytes()).ok().filter(|_| values.next().is_none());
        let read = value.map(str::trim).and_then(read);
        read.map(Some).ok_or_else(|| refuse(format!("{name} must be {must_be}.")))
    }
}

fn of_word(word: &str) -> Option<Control> {
    let all = Control::default();
    match word {
        "on" => Some(all),
        "exact" => Some(Control { semantic: false, ..all }),
        "refresh" => Some(Control { look_up: false, ..all }),
        "off" => Some(Control { look_up: false, store: false, ..all }),
        "only" => Some(Control { only: true, ..all }),
        _ => None,
    }
}

/// RFC 9111, section 5.2.1. Proxies and libraries write this header too, so what is not understood is passed over.
fn of_cache_control(headers: &HeaderMap) -> Control {
    let mut control = Control::default();
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    for directive in values.flat_map(|value| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-cache" => control.look_up = false,
            "no-store" => control.store = false,
            "only-if-cached" => control.only = true,
            "max-age" => control.max_age = number(value.trim().trim_matches('"')).map(Duration::from_secs),
            _ => {}
        }
    }
    control
}

fn seconds(text: &str) -> Option<Duration> {
    number(text).filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// A number of at most ten digits: centuries.
fn number(text: &str) -> Option<u64> {
    let digits = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| u64::from_str(text).ok()).flatten()
}
