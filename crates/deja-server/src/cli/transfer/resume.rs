//! Going on with an interrupted export: its whole lines stay, half a line at the end goes. All of it is read, because
//! each project may have got something since its lines were written.

use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom, Write as _};

use super::lines;
use super::pages::Written;
use deja_core::admin::transfer::line;

/// Cuts half a line off the file's end, leaves it there to write on, and gives what is written. A last line that lacks only its
/// end gets it: an editor may have taken it, and what it says may be nowhere else any more.
pub(super) fn go_on(file: &mut File) -> anyhow::Result<Written> {
    let (mut written, mut whole, mut number, mut ended) = (Written::default(), 0, 0, true);
    file.rewind()?;
    let (mut from, mut buffer) = (BufReader::with_capacity(1 << 20, &mut *file), Vec::new());
    while let Some(read) = lines::read(&mut from, &mut buffer)? {
        number += 1;
        let is_empty = read.text.is_some_and(<[u8]>::is_empty);
        match read.text.map_or_else(|| Err("it is too long".to_owned()), line::parse) {
            Ok(record) => written.add(&record)?,
            Err(_) if is_empty && read.ended => {}
            Err(_) if !read.ended => break,
            Err(reason) => anyhow::bail!("the file cannot go on: line {number}: {reason}"),
        }
        whole += read.bytes;
        ended = read.ended;
    }
    drop(from);
    file.set_len(whole)?;
    file.seek(SeekFrom::End(0))?;
    if !ended {
        file.write_all(b"\n")?;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its length then, or what is wrong.
    fn length_of(text: &str) -> Result<u64, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let gone_on = go_on(&mut file).map_err(|error| error.to_string());
        let length = file.metadata().unwrap().len();
        gone_on.map(|_| length).inspect_err(|_| assert_eq!(length, text.len() as u64, "it stays as it is"))
    }

    #[test]
    fn half_a_line_is_no_line() {
        let answer = r#"{"text":"t","provider":"o","input_tokens":1,"output_tokens":2}"#;
        let entry = |prompt: &str| {
            format!(
                r#"{{"deja":1,"type":"entry","project":"a","id":"x","model":"m","prompt":"{prompt}","answer":{answer},"created":"2026-01-02T03:04:05Z"}}"#
            )
        };
        let (one, long) = (entry("one"), entry(&"x".repeat(3_000_000)));
        for (text, whole) in [
            (String::new(), 0),
            ("half".into(), 0),
            (one[..one.len() - 1].into(), 0),
            (one.clone(), one.len() + 1),
            (format!("{one}\n"), one.len() + 1),
            (format!("{one}\n{long}\nhalf"), one.len() + long.len() + 2),
            (format!("{one}\n{long}"), one.len() + long.len() + 2),
            // As an editor leaves it, or two files that were put together.
            (format!("\u{feff}{one}\r\n\n\u{feff}{long}\n\n \n"), one.len() + long.len() + 13),
            (format!("\u{feff}{one}\n  "), one.len() + 4),
            ("\u{feff}".into(), 0),
        ] {
            assert_eq!(length_of(&text), Ok(whole as u64), "{} bytes", text.len());
        }
        for other in ["a letter\nto someone".into(), format!("{one}\na letter\n{one}\n")] {
            let error = length_of(&other).unwrap_err();
            assert!(error.contains("cannot go on: line ") && !error.contains("letter"), "{error}");
        }
    }
}
