//! What makes two requests the same, asked of the crate as the server asks it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod cells;
mod demands;
mod generated;
mod requests;
mod same;
mod unreadable;
