//! Answers that come packed although nobody asked: some servers and proxies do so whatever `accept-encoding` says.

use std::io::{self, Write};
use std::mem;

use brotli_decompressor::DecompressorWriter;
use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use futures::{Stream, StreamExt, stream};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use crate::http::ReadError;

const BROTLI_BUFFER_BYTES: usize = 4096;

/// Why an answer could not be passed on to its end.
#[derive(Debug)]
pub(crate) enum Error {
    /// It was not read.
    Read(ReadError),
    /// It was not unpacked.
    Packed(io::Error),
}

/// Unpacks an answer piece by piece, each to a bounded size.
pub(crate) enum Unpacker {
    Plain,
    Gzip(Box<MultiGzDecoder<Piece>>),
    Brotli(Box<DecompressorWriter<Piece>>),
}

impl Unpacker {
    /// For an answer with these headers. No piece may unpack to more than `most` bytes.
    pub(crate) fn of(headers: &HeaderMap, most: usize) -> io::Result<Self> {
        let encoding = headers.get(CONTENT_ENCODING).map_or(&b"identity"[..], |value| value.as_bytes());
        let piece = Piece { bytes: Vec::new(), most };
        match encoding.trim_ascii().to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Ok(Self::Plain),
            b"gzip" | b"x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(piece)))),
            b"br" => Ok(Self::Brotli(Box::new(DecompressorWriter::new(piece, BROTLI_BUFFER_BYTES)))),
            _ => Err(io::Error::other("the answer is packed in another way than gzip or br")),
        }
    }

    /// What the next bytes unpack to.
    fn next(&mut self, packed: &Bytes) -> io::Result<Bytes> {
        match self {
            Self::Plain => Ok(packed.clone()),
            Self::Gzip(gzip) => {
                gzip.write_all(packed)?;
                gzip.flush()?;
                Ok(gzip.get_mut().take())
            }
            Self::Brotli(brotli) => {
                brotli.write_all(packed)?;
                Ok(brotli.get_mut().take())
            }
        }
    }

    /// What was left, once all is there; an error if it is not.
    fn end(&mut self) -> io::Result<Bytes> {
        match self {
            Self::Plain => Ok(Bytes::new()),
            Self::Gzip(gzip) => {
                gzip.try_finish()?;
                Ok(gzip.get_mut().take())
            }
            Self::Brotli(brotli) => {
                brotli.close()?;
                Ok(brotli.get_mut().take())
            }
        }
    }

    /// What a whole body unpacks to.
    pub(crate) fn whole(&mut self, packed: &Bytes) -> io::Result<Bytes> {
        let body = self.next(packed)?;
        self.end()?;
        Ok(body)
    }
}

/// The pieces of `packed`, unpacked; as they come where they are not packed.
pub(crate) fn unpacked(
    packed: impl Stream<Item = Result<Bytes, ReadError>> + Send + 'static,
    unpacker: Unpacker,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    stream::try_unfold(Some((Box::pin(packed), unpacker)), |state| async move {
        let Some((mut packed, mut unpacker)) = state else { return Ok(None) };
        loop {
            let Some(piece) = packed.next().await.transpose().map_err(Error::Read)? else {
                let last = unpacker.end().map_err(Error::Packed)?;
                return Ok((!last.is_empty()).then_some((last, None)));
            };
            let piece = unpacker.next(&piece).map_err(Error::Packed)?;
            if !piece.is_empty() {
                return Ok(Some((piece, Some((packed, unpacker)))));
            }
        }
    })
}

/// What a piece unpacks to. A small one could grow without bound.
pub(crate) struct Piece {
    bytes: Vec<u8>,
    most: usize,
}

impl Piece {
    fn take(&mut self) -> Bytes {
        mem::take(&mut self.bytes).into()
    }
}

impl Write for Piece {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::Error::other("the answer unpacks to more than the limit"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
