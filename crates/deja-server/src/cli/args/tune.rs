//! `deja tune`.

use clap::Args;

use super::shared::{Form, Of, Sure, amount};

#[derive(Debug, Args)]
pub(in crate::cli) struct TuneTask {
    #[command(flatten)]
    pub(in crate::cli) of: Of,
    /// Have this model of the project's providers judge samples first, and show what its labels say; asks before it costs
    #[arg(long, value_name = "MODEL", requires = "budget")]
    pub(in crate::cli) judge: Option<String>,
    /// What the judge may cost, in US dollars
    #[arg(long, value_name = "USD", requires = "judge", value_parser = amount)]
    pub(in crate::cli) budget: Option<f64>,
    /// Make the setting that is advised the project's
    #[arg(long)]
    pub(in crate::cli) apply: bool,
    #[command(flatten)]
    pub(in crate::cli) sure: Sure,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}
