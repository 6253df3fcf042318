//! The words for what hyper refuses before a handler sees it: a request that is not HTTP, a head that is too large.
//!
//! hyper answers those with a bare status and has no hook for them, but the interface promises `{"detail": ...}` and a
//! request id with every error.

use crate::request_id;

/// The answer that goes out instead of `bare`, which hyper made by itself. `None` if `bare` is no refusal.
pub(super) fn instead_of(bare: &[u8]) -> Option<Vec<u8>> {
    let (status, detail) = match bare.strip_prefix(b"HTTP/1.1 ")?.get(..3)? {
        b"400" => ("400 Bad Request", "the request is not valid HTTP/1.1"),
        // Which of the two hyper says depends on the pieces that the head came in.
        b"414" | b"431" => {
            ("431 Request Header Fields Too Large", "the request's target or its header fields are too large")
        }
        _ => return None,
    };
    let body = format!(r#"{{"detail":"{detail}"}}"#);
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-deja-error: bad_request\r\nx-request-id: {}\r\nconnection: close\r\n\
         cache-control: private, no-store\r\ncontent-length: {}\r\n\r\n{body}",
        request_id::new(),
        body.len()
    );
    Some(answer.into_bytes())
}
