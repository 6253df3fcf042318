//! A request's JSON: read once, kept as places in the text it came as.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::Malformed;
use crate::json::{json, needs_no_escape};

/// Objects and lists deeper than this are not looked at: what they hold cannot be told.
const MAX_DEPTH: usize = 128;

/// A JSON text that is valid, and where its values are in it.
///
/// `tape` holds the values in the order of the text. A string is two numbers, where it begins and where it ends; an object or a
/// list is two, where it begins and the place in the tape after all that it holds; any other value is one, where it begins. A
/// member of an object is its name, a string, and its value. So 32 MiB of small numbers take 64 MiB more.
pub(super) struct Document<'a> {
    text: &'a str,
    tape: Vec<u32>,
    /// Whether something is nested deeper than [`MAX_DEPTH`].
    pub(super) too_deep: bool,
    /// Whether two readers may read it differently: a member twice, half of a surrogate pair.
    pub(super) ambiguous: bool,
}

impl<'a> Document<'a> {
    /// Reads a JSON object, none of whose members is there twice.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let text = std::str::from_utf8(body).map_err(|_| Malformed::body("the body is not valid UTF-8"))?;
        if text.trim_ascii().is_empty() {
            return Err(Malformed::body("the body is empty: send a JSON object"));
        }
        if u32::try_from(text.len()).is_err() {
            return Err(Malformed::body("the body is larger than 4 GiB"));
        }
        let _: IgnoredAny = serde_json::from_str(text).map_err(|error| {
            Malformed::body(&format!("invalid JSON at line {} column {}", error.line(), error.column()))
        })?;
        // Room for the values of most requests.
        let tape = Vec::with_capacity(64);
        let mut document = Self { text, tape, too_deep: false, ambiguous: false };
        document.find_values();
        if document.root().kind() != Kind::Object {
            return Err(Malformed::body("the body must be a JSON object"));
        }
        document.find_twins()?;
        Ok(document)
    }

    /// The whole.
    pub(super) fn root(&self) -> Value<'_> {
        Value { document: self, at: 0 }
    }

    /// Fills the tape. The text is known to be valid.
    fn find_values(&mut self) {
        let bytes = self.text.as_bytes();
        let mut open = Vec::new();
        let mut deeper = 0_usize;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let start = at as u32;
            match byte {
                b'{' | b'[' => {
                    at += 1;
                    if open.len() == MAX_DEPTH {
                        self.too_deep = true;
                        deeper += 1;
                    } else {
                        open.push(self.tape.len());
                        self.tape.extend([start, 0]);
                    }
                }
                b'}' | b']' => {
                    at += 1;
                    if deeper > 0 {
                        deeper -= 1;
                    } else if let Some(container) = open.pop() {
                        self.tape[container + 1] = self.tape.len() as u32;
                    }
                }
                b'"' => {
                    at = self.end_of_string(at);
                    if deeper == 0 {
                        self.tape.extend([start, at as u32]);
                    }
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                _ => {
                    at += scalar(&bytes[at..]).len();
                    if deeper == 0 {
                        self.tape.push(start);
                    }
                }
            }
        }
    }

    /// The place after the string that begins at a place.
    fn end_of_string(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        let mut surrogates = false;
        while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            at += found;
            if bytes[at] == b'"' {
                let end = at + 1;
                if surrogates && serde_json::from_str::<String>(&self.text[start..end]).is_err() {
                    self.ambiguous = true;
                }
                return end;
            }
            surrogates |=
                matches!(bytes[at..], [_, b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]);
            at += 2;
        }
        bytes.len()
    }

    /// Looks for members that are there twice: at the top an error, deeper down [`Self::ambiguous`].
    fn find_twins(&mut self) -> Result<(), Malformed> {
        let mut ambiguous = false;
        let mut names = Vec::new();
        let mut at = 0;
        while at < self.tape.len() {
            let value = Value { document: self, at: at as u32 };
            if value.kind() == Kind::Object {
                names.clear();
                names.extend(value.members().map(|(name, _)| name));
                // Go's reader takes "Model" for "model": at the top that would be another model than the one that a key allows.
                if at == 0 {
                    names.sort_by(|one, other| lower(one).cmp(lower(other)));
                    if let Some([_, twin]) = names.array_windows().find(|[a, b]| a.eq_ignore_ascii_case(b)) {
                        return Err(Malformed::member(twin, "is there twice: send it once"));
                    }
                } else {
                    names.sort_unstable();
                    ambiguous |= names.array_windows().any(|[one, other]| one == other);
                }
            }
            at += value.width();
        }
        self.ambiguous |= ambiguous;
        Ok(())
    }
}

