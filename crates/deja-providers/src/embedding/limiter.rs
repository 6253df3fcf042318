//! Which texts an embedding server has. It works on texts in the order in which they come, and on those of callers that hung
//! up too. So it is given few at once, and the others wait here, where projects have turns.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::embed_queue::{Owner, Queue};
use deja_core::embedding::EmbedError;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Texts that a server has at once, to begin with: a hosted server that needs half a second for a text reads a first burst in time.
const AT_FIRST: usize = 16;
/// Texts that it has however slow it is. How long they take shows how fast it is by itself.
const FEW: usize = 2;
/// A text may take so many times as long as one of few.
const SLOWER: f64 = 4.0;
/// The part of the deadline that a text may take at the server.
const SHARE_OF_DEADLINE: f64 = 0.5;
/// The mean time of a text is about that of so many of the last texts.
const SMOOTHING: f64 = 16.0;

#[derive(Debug)]
pub(super) struct Limiter {
    waiting: Queue<oneshot::Sender<Place>>,
    /// The most texts that wait, and that the server has.
    most: usize,
    patience: Duration,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Places {
    /// How many there are. A part of one counts once it is whole.
    all: f64,
    taken: usize,
    /// How long a text took lately, in seconds; 0 while nothing is known.
    time: f64,
    /// The same while the server had few.
    time_of_few: f64,
}

/// The place of a text that the server has.
#[derive(Debug)]
struct Place {
    limiter: Option<Arc<Limiter>>,
    /// Whether it was one of few.
    of_few: bool,
}

impl Limiter {
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        let most = most.max(1);
        let places = Places { all: AT_FIRST.min(most) as f64, taken: 0, time: 0.0, time_of_few: 0.0 };
        Self { waiting: Queue::new(most), most, patience, places: Mutex::new(places) }
    }

    /// What `reading` gives, which begins when it has its turn. Both have one deadline.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        owner: Owner,
        reading: impl Future<Output = Result<T, EmbedError>> + Send + 'static,
    ) -> Result<T, EmbedError> {
        let (teller, told) = oneshot::channel();
        // Whose turn was given up for another one's is told so as its teller is dropped.
        drop(self.waiting.push(owner, teller));
        self.serve();
        let answer = async {
            let place = told.await.map_err(|_| EmbedError::Overloaded)?;
            let limiter = Arc::clone(self);
            // The server goes on if the caller hangs up, so the place stays taken.
            #[expect(clippy::disallowed_methods, reason = "it ends within its deadline")]
            let reading = tokio::spawn(async move {
                let (place, began) = (place, Instant::now());
                let read = timeout(limiter.patience, reading).await.unwrap_or(Err(EmbedError::Timeout));
                limiter.took(began.elapsed(), place.of_few, &read);
                read
            });
            reading.await.map_err(|error| EmbedError::Failed(error.to_string()))?
        };
        timeout(self.patience, answer).await.map_err(|_| EmbedError::Timeout)?
    }

    /// Gives the places that are free to those whose turn it is.
    fn serve(self: &Arc<Self>) {
        let mut places = self.places.lock();
        while !places.are_taken() {
            let Some(teller) = self.waiting.try_next() else { return };
            let place = Place { limiter: Some(Arc::clone(self)), of_few: places.taken < FEW };
            match teller.send(place) {
                Ok(()) => places.taken += 1,
                // Its caller hung up, and it was not counted.
                Err(mut place) => drop(place.limiter.take()),
            }
        }
    }

    /// Takes in that the server took so long for a text. The number of places follows the window of FAST TCP (Jin, Wei and Low,
    /// 2004): it goes half of the way to where, if times grow with it, a text takes [`SLOWER`] times as long as one of few. A
    /// server that is no slower with more texts gets more; one on which they queue keeps a short queue.
    fn took<T>(&self, time: Duration, of_few: bool, read: &Result<T, EmbedError>) {
        let places = &mut *self.places.lock();
        let step = match read {
            Ok(_) | Err(EmbedError::Timeout) => {
                // A coarse clock may see no time pass.
                places.note(time.max(Duration::from_nanos(1)).as_secs_f64(), of_few);
                let may_take =
                    (SLOWER * places.time_of_few).min(self.patience.as_secs_f64() * SHARE_OF_DEADLINE);
                (may_take / places.time - 1.0).clamp(-0.5, 2.0) / 2.0
            }
            Err(EmbedError::Overloaded) => -0.5,
            Err(_) => return,
        };
        if step < 0.0 || places.are_taken() {
            places.all = (places.all + step).clamp(FEW.min(self.most) as f64, self.most as f64);
        }
    }
}

