//! The adapters against real sockets: every fixture, every way in which a connection can fail.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod embeddings;
mod fixtures;
mod forward;
mod prices;
mod registry;
mod retry;
mod room;
mod secrets;
mod server;
mod ssrf;
mod streams;
mod tokens;
mod transport;
