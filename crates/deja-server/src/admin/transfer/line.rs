//! A line of an export file.

use std::io::{self, BufRead, Read as _, Write};

use serde::{Deserialize, Serialize};

use crate::admin::transfer::Record;

/// The number of the format. Members may be added without changing it.
const FORMAT: u32 = 1;
/// Longest line: it still fits a request to the admin socket.
pub(super) const MAX_LINE: u64 = 60 << 20;

#[derive(Serialize)]
struct Written<'a> {
    deja: u32,
    #[serde(flatten)]
    record: &'a Record,
}

#[derive(Deserialize)]
struct Format {
    deja: u32,
}

/// Writes a record and the end of its line.
pub(super) fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Written { deja: FORMAT, record })?;
    out.write_all(b"\n")
}

/// The record in a line, or in words why there is none. The words quote nothing of the line: it may be private.
pub(super) fn parse(line: &[u8]) -> Result<Record, String> {
    let no_line = |error: serde_json::Error| format!("not a line of an export: {}", told(&error));
    let format: Format = serde_json::from_slice(line).map_err(no_line)?;
    if format.deja != FORMAT {
        return Err(format!("its format is {}, and this deja knows {FORMAT}: use a newer deja", format.deja));
    }
    serde_json::from_slice(line).map_err(no_line)
}

/// What is wrong and where in the line; serde's own words for a wrong type would quote the value.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = match error.classify() {
        serde_json::error::Category::Data if text.starts_with("invalid") => "a member has the wrong type",
        _ => text.split(" at line ").next().unwrap_or_default(),
    };
    format!("{what} (column {})", error.column())
}

/// The next line without its end; `None` behind the last. A line that is too long is read past and is empty.
pub(super) fn read<'a>(from: &mut impl BufRead, line: &'a mut Vec<u8>) -> io::Result<Option<Read<'a>>> {
    line.clear();
    let bytes = from.take(MAX_LINE).read_until(b'\n', line)? as u64;
    if bytes == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && bytes == MAX_LINE {
        let rest = from.skip_until(b'\n')? as u64;
        return Ok(Some(Read { text: None, bytes: bytes + rest }));
    }
    Ok(Some(Read { text: Some(line.trim_ascii()), bytes }))
}

/// A line that was read.
pub(super) struct Read<'a> {
    /// Its text; `None` if it is too long.
    pub(super) text: Option<&'a [u8]>,
    /// Its bytes in the file.
    pub(super) bytes: u64,
}

#[cfg(test)]
mod tests {
    use deja_core::provider::ProviderKind;

    use super::*;

    const ENTRY: &str = r#"{"deja":1,"type":"entry","project":"a","id":"x","model":"m","prompt":"p",
        "answer":{"text":"t","provider":"o","input_tokens":1,"output_tokens":2},
        "created":"2026-01-02T03:04:05.123456789Z","later":"a member that a newer deja writes"}"#;

    #[test]
    fn a_line_may_have_more_or_fewer_members() {
        let Record::Entry(entry) = parse(ENTRY.as_bytes()).unwrap() else { panic!("an entry") };
        assert_eq!((entry.context, entry.expires), (None, None));
        assert_eq!(entry.created.to_string(), "2026-01-02T03:04:05.123456789Z");
        let empty = ENTRY.replace(r#""prompt""#, r#""context":"","prompt""#);
        let Record::Entry(entry) = parse(empty.as_bytes()).unwrap() else { panic!("an entry") };
        assert_eq!(entry.context.as_deref(), Some(""));
    }

    #[test]
    fn a_provider_of_no_kind_speaks_openais_format() {
        let line = r#"{"deja":1,"type":"provider","project":"a","id":"x","name":"house","base_url":"https://h/v1",
            "models":["m"],"allow_private":false,"created":"2026-01-02T03:04:05Z","has_secret":false}"#;
        let Record::Provider(provider) = parse(line.as_bytes()).unwrap() else { panic!("a provider") };
        assert_eq!(provider.kind, ProviderKind::OpenAi);
        let mut written = Vec::new();
        write(&Record::Provider(provider), &mut written).unwrap();
        assert!(String::from_utf8(written).unwrap().contains(r#""kind":"openai""#));
    }

    #[test]
    fn what_is_no_line_is_told_without_quoting_it() {
        for (text, wanted) in [
            ("hush", "not a line of an export"),
            ("{\"deja\":1}", "`type`"),
            ("{\"deja\":2,\"type\":\"entry\"}", "newer deja"),
            ("{\"type\":\"entry\"}", "`deja`"),
            (&ENTRY.replace("\"m\"", "17"), "wrong type"),
            (&ENTRY.replace("\"model\":\"m\",", ""), "`model`"),
            (&ENTRY.replace("2026-01", "hush"), "not a line"),
            (&ENTRY[..99], "EOF"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("hush"), "{text}: {error}");
        }
    }

    #[test]
    fn lines_are_read_one_by_one() {
        let (mut from, mut line) = (&b"one\r\n\n three"[..], Vec::new());
        let mut lines = Vec::new();
        while let Some(read) = read(&mut from, &mut line).unwrap() {
            lines.push((String::from_utf8(read.text.unwrap().to_vec()).unwrap(), read.bytes));
        }
        assert_eq!(lines, [("one", 5), ("", 1), ("three", 6)].map(|(text, bytes)| (text.to_owned(), bytes)));
    }
}
