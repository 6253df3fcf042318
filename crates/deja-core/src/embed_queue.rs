//! Texts that wait to be embedded, in a line for each project. The lines have turns, so a project with many texts does not keep
//! a project with a few waiting. Texts of no project come after all others.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::id::ProjectId;

/// Whose text it is; `None` for work that no request waits for.
pub type Owner = Option<ProjectId>;

/// The lines.
#[derive(Debug)]
pub struct Queue<T> {
    most: usize,
    lines: Mutex<Lines<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Lines<T> {
    of: HashMap<Owner, Line<T>>,
    /// Whose texts wait, the next one first.
    turns: VecDeque<Owner>,
    waiting: usize,
    ended: bool,
}

#[derive(Debug)]
struct Line<T> {
    texts: VecDeque<T>,
    /// How many callers wait for a vector. There may be more texts than callers: some callers hung up.
    callers: usize,
}

/// Somebody who waits for a vector, until it hangs up.
#[derive(Debug)]
pub struct Caller<'a, T> {
    queue: &'a Queue<T>,
    owner: Owner,
    /// How many callers get their vectors first.
    pub behind: usize,
}

impl<T> Drop for Caller<'_, T> {
    fn drop(&mut self) {
        let lines = &mut *self.queue.lines.lock();
        lines.line(self.owner).callers -= 1;
        lines.forget(self.owner);
    }
}

impl<T> Queue<T> {
    /// Has room for `most` texts, one at least.
    pub fn new(most: usize) -> Self {
        let lines = Lines { of: HashMap::new(), turns: VecDeque::new(), waiting: 0, ended: false };
        Self { most: most.max(1), lines: Mutex::new(lines), changed: Condvar::new() }
    }

    /// One more who waits for a vector.
    pub fn enter(&self, owner: Owner) -> Caller<'_, T> {
        let lines = &mut *self.lines.lock();
        let own = lines.line(owner).callers;
        let first = |line: &Line<T>| if owner.is_some() { line.callers.min(own + 1) } else { line.callers };
        let behind = lines.of.values().map(first).sum();
        lines.line(owner).callers += 1;
        Caller { queue: self, owner, behind }
    }

    /// Has `text` wait. Where there is no room, the last text of the longest line goes: what is given back.
    pub fn push(&self, owner: Owner, text: T) -> Result<(), T> {
        let lines = &mut *self.lines.lock();
        let mut gone = None;
        if lines.waiting >= self.most {
            let own = lines.line(owner).texts.len();
            let longest = lines.of.values_mut().max_by_key(|line| line.texts.len());
            let Some(longest) = longest.filter(|line| line.texts.len() > own + 1) else { return Err(text) };
            gone = longest.texts.pop_back();
            lines.waiting -= 1;
        }
        let line = &mut lines.line(owner).texts;
        line.push_back(text);
        if line.len() == 1 {
            lines.turns.push_back(owner);
        }
        lines.waiting += 1;
        self.changed.notify_one();
        gone.map_or(Ok(()), Err)
    }

    /// Waits for the next text; `None` once there are none and no more will come.
    pub fn next(&self) -> Option<T> {
        let mut lines = self.lines.lock();
        loop {
            match lines.pop() {
                None if !lines.ended => self.changed.wait(&mut lines),
                next => return next,
            }
        }
    }

    /// The next text, if there is one.
    pub fn try_next(&self) -> Option<T> {
        self.lines.lock().pop()
    }

    /// No more texts will come.
    pub fn end(&self) {
        self.lines.lock().ended = true;
        self.changed.notify_all();
    }
}

impl<T> Lines<T> {
    fn line(&mut self, owner: Owner) -> &mut Line<T> {
        self.of.entry(owner).or_insert_with(|| Line { texts: VecDeque::new(), callers: 0 })
    }

    /// The next text of the line whose turn it is.
    fn pop(&mut self) -> Option<T> {
        let mut owner = self.turns.pop_front()?;
        if owner.is_none()
            && let Some(other) = self.turns.pop_front()
        {
            self.turns.push_front(owner);
            owner = other;
        }
        let line = &mut self.line(owner).texts;
        let text = line.pop_front();
        if line.is_empty() {
            self.forget(owner);
        } else {
            self.turns.push_back(owner);
        }
        self.waiting -= 1;
        text
    }

