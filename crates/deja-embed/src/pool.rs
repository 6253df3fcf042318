//! A fixed set of threads behind a bounded queue.
//!
//! Embedding is pure computation, so it must not run on the threads that serve connections, and more threads
//! than cores only add waiting. A caller whose turn would come after its deadline is refused at once, and so is one that
//! finds the queue full: the sooner it is told, the sooner it asks elsewhere. Projects have turns ([`queue`](deja_core::embed_queue)), so
//! this meets the texts of a project that has too many, and not those of the others.
//!
//! The threads yield to all others of the process: a request, a refusal and a probe need a core for some microseconds each,
//! an embedding for half a millisecond and more. They also rest now and then, so that the kernel can move others to their
//! core: see docs/adr/0080.
//!
//! Texts are embedded one at a time. Batching was measured and is not worth it here: see docs/adr/0003.

#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use deja_core::embed_queue::{Owner, Pace, Queue};
use deja_core::embedding::{EmbedError, Embedded};
use tokio::sync::oneshot;

/// How long a thread works between two rests; a text that takes longer is not interrupted.
const STRETCH: Duration = Duration::from_millis(2);

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
    queue: Arc<Queue<Job>>,
    threads: Vec<JoinHandle<()>>,
    patience: Duration,
    pace: Arc<Pace>,
}

impl Pool {
    /// Starts the threads. `make` gives each thread its own work, and a fresh one after a panic.
    pub(crate) fn start<W: Work>(
        config: PoolConfig,
        make: impl Fn() -> W + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut pool = Self {
            queue: Arc::new(Queue::new(config.queue)),
            threads: Vec::new(),
            patience: config.deadline,
            pace: Arc::default(),
        };
        for index in 0..config.threads.max(1) {
            let (make, queue, pace) = (make.clone(), pool.queue.clone(), pool.pace.clone());
            let life = move || {
                yield_to_others();
                serve(&queue, &make, &pace);
            };
            pool.threads.push(Builder::new().name(format!("embed-{index}")).spawn(life)?);
        }
        Ok(pool)
    }

    /// Queues `text` and waits for its vector.
    pub(crate) async fn run(&self, owner: Owner, text: &str) -> Result<Embedded, EmbedError> {
        let caller = self.queue.enter(owner);
        let threads = self.threads.len();
        // Each thread works on one of the texts that came before.
        if self.pace.wait(caller.behind.saturating_sub(threads), threads) >= self.patience {
            return Err(EmbedError::Overloaded);
        }
        let (reply, answer) = oneshot::channel();
        let job = Job { text: text.to_owned(), deadline: Instant::now() + self.patience, reply };
        if let Err(job) = self.queue.push(owner, job) {
            // Fails only if its caller hung up.
            let _ = job.reply.send(Err(EmbedError::Overloaded));
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
        self.queue.end();
        for thread in self.threads.drain(..) {
            // A thread catches panics of its work, so there is nothing to learn from its result.
            let _ = thread.join();
        }
    }
}

/// Puts the calling thread behind those of the usual priority: beside one of them that never rests it gets a tenth of a
/// core. Elsewhere than on Linux a priority is the whole process's.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        let _refused_is_as_before = rustix::process::nice(10);
        // Else a rest takes 50 us longer.
        let _refused_is_as_before = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    }
}

/// Leaves the core idle for a moment. Only an idle core takes over threads that wait at another one: without rests, those
/// that serve requests were seen to share one core for 18 ms, while embedding had the other to itself.
fn rest() {
    #[cfg(target_os = "linux")]
    std::thread::sleep(Duration::from_micros(20));
}

