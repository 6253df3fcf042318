//! How many files the process may have open. Each connection is one, to a client, a provider or a database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many clients may be connected at once, at most `wanted`. Raises the limit of the process as far as it may
/// be raised: the low one that shells and service managers set is for programs that use `select`, which ends at 1,024. What is left
/// of it is at least as many files for providers, database and disk: without them no client would be served.
pub(crate) fn for_clients(wanted: usize) -> usize {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limits.maximum, ..limits };
    let limits = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limits };
    // `None` means no limit.
    let Some(open) = limits.current.and_then(|open| usize::try_from(open).ok()) else { return wanted };
    let connections = wanted.min(open / 2);
    if connections < wanted {
        tracing::warn!(
            open_files = open,
            max_connections = wanted,
            connections,
            "the process may not open twice as many files as max_connections: raise its limit (ulimit -n, \
             LimitNOFILE)"
        );
    }
    connections
}
