//! Going on with an interrupted export: its whole lines stay, half a line at the end goes, and the last whole one
//! says where to go on.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::lines::MAX_LINE;
use deja_core::admin::transfer::{Record, line};

/// What is read of the end at first; more if a line is longer.
const TAIL: u64 = 64 << 10;

/// Cuts half a line off the file's end, leaves it there to write on, and gives its last record.
pub(super) fn go_on(file: &mut File) -> anyhow::Result<Option<Record>> {
    let length = file.seek(SeekFrom::End(0))?;
    let (whole, last) = last_line(file, length)?;
    let record = match last.as_deref().map(line::parse).transpose() {
        Ok(record) => record,
        Err(reason) => anyhow::bail!("the file cannot go on: its last whole line is {reason}"),
    };
    if whole < length {
        file.set_len(whole)?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok(record)
}

/// The length of the file's whole lines, and the last of them.
fn last_line(file: &mut File, length: u64) -> io::Result<(u64, Option<Vec<u8>>)> {
    let mut tail = TAIL;
    loop {
        let from = length.saturating_sub(tail);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(length - from).read_to_end(&mut bytes)?;
        let newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
        let end = newline(&bytes);
        let begin = end.and_then(|end| newline(&bytes[..end]));
        match (begin, end) {
            (Some(begin), Some(end)) => {
                return Ok((from + end as u64 + 1, Some(bytes[begin + 1..end].to_vec())));
            }
            (None, Some(end)) if from == 0 => return Ok((end as u64 + 1, Some(bytes[..end].to_vec()))),
            (_, None) if from == 0 => return Ok((0, None)),
            _ if tail > 4 * MAX_LINE => return Err(io::Error::other("its last line has no end")),
            _ => tail *= 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    #[test]
    fn half_a_line_is_no_line() {
        let long = "x".repeat(300_000);
        for (text, whole, last) in [
            ("", 0, None),
            ("half", 0, None),
            ("one\n", 4, Some("one")),
            ("one\ntwo\nhalf", 8, Some("two")),
            (&format!("one\n{long}\nhalf"), 300_005, Some(long.as_str())),
            (&format!("one\n{long}"), 4, Some("one")),
        ] {
            let found = last_line(&mut file(text.as_bytes()), text.len() as u64).unwrap();
            assert_eq!(found, (whole, last.map(|last| last.as_bytes().to_vec())), "{} bytes", text.len());
        }
    }

    #[test]
    fn a_file_of_something_else_stays_as_it_is() {
        let mut other = file(b"a letter\nto someone");
        assert!(go_on(&mut other).is_err());
        assert_eq!(other.metadata().unwrap().len(), 19);
    }
}
