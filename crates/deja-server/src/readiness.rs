//! Whether storage works, for `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use deja_core::store::Store;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// How long an answer of the storage is given again: anybody may ask, and to find it out is a write.
const REUSED: Duration = Duration::from_secs(1);

/// Whether storage works, found out by one check at a time.
pub struct Readiness {
    store: Arc<dyn Store>,
    tasks: TaskTracker,
    latest: Mutex<Option<Check>>,
}

#[derive(Clone)]
struct Check {
    begun: Instant,
    /// `None` until it has ended; closed from then on.
    works: watch::Receiver<Option<bool>>,
}

impl Check {
    fn holds(&self) -> bool {
        self.begun.elapsed() < REUSED || self.works.has_changed().is_ok()
    }
}

impl Readiness {
    /// Nothing is checked yet. Checks run on `tasks`, to their end if those who asked go away.
    pub fn new(store: Arc<dyn Store>, tasks: TaskTracker) -> Self {
        Self { store, tasks, latest: Mutex::default() }
    }

    /// Whether it works. An answer is a second old at most, unless its check takes longer.
    pub async fn storage_works(&self) -> bool {
        let mut check = {
            let mut latest = self.latest.lock();
            match &*latest {
                Some(check) if check.holds() => check.clone(),
                before => {
                    let failed = before.as_ref().is_some_and(|before| *before.works.borrow() == Some(false));
                    latest.insert(self.begin(failed)).clone()
                }
            }
        };
        check.works.wait_for(Option::is_some).await.is_ok_and(|works| *works == Some(true))
    }

    /// Begins a check. What it finds is told where it is news: the last one had `failed`, or not.
    fn begin(&self, failed: bool) -> Check {
        let (ended, works) = watch::channel(None);
        let store = self.store.clone();
        self.tasks.spawn(async move {
            let ready = store.ready().await;
            match &ready {
                Err(error) if !failed => tracing::error!(error = %error, "not ready"),
                Ok(()) if failed => tracing::info!("ready again"),
                _ => {}
            }
            ended.send_replace(Some(ready.is_ok()));
        });
        Check { begun: Instant::now(), works }
    }
}