/// The life of one thread.
fn serve<W: Work>(queue: &Queue<Job>, make: &impl Fn() -> W, pace: &Pace) {
    let mut work = make();
    let mut worked = Duration::ZERO;
    while let Some(job) = queue.next() {
        // The caller hung up while the text waited.
        if job.reply.is_closed() {
            continue;
        }
        let began = Instant::now();
        if began >= job.deadline {
            let _ = job.reply.send(Err(EmbedError::Timeout));
            continue;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(&job.text))).unwrap_or_else(|_| {
            // Its working memory may be half written.
            work = make();
            Err(EmbedError::Failed("the forward pass panicked".to_owned()))
        });
        let took = began.elapsed();
        pace.took(took);
        // Fails only if the caller hung up meanwhile.
        let _ = job.reply.send(result);
        worked += took;
        if worked >= STRETCH {
            rest();
            worked = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use deja_core::embed_queue::WARM;
    use deja_core::id::ProjectId;

    use super::*;

    const OWNER: Owner = Some(ProjectId::from_bytes([1; 16]));

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
        assert!(matches!(pool.run(OWNER, "bad").await, Err(EmbedError::Failed(_))));
        assert!(matches!(pool.run(OWNER, "good").await, Ok(Embedded::TooLong { tokens: 4, .. })));
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_text_whose_caller_hung_up_is_not_worked_on() {
        let config = PoolConfig { threads: 1, queue: 8, deadline: Duration::from_secs(10) };
        let seen = Arc::new(AtomicUsize::new(0));
        let (go_on, held) = std::sync::mpsc::channel();
        let (count, held) = (Arc::clone(&seen), Arc::new(std::sync::Mutex::new(held)));
        let pool = Pool::start(config, move || {
            let (count, held) = (Arc::clone(&count), Arc::clone(&held));
            move |text: &str| {
                count.fetch_add(1, Ordering::Relaxed);
                if text == "first" {
                    held.lock().unwrap().recv().unwrap();
                }
                Ok(answer(text.len()))
            }
        })
        .unwrap();
        let gone = async {
            let gone = tokio::time::timeout(Duration::from_millis(5), pool.run(OWNER, "gone")).await;
            go_on.send(()).unwrap();
            gone
        };
        let (first, gone, last) = tokio::join!(pool.run(OWNER, "first"), gone, pool.run(OWNER, "last"));
        assert!(first.is_ok() && gone.is_err() && last.is_ok());
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    }

    /// Without rests the thread leaves its core only before the first text: the others wait already.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_thread_with_much_to_do_leaves_its_core_now_and_then() {
        /// How often the calling thread has left its core of its own accord.
        fn left() -> usize {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            count.unwrap().trim().parse().unwrap()
        }
        const TEXTS: usize = 20;
        let config = PoolConfig { threads: 1, queue: TEXTS, deadline: Duration::from_mins(1) };
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let start = Pool::start(config, move || {
            let log = Arc::clone(&log);
            move |_: &str| {
                log.lock().unwrap().push(left());
                let began = Instant::now();
                while began.elapsed() < STRETCH {}
                Ok(answer(1))
            }
        });
        let pool = Arc::new(start.unwrap());
        let mut texts = tokio::task::JoinSet::new();
        for _ in 0..TEXTS {
            let pool = Arc::clone(&pool);
            texts.spawn(async move { pool.run(OWNER, "text").await });
        }
        assert!(texts.join_all().await.iter().all(Result::is_ok));
        let seen = seen.lock().unwrap();
        // The first texts may have come one by one, and a rest may be over before the thread has left its core.
        assert!(seen[TEXTS - 1] - seen[TEXTS / 2] >= TEXTS / 10, "{seen:?}");
    }

    #[tokio::test]
    async fn a_text_that_would_come_too_late_is_refused_at_once() {
        const EACH: Duration = Duration::from_millis(300);
        let config = PoolConfig { threads: 1, queue: 1_000, deadline: EACH * 20 };
        let (pause, paused) = std::sync::mpsc::channel::<()>();
        let paused = Arc::new(std::sync::Mutex::new(paused));
        let pool = Pool::start(config, move || {
            let paused = Arc::clone(&paused);
            move |text: &str| {
                if text != "quick" {
                    std::thread::sleep(EACH);
                }
                if text == "held" {
                    let _until_the_end = paused.lock().unwrap().recv();
                }
                Ok(answer(text.len()))
            }
        })
        .unwrap();
        for _ in 0..WARM {
            assert!(pool.run(OWNER, "quick").await.is_ok());
        }
        assert!(pool.run(OWNER, "first").await.is_ok());
        // One is worked on without end, so nothing leaves the queue.
        let mut calls: Vec<_> = (0..50).map(|_| Box::pin(pool.run(OWNER, "held"))).collect();
        let mut refused = 0;
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for call in &mut calls {
            match call.as_mut().poll(&mut context) {
                std::task::Poll::Ready(Err(EmbedError::Overloaded)) => refused += 1,
                std::task::Poll::Ready(other) => panic!("{other:?}"),
                std::task::Poll::Pending => assert_eq!(refused, 0, "refused before one that may wait"),
            }
        }
        // Twenty would take the deadline, and fewer on a machine that is busy; the queue has room for all.
        assert!((29..50).contains(&refused), "{refused}");
        let other = pool.run(Some(ProjectId::from_bytes([2; 16])), "held");
        assert!(std::pin::pin!(other).poll(&mut context).is_pending(), "another project has its turn");
        drop(pause);
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