    /// Drops a line that nobody is in.
    fn forget(&mut self, owner: Owner) {
        let line = self.line(owner);
        if line.callers == 0 && line.texts.is_empty() {
            self.of.remove(&owner);
        }
    }
}

/// Texts before the pace is measured. The first ones are slow: the weights come into memory, and the rest of the process
/// starts too.
pub const WARM: u64 = 16;

/// How long a text took lately.
#[derive(Debug, Default)]
pub struct Pace {
    texts: AtomicU64,
    nanos: AtomicU64,
}

impl Pace {
    /// Takes in how long a text took. The last thirty or so count, and none of the first.
    pub fn took(&self, time: Duration) {
        if self.texts.fetch_add(1, Ordering::Relaxed) < WARM {
            return;
        }
        let new = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // If two threads write at the same time, one of the times is lost. The mean is hardly another.
        let mean = self.nanos.load(Ordering::Relaxed);
        let mean = if mean == 0 { new } else { mean - mean / 16 + new / 16 };
        self.nanos.store(mean, Ordering::Relaxed);
    }

    /// How long a text takes; 0 while nothing is known.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    /// How long a text waits behind `waiting` others, of which `at_once` are worked on at the same time.
    pub fn wait(&self, waiting: usize, at_once: usize) -> Duration {
        self.mean().saturating_mul(u32::try_from(waiting / at_once.max(1)).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Owner = Some(ProjectId::from_bytes([1; 16]));
    const OTHER: Owner = Some(ProjectId::from_bytes([2; 16]));

    #[test]
    fn lines_have_turns_and_what_is_of_no_project_goes_last() {
        let queue = Queue::new(10);
        for (owner, text) in [(None, "none"), (ONE, "a"), (ONE, "b"), (ONE, "c"), (OTHER, "x")] {
            queue.push(owner, text).unwrap();
        }
        queue.end();
        let served: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(served, ["a", "x", "b", "c", "none"]);
        assert!(queue.lines.lock().of.is_empty(), "nothing is kept of projects that have no texts");
    }

    #[test]
    fn a_full_queue_has_room_for_the_shorter_line() {
        let queue = Queue::new(3);
        for text in ["a", "b", "c"] {
            queue.push(ONE, text).unwrap();
        }
        assert_eq!(queue.push(ONE, "d"), Err("d"));
        assert_eq!(queue.push(OTHER, "x"), Err("c"));
        assert_eq!(queue.push(OTHER, "y"), Err("y"), "neither has more than the other would have");
        queue.end();
        let served: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(served, ["a", "x", "b"]);
        for text in ["e", "f", "g"] {
            queue.push(ONE, text).expect("the room of what went is free");
        }
    }

    #[test]
    fn as_many_come_first_as_have_a_turn_before() {
        let queue = Queue::<()>::new(1);
        let many: Vec<_> = (0..5).map(|_| queue.enter(ONE)).collect();
        assert_eq!(many.iter().map(|caller| caller.behind).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let (first, second) = (queue.enter(OTHER), queue.enter(OTHER));
        assert_eq!([first.behind, second.behind, queue.enter(None).behind], [1, 3, 7]);
        drop(many);
        assert_eq!(queue.enter(OTHER).behind, 2);
        drop((first, second));
        assert!(queue.lines.lock().of.is_empty());
    }

    #[test]
    fn the_pace_follows_what_texts_take() {
        let pace = Pace::default();
        for _ in 0..WARM {
            pace.took(Duration::from_secs(1));
            assert_eq!(pace.wait(1_000, 2), Duration::ZERO, "nothing is known yet");
        }
        pace.took(Duration::from_millis(4));
        assert_eq!(pace.wait(10, 2), Duration::from_millis(20));
        assert_eq!(pace.wait(1, 2), Duration::ZERO, "a thread is as good as free");
        for _ in 0..100 {
            pace.took(Duration::from_millis(12));
        }
        let wait = pace.wait(10, 2);
        assert!(wait > Duration::from_millis(59) && wait <= Duration::from_millis(60), "{wait:?}");
    }
}
