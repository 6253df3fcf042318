//! Server-sent events (WHATWG HTML, section 9.2), parsed from chunks that may be cut anywhere.
//!
//! deja asks for plain JSON, but some servers stream all the same.

/// One event's data; several `data:` lines are joined by line feeds. The event's name is not kept: every
/// provider repeats it in the data.
pub(crate) type Data = String;

/// Splits a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Bytes of a line that has not ended yet.
    line: Vec<u8>,
    /// Data of an event that has not ended yet.
    data: Option<String>,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_cr: bool,
    /// A byte order mark can only stand before the first line.
    begun: bool,
}

impl Parser {
    /// The events that end within `chunk`.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Vec<Data> {
        let mut events = Vec::new();
        for &byte in chunk {
            if byte == b'\n' && std::mem::take(&mut self.after_cr) {
                continue;
            }
            self.after_cr = byte == b'\r';
            if matches!(byte, b'\n' | b'\r') {
                events.extend(self.end_line());
            } else {
                self.line.push(byte);
            }
        }
        events
    }

    /// The event that the end of the body cut off, if it has data. Servers exist that leave out the last blank
    /// line; whether the data is whole is for the caller to see.
    pub(crate) fn finish(mut self) -> Option<Data> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.data.take()
    }

    fn end_line(&mut self) -> Option<Data> {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&line).into_owned();
        if !std::mem::replace(&mut self.begun, true) && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        if line.is_empty() {
            return self.data.take();
        }
        let value = if line == "data" { "" } else { line.strip_prefix("data:")? };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Vec<Data> {
        let mut parser = Parser::default();
        let mut events = parser.push(bytes);
        events.extend(parser.finish());
        events
    }

    #[test]
    fn comments_names_and_ids_are_skipped() {
        let text = ": hello\n\nevent: ping\nid: 7\nretry: 10\ndata: a\ndata:b\n\ndata\n\ndata:  c\n";
        assert_eq!(whole(text.as_bytes()), ["a\nb", "", " c"]);
    }

    #[test]
    fn all_line_ends_are_known() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("\u{feff}data: a{end}{end}data: ü{end}{end}");
            assert_eq!(whole(text.as_bytes()), ["a", "ü"], "{end:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn chunk_bounds_change_nothing(text in "((data: ?|: |event:|é)?[a-zü ]{0,4}(\r\n|\n|\r)){0,20}", cuts in proptest::collection::vec(0usize..200, 0..8)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for pair in cuts.windows(2) {
                events.extend(parser.push(&bytes[pair[0]..pair[1]]));
            }
            events.extend(parser.finish());
            proptest::prop_assert_eq!(events, whole(bytes));
        }
    }
}
