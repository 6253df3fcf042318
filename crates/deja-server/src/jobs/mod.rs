//! Work that nobody waits for. Each job runs until `stop`, that of counts until requests have ended, and is waited for at
//! shutdown.

pub mod counts;
pub mod reembed;
pub mod sweep;
