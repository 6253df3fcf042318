//! What handlers work with.

use std::sync::Arc;
use std::time::Duration;

use deja_core::engine::Engine;
use deja_core::id::OperatorId;
use deja_core::shares::Shares;
use tokio_util::sync::CancellationToken;

use crate::feeds::providers::ProviderDirectory;
use crate::readiness::Readiness;
use crate::traces::Traces;

/// Bounds of requests and of their answers.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Bytes of the whole body.
    pub body_bytes: usize,
    /// How long the body may take to arrive; of one in a wire format, how long it may be silent.
    pub body_timeout: Duration,
    /// Bytes of `prompt`.
    pub prompt_bytes: usize,
    /// Bytes of `context`.
    pub context_bytes: usize,
    /// Bytes of the whole body of a request in a wire format.
    pub wire_body_bytes: usize,
    /// Bytes of the bodies of all such requests together, and of all others together.
    pub wire_bytes_in_flight: usize,
    /// Bytes a second in which such a body must come.
    pub wire_body_rate: u32,
    /// How long the stream of such a request may be silent before a comment goes out.
    pub keep_alive: Duration,
}

impl RequestLimits {
    /// Bytes of a form of the console: percent-encoding makes a text up to three times as long.
    pub const fn form_bytes(&self) -> usize {
        self.body_bytes.saturating_mul(3)
    }
}

/// Bytes of all that operators send and are sent at once, or as many as one form may have.
const OF_OPERATORS: usize = 64 * 1024 * 1024;

/// What handlers work with.
pub struct App {
    engine: Engine,
    limits: RequestLimits,
    bodies: Shares,
    wire_bodies: Shares,
    by_operators: Shares<OperatorId>,
    providers: Arc<ProviderDirectory>,
    readiness: Readiness,
    leaving: CancellationToken,
    traces: Option<Traces>,
}

impl App {
    /// `leaving` is cancelled when shutdown begins.
    pub fn new(
        engine: Engine,
        limits: RequestLimits,
        providers: Arc<ProviderDirectory>,
        readiness: Readiness,
        leaving: CancellationToken,
        traces: Option<Traces>,
    ) -> Self {
        let (all, one, form) = (limits.wire_bytes_in_flight, limits.body_bytes, limits.form_bytes());
        Self {
            engine,
            bodies: Shares::halves(all.max(one), one),
            wire_bodies: Shares::halves(all, limits.wire_body_bytes),
            by_operators: Shares::halves(OF_OPERATORS.max(form), form),
            limits,
            providers,
            readiness,
            leaving,
            traces,
        }
    }

    /// Answers queries.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Bounds of requests and of their answers.
    pub fn limits(&self) -> &RequestLimits {
        &self.limits
    }

    /// Room for the bodies of requests of deja's own API, a permit a byte: until a body is read through, and that of a query
    /// until it is answered.
    pub(crate) fn bodies(&self) -> &Shares {
        &self.bodies
    }

    /// Room for the bodies of requests in wire formats, a permit a byte: until the last copy of a body is dropped.
    pub(crate) fn wire_bodies(&self) -> &Shares {
        &self.wire_bodies
    }

    /// Room for what operators send to the console and the admin API, until it is read, and for the console's pages and files,
    /// until they are sent.
    pub(crate) fn by_operators(&self) -> &Shares<OperatorId> {
        &self.by_operators
    }

    /// The providers, and which models they answer.
    pub fn providers(&self) -> &ProviderDirectory {
        &self.providers
    }

    /// Whether storage works.
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Where spans of requests go, if they do.
    pub fn traces(&self) -> Option<&Traces> {
        self.traces.as_ref()
    }

    /// Whether shutdown has begun. Requests are still answered; no others should come.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_cancelled()
    }
}
