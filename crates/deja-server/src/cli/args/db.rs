//! `deja db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::Form;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DbTask {
    /// Bring the schema up to date; a server does so itself when it starts
    #[command(after_help = "Example:\n  DEJA_DATABASE_URL=postgres://deja@db/deja deja db migrate")]
    Migrate,
    /// The version of the schema, and the one that this deja knows
    #[command(after_help = "Example:\n  deja db status --json")]
    Status {
        #[command(flatten)]
        form: Form,
    },
    /// Copy projects, keys, providers, entries and operators from one store to another
    #[command(after_help = "\
Example:
  deja db copy --from sqlite --to postgres
  deja db copy --from ./deja-data --to /srv/deja

No server may run on a directory. STORE is a directory, a postgres:// URL, sqlite
(the setting data_dir) or postgres (the setting database_url, which other users
of the machine do not see). The secrets of providers are copied as
they are sealed: both stores have one master key, DEJA_MASTER_KEY or the file of
the source, which goes along. Counts, the audit log, the log of requests,
sessions, links, access tokens, marked answers, labels and quarantine stay
behind: an answer that was marked as wrong can be served again. What is there already stays as it is, so that a copy can be repeated;
but what was taken away in the source since is taken away: keys are revoked,
projects suspended (those that were deleted too), people disabled, roles and
ranks lowered or ended, second factors turned on, passwords changed; providers
have the models of the source, and none stands in a private network that may not
there. A project of the target that has the slug of another one in the source is
named, and nothing comes into it.")]
    Copy(CopyTask),
    /// Write a consistent copy of the embedded database, while the server runs or not
    #[command(after_help = "\
Example:
  deja db backup /backup/deja.db

To restore it, stop the server and put the file into an empty data directory as
deja.db, with master.key.")]
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
