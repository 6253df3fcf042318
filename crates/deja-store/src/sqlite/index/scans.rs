//! Long searches, off the async threads. Those of one scope that come while others run are made in one scan:
//! what takes the time is to read the sketches from memory, and that is done once for all of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::available_parallelism;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Near, Search, Target};

/// Searches in one scan. Each makes the others of its scan wait.
const TOGETHER: usize = 8;

/// The searches that wait for a scan, and how many scans run, by what is scanned.
pub(in crate::sqlite) struct Scans {
    /// Scans of one scope at the same time. Some cores are left for embedding.
    most: usize,
    queues: Mutex<HashMap<Key, Queue>>,
}

/// A partition, which is held while it is scanned, and whether sketches leave most of it out: else a scan takes too
/// long for others to wait for it.
type Key = (usize, bool);

#[derive(Default)]
struct Queue {
    asked: Vec<Asked>,
    running: usize,
}

struct Asked {
    search: Search,
    answer: oneshot::Sender<Vec<Near>>,
}

/// The scan ended without an answer: it panicked, or the runtime stops.
#[derive(Debug, thiserror::Error)]
#[error("the search was given up")]
pub(in crate::sqlite) struct GivenUp;

impl Default for Scans {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { most: (cores / 2).max(1), queues: Mutex::default() }
    }
}

impl Scans {
    /// What [`Target::nearest`] finds.
    pub(in crate::sqlite) async fn nearest(
        self: &Arc<Self>,
        target: Target,
        search: Search,
    ) -> Result<Vec<Near>, GivenUp> {
        let (answer, found) = oneshot::channel();
        if let Some(scan) = self.ask(target, Asked { search, answer }) {
            tokio::task::spawn_blocking(move || scan.run());
        }
        found.await.map_err(|_| GivenUp)
    }

    /// Puts a search in the queue; gives the scan that is to run for it, unless enough of them run.
    fn ask(self: &Arc<Self>, target: Target, asked: Asked) -> Option<Scan> {
        let key = (Arc::as_ptr(&target.0).addr(), target.0.is_filtered(&asked.search));
        let mut queues = self.queues.lock();
        let queue = queues.entry(key).or_default();
        queue.asked.push(asked);
        let begins = queue.running < self.most;
        queue.running += usize::from(begins);
        begins.then(|| Scan { scans: Arc::clone(self), key, target, has_left: false })
    }
}

/// Answers searches until none waits. If a scan ends otherwise, it gives up the searches that wait for it.
struct Scan {
    scans: Arc<Scans>,
    key: Key,
    target: Target,
    has_left: bool,
}

impl Scan {
    fn run(mut self) {
        while let Some(mut asked) = self.next() {
            asked.retain(|asked| !asked.answer.is_closed());
            let searches: Vec<_> = asked.iter().map(|asked| &asked.search).collect();
            let found = self.target.nearest(&searches);
            for (asked, found) in asked.into_iter().zip(found) {
                // Who asked may have gone.
                let _ = asked.answer.send(found);
            }
        }
    }

    /// The searches to make next. With the last one the scan leaves the queue, under one lock: who asks from now
    /// on begins another.
    fn next(&mut self) -> Option<Vec<Asked>> {
        let scans = Arc::clone(&self.scans);
        let mut queues = scans.queues.lock();
        let queue = queues.get_mut(&self.key)?;
        let count = queue.asked.len().min(TOGETHER);
        if count == 0 {
            self.leave(&mut queues);
            return None;
        }
        Some(queue.asked.drain(..count).collect())
    }

    fn leave(&mut self, queues: &mut HashMap<Key, Queue>) {
        if let Some(queue) = queues.get_mut(&self.key).filter(|_| !self.has_left) {
            queue.running -= 1;
            if queue.running == 0 {
                queues.remove(&self.key);
            }
        }
        self.has_left = true;
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        let scans = Arc::clone(&self.scans);
        self.leave(&mut scans.queues.lock());
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use deja_core::cache::ScopeKey;
    use deja_core::clock::Timestamp;
    use deja_core::embedding::{Embedding, Threshold};
    use deja_core::id::EntryId;

    use super::super::{Index, Vector};
    use super::*;

    const SCOPE: ScopeKey = ScopeKey([1; 32]);

    fn embedding(number: u64) -> Embedding {
        let mut state = number;
        let values = (0..64).map(|_| (deja_core::random::split_mix(&mut state) >> 40) as f32 - 8_388_608.0);
        Embedding::new(values.collect::<Vec<_>>()).unwrap()
    }

    fn index(vectors: u64) -> Index {
        let index = Index::new(0, HashMap::new());
        for number in 0..vectors {
            let id = EntryId::from_bytes(u128::from(number).to_be_bytes());
            index.add_vector(SCOPE, Vector::new(&embedding(number)).unwrap(), number as i64, id, i64::MAX);
        }
        index
    }

    fn search(number: u64) -> Search {
        Search {
            probe: embedding(number).as_slice().into(),
            threshold: Threshold::new(0.99).unwrap(),
            limit: NonZeroUsize::MIN,
            now: Timestamp::from_secs(1),
        }
    }

    fn asked(number: u64) -> (Asked, oneshot::Receiver<Vec<Near>>) {
        let (answer, found) = oneshot::channel();
        (Asked { search: search(number), answer }, found)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn each_gets_its_own_answer() {
        let (index, scans) = (Arc::new(index(5_000)), Arc::new(Scans::default()));
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..32 {
            let (index, scans) = (Arc::clone(&index), Arc::clone(&scans));
            tasks.spawn(async move {
                for number in (task..5_000).step_by(97) {
                    let target = index.target(SCOPE, 64).unwrap();
                    let found = scans.nearest(target, search(number)).await.unwrap();
                    assert_eq!(found.iter().map(|found| found.row).collect::<Vec<_>>(), [number as i64]);
                }
            });
        }
        tasks.join_all().await;
        // A scan leaves when its last answer is sent already.
        while !scans.queues.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn those_that_come_while_a_scan_runs_are_in_the_next() {
        let (index, scans) = (index(100), Arc::new(Scans { most: 1, ..Scans::default() }));
        let mut receivers = Vec::new();
        let mut begun = Vec::new();
        for number in 0..2 * TOGETHER as u64 {
            let (asked, found) = asked(number);
            begun.extend(scans.ask(index.target(SCOPE, 64).unwrap(), asked));
            receivers.push(found);
        }
        assert_eq!(begun.len(), 1);
        // A caller that does not wait any more.
        receivers[3].close();
        begun.into_iter().for_each(Scan::run);
        for (number, mut found) in receivers.into_iter().enumerate().filter(|(number, _)| *number != 3) {
            assert_eq!(found.try_recv().unwrap()[0].row, number as i64);
        }
        assert!(scans.queues.lock().is_empty());
    }

    #[test]
    fn a_scan_that_does_not_end_leaves_nobody_waiting() {
        let (index, scans) = (index(100), Arc::new(Scans { most: 1, ..Scans::default() }));
        let ask = |number| {
            let (asked, found) = asked(number);
            (scans.ask(index.target(SCOPE, 64).unwrap(), asked), found)
        };
        let ((first, mut one), (second, mut other)) = (ask(1), ask(2));
        assert!(first.is_some() && second.is_none());
        drop(first);
        assert!(one.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        assert!(other.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        let (third, mut found) = ask(3);
        third.unwrap().run();
        assert_eq!(found.try_recv().unwrap()[0].row, 3);
    }
}
