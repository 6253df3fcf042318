//! Black-box tests: the built binary, real sockets, fake providers.
//!
//! `admin_api` tries the API of operators, `ahead` what is looked up while a request is admitted, `spec` holds a test for each clause of the published interface, `providers` one for each rule about what goes
//! to and comes from a provider. The other modules each guard one promise of the design: `faults` (a broken
//! provider), `feedback` (what people say of answers), `flight` (one call for many callers), `guard` (what asks something else), `tenants` (isolation), `durability` (kill -9), `secrets`,
//! `connections` (clients that read slowly or late), `causes` (the cause of each refusal), `fuzz` (requests that make no sense), `overload` (more than it can
//! do), `replicas` (three on one PostgreSQL), `databases` (from one kind of store to the other), `prices`, `embedder`
//! (a change of model), `operations` (running it), `handover` (starting it again), `management` (changing what it does while it runs) and `console`
//! (its first link, its people, its download), `traces` (what a collector gets) and `wire` (the formats that existing applications speak).
//!
//! With `DEJA_TEST_BACKEND=postgres` each server keeps its data in a PostgreSQL database of its own: `make test`
//! runs everything both ways.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]
#![allow(
    clippy::allow_attributes,
    dead_code,
    reason = "the shared module for PostgreSQL has more than is used here"
)]

mod admin_api;
mod ahead;
mod causes;
mod connections;
mod console;
mod databases;
mod durability;
mod embedder;
mod faults;
mod feedback;
mod flight;
mod fuzz;
mod guard;
mod guard_model;
mod handover;
mod management;
mod moving;
mod operations;
mod overload;
#[path = "../../../deja-store/tests/postgres/mod.rs"]
mod postgres;
mod prices;
mod providers;
#[path = "../../../deja-wire/tests/it/streams.rs"]
mod recorded;
mod replicas;
mod samples;
mod secrets;
mod spec;
mod statements;
mod tenants;
mod traces;
mod util;
mod wire;
