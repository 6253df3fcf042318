//! The adapters against real sockets: every fixture, every way in which a connection can fail.

mod embeddings;
mod fixtures;
mod prices;
mod registry;
mod retry;
mod secrets;
mod server;
mod ssrf;
mod streams;
mod tokens;
mod transport;
