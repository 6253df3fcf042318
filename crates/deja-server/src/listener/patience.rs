//! How long a connection is waited for: one bound while it is idle, a shorter one for the head of a request.
//!
//! The bound for a head counts from its first byte, so a head that drips in does not put it off. While a request
//! is answered neither holds: its body has a bound of its own.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tower::Service;

/// Requests begun and ended on a connection, in one number: odd while one is answered.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<AtomicU64>);

impl Requests {
    /// Counts the requests that `service` answers.
    pub(super) fn watch<S>(self, service: S) -> Watched<S> {
        Watched { service, requests: self }
    }
}

/// A service whose requests are counted.
#[derive(Clone)]
pub(super) struct Watched<S> {
    service: S,
    requests: Requests,
}

/// Counts the end of a request, also of one whose client hung up.
struct Ending(Requests);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S, R> Service<R> for Watched<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.requests.0.fetch_add(1, Ordering::Relaxed);
        let ending = Ending(self.requests.clone());
        let answer = self.service.call(request);
        Box::pin(async move {
            let _ending = ending;
            answer.await
        })
    }
}

/// A stream that ends with an error when its client takes too long.
pub(super) struct Patient<S> {
    stream: S,
    requests: Requests,
    /// The count that `timer` belongs to.
    seen: u64,
    timer: Pin<Box<Sleep>>,
    in_head: bool,
    head: Duration,
    idle: Duration,
}

/// `stream` with these bounds, and what has to watch its requests.
pub(super) fn patient<S>(stream: S, head: Duration, idle: Duration) -> (Patient<S>, Requests) {
    let requests = Requests::default();
    // A new connection is one to send a request: idle are those between requests.
    let timer = Box::pin(sleep(idle));
    (Patient { stream, requests: requests.clone(), seen: 0, timer, in_head: false, head, idle }, requests)
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let requests = this.requests.0.load(Ordering::Relaxed);
        if requests % 2 == 1 {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        if requests != this.seen {
            (this.seen, this.in_head) = (requests, false);
            this.timer.as_mut().reset(Instant::now() + this.idle);
        }
        let filled = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            if !this.in_head && buffer.filled().len() > filled {
                this.in_head = true;
                this.timer.as_mut().reset(Instant::now() + this.head);
            }
            // Also while bytes keep coming: a head that drips is still late.
            if !this.timer.as_mut().poll(context).is_ready() {
                return Poll::Ready(read);
            }
        }
        ready!(this.timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
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
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
