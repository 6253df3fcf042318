//! `deja export` and `deja import`.

use std::path::PathBuf;

use clap::Args;

use super::shared::Form;

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportTask {
    /// The file to write; without it, or with -, the lines go to standard output, and the summary to standard error
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Go on with a file that an export began; its whole lines stay
    #[arg(long, requires = "file")]
    pub(in crate::cli) resume: bool,
    #[command(flatten)]
    pub(in crate::cli) what: Exported,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}

#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Exported {
    /// Only this project; may be given again. Without it: all projects
    #[arg(long = "project", value_name = "SLUG")]
    pub(in crate::cli) projects: Vec<String>,
    /// The projects themselves too: limits, settings, and their own providers without secrets
    #[arg(long)]
    pub(in crate::cli) with_projects: bool,
    /// The hashes of API keys too, so that the keys work after the import
    #[arg(long)]
    pub(in crate::cli) with_keys: bool,
    /// The samples of queries too: prompts that were asked, and what came near
    #[arg(long)]
    pub(in crate::cli) with_samples: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportTask {
    /// The file to read; without it, or with -, standard input
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Only this project; may be given again
    #[arg(long = "project", value_name = "SLUG")]
    pub(in crate::cli) projects: Vec<String>,
    /// Add providers to projects that were here before too; such a provider gets the project's prompts
    #[arg(long)]
    pub(in crate::cli) with_projects: bool,
    /// Add keys to projects that were here before too; such a key opens the project
    #[arg(long)]
    pub(in crate::cli) with_keys: bool,
    /// Leave out lines that cannot be taken, instead of ending at the first
    #[arg(long)]
    pub(in crate::cli) skip_bad: bool,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}
