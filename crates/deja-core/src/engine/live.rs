//! An answer on its way: the provider's bytes as they come, for everybody who reads along.
//!
//! The flight's task writes, readers follow at their own pace from the beginning. As long as the answer is recorded all of
//! it is kept. An answer that is too large for that goes on in step with its slowest reader, and takes no further readers.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::engine::flight::Seat;
use crate::engine::{QueryError, Trace};
use crate::id::ProjectId;
use crate::provider::FailureClass;
use crate::shares::{Held, Shares};

/// How far ahead of the slowest reader an answer is read that is not recorded, in bytes.
const AHEAD: usize = 256 * 1024;
/// What a piece takes in memory beside its bytes: a shorter one counts as so many bytes.
const PIECE: usize = 64;
/// How much is kept of the beginning of an answer that is not recorded, and of its end, in bytes: the tokens stand there.
pub(super) const END: usize = 64 * 1024;

/// What answers under way may take in memory while they are recorded, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct RecordLimits {
    /// Each answer.
    pub each: usize,
    /// All answers together.
    pub all: usize,
}

/// Room for answers that are recorded, a permit a byte. Those of one project have half of it at most, or as much as one answer
/// may take.
pub(super) struct Room {
    each: usize,
    shares: Shares,
}

impl Room {
    pub(super) fn new(limits: RecordLimits) -> Self {
        Self { each: limits.each, shares: Shares::halves(limits.all, limits.each) }
    }
}

/// What comes before the body.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub status: u16,
    pub error: Option<FailureClass>,
    pub headers: HeaderMap,
    pub usage: bool,
    pub provider: String,
}

/// An answer of a provider while it comes in, replayed from its beginning to whoever joins.
pub(super) struct ReplayBuffer {
    pub head: Head,
    /// Whose request began the call.
    pub project: ProjectId,
    /// The most bytes that are recorded.
    each: usize,
    state: Mutex<State>,
    /// Told when the answer is no longer recorded.
    unrecorded: Notify,
}

#[derive(Default)]
struct State {
    /// The pieces that somebody may still want.
    pieces: VecDeque<Bytes>,
    /// The number of pieces before them, which were let go.
    gone: usize,
    /// What `pieces` take, in bytes.
    kept: usize,
    /// When the first byte came.
    first_byte: Option<Instant>,
    /// Room for `pieces`: as long as the answer is recorded, and then until its slowest reader is no longer far behind.
    room: Option<Held>,
    /// Whether the answer is too large to be recorded.
    unrecorded: bool,
    /// What is kept of an answer that is not recorded.
    ends: Ends,
    ended: Option<Result<(), QueryError>>,
    /// By number; `None` for a reader that has ended.
    readers: Vec<Option<Reader>>,
    writer: Option<Waker>,
}

struct Reader {
    /// The number of the piece that it reads next.
    next: usize,
    waker: Option<Waker>,
}

/// The beginning and the end of an answer.
#[derive(Default)]
struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Ends {
    fn add(&mut self, piece: &[u8]) {
        let (first, rest) = piece.split_at(piece.len().min(END - self.first.len()));
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(&rest[rest.len().saturating_sub(END)..]);
        // Not at each piece: to drain moves what stays.
        if self.last.len() > 2 * END {
            self.last.drain(..self.last.len() - END);
        }
    }
}

impl State {
    /// The number of one more reader, which begins at the first piece.
    fn add_reader(&mut self) -> usize {
        self.readers.push(Some(Reader { next: 0, waker: None }));
        self.readers.len() - 1
    }

    /// Lets the pieces go that every reader has read. Only for an answer that is not recorded.
    fn forget_read(&mut self) {
        let read = self.readers.iter().flatten().map(|reader| reader.next).min();
        let read = read.unwrap_or(self.gone + self.pieces.len());
        while self.gone < read
            && let Some(piece) = self.pieces.pop_front()
        {
            self.kept -= taken_by(&piece);
            self.gone += 1;
        }
        if self.kept <= AHEAD {
            self.room = None;
            if let Some(writer) = self.writer.take() {
                writer.wake();
            }
        }
    }

    fn wake_readers(&mut self) {
        for reader in self.readers.iter_mut().flatten() {
            if let Some(waker) = reader.waker.take() {
                waker.wake();
            }
        }
    }
}

/// What a piece takes while it is kept, in bytes.
fn taken_by(piece: &[u8]) -> usize {
    piece.len().max(PIECE)
}

impl ReplayBuffer {
    pub(super) fn new(head: Head, room: &Room, project: ProjectId) -> Arc<Self> {
        let state = State { room: Some(room.shares.of(project)), ..State::default() };
        Arc::new(Self { head, project, each: room.each, state: Mutex::new(state), unrecorded: Notify::new() })
    }

