//! Reading a body that goes to the provider as it is: of bounded size, at a bounded rate, and within what all bodies may
//! take together.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use deja_core::id::ProjectId;
use tokio::time::Instant;

use super::error::WireError;
use crate::api::body::{Unread, announced, collect, is_packed};
use crate::api::error::ApiError;
use crate::state::{App, RequestLimits};

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
    let mut room = app.wire_bodies().of(project);
    let began = Instant::now();
    // The time grows with what came: a long body on a slow line gets through, and a body that drips holds its room no longer
    // than a short body may.
    let deadline = |came: usize| {
        let earned = Duration::from_secs_f64(came as f64 / f64::from(limits.wire_body_rate));
        (began + earned).min(Instant::now()) + limits.body_timeout
    };
    match collect(body, most, deadline, |more| room.try_take(more)).await {
        Ok(bytes) => Ok(room.around(bytes)),
        Err(Unread::TooLong) => Err(WireError::TooLarge(most)),
        Err(Unread::NoRoom) => Err(ApiError::Overloaded.into()),
        Err(Unread::Late) => Err(late(limits)),
        Err(Unread::Broken) => Err(WireError::malformed("the body ended early")),
    }
}

fn late(limits: &RequestLimits) -> WireError {
    let (seconds, rate) = (limits.body_timeout.as_secs_f64(), limits.wire_body_rate);
    WireError::malformed(format!(
        "the body came too slowly: it has {seconds} seconds, and one more for each {rate} bytes that came, and must not pause \
         for longer than {seconds} seconds"
    ))
}
