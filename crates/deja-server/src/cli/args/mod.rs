//! The command line as clap reads it, a file for each group of commands. The doc comments are what `--help` says.

mod cache;
mod db;
mod eval;
mod key;
mod member;
mod operator;
mod price;
mod project;
mod provider;
mod shared;
mod token;
mod transfer;
mod tune;

use std::ffi::OsString;
use std::path::PathBuf;

pub(super) use cache::CacheTask;
use clap::{Arg, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
pub(super) use db::{CopyTask, DbTask};
pub(super) use eval::EvalTask;
pub(super) use key::KeyTask;
pub(super) use member::MemberTask;
pub(super) use operator::{AuditTask, OperatorTask};
pub(super) use price::PriceTask;
pub(super) use project::ProjectTask;
pub(super) use provider::{ProviderTask, SecretFrom};
pub(super) use shared::{PastTime, Sure};
pub(super) use token::TokenTask;
pub(super) use transfer::{ExportTask, Exported, ImportTask};
pub(super) use tune::TuneTask;

/// deja: a semantic cache for LLM answers.
///
/// Without a command it serves. Commands about projects, keys, providers, prices and caches ask the server that runs
/// on the data directory. If none runs, they open the data directory themselves.
#[derive(Debug, Parser)]
#[command(
    name = "deja",
    version,
    subcommand_required = false,
    after_help = "\
A first project:
  deja project create \"My team\"                prints its slug: my-team
  deja key create --project my-team --name ci  prints its key
  deja serve                                   serves it on 127.0.0.1:8080

Exit codes:
  0  it is done
  1  it is not done: it failed, or what it is about is not there
  2  wrong usage or settings, or a database of another program or of a newer deja

Results go to standard output. An error is one line on standard error that begins
with 'deja: '. A command that makes something prints its slug, key, token or link
alone on the last line: DEJA_KEY=$(deja key create --project my-team --name ci).
Commands that list or sum up print JSON with --json."
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) task: Option<Task>,
}

/// Reads a command line.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = numbers_below_zero(Cli::command()).try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

/// The command that `arguments` name, with its name in full.
pub(super) fn command_in(arguments: &[OsString]) -> String {
    let (mut command, mut name) = (Cli::command(), "deja".to_owned());
    for word in arguments.iter().skip(1) {
        if let Some(named) = command.find_subcommand(word).cloned() {
            name = format!("{name} {}", named.get_name());
            command = named;
        }
    }
    name
}

