//! Reading a body that goes to the provider as it is: of bounded size, at a bounded rate, and within what all bodies may
//! take together.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use bytes::BytesMut;
use deja_core::id::ProjectId;
use deja_core::shares::{Held, Shares};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::error::WireError;
use crate::api::body::{announced, is_packed};
use crate::api::error::ApiError;
use crate::state::{App, RequestLimits};

/// Room for the bodies of all requests, a permit a byte. Those of one project have half of it at most, or as much as one body
/// may take.
pub(crate) struct Bodies(Shares);

impl Bodies {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self(Shares::halves(limits.wire_bytes_in_flight, limits.wire_body_bytes))
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
    let room = app.bodies().0.of(project);
    collect(body, limits, room).await
}

/// Reads all of a body that comes steadily. Its time grows with what came: a long one on a slow line gets through, one
/// that drips holds its room no longer than a short one may.
async fn collect(mut body: Body, limits: &RequestLimits, mut room: Held) -> Result<Bytes, WireError> {
    let mut bytes = BytesMut::new();
    let (began, most) = (Instant::now(), limits.wire_body_bytes);
    loop {
        let earned = Duration::from_secs_f64(bytes.len() as f64 / f64::from(limits.wire_body_rate));
        let deadline = (began + earned).min(Instant::now()) + limits.body_timeout;
        let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| late(limits))? else {
            return Ok(room.around(bytes));
        };
        let frame = frame.map_err(|_| WireError::malformed("the body ended early"))?;
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > most {
            return Err(WireError::TooLarge(most));
        }
        if !room.try_take(data.len()) {
            return Err(ApiError::Overloaded.into());
        }
        bytes.extend_from_slice(&data);
    }
}

fn late(limits: &RequestLimits) -> WireError {
    let (seconds, rate) = (limits.body_timeout.as_secs_f64(), limits.wire_body_rate);
    WireError::malformed(format!(
        "the body came too slowly: it has {seconds} seconds, and one more for each {rate} bytes that came, and must not pause \
         for longer than {seconds} seconds"
    ))
}
