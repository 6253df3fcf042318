//! Answers that come packed although nobody asked: some servers and proxies do so whatever `accept-encoding` says.

use std::io;

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::http::ReadError;

/// Longest piece of what was packed, in bytes: a few packed bytes may unpack to any number.
const PIECE: usize = 64 * 1024;

/// The pieces of an answer, as they come.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, ReadError>>;

/// The pieces of an answer with these headers, unpacked.
pub(crate) fn unpacked(
    headers: &HeaderMap,
    pieces: impl Stream<Item = Result<Bytes, ReadError>> + Send + 'static,
) -> Result<Pieces, ReadError> {
    let encoding = headers.get(CONTENT_ENCODING).map_or(&b"identity"[..], |value| value.as_bytes());
    let packed = |pieces| StreamReader::new(TryStreamExt::map_err(pieces, io::Error::other));
    match encoding.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"identity" => Ok(pieces.boxed()),
        b"gzip" | b"x-gzip" => {
            let mut plain = GzipDecoder::new(packed(pieces));
            plain.multiple_members(true);
            Ok(read(plain))
        }
        b"br" => Ok(read(BrotliDecoder::new(packed(pieces)))),
        _ => Err(ReadError::Packed(io::Error::other("the answer is packed in another way than gzip or br"))),
    }
}

/// The unpacked pieces. An error is one of reading, or says that the answer could not be unpacked.
fn read(plain: impl AsyncRead + Send + 'static) -> Pieces {
    let failed = |error: io::Error| error.downcast::<ReadError>().unwrap_or_else(ReadError::Packed);
    ReaderStream::with_capacity(plain, PIECE).map_err(failed).boxed()
}
