//! A client's stream with its three bounds: how long it may be idle, how long the head of a request may take, and how
//! long the client may take nothing of what is written to it.
//!
//! The bound for a head counts from its first byte, so a head that drips in does not put it off. While an exchange is
//! under way neither that bound nor the idle one holds: the request's body has a bound of its own, and an answer may
//! be a stream with pauses. An answer is over when all of it is written, which is long after its handler returned if
//! its reader is slow.
//!
//! What hyper writes while no exchange is under way is a refusal of its own, never a part of an answer. It goes out in the
//! published form ([`refusal`]).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::exchange::Exchanges;
use super::{ListenerLimits, refusal};

/// What a client is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Idle,
    Head,
    Write,
}

/// A stream that ends with an error when its client takes too long.
pub(super) struct ClientStream<S> {
    stream: S,
    limits: ListenerLimits,
    exchanges: Arc<Exchanges>,
    /// How many exchanges are over and written.
    settled: u64,
    /// Whether there are bytes that the client has not taken.
    unwritten: bool,
    in_head: bool,
    /// What the client is waited for, and until when.
    waits: Option<Wait>,
    until: Instant,
    /// Rings at `until` or before: to set it for each request costs more than to find that it rang early.
    timer: Pin<Box<Sleep>>,
    /// What goes out instead of hyper's bare refusal, and how much of it is out.
    refusal: Option<(Vec<u8>, usize)>,
}

impl<S> ClientStream<S> {
    pub(super) fn new(stream: S, limits: ListenerLimits, exchanges: Arc<Exchanges>) -> Self {
        let timer = Box::pin(sleep(limits.idle_timeout));
        let until = timer.deadline();
        let (settled, unwritten, in_head, waits, refusal) = (0, false, false, None, None);
        Self { stream, limits, exchanges, settled, unwritten, in_head, waits, until, timer, refusal }
    }

    /// An error once the client has been waited for too long.
    fn poll_late(&mut self, wait: Wait, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.waits != Some(wait) {
            self.waits = Some(wait);
            let bound = match wait {
                Wait::Idle => self.limits.idle_timeout,
                Wait::Head => self.limits.head_timeout,
                Wait::Write => self.limits.write_timeout,
            };
            self.until = Instant::now() + bound;
            if self.until < self.timer.deadline() {
                self.timer.as_mut().reset(self.until);
            }
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            if self.timer.deadline() >= self.until {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.timer.as_mut().reset(self.until);
        }
    }

    /// Whether an answer is made or written, or the rest of a body read.
    fn is_busy(&mut self, context: &Context<'_>) -> bool {
        if self.unwritten || self.exchanges.is_answering() {
            return true;
        }
        let begun = self.exchanges.begun();
        if self.settled != begun {
            (self.settled, self.in_head, self.waits) = (begun, false, None);
        }
        self.exchanges.is_reading_on(context.waker())
    }

    /// Notes how a write went, and ends it if the client takes nothing for too long.
    fn written<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.unwritten = true;
        if written.is_pending() {
            return self.poll_late(Wait::Write, context).map(Err);
        }
        self.waits = None;
        written
    }
}

impl<S: AsyncWrite + Unpin> ClientStream<S> {
    /// Writes our refusal, if hyper wants to write its own, until all of it is out.
    fn poll_refusal(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<bool>> {
        let of_an_answer =
            self.unwritten || self.exchanges.is_answering() || self.settled != self.exchanges.begun();
        if !of_an_answer && self.refusal.is_none() {
            self.refusal = refusal::instead_of(bytes).map(|answer| (answer, 0));
        }
        while let Some((answer, out)) = &mut self.refusal
            && *out < answer.len()
        {
            let written = Pin::new(&mut self.stream).poll_write(context, &answer[*out..]);
            if let Poll::Ready(Ok(written)) = &written {
                *out += written;
            }
            if ready!(self.written(written, context))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(self.refusal.is_some()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let filled = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if this.is_busy(context) {
            return read;
        }
        if read.is_ready() && !this.in_head {
            this.in_head = buffer.filled().len() > filled;
            return read;
        }
        let wait = if this.in_head { Wait::Head } else { Wait::Idle };
        // Also while bytes keep coming: a head that drips is still late.
        match this.poll_late(wait, context) {
            Poll::Ready(late) => Poll::Ready(Err(late)),
            Poll::Pending => read,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_refusal(context, bytes))? {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        if ready!(self.poll_refusal(context, first))? {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // hyper flushes when it has no more to write. It may wait for a read from before, so the wait begins here.
        self.unwritten = false;
        if !self.is_busy(context) && !self.in_head {
            let _just_begun = self.poll_late(Wait::Idle, context);
        }
        Poll::Ready(Ok(()))
    }

    /// After a refusal the rest of the request is thrown away, as long as its head may take: a stream that is closed
    /// with bytes unread is reset, with the refusal in it.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        while self.refusal.is_some() {
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            let late = self.poll_late(Wait::Head, context).is_ready();
            if late || matches!(&read, Poll::Ready(read) if read.is_err() || buffer.filled().is_empty()) {
                break;
            }
            ready!(read)?;
        }
        Poll::Ready(Ok(()))
    }
}
