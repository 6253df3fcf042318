//! `deja tune`.

use clap::Args;
use deja_core::money::NanoUsd;

use super::shared::{Form, Of, Sure, dollars};

#[derive(Debug, Args)]
pub(in crate::cli) struct TuneTask {
    #[command(flatten)]
    pub(in crate::cli) of: Of,
    /// Have this model of the project's providers label samples first, and show what its labels say
    #[arg(long, value_name = "MODEL", requires = "budget")]
    pub(in crate::cli) judge: Option<String>,
    /// What the judge may cost, in US dollars
    #[arg(long, value_name = "USD", requires = "judge", value_parser = dollars)]
    pub(in crate::cli) budget: Option<NanoUsd>,
    /// Give the project the setting that is advised
    #[arg(long)]
    pub(in crate::cli) apply: bool,
    #[command(flatten)]
    pub(in crate::cli) sure: Sure,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}
