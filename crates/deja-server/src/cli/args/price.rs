//! `deja price`.

use clap::Subcommand;

use super::shared::{Form, Of, amount};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PriceTask {
    /// Give a model a price in a project, in US dollars per million tokens
    #[command(
        after_help = "Example:\n  deja price set --project my-team llama-3.3-70b --input 0.20 --output 0.60"
    )]
    Set {
        #[command(flatten)]
        of: Of,
        /// The model as requests name it
        model: String,
        /// US dollars per million input tokens
        #[arg(long, value_name = "USD_PER_MILLION", value_parser = amount)]
        input: f64,
        /// US dollars per million output tokens
        #[arg(long, value_name = "USD_PER_MILLION", value_parser = amount)]
        output: f64,
    },
    /// Take a project's own price away: the price table's holds again
    #[command(after_help = "Example:\n  deja price unset --project my-team llama-3.3-70b")]
    Unset {
        #[command(flatten)]
        of: Of,
        /// The model
        model: String,
    },
    /// The price in force, and where it comes from
    #[command(after_help = "Example:\n  deja price show gpt-4o-mini")]
    Show {
        /// The model
        model: String,
        /// With this project's own prices
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
        #[command(flatten)]
        form: Form,
    },
    /// Fetch the price table now (DEJA_PRICES_URL), instead of at the next interval
    #[command(after_help = "Example:\n  deja price refresh")]
    Refresh {
        #[command(flatten)]
        form: Form,
    },
}
