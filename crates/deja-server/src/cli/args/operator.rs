//! `deja operator`, and `deja audit`, which tells what operators did.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use deja_core::audit::{ACTIONS, ActorFilter, UnknownActor};
use deja_core::operator::Role;

use super::shared::{Form, PastTime, past_time, whole};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum OperatorTask {
    /// Make an operator; prints a one-time link alone on the last line, with which they choose a password
    #[command(after_help = "\
Example:
  deja operator create ada@example.com --role owner

Unless --role says otherwise, whoever is added while there is no operator is an owner, also by a
link that is used later; all others are members.
Who gets a link is an operator, and listed, once they have used it.")]
    Create {
        /// The e-mail address to sign in with
        email: String,
        /// owner (everything) or member (the daily work)
        #[arg(long)]
        role: Option<Role>,
        /// Take their password from standard input, instead of printing a link
        #[arg(long)]
        password_stdin: bool,
    },
    /// All operators
    #[command(after_help = "Example:\n  deja operator list")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Print a one-time link alone on the last line, with which an operator sets a new password
    #[command(after_help = "Example:\n  deja operator reset-password ada@example.com")]
    ResetPassword {
        /// The operator
        email: String,
    },
    /// Remove the second factor of an operator who lost app and recovery codes
    #[command(after_help = "Example:\n  deja operator remove-second-factor ada@example.com")]
    RemoveSecondFactor {
        /// The operator
        email: String,
    },
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AuditTask {
    /// The last changes, newest first
    #[command(after_help = "\
Example:
  deja audit list --project my-team --limit 20
  deja audit list --action key.revoke --from 7d
  deja audit list --actor ada@example.com --from 2030-01-31T00:00:00Z --until 2030-02-01T00:00:00Z")]
    List {
        /// Only changes in this project. The rows of a project that is gone have its id, which is taken too
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
        /// Only changes of this kind, such as key.revoke
        #[arg(long, value_name = "ACTION", value_parser = PossibleValuesParser::new(ACTIONS), hide_possible_values = true)]
        action: Option<String>,
        /// Only changes by this operator, by cli, by system (deja itself), by this key as rows name it, or by key (all API keys)
        #[arg(long, value_name = "NAME", value_parser = actor)]
        actor: Option<String>,
        /// Only changes from then on: 7d or 12h ago, or 2030-01-31T00:00:00Z
        #[arg(long, value_name = "TIME", value_parser = past_time)]
        from: Option<PastTime>,
        /// Only changes before then
        #[arg(long, value_name = "TIME", value_parser = past_time)]
        until: Option<PastTime>,
        /// Only changes of a smaller number: that of the last row of the page before, as --json has it
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        before: Option<u64>,
        /// How many changes to show at most, up to 10,000
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<usize>)]
        limit: usize,
        #[command(flatten)]
        form: Form,
    },
}

/// Who is in the audit log.
fn actor(text: &str) -> Result<String, UnknownActor> {
    text.parse::<ActorFilter>().map(|_| text.to_owned())
}
