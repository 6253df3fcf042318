//! A line of an export file, whoever writes it: the command line or the console.

use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{EntryRecord, KeyRecord, ProjectRecord, ProviderRecord, Record, SampleRecord};

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
    let no_line = |what| format!("not a line of an export: {what}");
    let format: Format = serde_json::from_slice(line).map_err(|error| no_line(error_line(&error)))?;
    if format.deja != FORMAT {
        return Err(format!("its format is {}, and this deja knows {FORMAT}: use a newer deja", format.deja));
    }
    serde_json::from_slice(line)
        .map_err(|error| no_line(wrong_member(line).unwrap_or_else(|| error_line(&error))))
}

/// What is wrong and where in the line, without a value of it.
fn error_line(error: &serde_json::Error) -> String {
    let what = without_place(error);
    let what = if error.is_data() && !is_of_names(&what) { no_value("a member", &what) } else { what };
    // A record is read a second time, by its type. There are no columns then.
    if error.column() == 0 { what } else { format!("{what} (column {})", error.column()) }
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map(|(what, _)| what.to_owned()).unwrap_or(text)
}

/// Whether what is wrong is told by names of members only.
fn is_of_names(what: &str) -> bool {
    ["missing field", "duplicate field", "unknown field"].iter().any(|begin| what.starts_with(begin))
}

/// The member whose value is wrong. A record with its type inside does not know, so it is read as what the type says.
fn wrong_member(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    let Typed { r#type } = serde_json::from_slice(line).ok()?;
    match r#type.as_str() {
        "project" => wrong_in::<ProjectRecord>(line),
        "provider" => wrong_in::<ProviderRecord>(line),
        "key" => wrong_in::<KeyRecord>(line),
        "entry" => wrong_in::<EntryRecord>(line),
        "sample" => wrong_in::<SampleRecord>(line),
        _ => None,
    }
}

fn wrong_in<T: DeserializeOwned>(line: &[u8]) -> Option<String> {
    let read = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(line));
    let error = read.err()?;
    let what = without_place(error.inner());
    let is_value = error.inner().is_data() && !is_of_names(&what);
    is_value.then(|| no_value(&format!("`{}`", error.path()), &what))
}

/// The words that a member may have are deja's own. All other errors would quote the value.
fn no_value(member: &str, what: &str) -> String {
    let words = what.starts_with("unknown variant").then(|| what.rsplit_once(", expected ")).flatten();
    let wanted = words.map(|(_, wanted)| format!("{member} must be {wanted}"));
    wanted.unwrap_or_else(|| format!("{member} has a value that it cannot have"))
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
            (&ENTRY.replace("\"m\"", "17"), "`model` has a value"),
            (&ENTRY.replace("\"prompt\"", "\"context\":5,\"prompt\""), "`context` has a value"),
            (
                &ENTRY.replace("\"input_tokens\":1", "\"input_tokens\":-1"),
                "`answer.input_tokens` has a value",
            ),
            (&ENTRY.replace("\"model\":\"m\",", ""), "`model`"),
            (&ENTRY.replace("\"prompt\"", "\"kind\":\"hush\",\"prompt\""), "`kind` "),
            (&ENTRY.replace("2026-01", "hush"), "`created` has a value"),
            (&ENTRY.replace("\"entry\"", "\"hush\""), "a member must be one of `project`, `provider`"),
            (&ENTRY[..99], "EOF"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("hush"), "{text}: {error}");
            assert!(!error.contains("column 0"), "{text}: {error}");
        }
    }
}
