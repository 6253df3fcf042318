//! Reading a body that goes to the provider as it is: of bounded size, at a bounded rate, and within what all bodies may
//! take together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use bytes::BytesMut;
use deja_core::id::ProjectId;
use deja_core::shares::Shares;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::error::WireError;
use crate::api::body::{announced, is_packed};
use crate::api::error::ApiError;
use crate::state::{App, RequestLimits};

/// Room for the bodies of all requests, a permit a byte. Those of one project have half of it at most, or as much as one body
/// may take.
pub(crate) struct Bodies {
    all: Arc<Semaphore>,
    shares: Shares,
}

impl Bodies {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        let all = limits.wire_bytes_in_flight.min(Semaphore::MAX_PERMITS);
        let each = (all / 2).max(limits.wire_body_bytes);
        Self { all: Arc::new(Semaphore::new(all)), shares: Shares::new(each) }
    }
}

/// A body in memory, with its room among those of all bodies and of its project's.
struct Held {
    bytes: BytesMut,
    room: Option<OwnedSemaphorePermit>,
    own_room: Option<OwnedSemaphorePermit>,
    own: Arc<Semaphore>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Held {
    /// Takes room for so many bytes more; there is none if others have it.
    fn reserve(&mut self, bytes: usize, bodies: &Bodies) -> Result<(), WireError> {
        let more = u32::try_from(bytes).map_err(|_| WireError::TooLarge(u32::MAX as usize))?;
        for (held, room) in [(&mut self.own_room, &self.own), (&mut self.room, &bodies.all)] {
            let more = Arc::clone(room).try_acquire_many_owned(more).map_err(|_| ApiError::Overloaded)?;
            match held {
                Some(held) => held.merge(more),
                None => *held = Some(more),
            }
        }
        Ok(())
    }
}

/// Reads the body of a request of `project`. Its bytes count as held until the last copy of them is dropped.
pub(super) async fn read(
    app: &App,
    project: ProjectId,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, WireError> {
    if is_packed(headers) {
        return Err(WireError::Packed);
    }
    let limits = app.limits();
    let most = limits.wire_body_bytes;
    if announced(headers).is_some_and(|length| length > most as u64) {
        return Err(WireError::TooLarge(most));
    }
    // What is announced takes no room before it is there.
    let bodies = app.bodies();
    let own = bodies.shares.of(project);
    Ok(Bytes::from_owner(collect(body, limits, bodies, own).await?))
}

/// Reads all of a body that comes steadily. Its time grows with what came: a long one on a slow line gets through, one
/// that drips holds its room no longer than a short one may.
async fn collect(
    mut body: Body,
    limits: &RequestLimits,
    bodies: &Bodies,
    own: Arc<Semaphore>,
) -> Result<Held, WireError> {
    let mut held = Held { bytes: BytesMut::new(), room: None, own_room: None, own };
    let (began, most) = (Instant::now(), limits.wire_body_bytes);
    loop {
        let earned = Duration::from_secs_f64(held.bytes.len() as f64 / f64::from(limits.wire_body_rate));
        let deadline = (began + earned).min(Instant::now()) + limits.body_timeout;
        let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| late(limits))? else {
            return Ok(held);
        };
        let frame = frame.map_err(|_| WireError::malformed("the body ended early"))?;
        let Ok(data) = frame.into_data() else { continue };
        let length = held.bytes.len() + data.len();
        if length > most {
            return Err(WireError::TooLarge(most));
        }
        held.reserve(data.len(), bodies)?;
        held.bytes.extend_from_slice(&data);
    }
}

fn late(limits: &RequestLimits) -> WireError {
    let (seconds, rate) = (limits.body_timeout.as_secs_f64(), limits.wire_body_rate);
    WireError::malformed(format!(
        "the body came too slowly: it has {seconds} seconds, and one more for each {rate} bytes that came, and must not pause \
         for longer than {seconds} seconds"
    ))
}
