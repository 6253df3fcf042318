//! Recorded streams, cut and bent in every way, and records that are rendered and read again.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod chunks;
mod cuts;
mod rendered;
mod streams;
