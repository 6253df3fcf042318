//! A fixed set of threads behind a bounded queue.
//!
//! Embedding is pure computation, so it must not run on the threads that serve connections, and more threads
//! than cores only add waiting. A full queue refuses at once: a caller that would wait longer than its
//! deadline anyway is better told so.
//!
//! Texts are embedded one at a time. Batching was measured and is not worth it here: see docs/adr/0003.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use deja_core::embedding::{EmbedError, Embedded};
use tokio::sync::oneshot;

/// Size and patience of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Threads, at least one.
    pub threads: usize,
    /// Texts that may wait, at least one.
    pub queue: usize,
    /// Longest time from the call to the answer.
    pub deadline: Duration,
}

impl Default for PoolConfig {
    /// One thread per core, 512 waiting texts, two seconds.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, queue: 512, deadline: Duration::from_secs(2) }
    }
}

/// What a thread does with a text.
pub(crate) trait Work: FnMut(&str) -> Result<Embedded, EmbedError> + Send + 'static {}
impl<F: FnMut(&str) -> Result<Embedded, EmbedError> + Send + 'static> Work for F {}

struct Job {
    text: String,
    deadline: Instant,
    reply: oneshot::Sender<Result<Embedded, EmbedError>>,
}

/// The running pool. Dropping it ends the threads once each has finished its current text.
pub(crate) struct Pool {
    queue: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    patience: Duration,
}

impl Pool {
    /// Starts the threads. `make` gives each thread its own work, and a fresh one after a panic.
    pub(crate) fn start<W: Work>(
        config: PoolConfig,
        make: impl Fn() -> W + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = bounded(config.queue.max(1));
        let mut pool = Self { queue: Some(queue), threads: Vec::new(), patience: config.deadline };
        for index in 0..config.threads.max(1) {
            let (make, jobs) = (make.clone(), jobs.clone());
            let thread = Builder::new().name(format!("embed-{index}")).spawn(move || serve(&jobs, &make))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Queues `text` and waits for its vector.
    pub(crate) async fn run(&self, text: &str) -> Result<Embedded, EmbedError> {
        let (reply, answer) = oneshot::channel();
        let job = Job { text: text.to_owned(), deadline: Instant::now() + self.patience, reply };
        let Some(queue) = &self.queue else {
            return Err(EmbedError::Failed("the pool has ended".to_owned()));
        };
        match queue.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(EmbedError::Overloaded),
            Err(TrySendError::Disconnected(_)) => {
                return Err(EmbedError::Failed("the pool has ended".to_owned()));
            }
        }
        match tokio::time::timeout(self.patience, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(EmbedError::Failed("the pool dropped the text".to_owned())),
            Err(_) => Err(EmbedError::Timeout),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Closing the queue ends every thread's loop. What still waits in it has no caller any more, since
        // callers borrow the pool, and is skipped.
        self.queue = None;
        for thread in self.threads.drain(..) {
            // A thread catches panics of its work, so there is nothing to learn from its result.
            let _ = thread.join();
        }
    }
}

/// The life of one thread.
fn serve<W: Work>(jobs: &Receiver<Job>, make: &impl Fn() -> W) {
    let mut work = make();
    for job in jobs {
        // The caller hung up while the text waited.
        if job.reply.is_closed() {
            continue;
        }
        if Instant::now() >= job.deadline {
            let _ = job.reply.send(Err(EmbedError::Timeout));
            continue;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(&job.text))).unwrap_or_else(|_| {
            // Its working memory may be half written.
            work = make();
            Err(EmbedError::Failed("the forward pass panicked".to_owned()))
        });
        // Fails only if the caller hung up meanwhile.
        let _ = job.reply.send(result);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn answer(tokens: usize) -> Embedded {
        Embedded::TooLong { tokens: tokens as u32, window: 0 }
    }

    #[tokio::test]
    async fn a_panic_costs_one_text_only() {
        let config = PoolConfig { threads: 1, queue: 8, deadline: Duration::from_secs(10) };
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let pool = Pool::start(config, move || {
            count.fetch_add(1, Ordering::Relaxed);
            |text: &str| if text == "bad" { panic!("on purpose") } else { Ok(answer(text.len())) }
        })
        .unwrap();
        assert!(matches!(pool.run("bad").await, Err(EmbedError::Failed(_))));
        assert!(matches!(pool.run("good").await, Ok(Embedded::TooLong { tokens: 4, .. })));
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_text_whose_caller_hung_up_is_not_worked_on() {
        let config = PoolConfig { threads: 1, queue: 8, deadline: Duration::from_secs(10) };
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        let pool = Pool::start(config, move || {
            let count = Arc::clone(&count);
            move |text: &str| {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
                Ok(answer(text.len()))
            }
        })
        .unwrap();
        let (first, gone, last) = tokio::join!(
            pool.run("first"),
            tokio::time::timeout(Duration::from_millis(5), pool.run("gone")),
            pool.run("last"),
        );
        assert!(first.is_ok() && gone.is_err() && last.is_ok());
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn dropping_the_pool_ends_its_threads() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let pool = Pool::start(PoolConfig::default(), move || {
            let held = Arc::clone(&held);
            move |text: &str| Ok(answer(text.len() + Arc::strong_count(&held)))
        })
        .unwrap();
        drop(pool);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
