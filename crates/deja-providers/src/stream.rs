//! A streamed answer: server-sent events on their way to a completion.
//!
//! deja asks for plain JSON, but some servers stream all the same.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use deja_core::provider::Completion;
use futures::{Stream, StreamExt as _, stream};
use serde_json::Value;
use sse_stream::SseByteStream;

use crate::failure::is_error;
use crate::format::{Fold, Next};
use crate::http::ReadError;

/// Why a stream gave no answer.
#[derive(Debug)]
pub(crate) enum StreamError {
    /// Reading it failed.
    Read(ReadError),
    /// An event said so.
    Said(Value),
    /// An event cannot be read.
    NotJson,
    /// It ended early.
    Interrupted,
}

/// The answer in the body that comes in `chunks`. Nothing is read behind its end mark.
pub(crate) async fn completion(
    chunks: impl Stream<Item = Result<Bytes, ReadError>> + Send,
    mut fold: Box<dyn Fold>,
) -> Result<Completion, StreamError> {
    let ended = AtomicBool::new(false);
    // Servers exist that leave out the blank line behind the last event.
    let blank_line = stream::once(async {
        ended.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    });
    let mut events = pin!(SseByteStream::new(chunks.chain(blank_line)));
    while let Some(event) = events.next().await {
        let next = match event {
            Ok(event) => read(event.data.as_deref().unwrap_or(""), &mut *fold),
            Err(sse_stream::Error::Body(error)) => Err(read_error(error)),
            Err(_) => Err(StreamError::NotJson),
        };
        match next {
            Ok(Next::More) => {}
            Ok(Next::Done) => break,
            // It was cut by the end of the body.
            Err(StreamError::NotJson) if ended.load(Ordering::Relaxed) => {
                return Err(StreamError::Interrupted);
            }
            Err(error) => return Err(error),
        }
    }
    fold.completion().ok_or(StreamError::Interrupted)
}

fn read(data: &str, fold: &mut dyn Fold) -> Result<Next, StreamError> {
    let data = data.trim();
    if data.is_empty() {
        return Ok(Next::More);
    }
    // The end mark of the OpenAI family, handed to the fold as a string.
    let event = if data == "[DONE]" {
        Value::from(data)
    } else {
        serde_json::from_str(data).map_err(|_| StreamError::NotJson)?
    };
    if is_error(&event) { Err(StreamError::Said(event)) } else { Ok(fold.event(event)) }
}

fn read_error(error: Box<dyn std::error::Error + Send + Sync>) -> StreamError {
    error.downcast().map_or(StreamError::Interrupted, |error| StreamError::Read(*error))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
