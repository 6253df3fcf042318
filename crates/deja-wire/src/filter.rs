//! Takes the tokens out of a stream for which somebody else asked.

use bytes::{Bytes, BytesMut};

use crate::json::Object;

/// Longest event that may be the one with the tokens, in bytes. Longer ones are passed on before they are whole.
const LONGEST: usize = 16 * 1024;

/// Drops the chunk of a streamed chat completion that has no choice but tokens: deja asks OpenAI for it, or the application
/// whose stream this one reads along. All other bytes pass as they came, events that are not whole wait for their end.
#[derive(Debug, Default)]
pub struct UsageFilter {
    pending: BytesMut,
    /// The event under way is too long to be the one; its beginning has been passed on.
    passing: bool,
}

impl UsageFilter {
    /// Takes the next piece of the stream, and gives the bytes that may be sent now. They may be none.
    pub fn push(&mut self, chunk: &[u8]) -> Bytes {
        self.pending.extend_from_slice(chunk);
        let mut sent = BytesMut::new();
        while let Some(end) = event_end(&self.pending) {
            let event = self.pending.split_to(end);
            if std::mem::take(&mut self.passing) || !is_usage(&event) {
                sent.unsplit(event);
            }
        }
        if self.pending.len() > LONGEST || self.passing {
            self.passing = true;
            // The beginning of a blank line stays: with the next piece it ends the event.
            let kept = [&b"\n\r"[..], b"\n"].into_iter().find(|kept| self.pending.ends_with(kept));
            let passed = self.pending.len() - kept.map_or(0, <[u8]>::len);
            sent.unsplit(self.pending.split_to(passed));
        }
        sent.freeze()
    }

    /// Gives the bytes that are left when the stream has ended.
    pub fn end(self) -> Bytes {
        self.pending.freeze()
    }
}

/// Where the first event in `bytes` ends, its blank line included.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    ends.into_iter().find_map(|at| match &bytes[at..] {
        [b'\n', ..] => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => None,
    })
}

fn is_usage(event: &[u8]) -> bool {
    let data = event.trim_ascii().strip_prefix(b"data:");
    data.and_then(Object::parse).is_some_and(|chunk| {
        let choices = chunk.get("choices").is_some_and(|choices| choices.get().starts_with('['));
        choices && chunk.items("choices").is_empty() && chunk.object("usage").is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USAGE: &str = r#"data: {"id":"x","choices":[],"usage":{"prompt_tokens":1}}"#;
    const OTHERS: [&str; 6] = [
        r#"data: {"choices":[{"delta":{"content":"\n\n\"choices\":[],\"usage\":{}"}}],"usage":null}"#,
        r#"data: {"choices":[],"prompt_filter_results":[{}],"usage":null}"#,
        r#"data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}"#,
        ": keep-alive",
        "data: [DONE]",
        "data: {\"choices\":[],",
    ];

    fn filtered(pieces: &[&[u8]]) -> Vec<u8> {
        let mut filter = UsageFilter::default();
        let mut sent: Vec<u8> = pieces.iter().flat_map(|piece| filter.push(piece)).collect();
        sent.extend(filter.end());
        sent
    }

    #[test]
    fn the_chunk_with_the_tokens_is_left_out_wherever_packets_end() {
        for end in ["\n\n", "\r\n\r\n"] {
            let all = [OTHERS[0], OTHERS[1], USAGE, OTHERS[3], OTHERS[2], USAGE, OTHERS[4], OTHERS[5]];
            let joined = |events: &[&str]| events.join(end) + end;
            let wire = joined(&all);
            let rest: Vec<&str> = all.into_iter().filter(|event| *event != USAGE).collect();
            let expected = joined(&rest);
            for cut in 0..=wire.len() {
                let (head, tail) = wire.as_bytes().split_at(cut);
                assert_eq!(filtered(&[head, tail]), expected.as_bytes(), "{cut}");
            }
            let bytes: Vec<&[u8]> = wire.as_bytes().chunks(1).collect();
            assert_eq!(filtered(&bytes), expected.as_bytes());
        }
    }

    #[test]
    fn a_long_event_does_not_wait_for_its_end() {
        let long = format!("data: {{\"choices\":[],\"usage\":{{\"x\":\"{}\"}}}}", "x".repeat(2 * LONGEST));
        let mut filter = UsageFilter::default();
        let first = filter.push(&long.as_bytes()[..=LONGEST]);
        assert_eq!(first.len(), LONGEST + 1);
        assert_eq!(filter.push(&long.as_bytes()[LONGEST + 1..]).len(), long.len() - LONGEST - 1);
        assert_eq!(filter.push(format!("\n\n{USAGE}\n\ndata: 1\n\n").as_bytes()), "\n\ndata: 1\n\n");
    }

    #[test]
    fn the_chunk_behind_a_long_event_is_left_out_wherever_packets_end() {
        for end in ["\n\n", "\r\n\r\n"] {
            let long = format!("data: {}{end}", "x".repeat(20 * 1024));
            let stream = format!("{long}{USAGE}{end}data: 1{end}");
            for cut in long.len() - 6..=long.len() {
                let (head, tail) = stream.as_bytes().split_at(cut);
                assert_eq!(filtered(&[head, tail]), format!("{long}data: 1{end}").as_bytes(), "{cut}");
                assert_eq!(
                    filtered(&[head, &tail[..1], &tail[1..]]),
                    format!("{long}data: 1{end}").as_bytes()
                );
            }
        }
    }

    proptest! {
        #[test]
        fn other_bytes_pass_unchanged(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(filtered(&pieces), pieces.concat());
        }
    }
}