fn lower(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// The number, `true`, `false` or `null` that a text begins with.
fn scalar(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n'));
    &bytes[..end.unwrap_or(bytes.len())]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Flag,
    Number,
    Text,
    List,
    Object,
}

/// A value in a document.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    document: &'a Document<'a>,
    at: u32,
}

impl<'a> Value<'a> {
    pub(super) fn kind(self) -> Kind {
        match self.document.text.as_bytes()[self.start()] {
            b'{' => Kind::Object,
            b'[' => Kind::List,
            b'"' => Kind::Text,
            b'n' => Kind::Null,
            b't' | b'f' => Kind::Flag,
            _ => Kind::Number,
        }
    }

    /// Whether both are the same place of the same document.
    pub(super) fn is(self, other: Self) -> bool {
        self.at == other.at && std::ptr::eq(self.document, other.document)
    }

    pub(super) fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// A number, `true`, `false` or `null` as it was written; nothing for other values.
    pub(super) fn scalar(self) -> &'a str {
        match self.kind() {
            Kind::Null | Kind::Flag | Kind::Number => {
                let start = self.start();
                let length = scalar(&self.document.text.as_bytes()[start..]).len();
                &self.document.text[start..start + length]
            }
            Kind::Text | Kind::List | Kind::Object => "",
        }
    }

    /// The text of a string, unescaped. A string that cannot be unescaped is given as it was written.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        let quoted = self.quoted()?;
        let inner = &quoted[1..quoted.len() - 1];
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        Some(serde_json::from_str(quoted).map_or(Cow::Borrowed(inner), Cow::Owned))
    }

    /// Whether it is this text.
    pub(super) fn is_text(self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    /// The members of an object, as they came; of other values none.
    pub(super) fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        let mut names = self.held(Kind::Object);
        std::iter::from_fn(move || {
            let name = names.next()?;
            Some((name.text()?, names.next()?))
        })
    }

    /// The members of an object by name.
    pub(super) fn sorted_members(self) -> Vec<(Cow<'a, str>, Self)> {
        let mut members: Vec<_> = self.members().collect();
        members.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        members
    }

    /// The items of a list; of other values none.
    pub(super) fn items(self) -> impl Iterator<Item = Self> {
        self.held(Kind::List)
    }

    /// The member of this name.
    pub(super) fn get(self, name: &str) -> Option<Self> {
        self.members().find(|member| member.0 == name).map(|(_, value)| value)
    }

    /// Puts the canonical form: JSON without white space, members by name, a text in the one spelling that serde_json gives
    /// it, a number as it was written.
    pub(super) fn put(self, sink: &mut dyn Sink) {
        match self.kind() {
            Kind::Null | Kind::Flag | Kind::Number => sink.put(self.scalar()),
            Kind::Text => match self.quoted() {
                Some(quoted) if is_canonical(quoted.as_bytes()) => sink.put(quoted),
                _ => put_text(sink, &self.text().unwrap_or_default()),
            },
            Kind::List => put_list(sink, self.items(), |sink, item| item.put(sink)),
            Kind::Object => put_object(sink, self.sorted_members(), |sink, _, member| member.put(sink)),
        }
    }

    fn start(self) -> usize {
        self.document.tape[self.at as usize] as usize
    }

    /// How much of the tape its head takes.
    fn width(self) -> usize {
        if matches!(self.kind(), Kind::Text | Kind::List | Kind::Object) { 2 } else { 1 }
    }

    /// The place in the tape after it and all that it holds.
    fn end(self) -> u32 {
        match self.kind() {
            Kind::List | Kind::Object => self.document.tape[self.at as usize + 1],
            _ => self.at + self.width() as u32,
        }
    }

    /// A string as it was written, quotes included.
    fn quoted(self) -> Option<&'a str> {
        let end = self.document.tape[self.at as usize..].get(1)?;
        (self.kind() == Kind::Text).then(|| &self.document.text[self.start()..*end as usize])
    }

    /// The values directly inside this one, if it is of this kind.
    fn held(self, kind: Kind) -> impl Iterator<Item = Self> {
        let (mut at, end) = if self.kind() == kind { (self.at + 2, self.end()) } else { (0, 0) };
        std::iter::from_fn(move || {
            let value = (at < end).then_some(Value { document: self.document, at })?;
            at = value.end();
            Some(value)
        })
    }
}

