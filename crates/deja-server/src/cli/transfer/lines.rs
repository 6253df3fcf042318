//! The lines of a file, none of them longer than deja takes.

use std::io::{self, BufRead, Read as _};

/// Longest line: it still fits a request to the admin socket.
pub(super) const MAX_LINE: u64 = 60 << 20;
/// The byte order mark that some editors put before the first line.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The next line without its end; `None` behind the last. A line that is too long is read past and is empty.
pub(super) fn read<'a>(from: &mut impl BufRead, line: &'a mut Vec<u8>) -> io::Result<Option<Read<'a>>> {
    line.clear();
    let bytes = from.take(MAX_LINE).read_until(b'\n', line)? as u64;
    if bytes == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && bytes == MAX_LINE {
        let rest = from.skip_until(b'\n')? as u64;
        return Ok(Some(Read { text: None, bytes: bytes + rest, ended: true }));
    }
    let line: &[u8] = line;
    let ended = line.last() == Some(&b'\n');
    // Files that were put together have a mark in the middle.
    let text = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    Ok(Some(Read { ended, text: Some(text), bytes }))
}

/// Passes over the byte order mark before the first line.
pub(in crate::cli) fn skip_mark(from: &mut impl BufRead) -> io::Result<()> {
    if from.fill_buf()?.starts_with(MARK) {
        from.consume(MARK.len());
    }
    Ok(())
}

/// A line that was read.
pub(super) struct Read<'a> {
    /// Its text; `None` if it is too long, and empty in an empty line.
    pub(super) text: Option<&'a [u8]>,
    /// Its bytes in the file.
    pub(super) bytes: u64,
    /// Whether it has an end, or may be half a line.
    pub(super) ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        let (mut from, mut line) = ("\u{feff}one\r\n\n\u{feff} three".as_bytes(), Vec::new());
        let mut lines = Vec::new();
        while let Some(read) = read(&mut from, &mut line).unwrap() {
            lines.push((String::from_utf8(read.text.unwrap().to_vec()).unwrap(), read.bytes));
        }
        assert_eq!(lines, [("one", 8), ("", 1), ("three", 9)].map(|(text, bytes)| (text.to_owned(), bytes)));
    }
}
