//! JSON objects whose members keep their order and whose values keep their bytes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members of an object, in their order, each value as it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The object in `bytes`; `None` if they are anything else.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The object in `raw`; `None` if it is anything else.
    pub(crate) fn of(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of a member that is there and not null; of several the last.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.members()
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value)
            .last()
            .filter(|value| !is_null(value))
    }

    /// A member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name).and_then(Self::of)
    }

    /// A member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    /// The elements of a member that is an array; none if it is anything else.
    pub(crate) fn items(&self, name: &str) -> Vec<&'a RawValue> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// All members, null or not.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

/// The string in `raw`.
pub(crate) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Whether `raw` is null.
pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Whether `value` says nothing: null, false, an empty text, or a list or an object of such.
pub(crate) fn is_silent(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_silent),
        Value::Object(members) => members.values().all(is_silent),
        _ => false,
    }
}

/// Whether JSON that was not parsed yet says nothing: see [`is_silent`].
pub(crate) fn is_empty(raw: &RawValue) -> bool {
    let nested = || serde_json::from_str(raw.get()).is_ok_and(|value| is_silent(&value));
    match raw.get() {
        "null" | "false" | "\"\"" => true,
        raw => raw.starts_with(['[', '{']) && nested(),
    }
}

/// Whether `text` stands in JSON as it is.
pub(crate) fn needs_no_escape(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

/// `value` as JSON.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> String {
    // Strings, numbers and arrays of them: writing them to memory cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Writes an object, member by member.
#[derive(Debug)]
pub(crate) struct Writer(String);

impl Writer {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member whose value is JSON already.
    pub(crate) fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // Each of many events has several names.
        if needs_no_escape(name) {
            for part in ["\"", name, "\":", value] {
                self.0.push_str(part);
            }
        } else {
            for part in [&json(name), ":", value] {
                self.0.push_str(part);
            }
        }
        self
    }

    /// Adds a member whose value is JSON already, if there is one.
    pub(crate) fn some(&mut self, name: &str, value: Option<&RawValue>) -> &mut Self {
        if let Some(value) = value {
            self.raw(name, value.get());
        }
        self
    }

    /// Adds a member.
    pub(crate) fn value(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        let value = json(value);
        self.raw(name, &value)
    }

    /// The object.
    pub(crate) fn end(&mut self) -> String {
        self.0.push('}');
        std::mem::take(&mut self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A member's name, borrowed where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
