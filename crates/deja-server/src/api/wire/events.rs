//! A live stream of events on its way to a client: the provider's bytes as they come, comments while there are none, and where
//! it breaks off an event that says so.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use deja_core::engine::{Live, QueryError};
use deja_wire::{UsageFilter, Wire, interruption, next_sequence};
use futures::{StreamExt, stream};
use memchr::memmem;
use tokio::time::{sleep, timeout};

/// How many of the last bytes tell whether a blank line was sent.
const TAIL: usize = 3;
/// Why a stream ends before its end, for programs and for people.
const BROKEN: (&str, &str) = (
    "provider_stream_interrupted",
    "The provider's answer broke off. What came of it is not the whole answer.",
);
const CUT: (&str, &str) =
    ("unavailable", "deja stops and has cut the answer. What came of it is not the whole answer.");

struct Events {
    live: Live,
    wire: Wire,
    /// Takes out the tokens that only deja asked for.
    filter: Option<UsageFilter>,
    /// The last bytes that were sent, in whichever pieces: only behind a blank line may a comment follow.
    tail: [u8; TAIL],
    /// The number of the next event, where events have one.
    sequence: u64,
    /// How long the client hears nothing at most: proxies cut connections that are silent.
    keep_alive: Duration,
    state: State,
}

enum State {
    Running,
    /// The client was told that the answer broke off.
    Broken,
    Over,
}

/// The stream as a body. Its end is an error if the answer broke off: after a clean one some clients take what came for the
/// whole answer.
pub(super) fn body(live: Live, wire: Wire, filter: Option<UsageFilter>, keep_alive: Duration) -> Body {
    let state = State::Running;
    let events = Events { live, wire, filter, tail: [b'\n'; TAIL], sequence: 0, keep_alive, state };
    Body::from_stream(stream::unfold(events, |mut events| async move {
        let piece = events.next().await?;
        Some((piece, events))
    }))
}

/// A whole stream as a body that takes about so long: an equal share for each event, `longest` at most, and the first at once.
pub(super) fn paced(all: Bytes, whole: Duration, longest: Duration) -> Body {
    let events = 1 + memmem::find_iter(&all, b"\n\n").count();
    let share = (whole / u32::try_from(events).unwrap_or(u32::MAX)).min(longest);
    Body::from_stream(stream::unfold((all, false), move |(mut rest, begun)| async move {
        if rest.is_empty() {
            return None;
        }
        if begun {
            sleep(share).await;
        }
        let end = memmem::find(&rest, b"\n\n").map_or(rest.len(), |at| at + 2);
        Some((Ok::<_, io::Error>(rest.split_to(end)), (rest, true)))
    }))
}

impl Events {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        match self.state {
            State::Over => return None,
            State::Running => {}
            State::Broken => {
                self.state = State::Over;
                // The event goes out before the connection ends: hyper drops what it has not written.
                tokio::task::yield_now().await;
                return Some(Err(io::Error::other("the answer broke off")));
            }
        }
        loop {
            let piece = match timeout(self.keep_alive, self.live.next()).await {
                Err(_silent) if self.may_comment() => return Some(Ok(Bytes::from_static(b":\n\n"))),
                Err(_silent) => continue,
                Ok(Some(Ok(piece))) => match &mut self.filter {
                    Some(filter) => filter.push(&piece),
                    None => piece,
                },
                Ok(Some(Err(error))) => {
                    self.state = State::Broken;
                    let (code, why) = if matches!(error, QueryError::Unfinished) { CUT } else { BROKEN };
                    return Some(Ok(interruption(self.wire, code, why, self.sequence)));
                }
                Ok(None) => {
                    self.state = State::Over;
                    self.filter.take().map(UsageFilter::end).unwrap_or_default()
                }
            };
            if !piece.is_empty() {
                self.note(&piece);
                return Some(Ok(piece));
            }
            if matches!(self.state, State::Over) {
                return None;
            }
        }
    }

    /// Whether the last event is whole, and clients pass over comments. Google's library for Go and older ones for JavaScript
    /// take each line that is no `data` for an error.
    fn may_comment(&self) -> bool {
        self.wire != Wire::Gemini && (self.tail.ends_with(b"\n\n") || self.tail.ends_with(b"\n\r\n"))
    }

    fn note(&mut self, piece: &[u8]) {
        let last = &piece[piece.len().saturating_sub(TAIL)..];
        self.tail.rotate_left(last.len());
        self.tail[TAIL - last.len()..].copy_from_slice(last);
        if self.wire == Wire::Responses {
            self.sequence = next_sequence(piece).max(self.sequence);
        }
    }
}
