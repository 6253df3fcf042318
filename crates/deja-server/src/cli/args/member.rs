//! `deja member`.

use clap::Subcommand;
use deja_core::member::Rank;

use super::shared::{Form, Of, Whose};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MemberTask {
    /// The project's members and their ranks; owners of deja own every project without one
    #[command(after_help = "Example:\n  deja member list --project my-team")]
    List {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        form: Form,
    },
    /// Give an operator a rank in the project, in place of the one that they have
    #[command(after_help = "\
Example:
  deja member set --project my-team --operator ada@example.com --rank editor

A viewer sees figures and no texts. An editor works in the project. An owner also
gives ranks, and suspends and deletes the project.")]
    Set {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        whose: Whose,
        /// viewer, editor or owner
        #[arg(long)]
        rank: Rank,
    },
    /// Take an operator's rank away: for them the project is not there any more
    #[command(after_help = "Example:\n  deja member remove --project my-team --operator ada@example.com")]
    Remove {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        whose: Whose,
    },
}
