//! Which texts an embedding server has. It works on texts in the order in which they come, and on those of callers that hung
//! up too. So it is given few at once, and the others wait here, where projects have turns.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::embedding::EmbedError;
use deja_core::queue::{Owner, Pace, Queue};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Texts that a server has at once, to begin with.
const AT_FIRST: usize = 16;
/// The same, however slow it is.
const FEWEST: usize = 4;
/// The part of the deadline that a text may take at the server. If they take longer on average, it has too many of them.
const PART: u32 = 2;

#[derive(Debug)]
pub(super) struct Turns {
    waiting: Queue<oneshot::Sender<Place>>,
    /// The most texts that wait, and that the server has.
    most: usize,
    patience: Duration,
    pace: Pace,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Places {
    all: usize,
    taken: usize,
}

/// The place of a text that the server has.
#[derive(Debug)]
struct Place(Option<Arc<Turns>>);

impl Turns {
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        let most = most.max(1);
        let places = Mutex::new(Places { all: AT_FIRST.min(most), taken: 0 });
        Self { waiting: Queue::new(most), most, patience, pace: Pace::default(), places }
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
            let turns = Arc::clone(self);
            // The server goes on if the caller hangs up, so the place stays taken.
            #[expect(clippy::disallowed_methods, reason = "it ends within its deadline")]
            let reading = tokio::spawn(async move {
                let (_place, began) = (place, Instant::now());
                let read = timeout(turns.patience, reading).await.unwrap_or(Err(EmbedError::Timeout));
                turns.took(began.elapsed(), &read);
                read
            });
            reading.await.map_err(|error| EmbedError::Failed(error.to_string()))?
        };
        timeout(self.patience, answer).await.map_err(|_| EmbedError::Timeout)?
    }

    /// Gives the places that are free to those whose turn it is.
    fn serve(self: &Arc<Self>) {
        let mut places = self.places.lock();
        while places.taken < places.all {
            let Some(teller) = self.waiting.try_next() else { return };
            match teller.send(Place(Some(Arc::clone(self)))) {
                Ok(()) => places.taken += 1,
                // Its caller hung up, and it was not counted.
                Err(mut place) => drop(place.0.take()),
            }
        }
    }

    /// Takes in that the server took so long for a text: it gets more of them at once, or fewer.
    fn took<T>(&self, time: Duration, read: &Result<T, EmbedError>) {
        self.pace.took(time);
        let too_many = self.pace.mean() > self.patience / PART || matches!(read, Err(EmbedError::Overloaded));
        let mut places = self.places.lock();
        if too_many {
            places.all = (places.all - 1).max(FEWEST.min(self.most));
        } else if read.is_ok() && places.taken >= places.all {
            places.all = (places.all + 1).min(self.most);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.places.lock().taken -= 1;
            turns.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use tokio::sync::Notify;

    use super::*;

    #[test]
    fn a_server_has_as_many_texts_as_it_reads_in_time() {
        let turns = Turns::new(100, Duration::from_secs(4));
        let all = || turns.places.lock().all;
        for _ in 0..100 {
            turns.took(Duration::from_secs(3), &Ok(()));
        }
        assert_eq!(all(), FEWEST);
        for _ in 0..200 {
            turns.took(Duration::from_millis(1), &Ok(()));
        }
        assert_eq!(all(), FEWEST, "they were not all taken");
        turns.places.lock().taken = 100;
        for _ in 0..200 {
            turns.took(Duration::from_millis(1), &Ok(()));
        }
        assert_eq!(all(), 100);
        turns.took(Duration::from_millis(1), &Err::<(), _>(EmbedError::Failed(String::new())));
        assert_eq!(all(), 100, "an error tells nothing");
        turns.took(Duration::from_millis(1), &Err::<(), _>(EmbedError::Overloaded));
        assert_eq!(all(), 99);
    }

    #[tokio::test]
    async fn a_text_whose_caller_hung_up_keeps_its_place_until_it_is_read() {
        let turns = Arc::new(Turns::new(1, Duration::from_mins(1)));
        let read = Arc::new(Notify::new());
        let reading = Arc::clone(&read);
        let mut first = Box::pin(turns.run(None, async move {
            reading.notified().await;
            Ok(())
        }));
        assert!(poll!(&mut first).is_pending());
        drop(first);
        let mut second = Box::pin(turns.run(None, async { Ok(()) }));
        assert!(poll!(&mut second).is_pending());
        tokio::task::yield_now().await;
        assert!(poll!(&mut second).is_pending());
        read.notify_one();
        second.await.unwrap();
        assert_eq!(turns.places.lock().taken, 0);
    }
}
