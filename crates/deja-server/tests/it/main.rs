//! Black-box tests: the built binary, real sockets, fake providers.
//!
//! `spec` holds a test for each clause of the published interface, `providers` one for each rule about what goes
//! to and comes from a provider. The other modules each guard one promise of the design: `faults` (a broken
//! provider), `flight` (one call for many callers), `tenants` (isolation), `durability` (kill -9), `secrets`,
//! `fuzz` (requests that make no sense), `overload` (more than it can do), `prices`, `embedder` (a change of model), `operations` (running it) and
//! `management` (changing what it does while it runs).
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]

mod durability;
mod embedder;
mod faults;
mod flight;
mod fuzz;
mod management;
mod operations;
mod overload;
mod prices;
mod providers;
mod secrets;
mod spec;
mod tenants;
mod util;
