//! `deja token`.

use clap::Subcommand;
use deja_core::admin::keys::Expiry;

use super::shared::{Form, Whose, expiry};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TokenTask {
    /// Make a token; prints it alone on the last line, and never again
    #[command(after_help = "\
Example:
  deja token create --operator ada@example.com --name terraform --expires 30d

Without --expires it works for 90 days.")]
    Create {
        #[command(flatten)]
        whose: Whose,
        /// What the token is for
        #[arg(long)]
        name: String,
        /// When the token ends: after 90d or 12h, or at 2030-01-31T00:00:00Z
        #[arg(long, value_name = "TIME", value_parser = expiry)]
        expires: Option<Expiry>,
    },
    /// The operator's tokens, by the prefix that may be shown
    #[command(after_help = "Example:\n  deja token list --operator ada@example.com")]
    List {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        form: Form,
    },
    /// Refuse a token from the very next request on
    #[command(after_help = "Example:\n  deja token revoke --operator ada@example.com djt_1a2b")]
    Revoke {
        #[command(flatten)]
        whose: Whose,
        /// The token's prefix as listed, or the whole token
        #[arg(value_name = "PREFIX_OR_TOKEN")]
        token: String,
    },
}
