//! What handlers work with.

use std::sync::Arc;
use std::time::Duration;

use deja_core::engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::api::wire::body::Bodies;
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
    /// Bytes of the bodies of all such requests together.
    pub wire_bytes_in_flight: usize,
    /// Bytes a second in which such a body must come.
    pub wire_body_rate: u32,
    /// How long the stream of such a request may be silent before a comment goes out.
    pub keep_alive: Duration,
}

/// What handlers work with.
pub struct App {
    engine: Engine,
    limits: RequestLimits,
    bodies: Bodies,
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
        let bodies = Bodies::new(&limits);
        Self { engine, limits, bodies, providers, readiness, leaving, traces }
    }

    /// Answers queries.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Bounds of requests and of their answers.
    pub fn limits(&self) -> &RequestLimits {
        &self.limits
    }

    /// Room for bodies of requests in wire formats.
    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
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
