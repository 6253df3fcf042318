//! What hyper refuses before a handler sees it: a request that is not HTTP, a head that is too large.
//!
//! hyper answers those with a bare status and has no hook for them, but the interface promises `{"detail": ...}` and a
//! request id with every error. So the stream looks at the head of each answer: a 4xx without a request id can only
//! be hyper's own, and goes out as ours. Nothing else is touched.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::middleware;

/// A stream whose bare refusals get a body.
pub(super) struct Refusing<S> {
    stream: S,
    /// What goes out instead of the bytes that are being written, and how much of it is out.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S> Refusing<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, instead: None }
    }
}

impl<S: AsyncWrite + Unpin> Refusing<S> {
    /// Writes what goes out instead of `head`, if something does, until all of it is out.
    fn poll_instead(&mut self, context: &mut Context<'_>, head: &[u8]) -> Poll<io::Result<bool>> {
        if self.instead.is_none() {
            self.instead = refusal(head).map(|answer| (answer, 0));
        }
        let Some((answer, out)) = &mut self.instead else { return Poll::Ready(Ok(false)) };
        while *out < answer.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &answer[*out..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => *out += written,
            }
        }
        self.instead = None;
        Poll::Ready(Ok(true))
    }
}

/// The answer to send instead of this one; `None` if it is a handler's.
fn refusal(head: &[u8]) -> Option<Vec<u8>> {
    let status = head.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    let (status, detail) = match status {
        b"00" => ("400 Bad Request", "the request is not valid HTTP/1.1"),
        b"14" => ("414 URI Too Long", "the request's target is too long"),
        b"31" => ("431 Request Header Fields Too Large", "the request's header fields are too large"),
        _ => return None,
    };
    let has_id = head.windows(14).any(|window| window.eq_ignore_ascii_case(b"\r\nx-request-id"));
    (!has_id).then(|| {
        let body = format!(r#"{{"detail":"{detail}"}}"#);
        let id = middleware::new_request_id();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-request-id: {}\r\nconnection: close\r\n\
             cache-control: private, no-store\r\ncontent-length: {}\r\n\r\n{body}",
            id.to_str().unwrap_or_default(),
            body.len()
        )
        .into_bytes()
    })
}

impl<S: AsyncRead + Unpin> AsyncRead for Refusing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Refusing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_instead(context, bytes))? {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let head = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        if ready!(self.poll_instead(context, head))? {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hypers_own_refusals_are_replaced() {
        let bare =
            refusal(b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n").unwrap();
        let text = String::from_utf8(bare).unwrap();
        assert!(text.starts_with("HTTP/1.1 431 ") && text.ends_with(r#"are too large"}"#), "{text}");
        for head in [
            &b"HTTP/1.1 400 Bad Request\r\nx-request-id: 1\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 404 Not Found\r\n\r\n",
            b"HTTP/1.1 4",
            b"{}",
            b"",
        ] {
            assert_eq!(refusal(head), None);
        }
    }
}
