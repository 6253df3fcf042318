//! Black-box tests: the built binary, real sockets, fake providers.
//!
//! With `DEJA_TEST_BACKEND=postgres` each server keeps its data in a PostgreSQL database of its own: `make test`
//! runs everything both ways.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]

mod admin_api;
mod ahead;
mod causes;
mod connections;
mod console;
mod databases;
mod deletions;
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
#[path = "../trust/trend.rs"]
mod trend;
#[expect(dead_code, reason = "the trials use the rest")]
mod util;
mod wire;
