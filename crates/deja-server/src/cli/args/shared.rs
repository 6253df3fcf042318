//! Options that several commands have.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct Of {
    /// The project
    #[arg(long, value_name = "SLUG")]
    pub(in crate::cli) project: String,
}

#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct Form {
    /// Print JSON, for scripts
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct Sure {
    /// Do not ask
    #[arg(long, short)]
    pub(in crate::cli) yes: bool,
}
