//! Reads labelled pairs of prompts, from lines of JSON or from CSV.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Deserializer, de};

use crate::cli::transfer::skip_mark;

/// Two prompts, and whether one answer serves both.
#[derive(Deserialize)]
pub(super) struct Pair {
    pub(super) a: String,
    pub(super) b: String,
    #[serde(deserialize_with = "label")]
    pub(super) label: bool,
    #[serde(default)]
    pub(super) kind: String,
}

/// The pairs in the file, at least one. What is wrong is told with the line's number; nothing of a line is quoted.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Pair>> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    ensure!(!file.metadata().is_ok_and(|metadata| metadata.is_dir()), "{name}: is a directory");
    let csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let from = BufReader::new(file);
    let pairs = if csv { from_csv(from) } else { from_lines(from) }.with_context(|| name.clone())?;
    ensure!(!pairs.is_empty(), "{name} holds no pairs");
    Ok(pairs)
}

fn from_lines(mut from: impl BufRead) -> anyhow::Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    skip_mark(&mut from).context("line 1")?;
    for (line, number) in from.split(b'\n').zip(1..) {
        let line = line.with_context(|| format!("line {number}"))?;
        if !line.trim_ascii().is_empty() {
            let pair = serde_json::from_slice(&line).map_err(|error| told(&error.to_string()));
            pairs.push(checked(pair, number)?);
        }
    }
    Ok(pairs)
}

fn from_csv(from: impl BufRead) -> anyhow::Result<Vec<Pair>> {
    let mut reader = csv::Reader::from_reader(from);
    let headers = reader.headers().context("line 1")?.clone();
    for needed in ["a", "b", "label"] {
        ensure!(
            headers.iter().any(|header| header == needed),
            "line 1: there is no column {needed}; needed: a, b, label"
        );
    }
    let mut pairs = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            anyhow::anyhow!("line {line}: {}", csv_problem(error.kind()))
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let pair = record.deserialize(Some(&headers)).map_err(|error| match error.kind() {
            csv::ErrorKind::Deserialize { err, .. } => told(&err.kind().to_string()),
            other => csv_problem(other),
        });
        pairs.push(checked(pair, line)?);
    }
    Ok(pairs)
}

fn checked(pair: Result<Pair, String>, line: u64) -> anyhow::Result<Pair> {
    let pair = pair.map_err(|problem| anyhow::anyhow!("line {line}: {problem}"))?;
    for (name, text) in [("a", &pair.a), ("b", &pair.b)] {
        if text.trim().is_empty() {
            bail!("line {line}: {name} is empty");
        }
    }
    Ok(pair)
}

fn csv_problem(kind: &csv::ErrorKind) -> String {
    match kind {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} cells, and the first line has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".into(),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => WANTED.into(),
    }
}

const WANTED: &str = "not a pair; wanted: a and b (texts), label (1 or 0)";

/// The parser's words as far as they quote nothing of the text: prompts may be private.
fn told(problem: &str) -> String {
    let problem = problem.split(" at line ").next().unwrap_or_default();
    if ["missing field", "duplicate field", LABEL].iter().any(|known| problem.starts_with(known)) {
        format!("{problem}; wanted: a and b (texts), label (1 or 0)")
    } else {
        WANTED.into()
    }
}

const LABEL: &str = "the label is neither 1 nor 0";

/// 1, 0, true or false.
fn label<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    struct Label;
    impl de::Visitor<'_> for Label {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("1 or 0")
        }
        fn visit_bool<E: de::Error>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<bool, E> {
            match value {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err(E::custom(LABEL)),
            }
        }
        fn visit_i64<E: de::Error>(self, _: i64) -> Result<bool, E> {
            Err(E::custom(LABEL))
        }
        fn visit_f64<E: de::Error>(self, _: f64) -> Result<bool, E> {
            Err(E::custom(LABEL))
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<bool, E> {
            match value.trim() {
                "1" | "true" => Ok(true),
                "0" | "false" => Ok(false),
                _ => Err(E::custom(LABEL)),
            }
        }
    }
    from.deserialize_any(Label)
}
