//! The command line as clap reads it. The doc comments are what `--help` says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use deja_core::operator::Role;
use deja_core::project::Tier;

use crate::admin::Ttl;

/// deja: a semantic cache for LLM answers.
///
/// Without a command it serves. Commands about projects, keys, providers, prices and caches reach the running
/// server through its data directory, and work on the data directory itself while none runs.
#[derive(Debug, Parser)]
#[command(
    name = "deja",
    version,
    subcommand_required = false,
    after_help = "\
A first project:
  deja project create \"My team\"              prints its slug: my-team
  deja key create --project my-team --name ci  prints its key
  deja serve                                   serves it on 127.0.0.1:8080"
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) task: Option<Task>,
}

#[derive(Debug, Args)]
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
    /// Serve the API
    #[command(after_help = "Example:\n  DEJA_LISTEN=0.0.0.0:8080 OPENAI_API_KEY=sk-... deja serve")]
    Serve,
    /// Try deja out: a temporary data directory, a pretended provider, sample queries, and a server to play with
    #[command(after_help = "Example:\n  deja demo --exit")]
    Demo {
        /// End after the sample queries
        #[arg(long)]
        exit: bool,
    },
    /// Projects: the tenants, each with its own cache, keys and limits
    #[command(subcommand)]
    Project(ProjectTask),
    /// API keys of a project
    #[command(subcommand)]
    Key(KeyTask),
    /// LLM providers of a project's own (OpenAI-compatible servers)
    #[command(subcommand)]
    Provider(ProviderTask),
    /// What models cost
    #[command(subcommand)]
    Price(PriceTask),
    /// A project's cache
    #[command(subcommand)]
    Cache(CacheTask),
    /// The people who sign in to the console
    #[command(subcommand)]
    Operator(OperatorTask),
    /// Who changed what
    #[command(subcommand)]
    Audit(AuditTask),
    /// Write a cache as lines of JSON, to move it or to keep it
    #[command(after_help = "\
Example:
  deja export cache.jsonl                      entries of all projects
  deja export --with-projects --with-keys cache.jsonl
  deja export --resume cache.jsonl             goes on where that file ends
  deja export --project my-team | gzip > my-team.jsonl.gz

Works while the server runs and while it does not. Expired entries are left out.
The file holds prompts and answers in plain text, and with --with-keys the
hashes of keys: keep it private.")]
    Export(ExportTask),
    /// Take in what deja export wrote; what is there already stays as it is
    #[command(after_help = "\
Example:
  deja import cache.jsonl