    /// The reader for whom the call was made. It may begin late: no piece is let go before.
    pub(super) fn first(self: &Arc<Self>, seat: Seat) -> Live {
        let number = self.state.lock().add_reader();
        self.reader(number, seat, false)
    }

    /// Adds a piece. Waits while the slowest reader is far behind in an answer that is not recorded.
    pub(super) async fn push(&self, piece: &[u8]) {
        {
            let mut state = self.state.lock();
            self.take_room(&mut state, taken_by(piece));
            if !piece.is_empty() {
                state.first_byte.get_or_insert_with(Instant::now);
            }
            state.kept += taken_by(piece);
            // A copy of its own: the piece may hold on to a larger buffer.
            state.pieces.push_back(Bytes::copy_from_slice(piece));
            if state.unrecorded {
                state.ends.add(piece);
                state.forget_read();
            }
            state.wake_readers();
        }
        futures::future::poll_fn(|context| {
            let mut state = self.state.lock();
            if state.unrecorded && state.kept > AHEAD {
                state.writer = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    fn take_room(&self, state: &mut State, bytes: usize) {
        let State { pieces, kept, room, unrecorded, ends, .. } = state;
        if *unrecorded || *kept + bytes <= self.each && room.as_mut().is_some_and(|room| room.try_take(bytes))
        {
            return;
        }
        *unrecorded = true;
        self.unrecorded.notify_one();
        for piece in pieces {
            ends.add(piece);
        }
    }

    /// Tells the readers that nothing more comes.
    pub(super) fn end(&self, ended: Result<(), QueryError>) {
        let mut state = self.state.lock();
        state.ended = Some(ended);
        state.wake_readers();
    }

    /// Ends an answer that nobody ended.
    pub(super) fn give_up(&self, why: QueryError) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            state.ended = Some(Err(why));
            state.wake_readers();
        }
    }

    /// When the first byte came, if one has.
    pub(super) fn first_byte(&self) -> Option<Instant> {
        self.state.lock().first_byte
    }

    /// Whether all of the answer is kept.
    pub(super) fn is_recorded(&self) -> bool {
        !self.state.lock().unrecorded
    }

    /// Waits until the answer is found to be too large to be recorded. One task may wait.
    pub(super) async fn unrecorded(&self) {
        self.unrecorded.notified().await;
    }

    /// The beginning and the end of an answer that is not recorded.
    pub(super) fn ends(&self) -> Bytes {
        let Ends { first, last } = &self.state.lock().ends;
        [first.as_slice(), last].concat().into()
    }

    /// What the answer takes so far, in bytes; `None` if it was too large to be recorded.
    pub(super) fn recorded(&self) -> Option<usize> {
        let state = self.state.lock();
        (!state.unrecorded).then_some(state.kept)
    }

    /// The last bytes of the answer, this many at most; `None` if it was too large to be recorded.
    pub(super) fn tail(&self, most: usize) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let backwards = state.pieces.iter().rev().flat_map(|piece| piece.iter().rev());
        let mut tail: Vec<u8> = backwards.copied().take(most).collect();
        tail.reverse();
        (!state.unrecorded).then_some(tail)
    }

    /// All of the answer; `None` if it was too large to be recorded.
    pub(super) fn whole(&self) -> Option<Bytes> {
        let state = self.state.lock();
        if state.unrecorded {
            return None;
        }
        let mut whole = BytesMut::with_capacity(state.pieces.iter().map(Bytes::len).sum());
        state.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        Some(whole.freeze())
    }

    /// One more reader, from the beginning; `None` if the beginning is gone.
    pub(super) fn join(self: &Arc<Self>, seat: Seat) -> Option<Live> {
        let mut state = self.state.lock();
        if state.gone > 0 {
            return None;
        }
        let number = state.add_reader();
        drop(state);
        Some(self.reader(number, seat, true))
    }

    fn reader(self: &Arc<Self>, number: usize, seat: Seat, joined: bool) -> Live {
        let Head { status, error, headers, usage, provider } = self.head.clone();
        let pieces = Pieces { buffer: Arc::clone(self), number, _seat: seat };
        Live { status, error, headers, usage, provider, joined, trace: Trace::default(), pieces }
    }
}

/// An answer as it comes from the provider: a stream of its bytes, cut as they came. After an error there is nothing more.
pub struct Live {
    /// The HTTP status.
    pub status: u16,
    /// What kind of error it is, if its status says so.
    pub error: Option<FailureClass>,
    /// The headers that the application may see.
    pub headers: HeaderMap,
    /// Whether deja, or the request that began the call, asked for the tokens at the end of the stream.
    pub usage: bool,
    /// The provider's name.
    pub provider: String,
    /// Whether another request had begun the call.
    pub joined: bool,
    /// What happened before the answer began.
    pub trace: Trace,
    pieces: Pieces,
}

impl Live {
    /// The buffer that it reads.
    pub(super) fn buffer(&self) -> &Arc<ReplayBuffer> {
        &self.pieces.buffer
    }
}

struct Pieces {
    buffer: Arc<ReplayBuffer>,
    number: usize,
    /// Says that somebody reads.
    _seat: Seat,
}

impl Stream for Live {
    type Item = Result<Bytes, QueryError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Pieces { buffer, number, .. } = &self.pieces;
        let mut guard = buffer.state.lock();
        let state = &mut *guard;
        let Some(Some(reader)) = state.readers.get_mut(*number) else { return Poll::Ready(None) };
        if let Some(piece) = state.pieces.get(reader.next - state.gone) {
            let piece = piece.clone();
            reader.next += 1;
            if state.unrecorded {
                state.forget_read();
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        match &state.ended {
            None => {
                reader.waker = Some(context.waker().clone());
                Poll::Pending
            }
            Some(ended) => {
                let last = ended.clone().err().map(Err);
                state.readers[*number] = None;
                Poll::Ready(last)
            }
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        let mut state = self.buffer.state.lock();
        if let Some(reader) = state.readers.get_mut(self.number) {
            *reader = None;
        }
        if state.unrecorded {
            state.forget_read();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;
    use crate::engine::Cause as _;
    use crate::engine::flight::Audience;
    use crate::provider::ProviderError;

    fn head() -> Head {
        Head { status: 200, error: None, headers: HeaderMap::new(), usage: false, provider: "p".into() }
    }

    fn project(number: u8) -> ProjectId {
        ProjectId::from_bytes([number; 16])
    }

    fn buffer(each: usize, all: usize) -> Arc<ReplayBuffer> {
        ReplayBuffer::new(head(), &Room::new(RecordLimits { each, all }), project(1))
    }

    fn seat() -> Seat {
        Arc::<Audience>::default().seat()
    }

    fn broken() -> QueryError {
        ProviderError::new("p", FailureClass::StreamInterrupted, "").into()
    }

    #[tokio::test]
    async fn each_reader_gets_all_pieces_as_they_came_from_the_beginning() {
        let buffer = buffer(1000, 1000);
        let mut early = buffer.first(seat());
        buffer.push(b"one").await;
        assert_eq!(early.next().await.unwrap().unwrap(), "one");
        assert!(early.next().now_or_never().is_none(), "nothing more came yet");
        buffer.push(b"two").await;
        let late: Vec<_> = {
            let late = buffer.join(seat()).unwrap();
            buffer.end(Ok(()));
            late.map(Result::unwrap).collect().await
        };
        assert_eq!(late, ["one", "two"]);
        assert_eq!(early.next().await.unwrap().unwrap(), "two");
        assert!(early.next().await.is_none() && early.next().await.is_none());
        assert_eq!(buffer.whole().unwrap(), "onetwo");
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_by_a_piece_and_by_the_end() {
        let buffer = buffer(1000, 1000);
        let mut live = buffer.first(seat());
        let tasks = tokio_util::task::TaskTracker::new();
        let task = tasks.spawn(async move {
            let mut seen = Vec::new();
            while let Some(piece) = live.next().await {
                seen.push(piece.map_err(|error| error.cause()));
            }
            seen
        });
        for piece in [&b"a"[..], b"b"] {
            tokio::task::yield_now().await;
            buffer.push(piece).await;
        }
        tokio::task::yield_now().await;
        buffer.end(Err(broken()));
        let seen = task.await.unwrap();
        assert_eq!(seen, [Ok(Bytes::from("a")), Ok(Bytes::from("b")), Err("provider_stream_interrupted")]);
    }

    #[tokio::test]
    async fn an_answer_beyond_its_limit_goes_on_in_step_with_its_slowest_reader() {
        let buffer = buffer(100, 100);
        let (mut fast, slow) = (buffer.first(seat()), buffer.join(seat()).unwrap());
        buffer.push(b"abc").await;
        assert!(buffer.whole().is_some());
        buffer.push(&vec![7; AHEAD - 100]).await;
        assert!(buffer.whole().is_none());
        let more = buffer.push(b"0123456789");
        let mut more = Box::pin(more);
        assert!(more.as_mut().now_or_never().is_none(), "nobody has read anything");
        assert_eq!(fast.next().await.unwrap().unwrap(), "abc");
        assert!(more.as_mut().now_or_never().is_none(), "one has read nothing");
        // Who is gone delays nobody.
        drop(slow);
        assert_eq!(fast.next().await.unwrap().unwrap().len(), AHEAD - 100);
        more.await;
        assert_eq!(fast.next().await.unwrap().unwrap(), "0123456789");
        assert!(buffer.join(seat()).is_none(), "its beginning is gone");
        drop(fast);
        buffer.push(&vec![7; 3 * AHEAD]).await;
    }

    #[tokio::test]
    async fn all_records_together_are_bounded_and_room_comes_back() {
        let room = Room::new(RecordLimits { each: 100, all: 100 });
        let first = ReplayBuffer::new(head(), &room, project(1));
        first.push(&[7; 70]).await;
        let second = ReplayBuffer::new(head(), &room, project(2));
        second.push(&[7; 70]).await;
        assert!(first.whole().is_some() && second.whole().is_none());
        drop(first);
        let third = ReplayBuffer::new(head(), &room, project(1));
        third.push(&[7; 70]).await;
        assert!(third.whole().is_some());
    }

    #[tokio::test]
    async fn what_slow_readers_have_not_taken_has_room_until_they_have() {
        let limits = RecordLimits { each: 2 * AHEAD, all: 2 * AHEAD };
        let room = Room::new(limits);
        let buffer = ReplayBuffer::new(head(), &room, project(1));
        let mut slow = buffer.first(seat());
        for _ in 0..2 {
            buffer.push(&vec![7; AHEAD]).await;
        }
        let mut more = Box::pin(buffer.push(b"beyond"));
        assert!(more.as_mut().now_or_never().is_none() && buffer.whole().is_none());
        assert_eq!(room.shares.taken(), 2 * AHEAD, "its bytes are still in memory");
        slow.next().await.unwrap().unwrap();
        assert_eq!(room.shares.taken(), 2 * AHEAD, "it is more than 256 KiB behind");
        slow.next().await.unwrap().unwrap();
        assert_eq!(room.shares.taken(), 0);
        more.await;
        assert_eq!(slow.next().await.unwrap().unwrap(), "beyond");
        // Who goes leaves room, too.
        let buffer = ReplayBuffer::new(head(), &room, project(1));
        let slow = buffer.first(seat());
        buffer.push(&vec![7; 2 * AHEAD]).await;
        assert!(buffer.push(b"beyond").now_or_never().is_none());
        assert_eq!(room.shares.taken(), 2 * AHEAD);
        drop(slow);
        assert_eq!(room.shares.taken(), 0);
    }

    #[tokio::test]
    async fn an_answer_in_tiny_pieces_counts_what_they_take() {
        let recorded = buffer(4 * PIECE, 4 * PIECE);
        for _ in 0..4 {
            recorded.push(b"a").await;
        }
        assert_eq!(recorded.whole().unwrap(), "aaaa");
        recorded.push(b"a").await;
        assert!(recorded.whole().is_none());
        // Beyond that so many are kept for a reader that takes none.
        let passed = buffer(1, 1);
        let mut slow = passed.first(seat());
        for _ in 0..AHEAD / PIECE {
            passed.push(b"a").now_or_never().unwrap();
        }
        let mut more = Box::pin(passed.push(b"a"));
        assert!(more.as_mut().now_or_never().is_none());
        slow.next().await.unwrap().unwrap();
        more.await;
    }

    #[test]
    fn of_an_answer_that_is_not_recorded_both_ends_are_kept_and_no_more() {
        let mut ends = Ends::default();
        let said: Vec<u8> = (0..5 * END).map(|at| (at / 1000) as u8).collect();
        for piece in said.chunks(1000) {
            ends.add(piece);
            assert!(ends.last.len() <= 2 * END);
        }
        assert!(ends.first == said[..END] && ends.last.len() >= END && said.ends_with(&ends.last));
    }

    #[tokio::test]
    async fn the_records_of_one_project_leave_room_for_those_of_others() {
        let room = Room::new(RecordLimits { each: 200, all: 1000 });
        let mut buffers = Vec::new();
        for number in [1, 1, 1, 2] {
            let buffer = ReplayBuffer::new(head(), &room, project(number));
            buffer.push(&[1; 100]).await;
            buffer.push(&[2; 100]).await;
            buffers.push(buffer);
        }
        let recorded: Vec<bool> = buffers.iter().map(|buffer| buffer.is_recorded()).collect();
        assert_eq!(recorded, [true, true, false, true]);
    }
}
