//! `deja db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::Form;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DbTask {
    /// Bring the schema up to date, as a server does when it starts
    #[command(after_help = "Example:\n  DEJA_DATABASE_URL=postgres://deja@db/deja deja db migrate")]
    Migrate,
    /// The version of the schema, and the version that this deja knows
    #[command(after_help = "\
Example:
  deja db status --json

The state is empty, older, current, newer (it still serves this deja) or too_new
(it does not). The exit code is 0 in each.")]
    Status {
        #[command(flatten)]
        form: Form,
    },
    /// Copy projects, keys, providers, entries and operators from one store to another
    #[command(after_help = "\
Example:
  deja db copy --from sqlite --to postgres
  deja db copy --from ./deja-data --to /srv/deja

STORE is a directory, a postgres:// URL, sqlite (the setting data_dir) or postgres
(the setting database_url, which other users of the machine do not see).
No server may run on a directory.

Both stores need one master key: DEJA_MASTER_KEY, or the key file of the source,
which goes along.

These stay behind: counts, the audit log, the log of requests, sessions, links,
access tokens, marked answers, labels and quarantine. So an answer that was marked
as wrong can be served again.

A copy can be repeated. What the source changed since is then changed in the
target: projects, their settings, prices and providers, keys that were revoked,
entries that were deleted, people, their roles, ranks, passwords and second
factors. What the target changed later stays, by the clocks of both. A project
that the source deleted is suspended.

Nothing comes into a project of the target that is another project with the same
slug. What the target does not take is named, and the exit code is 1.")]
    Copy(CopyTask),
    /// Write a consistent copy of the embedded database, while the server runs or not
    #[command(after_help = "\
Example:
  deja db backup /backup/deja.db

Keep master.key in another place: the backup does not hold it. To restore, stop the
server, and put the file into an empty data directory as deja.db, with master.key.
PostgreSQL is backed up with pg_dump.")]
    Backup {
        /// The file to write; it must not be there yet
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CopyTask {
    /// The store to read
    #[arg(long, value_name = "STORE")]
    pub(in crate::cli) from: String,
    /// The store to write; a directory is made if it is not there
    #[arg(long, value_name = "STORE")]
    pub(in crate::cli) to: String,
    /// Only this project; may be given again. Operators are copied with all projects only
    #[arg(long = "project", value_name = "SLUG")]
    pub(in crate::cli) projects: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}
