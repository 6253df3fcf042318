//! The binary `deja`. Everything is in the library, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    deja_server::cli::main()
}
