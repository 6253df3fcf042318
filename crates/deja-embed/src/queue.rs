//! Texts that wait for a thread, in a line for each project. The lines have turns, so a project with many texts does not keep
//! one with a few waiting. What is of no project goes behind all others.

use std::collections::{HashMap, VecDeque};

use deja_core::id::ProjectId;
use parking_lot::{Condvar, Mutex};

/// Whose text it is; `None` for work that no request waits for.
pub(crate) type Owner = Option<ProjectId>;

pub(crate) struct Queue<T> {
    most: usize,
    lines: Mutex<Lines<T>>,
    changed: Condvar,
}

struct Lines<T> {
    of: HashMap<Owner, Line<T>>,
    /// Whose texts wait, the next one first.
    turns: VecDeque<Owner>,
    waiting: usize,
    ended: bool,
}

struct Line<T> {
    texts: VecDeque<T>,
    /// Those who wait for a vector. There may be more texts: of callers that hung up.
    callers: usize,
}

/// Somebody who waits for a vector, until it hangs up.
pub(crate) struct Caller<'a, T> {
    queue: &'a Queue<T>,
    owner: Owner,
    /// How many have their vectors first.
    pub(crate) behind: usize,
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
    pub(crate) fn new(most: usize) -> Self {
        let lines = Lines { of: HashMap::new(), turns: VecDeque::new(), waiting: 0, ended: false };
        Self { most: most.max(1), lines: Mutex::new(lines), changed: Condvar::new() }
    }

    /// One more who waits for a vector.
    pub(crate) fn enter(&self, owner: Owner) -> Caller<'_, T> {
        let lines = &mut *self.lines.lock();
        let own = lines.line(owner).callers;
        let first = |line: &Line<T>| if owner.is_some() { line.callers.min(own + 1) } else { line.callers };
        let behind = lines.of.values().map(first).sum();
        lines.line(owner).callers += 1;
        Caller { queue: self, owner, behind }
    }

    /// Has `text` wait. Where there is no room, the last text of the longest line goes: what is given back.
    pub(crate) fn push(&self, owner: Owner, text: T) -> Result<(), T> {
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
    pub(crate) fn next(&self) -> Option<T> {
        let mut lines = self.lines.lock();
        loop {
            match lines.pop() {
                None if !lines.ended => self.changed.wait(&mut lines),
                next => return next,
            }
        }
    }

    /// No more texts will come.
    pub(crate) fn end(&self) {
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
}
