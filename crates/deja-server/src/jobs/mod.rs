//! Work that nobody waits for. Each job runs until `stop`; the counts are written until requests have ended. The shutdown
//! waits for all jobs.

pub mod counts;
pub mod reembed;
pub mod sweep;
