//! The request path. [`query`] is the place to start: it reads top to bottom.

mod admit;
mod ahead;
mod call;
mod circuit;
mod claim;
mod count;
mod embedding;
mod error;
mod feedback;
mod flight;
mod forward;
mod live;
mod log;
mod met;
mod opinion;
mod preview;
mod query;
mod relay;
mod reply;
mod sample;
mod savings;
mod search;
mod send_buffer;
mod tokens;
pub(crate) mod upstream;
mod usage;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cache::Readings;
use crate::clock::Clock;
use crate::embedding::Embedder;
use crate::id::Entropy;
use crate::pricing::PriceBook;
use crate::provider::{Providers, TokenCounter};
use crate::quality::Reservoir;
use crate::shares::Shares;
use crate::store::{Store, StoreError};

pub use admit::{Admitted, NotAdmitted};
pub use ahead::LookedAhead;
pub use circuit::ProviderDown;
pub use count::{Ended, Listener};
pub use error::{Cause, NotAllowed, QueryError};
pub use feedback::{Feedback, FeedbackEffect, FeedbackError, FeedbackTarget};
pub use live::{Live, RecordLimits};
pub use opinion::{Opinion, Said};
pub use preview::{Neighbour, Preview};
pub use relay::{Control, Relay, Relayed, WireQuery};
pub use reply::{Query, Reply, Source, Trace};
pub use sample::NearMiss;
pub use savings::Cost;
pub use send_buffer::SendBuffer;

/// Candidates that are judged for a prompt: the nearest, and a few more in case the guard refuses it.
const CANDIDATES: NonZeroUsize = NonZeroUsize::new(8).unwrap();
/// Candidates that are looked for if all of the first are refused: prompts of one template, with other numbers, are that near
/// to each other.
const CROWD: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// Bytes of prompts of the crowd that are judged at most: judging must not take longer than a search.
const CROWD_BYTES: usize = 256 * 1024;

/// Calls to providers at the same time, at most.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Of all projects.
    pub all: usize,
    /// Of one project, so that none keeps the others waiting.
    pub each: usize,
}

/// The parts that the engine works with.
pub struct Parts {
    /// Storage.
    pub store: Arc<dyn Store>,
    /// The embedding model.
    pub embedder: Arc<dyn Embedder>,
    /// Reads pairs of prompts, in projects that want it.
    pub readings: Arc<Readings>,
    /// The LLM providers.
    pub providers: Arc<dyn Providers>,
    /// The price table in force.
    pub prices: Arc<PriceBook>,
    /// Counts tokens of prompts.
    pub tokens: Arc<dyn TokenCounter>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids.
    pub entropy: Arc<dyn Entropy>,
    /// Is told of each counted request.
    pub listener: Arc<dyn Listener>,
    /// The longest time of a query. A call that it began goes on.
    pub query_timeout: Duration,
    /// Calls to providers at the same time, at most; one more is refused with "overloaded".
    pub calls: CallLimits,
    /// The memory for answers that deja records while it passes them on. A longer answer is not stored.
    pub records: RecordLimits,
    /// How long deja goes on reading an answer for the cache when all its clients have hung up.
    pub hangup_timeout: Duration,
    /// Cancelled at the end of a stop: calls under way are then given up, and counted with what they brought.
    pub cut: CancellationToken,
}

/// Answers queries. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<Parts>,
    admitted_projects: Arc<ahead::AdmittedProjects>,
    embeddings: Arc<embedding::Embeddings>,
    flights: Arc<flight::Flights>,
    /// Places for calls to providers.
    slots: Arc<Shares>,
    room: Arc<live::Room>,
    /// Room for bodies that wait for their clients.
    send_buffers: Arc<Shares>,
    tokens: Arc<tokens::Tokens>,
    usage: Arc<usage::UsageBuffer>,
    samples: Arc<Mutex<Reservoir>>,
    met: Arc<met::MetLog>,
    logger: Arc<log::Logger>,
    providers_down: Arc<circuit::Circuits>,
    models_down: Arc<circuit::Circuits>,
    tasks: TaskTracker,
}

impl Engine {
    /// An engine over `parts`. Its background work runs on `tasks`, so that shutdown can wait for it.
    pub fn new(parts: Parts, tasks: TaskTracker) -> Self {
        Self {
            admitted_projects: Arc::new(ahead::AdmittedProjects::new(parts.store.looks_ahead().is_some())),
            embeddings: Arc::new(embedding::Embeddings::new(parts.embedder.clone())),
            flights: Arc::new(flight::Flights::default()),
            slots: Arc::new(Shares::new(parts.calls.all, parts.calls.each)),
            room: Arc::new(live::Room::new(parts.records)),
            send_buffers: Arc::new(send_buffer::send_buffers(parts.records)),
            tokens: Arc::new(tokens::Tokens::new(parts.tokens.clone())),
            usage: Arc::default(),
            samples: Arc::default(),
            met: Arc::default(),
            logger: Arc::default(),
            providers_down: Arc::new(circuit::Circuits::of_providers()),
            models_down: Arc::new(opinion::circuits()),
            parts: Arc::new(parts),
            tasks,
        }
    }

    /// Storage.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// The time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// Writes the counts, met entries, samples and logged requests since the last call. Counts and met entries that cannot be
    /// written are kept for the next call; samples and logged requests are lost.
    pub async fn flush_counts(&self) -> Result<(), StoreError> {
        self.flush(usage::Flush::All).await
    }

    /// Writes what [`Self::flush_counts`] writes, but hits of some thousand entries only: those of the rest are added up until
    /// a later call. To be called every second.
    pub async fn flush_share_of_counts(&self) -> Result<(), StoreError> {
        self.flush(usage::Flush::Share).await
    }

    async fn flush(&self, flush: usage::Flush) -> Result<(), StoreError> {
        let Parts { store, clock, entropy, .. } = &*self.parts;
        let counted = self.usage.flush(flush, &**store, &**clock, &**entropy).await;
        self.flush_samples().await;
        self.flush_log().await;
        counted.and(self.met.flush(&**store).await)
    }

    /// Requests since the last call that were not counted: too much waits to be written, or cannot ever be.
    pub fn take_dropped_counts(&self) -> u64 {
        self.usage.take_dropped()
    }

    /// Calls to providers under way.
    pub fn upstream_calls(&self) -> usize {
        self.slots.taken()
    }
}
