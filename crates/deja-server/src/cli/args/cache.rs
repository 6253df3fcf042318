//! `deja cache`.

use clap::Subcommand;

use super::shared::{Form, Of, Sure};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CacheTask {
    /// Delete stored answers
    #[command(after_help = "\
Example:
  deja cache purge --project my-team --model gpt-4o --yes

A context is what X-Deja-Context named; without it, the context of a query or the
system text of a chat.
Without --model, --context and --no-context it deletes all answers of the project.
An answer that is being asked for then is not stored; with one of them it may be.
It asks first. Where there is no terminal, it does nothing without --yes (exit code 2).")]
    Purge {
        #[command(flatten)]
        of: Of,
        /// Only answers of this model
        #[arg(long)]
        model: Option<String>,
        /// Only answers of this context
        #[arg(long, conflicts_with = "no_context")]
        context: Option<String>,
        /// Only answers without a context
        #[arg(long)]
        no_context: bool,
        #[command(flatten)]
        sure: Sure,
    },
    /// What the cache holds, and what it did in the last 7 days
    #[command(after_help = "Example:\n  deja cache stats --project my-team")]
    Stats {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        form: Form,
    },
}
