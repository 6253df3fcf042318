//! What the contract suite cannot see: operation sequences against the reference model, damage, crashes.
#![expect(clippy::panic, clippy::unwrap_used, reason = "the helpers of tests are no tests to clippy")]

mod crash;
mod damage;
mod full;
mod index;
mod model;
mod reopen;
mod support;
