//! `deja provider`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use deja_core::provider::ProviderKind;

use super::shared::{Form, Of};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProviderTask {
    /// Add a server that answers some models for a project
    #[command(after_help = "\
Example:
  HOUSE_KEY=... deja provider add --project my-team --name house \\
      --base-url https://llm.example.com/v1 --model llama-3.3-70b --key-env HOUSE_KEY

What each kind calls, behind the base URL:
  openai     /chat/completions; the URL goes up to and with /v1
  anthropic  /v1/messages
  gemini     /v1beta/models/MODEL:generateContent

The server's key is never an argument, because other users of the machine see arguments.
Set the price of a model with deja price set.")]
    Add {
        #[command(flatten)]
        of: Of,
        /// The name that responses show as llm_provider
        #[arg(long)]
        name: String,
        /// What the server speaks: openai, anthropic or gemini
        #[arg(long, default_value = "openai")]
        kind: ProviderKind,
        /// The server's URL; deja puts the path of the kind behind it
        #[arg(long, visible_alias = "url", value_name = "URL")]
        base_url: String,
        /// A model that the server answers; may be given again
        #[arg(long = "model", value_name = "MODEL", required = true)]
        models: Vec<String>,
        #[command(flatten)]
        secret: SecretFrom,
        /// Allow an address in a private network, and plain http
        #[arg(long)]
        allow_private: bool,
    },
    /// The project's own providers
    #[command(after_help = "Example:\n  deja provider list --project my-team")]
    List {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        form: Form,
    },
    /// Remove a provider
    #[command(after_help = "Example:\n  deja provider remove --project my-team house")]
    Remove {
        #[command(flatten)]
        of: Of,
        /// The provider's name
        name: String,
    },
}

#[derive(Debug, Args)]
#[group(required = false, multiple = false)]
#[expect(clippy::struct_field_names, reason = "the fields are the names of the options")]
pub(in crate::cli) struct SecretFrom {
    /// Take the server's key from this variable of the environment
    #[arg(long, visible_alias = "secret-env", value_name = "VARIABLE")]
    pub(in crate::cli) key_env: Option<String>,
    /// Take the server's key from this file
    #[arg(long, visible_alias = "secret-file", value_name = "FILE")]
    pub(in crate::cli) key_file: Option<PathBuf>,
    /// Take the server's key from standard input
    #[arg(long, visible_alias = "secret-stdin")]
    pub(in crate::cli) key_stdin: bool,
}
