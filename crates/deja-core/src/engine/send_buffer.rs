//! Bodies that wait for their clients. A body that its client takes slowly, or not at all, stays in memory meanwhile. So all
//! bodies together are bounded.

use std::hash::Hash;

use bytes::Bytes;

use crate::engine::{Engine, QueryError, RecordLimits};
use crate::id::ProjectId;
use crate::shares::{Held, Shares};

/// Up to here a body does not count: the kernel takes it at once.
const SMALL: usize = 16 * 1024;

/// Room for all bodies that wait, a permit a byte. The bodies of one project have half of it at most, or as much as one answer
/// may take.
pub(super) fn send_buffers(limits: RecordLimits) -> Shares {
    Shares::halves(limits.all, limits.each)
}

/// The body of one answer.
#[derive(Debug)]
pub struct SendBuffer<'a, K = ProjectId> {
    shares: &'a Shares<K>,
    of: K,
    bytes: usize,
    room: Option<Held>,
}

impl<'a, K: Copy + Eq + Hash> SendBuffer<'a, K> {
    /// A body without bytes yet, whose room will be of the share of `of`.
    pub const fn of(shares: &'a Shares<K>, of: K) -> Self {
        Self { shares, of, bytes: 0, room: None }
    }

    /// The owner of the share.
    pub const fn owner(&self) -> K {
        self.of
    }

    /// The bytes that count. A body that is larger than a share takes the whole share.
    fn counted(&self) -> usize {
        if self.bytes <= SMALL { 0 } else { self.bytes.min(self.shares.each()) }
    }

    /// The body has so many more bytes. Refused if there is no room for them.
    pub fn grow(&mut self, bytes: usize) -> Result<(), QueryError> {
        let taken = self.counted();
        self.bytes += bytes;
        let more = self.counted() - taken;
        if more > 0 && !self.room.get_or_insert_with(|| self.shares.of(self.of)).try_take(more) {
            self.bytes -= bytes;
            return Err(QueryError::Overloaded);
        }
        Ok(())
    }

    /// `body` with its room, which comes back when the last of it is sent or thrown away.
    pub fn hold(self, body: impl Into<Bytes>) -> Bytes {
        match self.room {
            Some(room) => room.around(body),
            None => body.into(),
        }
    }
}

impl Engine {
    /// A buffer without bytes yet, for an answer to a client of `project`.
    pub fn send_buffer(&self, project: ProjectId) -> SendBuffer<'_> {
        SendBuffer::of(&self.send_buffers, project)
    }

    /// A buffer that has room for a body of so many bytes.
    pub(super) fn buffered(&self, project: ProjectId, bytes: usize) -> Result<SendBuffer<'_>, QueryError> {
        let mut buffer = self.send_buffer(project);
        buffer.grow(bytes).map(|()| buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn project(number: u8) -> ProjectId {
        ProjectId::from_bytes([number; 16])
    }

    #[test]
    fn what_one_project_does_not_take_leaves_room_for_the_answers_of_others() {
        let buffers = send_buffers(RecordLimits { each: 50_000, all: 200_000 });
        let sent = |of: u8| {
            let mut buffer = SendBuffer::of(&buffers, project(of));
            buffer.grow(40_000).map(|()| buffer.hold(vec![b'a'; 40_000]))
        };
        let waiting: Vec<Bytes> = (0..2).map(|_| sent(1).unwrap()).collect();
        assert!(matches!(sent(1), Err(QueryError::Overloaded)), "it has its share");
        let other = sent(2).expect("another has its own");
        assert_eq!(buffers.taken(), 120_000);

        let rest = waiting[0].slice(39_999..);
        drop(waiting);
        assert_eq!(buffers.taken(), 80_000, "the last byte of one is not sent yet");
        drop((rest, other));
        assert_eq!(buffers.taken(), 0);
    }

    #[test]
    fn small_bodies_do_not_count_and_one_beyond_a_share_takes_all_of_it() {
        let buffers = send_buffers(RecordLimits { each: 20_000, all: 20_000 });
        let mut whole = SendBuffer::of(&buffers, project(1));
        for _ in 0..3 {
            whole.grow(SMALL).unwrap();
        }
        assert_eq!(buffers.taken(), 20_000);
        let mut small = SendBuffer::of(&buffers, project(1));
        small.grow(SMALL).unwrap();
        assert_eq!(small.hold(vec![0; SMALL]).len(), SMALL);
        let mut refused = SendBuffer::of(&buffers, project(1));
        assert!(refused.grow(SMALL + 3).is_err());
        assert!(small_and_one_more(&buffers).is_err());
        drop(whole);
        assert!(small_and_one_more(&buffers).is_ok());
        refused.grow(SMALL + 1).unwrap();
        assert_eq!(buffers.taken(), SMALL + 1, "what was refused does not count");
    }

    fn small_and_one_more(buffers: &Shares) -> Result<(), QueryError> {
        let mut buffer = SendBuffer::of(buffers, project(1));
        buffer.grow(SMALL)?;
        buffer.grow(1)
    }
}
