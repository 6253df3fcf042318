//! `deja operator`, and `deja audit`, which tells what operators did.

use clap::Subcommand;
use deja_core::operator::Role;

use super::shared::{Form, whole};

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
    #[command(after_help = "Example:\n  deja audit list --project my-team --limit 20")]
    List {
        /// Only changes in this project. The rows of a project that is gone have its id, which is taken too
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
        /// How many changes to show at most, up to 10,000
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<usize>)]
        limit: usize,
        #[command(flatten)]
        form: Form,
    },
}