/// Whether serde_json would write a string in the same way: no escape but the short ones that it uses itself.
fn is_canonical(quoted: &[u8]) -> bool {
    let mut escapes = quoted;
    while let Some(found) = memchr::memchr(b'\\', escapes) {
        if !matches!(escapes[found + 1], b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f') {
            return false;
        }
        escapes = &escapes[found + 2..];
    }
    true
}

/// What takes up a canonical form.
pub(super) trait Sink {
    fn put(&mut self, text: &str);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Sink for Sha256 {
    fn put(&mut self, text: &str) {
        self.update(text);
    }
}

pub(super) fn put_text(sink: &mut dyn Sink, text: &str) {
    if needs_no_escape(text) {
        for part in ["\"", text, "\""] {
            sink.put(part);
        }
    } else {
        sink.put(&json(text));
    }
}

pub(super) fn put_list<'a>(
    sink: &mut dyn Sink,
    items: impl Iterator<Item = Value<'a>>,
    put: impl Fn(&mut dyn Sink, Value<'a>),
) {
    let mut before = "[";
    for item in items {
        sink.put(before);
        put(sink, item);
        before = ",";
    }
    sink.put(if before == "[" { "[]" } else { "]" });
}

pub(super) fn put_object<'a>(
    sink: &mut dyn Sink,
    members: impl IntoIterator<Item = (Cow<'a, str>, Value<'a>)>,
    put: impl Fn(&mut dyn Sink, &str, Value<'a>),
) {
    let mut before = "{";
    for (name, member) in members {
        sink.put(before);
        put_text(sink, &name);
        sink.put(":");
        put(sink, &name, member);
        before = ",";
    }
    sink.put(if before == "{" { "{}" } else { "}" });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bodies that have most values for their length.
    #[test]
    fn a_tape_is_at_most_three_times_the_text() {
        for (item, most) in [("1", 2.1), ("\"\"", 2.8), ("[]", 2.8), ("{}", 2.8), (r#"{"":1}"#, 2.9)] {
            let body = format!(r#"{{"x":[{item}{}]}}"#, format!(",{item}").repeat(10_000));
            let document = Document::read(body.as_bytes()).unwrap();
            let share = (document.tape.len() * size_of::<u32>()) as f64 / body.len() as f64;
            assert!((1.9..most).contains(&share), "{item}: {share}");
        }
    }

    #[test]
    fn the_canonical_form() {
        let body = r#" { "b" : [ 1.50 , -0 , "\u00e9\/\u001B\n" , { } , [ ] ] , "a\u0062" : null , "a" : { "z" : true , "y" : false } } "#;
        let mut canonical = String::new();
        Document::read(body.as_bytes()).unwrap().root().put(&mut canonical);
        assert_eq!(canonical, r#"{"a":{"y":false,"z":true},"ab":null,"b":[1.50,-0,"é/\u001b\n",{},[]]}"#);
    }
}
