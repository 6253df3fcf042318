//! `deja key`.

use clap::Subcommand;
use deja_core::admin::keys::Expiry;

use super::shared::{Form, Of, expiry, whole};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum KeyTask {
    /// Make a key; prints it alone on the last line, and never again
    #[command(after_help = "\
Example:
  deja key create --project my-team --name ci --model gpt-4o-mini --expires 90d --rpm 20
  export DEJA_KEY=$(deja key create --project my-team --name first)")]
    Create {
        #[command(flatten)]
        of: Of,
        /// What the key is for
        #[arg(long)]
        name: String,
        /// A model the key may ask for; may be given again. Without it: all models
        #[arg(long = "model", value_name = "MODEL")]
        models: Vec<String>,
        /// When the key ends: after 90d or 12h, or at 2030-01-31T00:00:00Z. Without it: when it is revoked
        #[arg(long, value_name = "TIME", value_parser = expiry)]
        expires: Option<Expiry>,
        /// Requests a minute of this key, at most its project's
        #[arg(long, value_name = "N", value_parser = whole::<u32>)]
        rpm: Option<u32>,
        /// Requests at once of this key, at most its project's
        #[arg(long, value_name = "N", value_parser = whole::<u32>)]
        burst: Option<u32>,
    },
    /// The project's keys, by the prefix that may be shown
    #[command(after_help = "Example:\n  deja key list --project my-team")]
    List {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        form: Form,
    },
    /// Refuse a key from the very next request on
    #[command(after_help = "Example:\n  deja key revoke dj_1a2b")]
    Revoke {
        /// The key's prefix or id as listed, or the whole key
        #[arg(value_name = "KEY_PREFIX_OR_ID")]
        key: String,
        /// The key's project, where several keys have the prefix
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
    },
}