/// Has each option take `-1` as a value: what reads it says which are allowed. It were an unknown flag otherwise.
fn numbers_below_zero(command: Command) -> Command {
    let taken = |arg: Arg| {
        let has_value = arg.get_long().is_some() && arg.get_action().takes_values();
        arg.allow_negative_numbers(has_value)
    };
    command.mut_args(taken).mut_subcommands(numbers_below_zero)
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Settings, for every command")]
pub(super) struct Global {
    /// The settings file; without it, deja.toml of the working directory if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The directory that everything is kept in (setting data_dir)
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data_dir: Option<String>,
    /// Address and port to listen on (setting listen)
    #[arg(long, global = true, value_name = "HOST:PORT")]
    pub(super) listen: Option<String>,
    /// URL that clients reach deja under (setting public_url)
    #[arg(long, global = true, value_name = "URL")]
    pub(super) public_url: Option<String>,
    /// What is logged, such as info or debug (setting log)
    #[arg(long, global = true, value_name = "FILTER")]
    pub(super) log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Serve the API and the console
    #[command(after_help = "\
Example:
  OPENAI_API_KEY=sk-... deja serve --listen 0.0.0.0:8080

It logs to standard error, and prints a link for the first owner of the console.
SIGTERM and Ctrl-C end it when the requests under way are answered.")]
    Serve,
    /// Try deja without a provider: sample queries, then a server with a key to try
    #[command(after_help = "\
Example:
  deja demo
  deja demo --exit

Its data directory is temporary. A sandbox in the process answers instead of a
provider, so nothing leaves the machine. Ctrl-C ends it and removes the data.")]
    Demo {
        /// End after the sample queries
        #[arg(long)]
        exit: bool,
    },
    #[command(flatten)]
    Admin(AdminTask),
    /// How good a project's hits are, and what another threshold or guard would do
    #[command(after_help = "\
Example:
  deja tune --project my-team

The figures are of the project's own traffic, from its samples. People label
samples on the console's page Quality. Without labels it is not known how many hits
are right. --json has every threshold from 0.75 to 0.99.

With --judge a model labels samples first. It costs money, so deja says about how
much and asks; scripts add --yes.")]
    Tune(TuneTask),
    /// Write a cache as lines of JSON, to move it or to keep it
    #[command(after_help = "\
Example:
  deja export cache.jsonl                      entries of all projects
  deja export --with-projects --with-keys cache.jsonl
  deja export --resume cache.jsonl             adds what is not in that file
  deja export --project my-team | gzip > my-team.jsonl.gz

Works while the server runs and while it does not. Expired entries are left out.
The file holds prompts and answers in plain text, with --with-keys the hashes
of keys, and with --with-samples prompts that were asked: keep it private.")]
    Export(ExportTask),
    /// Read a file of deja export; entries that are there already stay as they are
    #[command(after_help = "\
Example:
  deja import cache.jsonl
  gunzip -c my-team.jsonl.gz | deja import

It can be repeated: entries that are there already are counted and left alone.
Keys and providers come into the projects that the import makes. Into a project
that was here before they come only with --with-keys and --with-projects.
An entry whose vector is of another embedder is found by the same prompt at
once, and by similar prompts when it is embedded again.
A line that cannot be read ends the import with exit code 1 and its number.")]
    Import(ImportTask),
    /// The database: its schema, copies, backups
    #[command(subcommand)]
    Db(DbTask),
    /// How often the cache would be right on labelled pairs of prompts, by threshold and guard; needs no server
    #[command(after_help = "\
Example:
  deja eval pairs.jsonl
  deja eval pairs.csv --threshold 0.85 --guard standard --min-precision 0.95
  deja eval pairs.jsonl --svg curve.svg --json

A line of pairs.jsonl is {\"a\": PROMPT, \"b\": PROMPT, \"label\": 1 or 0, \"kind\": TEXT};
pairs.csv has the columns a, b, label and kind. Label 1 says that one answer
serves both prompts (right), 0 that it does not (wrong); kind may be left out.

Precision is the share of right pairs among those served, recall the share of
right pairs that is served. RIGHT LOST and WRONG CUT are what the guard refuses
of the pairs that reach the threshold. Average precision and the hits at 1 % of
the wrong pairs served are over all thresholds; what the guard refuses from 0.75
on comes last.")]
    Eval(EvalTask),
    /// Ask the running server whether it is ready (its storage works): exit code 0 if so, 1 if not
    #[command(after_help = "\
Example:
  deja health --listen 127.0.0.1:8080

It asks /readyz at the address that the settings name, and prints nothing if all is well.")]
    Health,
    /// Check or print the settings
    #[command(subcommand)]
    Config(ConfigTask),
    /// Print the API's OpenAPI document
    #[command(after_help = "Example:\n  deja openapi > openapi.json")]
    Openapi,
}

/// What is asked of the running server, or of the store itself while none runs.
#[derive(Debug, Subcommand)]
pub(super) enum AdminTask {
    /// Projects: the tenants, each with its own cache, keys and limits
    #[command(subcommand)]
    Project(ProjectTask),
    /// API keys of a project
    #[command(subcommand)]
    Key(KeyTask),
    /// LLM providers of a project's own
    #[command(subcommand)]
    Provider(ProviderTask),
    /// Prices of models
    #[command(subcommand)]
    Price(PriceTask),
    /// A project's cache
    #[command(subcommand)]
    Cache(CacheTask),
    /// The people who sign in to the console
    #[command(subcommand)]
    Operator(OperatorTask),
    /// Ranks of operators in a project: who may do what there
    #[command(subcommand)]
    Member(MemberTask),
    /// Personal access tokens: an operator's programs use the admin API with them
    #[command(subcommand)]
    Token(TokenTask),
    /// The audit log: who changed what
    #[command(subcommand)]
    Audit(AuditTask),
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum ConfigTask {
    /// Say whether the settings are valid: exit code 0 if so, 2 if not
    #[command(after_help = "Example:\n  deja config check --config /etc/deja.toml")]
    Check,
    /// Print the settings in force as a file, without secrets
    #[command(after_help = "Example:\n  deja config print > deja.new.toml")]
    Print,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        numbers_below_zero(Cli::command()).debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &Command) {
            for sub in command.get_subcommands() {
                if sub.has_subcommands() {
                    check(sub);
                } else {
                    let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
                    assert!(help.contains("Example:\n  ") && help.contains("deja "), "{}", sub.get_name());
                }
            }
        }
        check(&Cli::command());
    }
}