impl Places {
    fn are_taken(&self) -> bool {
        self.taken >= self.all as usize
    }

    fn note(&mut self, time: f64, of_few: bool) {
        let mean = |old: f64| if old == 0.0 { time } else { old + (time - old) / SMOOTHING };
        self.time = mean(self.time);
        if of_few || self.time_of_few == 0.0 {
            self.time_of_few = mean(self.time_of_few);
        }
        // A server that is faster now would otherwise look slow by itself until it has few texts again.
        self.time_of_few = self.time_of_few.min(self.time);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(limiter) = self.limiter.take() {
            limiter.places.lock().taken -= 1;
            limiter.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use tokio::sync::Notify;

    use super::*;

    /// The least and the greatest number of texts that a server has after a while, which takes `time` for one of so many.
    fn settled(limiter: &Limiter, time: impl Fn(usize) -> Duration) -> (usize, usize) {
        let mut seen = (usize::MAX, 0);
        // The first text finds nothing at the server.
        limiter.took(time(1), true, &Ok(()));
        for text in 0..4_000 {
            let all = limiter.places.lock().all as usize;
            limiter.places.lock().taken = all;
            limiter.took(time(all), all <= FEW, &Ok(()));
            if text >= 2_000 {
                seen = (seen.0.min(all), seen.1.max(all));
            }
        }
        seen
    }

    #[test]
    fn a_server_has_as_many_texts_as_keep_it_busy() {
        let limiter = || Limiter::new(100, Duration::from_secs(2));
        // One after the other: a few more than few, however fast it is.
        for rate in [20, 200, 2_000] {
            let (least, most) = settled(&limiter(), |all| Duration::from_secs(all as u64) / rate);
            assert!(least >= FEW && most <= 10 && most - least <= 1, "{rate}: {least} to {most}");
        }
        // All at once: as many as there may be.
        assert_eq!(settled(&limiter(), |_| Duration::from_millis(500)), (100, 100));
        // More at once take longer, but not much.
        let (least, most) = settled(&limiter(), |all| Duration::from_millis(10 + all as u64));
        assert!(least >= 30 && most <= 40 && most - least <= 1, "{least} to {most}");
        assert_eq!(settled(&limiter(), |_| Duration::ZERO), (100, 100));
        // It takes more than half of the deadline, whatever it has.
        assert_eq!(settled(&limiter(), |_| Duration::from_millis(1_100)), (FEW, FEW));
    }

    #[test]
    fn a_server_that_changes_its_pace_is_known_anew() {
        let limiter = Limiter::new(100, Duration::from_secs(4));
        for time in [10, 200, 10] {
            assert_eq!(settled(&limiter, |_| Duration::from_millis(time)), (100, 100), "{time}");
        }
    }

    #[test]
    fn what_says_nothing_of_the_time_changes_nothing() {
        let limiter = Limiter::new(100, Duration::from_secs(4));
        let all = || limiter.places.lock().all as usize;
        for _ in 0..100 {
            limiter.took(Duration::from_millis(1), true, &Ok(()));
        }
        assert_eq!(all(), AT_FIRST, "they were not all taken");
        limiter.places.lock().all = 50.0;
        limiter.took(Duration::from_secs(3), false, &Err::<(), _>(EmbedError::Failed(String::new())));
        assert_eq!(all(), 50, "an error");
        limiter.took(Duration::from_millis(1), false, &Err::<(), _>(EmbedError::Overloaded));
        assert_eq!(all(), 49);
    }

    #[tokio::test]
    async fn a_text_whose_caller_hung_up_keeps_its_place_until_it_is_read() {
        let limiter = Arc::new(Limiter::new(1, Duration::from_mins(1)));
        let read = Arc::new(Notify::new());
        let reading = Arc::clone(&read);
        let mut first = Box::pin(limiter.run(None, async move {
            reading.notified().await;
            Ok(())
        }));
        assert!(poll!(&mut first).is_pending());
        drop(first);
        let mut second = Box::pin(limiter.run(None, async { Ok(()) }));
        assert!(poll!(&mut second).is_pending());
        tokio::task::yield_now().await;
        assert!(poll!(&mut second).is_pending());
        read.notify_one();
        second.await.unwrap();
        assert_eq!(limiter.places.lock().taken, 0);
    }
}
