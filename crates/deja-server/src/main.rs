//! The binary `deja`. Everything is in the library, so that tests can reach it.

use std::process::ExitCode;

/// A miss and a semantic hit allocate on one thread and free on another, which costs the system's allocator up to a
/// tenth of the request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    deja_server::cli::main()
}
