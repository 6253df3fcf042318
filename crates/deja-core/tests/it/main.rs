//! The engine and use cases, with the reference store and fakes for all it works with: the races and failures that are hard to
//! bring about from outside.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]

mod admin;
mod admission;
mod ahead;
mod answers;
mod counts;
mod failures;
mod feedback;
mod flights;
mod relay;
mod replicas;
mod request_log;
mod samples;
mod store;
mod util;