It can be repeated: entries that are there already are counted and left alone.
An entry whose vector is of another embedder is found by the same prompt at
once, and by similar ones when it is embedded again.")]
    Import(ImportTask),
    /// The database: its schema, copies, backups
    #[command(subcommand)]
    Db(DbTask),
    /// Ask the running server whether a query would work; exit code 0 if so
    #[command(after_help = "Example:\n  deja health --listen 127.0.0.1:8080")]
    Health,
    /// The settings in force
    #[command(subcommand)]
    Config(ConfigTask),
    /// Print the API's OpenAPI document
    #[command(after_help = "Example:\n  deja openapi > openapi.json")]
    Openapi,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProjectTask {
    /// Make a project; prints its slug alone on the last line
    #[command(after_help = "Example:\n  deja project create \"My team\" --tier pro")]
    Create {
        /// The name for people; the slug is made from it
        name: String,
        /// free (100 requests a minute), pro (1,000) or enterprise (10,000)
        #[arg(long, default_value = "free", value_parser = tier)]
        tier: Tier,
        /// Requests a minute, instead of the tier's
        #[arg(long, value_name = "N")]
        rpm: Option<u32>,
        /// Requests at once, instead of the tier's
        #[arg(long, value_name = "N")]
        burst: Option<u32>,
    },
    /// All projects, with what they saved in the last 7 days
    #[command(after_help = "Example:\n  deja project list --json")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Refuse the project's requests (403) from now on
    #[command(after_help = "Example:\n  deja project suspend my-team")]
    Suspend {
        /// The project
        slug: String,
    },
    /// Take a suspended project's requests again
    #[command(after_help = "Example:\n  deja project resume my-team")]
    Resume {
        /// The project
        slug: String,
    },
    /// Change a project
    #[command(after_help = "\
Example:
  deja project set my-team --tier pro --ttl 7d

A new tier without --rpm or --burst brings the tier's own limit.")]
    Set {
        /// The project
        slug: String,
        /// The name for people; the slug stays
        #[arg(long)]
        name: Option<String>,
        /// free, pro or enterprise
        #[arg(long, value_parser = tier)]
        tier: Option<Tier>,
        /// Requests a minute
        #[arg(long, value_name = "N")]
        rpm: Option<u32>,
        /// Requests at once
        #[arg(long, value_name = "N")]
        burst: Option<u32>,
        /// How long new answers are served: 30d, 12h, 45m, 90s, or none for as long as there is room
        #[arg(long, value_name = "TIME", value_parser = ttl)]
        ttl: Option<Ttl>,
        /// Entries kept at most
        #[arg(long, value_name = "N")]
        max_entries: Option<u64>,
        /// Whether an answer of one model may be served for another
        #[arg(long, value_name = "true|false")]
        share_models: Option<bool>,
    },
    /// Delete a project with its keys, cache, providers and counts
    #[command(after_help = "Example:\n  deja project delete my-team --yes")]
    Delete {
        /// The project
        slug: String,
        #[command(flatten)]
        sure: Sure,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum KeyTask {
    /// Make a key; prints it alone on the last line, and never again
    #[command(after_help = "Example:\n  deja key create --project my-team --name ci --model gpt-4o-mini")]
    Create {
        #[command(flatten)]
        of: Of,
        /// What the key is for
        #[arg(long)]
        name: String,
        /// A model the key may ask for; may be given again. Without it: all models
        #[arg(long = "model", value_name = "MODEL")]
        models: Vec<String>,
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
        /// Only look in this project
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ProviderTask {
    /// Have an OpenAI-compatible server answer some models for a project
    #[command(after_help = "\
Example:
  HOUSE_KEY=... deja provider add --project my-team --name house \\
      --base-url https://llm.example.com/v1 --model llama-3.3-70b --key-env HOUSE_KEY

The server's key is never an argument, because other users of the machine see arguments.")]
    Add {
        #[command(flatten)]
        of: Of,
        /// The name in responses
        #[arg(long)]
        name: String,
        /// The server's URL, up to and with /v1
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
pub(super) struct SecretFrom {
    /// Take the server's key from this variable of the environment
    #[arg(long, visible_alias = "secret-env", value_name = "VARIABLE")]
    pub(super) key_env: Option<String>,
    /// Take the server's key from this file
    #[arg(long, visible_alias = "secret-file", value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// Take the server's key from standard input
    #[arg(long, visible_alias = "secret-stdin")]
    pub(super) key_stdin: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum PriceTask {
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
        #[arg(long, value_name = "USD_PER_MILLION")]
        input: f64,
        /// US dollars per million output tokens
        #[arg(long, value_name = "USD_PER_MILLION")]
        output: f64,
    },
    /// Take a project's own price away
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
    /// Fetch the price table now instead of at the next interval (DEJA_PRICES_URL)
    #[command(after_help = "Example:\n  deja price refresh")]
    Refresh {
        #[command(flatten)]
        form: Form,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum CacheTask {
    /// Delete stored answers
    #[command(after_help = "Example:\n  deja cache purge --project my-team --model gpt-4o --yes")]
    Purge {
        #[command(flatten)]
        of: Of,
        /// Only those of this model
        #[arg(long)]
        model: Option<String>,
        /// Only those of this context
        #[arg(long, conflicts_with = "no_context")]
        context: Option<String>,
        /// Only those without a context
        #[arg(long)]
        no_context: bool,
        #[command(flatten)]
        sure: Sure,
    },
    /// What the cache holds, and what it did in the last 7 days
    #[command(after_help = "Example:\n  deja cache stats --project my-team")]
    Stats {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        form: Form,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum OperatorTask {
    /// Make an operator; prints a one-time link alone on the last line, with which they choose a password
    #[command(after_help = "\
Example:
  deja operator create ada@example.com --role owner

The first operator is an owner unless --role says otherwise, the others are members.")]
    Create {
        /// What they sign in with
        email: String,
        /// owner (everything) or member (the daily work)
        #[arg(long, value_parser = role)]
        role: Option<Role>,
        /// Take their password from standard input, instead of printing a link
        #[arg(long)]
        password_stdin: bool,
    },
    /// All operators
    #[command(after_help = "Example:\n  deja operator list")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Print a one-time link alone on the last line, with which an operator sets a new password
    #[command(after_help = "Example:\n  deja operator reset-password ada@example.com")]
    ResetPassword {
        /// The operator
        email: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditTask {
    /// The last changes, newest first
    #[command(after_help = "Example:\n  deja audit list --project my-team --limit 20")]
    List {
        /// Only those in this project
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
        /// Changes at most, up to 10,000
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        form: Form,
    },
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum ConfigTask {
    /// Say whether the settings are valid
    #[command(after_help = "Example:\n  deja config check --config /etc/deja.toml")]
    Check,
    /// Print the settings in force as a file, without secrets
    #[command(after_help = "Example:\n  deja config print > deja.toml")]
    Print,
}

#[derive(Debug, Args)]
pub(super) struct ExportTask {
    /// The file to write; without it the lines go to standard output, and the summary to standard error
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Go on with a file that an export began: its whole lines stay
    #[arg(long, requires = "file")]
    pub(super) resume: bool,
    #[command(flatten)]
    pub(super) what: Exported,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Clone, Debug, Args)]
pub(super) struct Exported {
    /// Only this project; may be given again. Without it: all projects
    #[arg(long = "project", value_name = "SLUG")]
    pub(super) projects: Vec<String>,
    /// The projects themselves too: limits, settings, and their own providers without secrets
    #[arg(long)]
    pub(super) with_projects: bool,
    /// The hashes of API keys too, so that the keys go on working
    #[arg(long)]
    pub(super) with_keys: bool,
}

#[derive(Debug, Args)]
pub(super) struct ImportTask {
    /// The file to read; without it, or with -, standard input
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Only what belongs to this project; may be given again
    #[arg(long = "project", value_name = "SLUG")]
    pub(super) projects: Vec<String>,
    /// Leave out lines that cannot be taken, instead of ending at the first
    #[arg(long)]
    pub(super) skip_bad: bool,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Subcommand)]
pub(super) enum DbTask {
    /// Bring the schema up to date; a server does so itself when it starts
    #[command(after_help = "Example:\n  DEJA_DATABASE_URL=postgres://deja@db/deja deja db migrate")]
    Migrate,
    /// The version of the schema, and the one that this deja knows
    #[command(after_help = "Example:\n  deja db status --json")]
    Status {
        #[command(flatten)]
        form: Form,
    },
    /// Copy projects, keys, providers, entries and operators from one store to another
    #[command(after_help = "\
Example:
  deja db copy --from sqlite --to postgres
  deja db copy --from ./deja-data --to /srv/deja

No server may run on a directory. STORE is a directory, a postgres:// URL, sqlite
(the setting data_dir) or postgres (the setting database_url, which other users
of the machine do not see). The secrets of providers are copied as
they are sealed: both stores have one master key, DEJA_MASTER_KEY or the file of
the source, which goes along. Counts, the audit log, sessions and links stay
behind. What is there already stays as it is, so that a copy can be repeated.")]
    Copy(CopyTask),
    /// Write a consistent copy of the embedded database, while the server runs or not
    #[command(after_help = "\
Example:
  deja db backup /backup/deja.db

To restore it, stop the server and put the file into an empty data directory as
deja.db, with master.key.")]
    Backup {
        /// The file to write; it must not be there yet
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct CopyTask {
    /// The store to read
    #[arg(long, value_name = "STORE")]
    pub(super) from: String,
    /// The store to write; a directory is made if it is not there
    #[arg(long, value_name = "STORE")]
    pub(super) to: String,
    /// Only this project; may be given again. Operators are copied with all projects only
    #[arg(long = "project", value_name = "SLUG")]
    pub(super) projects: Vec<String>,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Debug, Args)]
pub(super) struct Of {
    /// The project
    #[arg(long, value_name = "SLUG")]
    pub(super) project: String,
}

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Form {
    /// Print JSON, for scripts
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Sure {
    /// Do not ask
    #[arg(long, short)]
    pub(super) yes: bool,
}

fn role(text: &str) -> Result<Role, String> {
    text.parse()
}

fn tier(text: &str) -> Result<Tier, String> {
    text.parse()
}

fn ttl(text: &str) -> Result<Ttl, String> {
    if text == "none" {
        return Ok(Ttl { seconds: None });
    }
    let wanted = || "use a number with s, m, h or d, such as 30d, or none".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wanted()),
    };
    let number: u64 = digits.parse().map_err(|_| wanted())?;
    Ok(Ttl { seconds: Some(number.checked_mul(unit).ok_or_else(wanted)?) })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command) {
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

    #[test]
    fn times_have_units() {
        let seconds = |text| ttl(text).map(|ttl| ttl.seconds);
        assert_eq!(seconds("30d"), Ok(Some(2_592_000)));
        assert_eq!(seconds("12h"), Ok(Some(43_200)));
        assert_eq!(seconds("90"), Ok(Some(90)));
        assert_eq!(seconds("none"), Ok(None));
        for text in ["", "d", "1w", "-1d", "1.5h", "99999999999999999999d", "30D", "é"] {
            assert!(ttl(text).is_err(), "{text}");
        }
    }
}
