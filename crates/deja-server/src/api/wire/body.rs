//! Reading a body that goes to the provider as it is: of bounded size, at a bounded rate, and within what all bodies may
//! take together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use bytes::BytesMut;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::error::WireError;
use crate::api::body::{announced, is_packed};
use crate::api::error::ApiError;
use crate::state::{App, RequestLimits};

/// A body in memory, with its room among those of all bodies.
struct Held {
    bytes: BytesMut,
    room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Held {
    /// Takes room for `bytes` in all; there is none if others have it.
    fn reserve(&mut self, bytes: usize, bodies: &Arc<Semaphore>) -> Result<(), WireError> {
        let more = bytes.saturating_sub(self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        let more = u32::try_from(more).map_err(|_| WireError::TooLarge(u32::MAX as usize))?;
        let more = Arc::clone(bodies).try_acquire_many_owned(more).map_err(|_| ApiError::Overloaded)?;
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        Ok(())
    }
}

/// Reads the body of a request. Its bytes count as held until the last copy of them is dropped.
pub(super) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, WireError> {
    if is_packed(headers) {
        return Err(WireError::Packed);
    }
    let limits = app.limits();
    let most = limits.wire_body_bytes;
    let mut held = Held { bytes: BytesMut::new(), room: None };
    if let Some(length) = announced(headers) {
        let length = usize::try_from(length).ok().filter(|length| *length <= most);
        held.reserve(length.ok_or(WireError::TooLarge(most))?, app.bodies())?;
    }
    Ok(Bytes::from_owner(collect(body, limits, held, app.bodies()).await?))
}

/// Reads all of a body that comes steadily. Its time grows with what came: a long one on a slow line gets through, one
/// that drips holds its room no longer than a short one may.
async fn collect(
    mut body: Body,
    limits: &RequestLimits,
    mut held: Held,
    bodies: &Arc<Semaphore>,
) -> Result<Held, WireError> {
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
        held.reserve(length, bodies)?;
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
