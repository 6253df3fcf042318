//! Whether a stream may have come to its end mark, by its last bytes: to read all of it at each pause would take long.

use crate::Wire;

/// So many of the last bytes of a stream tell whether it may have ended.
pub const TAIL: usize = 4096;

/// Whether a stream that ends in `tail` may have come to its end mark. Whether it is whole, [`record`](crate::record()) tells.
pub fn may_have_ended(wire: Wire, tail: &[u8]) -> bool {
    let has = |text: &[u8]| tail.windows(text.len()).any(|part| part == text);
    match wire {
        Wire::Chat => has(b"[DONE]"),
        Wire::Messages => has(b"message_stop"),
        // Its last event has all of the answer in it, so it may have begun before the tail. Gateways put `[DONE]` behind it.
        Wire::Responses => {
            let marks = ["[DONE]", "response.completed", "response.incomplete", "response.failed"];
            let is_marked = marks.iter().any(|mark| has(mark.as_bytes()));
            is_marked || !has(b"\ndata:") && !has(b"\rdata:")
        }
        // It has no end mark.
        Wire::Gemini => false,
    }
}
