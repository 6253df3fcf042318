//! What the contract suite cannot see: operation sequences against the reference model, damage, crashes.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests are no tests to clippy"
)]

mod ahead;
mod batches;
mod crash;
mod damage;
mod deletions;
mod faults;
mod forgotten;
mod full;
mod graph;
mod hosts;
mod index;
mod load;
mod log;
mod model;
#[expect(dead_code, reason = "other test binaries use the rest")]
#[path = "../postgres/mod.rs"]
mod postgres;
mod proxy;
mod reopen;
mod replicas;
mod search;
mod sessions;
mod shares;
mod support;
mod tls;
mod unfit;
mod upgrade;
