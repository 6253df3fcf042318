//! A line of an export file, whoever writes it: the command line or the console.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::Record;

/// The number of the format. Members may be added without changing it.
const FORMAT: u32 = 1;

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
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Written { deja: FORMAT, record })?;
    out.write_all(b"\n")
}

/// The record in a line, or in words why there is none. The words quote nothing of the line: it may be private.
pub fn parse(line: &[u8]) -> Result<Record, String> {
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

#[cfg(test)]
mod tests {
    use crate::provider::ProviderKind;

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
}
