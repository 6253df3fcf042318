//! `deja eval`.

use std::path::PathBuf;

use clap::Args;
use deja_core::embedding::Threshold;
use deja_core::project::Guard;

use super::shared::Form;

#[derive(Debug, Args)]
pub(in crate::cli) struct EvalTask {
    /// The pairs: lines of JSON {"a": ..., "b": ..., "label": 1 or 0}, or a .csv file with these columns. Label 1
    /// says that one answer serves both prompts. A column "kind" is optional
    #[arg(value_name = "PAIRS")]
    pub(in crate::cli) pairs: PathBuf,
    /// A similarity threshold, 0 to 1; may be given again
    #[arg(long = "threshold", value_name = "T", value_parser = threshold,
        default_values = ["0.75", "0.8", "0.85", "0.9", "0.95"])]
    pub(in crate::cli) thresholds: Vec<Threshold>,
    /// How strictly a similar prompt is judged: off, standard, strict or thorough; may be given again. Without it: all four
    #[arg(long = "guard", value_name = "GUARD",
        default_values = Guard::ALL.map(Guard::as_str))]
    pub(in crate::cli) guards: Vec<Guard>,
    /// builtin, the directory of a model, or the URL of a server, instead of the setting embedder
    #[arg(long)]
    pub(in crate::cli) embedder: Option<String>,
    /// Print each kind of pairs too
    #[arg(long)]
    pub(in crate::cli) by_kind: bool,
    /// Write the curves of precision over recall to this file
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) svg: Option<PathBuf>,
    /// End with exit code 1 unless every row reaches this precision, 0 to 1
    #[arg(long, value_name = "P", value_parser = share)]
    pub(in crate::cli) min_precision: Option<f64>,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
}

fn threshold(text: &str) -> Result<Threshold, String> {
    share(text).and_then(|value| Threshold::new(value).ok_or_else(|| "use a number from 0 to 1".into()))
}

fn share(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "use a number from 0 to 1".into())
}
