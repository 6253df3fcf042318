//! What a connection is busy with: handlers at work, answers on their way, the rest of requests that were refused.
//!
//! A request is over when its handler returned, its answer's body ended, and its own body was read. What a handler
//! leaves of a body is read on and thrown away, within bounds: many clients read the answer only when they have
//! written all, and a connection that is closed with bytes unread is reset, with the answer in it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::EXPECT;
use axum::http::{Request, Response};
use futures::task::AtomicWaker;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use pin_project_lite::pin_project;
use tower::Service;

/// Bytes of an unread body that are thrown away at most: the longest body that any setting allows.
const MOST_THROWN_AWAY: usize = 128 << 20;

/// The requests of a connection.
#[derive(Default)]
pub(super) struct Exchanges {
    begun: AtomicU64,
    answers: AtomicUsize,
    rests: AtomicUsize,
    /// Woken when the rest of a body was thrown away: nothing else may wake the connection then.
    waker: AtomicWaker,
}

impl Exchanges {
    /// How many have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether an answer is made, or its body not taken over by hyper yet. Changes on the connection's own task only.
    pub(super) fn is_answering(&self) -> bool {
        self.answers.load(Ordering::Relaxed) > 0
    }

    /// Whether the rest of a body is read on; if so, `waker` hears of its end.
    pub(super) fn is_reading_on(&self, waker: &Waker) -> bool {
        let is_reading_on = || self.rests.load(Ordering::Acquire) > 0;
        if !is_reading_on() {
            return false;
        }
        self.waker.register(waker);
        is_reading_on()
    }
}

/// An answer under way.
struct Answering(Arc<Exchanges>);

impl Answering {
    fn begin(exchanges: &Arc<Exchanges>) -> Self {
        exchanges.begun.fetch_add(1, Ordering::Relaxed);
        exchanges.answers.fetch_add(1, Ordering::Relaxed);
        Self(exchanges.clone())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The rest of a body that is read on.
struct ReadingOn(Arc<Exchanges>);

impl ReadingOn {
    fn begin(exchanges: Arc<Exchanges>) -> Self {
        exchanges.rests.fetch_add(1, Ordering::Relaxed);
        Self(exchanges)
    }
}

impl Drop for ReadingOn {
    fn drop(&mut self) {
        self.0.rests.fetch_sub(1, Ordering::Release);
        self.0.waker.wake();
    }
}

/// A service whose requests are known to `exchanges`.
#[derive(Clone)]
pub(super) struct Exchanging<S> {
    service: S,
    exchanges: Arc<Exchanges>,
    rest_timeout: Duration,
}

impl<S> Exchanging<S> {
    /// `rest_timeout`: how long the rest of a body is read that `service` left unread.
    pub(super) fn new(service: S, exchanges: Arc<Exchanges>, rest_timeout: Duration) -> Self {
        Self { service, exchanges, rest_timeout }
    }
}

impl<S, A> Service<Request<Incoming>> for Exchanging<S>
where
    S: Service<Request<RequestBody>, Response = Response<A>, Error = Infallible>,
{
    type Response = Response<AnswerBody<A>>;
    type Error = Infallible;
    type Future = AnswerFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let answering = Answering::begin(&self.exchanges);
        let (head, body) = request.into_parts();
        // Who waits for our word before the body gets the refusal in its place, and sends none.
        let expected = !head.headers.contains_key(EXPECT);
        let unread = Unread { body, exchanges: self.exchanges.clone(), timeout: self.rest_timeout };
        let body = RequestBody { unread: Some(unread), expected };
        let answer = self.service.call(Request::from_parts(head, body));
        AnswerFuture { answer, answering: Some(answering) }
    }
}

pin_project! {
    /// An answer that is made.
    pub(super) struct AnswerFuture<F> {
        #[pin]
        answer: F,
        answering: Option<Answering>,
    }
}

impl<F: Future<Output = Result<Response<A>, Infallible>>, A> Future for AnswerFuture<F> {
    type Output = Result<Response<AnswerBody<A>>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(context));
        let answering = this.answering.take();
        Poll::Ready(answer.map(|answer| answer.map(|body| AnswerBody { body, _answering: answering })))
    }
}

/// A request's body, for its handler.
pub(super) struct RequestBody {
    /// `None` once it has ended.
    unread: Option<Unread>,
    /// Whether the client sends it, or has begun to.
    expected: bool,
}

/// What has not been read of a request's body.
struct Unread {
    body: Incoming,
    exchanges: Arc<Exchanges>,
    timeout: Duration,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.expected = true;
        let Some(unread) = &mut self.unread else { return Poll::Ready(None) };
        let frame = Pin::new(&mut unread.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.unread = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.unread.as_ref().is_none_or(|unread| unread.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.unread.as_ref().map_or(SizeHint::with_exact(0), |unread| unread.body.size_hint())
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let ended = !self.expected || self.is_end_stream();
        if let (false, Some(unread), Ok(runtime)) =
            (ended, self.unread.take(), tokio::runtime::Handle::try_current())
        {
            let reading_on = ReadingOn::begin(unread.exchanges);
            runtime.spawn(throw_away(unread.body, unread.timeout, reading_on));
        }
    }
}

async fn throw_away(mut body: Incoming, timeout: Duration, _until_it_ends: ReadingOn) {
    let rest = async {
        let mut left = MOST_THROWN_AWAY;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    // Whoever sends more, or more slowly, may lose the answer.
    let _all_or_late = tokio::time::timeout(timeout, rest).await;
}

/// An answer's body: its answer is under way until it ends.
pub(super) struct AnswerBody<A> {
    body: A,
    _answering: Option<Answering>,
}

impl<A: Body + Unpin> Body for AnswerBody<A> {
    type Data = A::Data;
    type Error = A::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<A::Data>, A::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
