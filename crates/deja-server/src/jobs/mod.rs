//! Work that nobody waits for. Each job runs until `stop` and is waited for at shutdown.

pub mod counts;
pub mod reembed;
pub mod sweep;
