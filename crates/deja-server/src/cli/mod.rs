//! The command line: reads arguments and settings, does one thing, and ends with an exit code.
//!
//! 0 is fine, 2 is wrong usage or configuration, or a database of another program or of a newer deja, 1 anything else.
//! What goes wrong is one line on standard error that begins with `deja: `.

mod admin;
mod args;
mod db;
mod demo;
mod eval;
mod health;
mod print;
mod reach;
mod transfer;
mod tune;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::error::ErrorKind as ClapError;
use deja_core::admin::AdminError;
use deja_store::OpenError;
use tokio::runtime::Runtime;

use crate::config::{self, Config, ConfigError, LogFormat, Settings, Sources};
use crate::lifecycle::Signals;
use crate::secrets::vault::VaultError;
use crate::telemetry;
use args::{Cli, ConfigTask, EvalTask, Global, Task};

const WRONG_USAGE: u8 = 2;
const FAILED: u8 = 1;

/// What `main` does, with the arguments and the environment of the process.
pub fn main() -> ExitCode {
    let mut env = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        match value.into_string() {
            Ok(value) => drop(env.insert(name, value)),
            // Another directory, or another key, would be taken for the one that is meant.
            Err(_) if config::is_known(&name) => {
                return complain(&format!("{name} is not valid: it must be UTF-8"), WRONG_USAGE).into();
            }
            Err(_) => {}
        }
    }
    ExitCode::from(run(std::env::args_os(), env, &mut io::stdout()))
}

/// Runs one command line and says how it ended. Results go to `out`, complaints to standard error.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    env: BTreeMap<String, String>,
    out: &mut dyn Write,
) -> u8 {
    let out = &mut Output { to: out, closed: false };
    let arguments: Vec<_> = arguments.into_iter().collect();
    let cli = match args::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, &arguments, out),
    };
    let ended = try_run(cli, env, out).and_then(|()| Ok(out.flush()?));
    match ended {
        Ok(()) => 0,
        Err(_) if out.closed => 0,
        Err(error) => complain(&format!("{}{}", error_line(&error), listed(&error)), code_of(&error)),
    }
}

/// Where results go, and whether their reader went away, as `head` does. That is no error; a broken pipe to a server
/// that ended is one.
struct Output<'a> {
    to: &'a mut dyn Write,
    closed: bool,
}

impl Output<'_> {
    fn note_closed<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.closed |= result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        result
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.note_closed(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.note_closed(flushed)
    }
}

fn try_run(cli: Cli, env: BTreeMap<String, String>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut sources = sources(cli.global, env)?;
    if let Some(Task::Eval(EvalTask { embedder: Some(embedder), .. })) = &cli.task {
        sources.flags.insert("embedder", embedder.clone());
    }
    let (task, config) = (cli.task.unwrap_or(Task::Serve), Config::load(&sources));
    // The log first: what reads it as JSON is to find the warnings in it.
    let json = match (&task, &config) {
        (Task::Serve, Ok(config)) => {
            telemetry::init_log(&config.log, config.log_format)?;
            config.log_format == LogFormat::Json
        }
        _ => false,
    };
    let mut warnings = sources.warnings()?;
    if let (Task::Serve | Task::Config(ConfigTask::Check), Ok(config)) = (&task, &config) {
        warnings.extend(config.warnings());
    }
    for warning in warnings {
        if json {
            tracing::warn!("{warning}");
        } else {
            say(&warning);
        }
    }
    match task {
        Task::Config(ConfigTask::Check) => {
            config?;
            Ok(writeln!(out, "The settings are valid.")?)
        }
        Task::Config(ConfigTask::Print) => {
            let settings = Settings::load(&sources)?;
            settings.check()?;
            not_onto_itself(&sources)?;
            Ok(out.write_all(settings.to_toml()?.as_bytes())?)
        }
        Task::Openapi => Ok(writeln!(out, "{}", crate::api::openapi::document()?)?),
        Task::Serve => {
            let served = ended_at_once(crate::lifecycle::serve(config?));
            if json && let Err(error) = &served {
                tracing::error!("{}", error_line(error));
            }
            served
        }
        Task::Health => health::ask(&config?),
        Task::Export(task) => ended_at_once(transfer::export(task, &config?, out)),
        Task::Import(task) => ended_at_once(transfer::import(task, &config?, out)),
        Task::Eval(task) => runtime()?.block_on(eval::run(task, &config?, out)),
        Task::Tune(task) => ended_at_once(tune::tune(task, &config?, out)),
        Task::Db(task) => runtime()?.block_on(db::run(task, &config?, out)),
        Task::Demo { exit } => runtime()?.block_on(demo::run(config?, exit, out)),
        Task::Admin(task) => ended_at_once(admin::run(task, &config?, &sources.env, out)),
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("the threads of the server cannot be started")
}

/// Runs `work`. What it left when a signal ended it does not keep the process: a store that is being opened, a call of the
/// server.
fn ended_at_once(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background();
    ended
}

/// A signal ended a command before it was done. What there is of it, and how to go on.
#[derive(Debug, thiserror::Error)]
#[error("interrupted: {0}")]
struct Interrupted(&'static str);

/// What comes of `work`, unless a signal ends it: then an [`Interrupted`] that says `left`.
async fn unless_stopped<T>(
    signals: &mut Signals,
    left: &'static str,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        biased;
        done = work => done,
        _ = signals.next() => Err(Interrupted(left).into()),
    }
}

/// Refuses to print the settings into the file that they are read from: a shell empties it before deja reads it.
fn not_onto_itself(sources: &Sources) -> anyhow::Result<()> {
    let Some(path) = sources.path() else { return Ok(()) };
    let out = File::from(io::stdout().as_fd().try_clone_to_owned()?).metadata()?;
    let file = std::fs::metadata(&path)?;
    if out.is_file() && (file.dev(), file.ino()) == (out.dev(), out.ino()) {
        let text = format!(
            "standard output is the settings file {}, which the shell empties before it is read: print to another \
             one, and put back what was in it, if there was anything",
            path.display()
        );
        return Err(AdminError::Invalid(text).into());
    }
    Ok(())
}

fn sources(global: Global, env: BTreeMap<String, String>) -> anyhow::Result<Sources> {
    let flags = [
        ("data_dir", global.data_dir),
        ("listen", global.listen),
        ("public_url", global.public_url),
        ("log", global.log),
    ];
    Ok(Sources {
        file: global.config,
        directory: std::env::current_dir().context("the working directory cannot be read")?,
        env,
        flags: flags.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
    })
}

/// Help and version are no errors; everything else becomes one line.
fn not_parsed(error: &clap::Error, arguments: &[OsString], out: &mut Output<'_>) -> u8 {
    let text = error.render().to_string();
    match error.kind() {
        ClapError::DisplayHelp | ClapError::DisplayVersion => {
            let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            u8::from(written.is_err() && !out.closed)
        }
        ClapError::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _nowhere_to_complain = io::stderr().write_all(text.as_bytes());
            WRONG_USAGE
        }
        _ => {
            let told = text.lines().map(str::trim);
            // Nobody means `-- --flag`.
            let told = told.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"));
            let told = told.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
            let line = told.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ");
            let line = line.strip_prefix("error: ").unwrap_or(&line);
            let command = args::command_in(arguments);
            complain(&format!("{line} (see {command} --help)"), WRONG_USAGE)
        }
    }
}

/// An error with its causes, and what names the store if it is about that.
fn error_line(error: &anyhow::Error) -> String {
    format!("{error:#}{}", named_by(error))
}

/// The option or the variable that names a store which does not open, if another value of it may help.
fn named_by(error: &anyhow::Error) -> String {
    let setting = match error.downcast_ref() {
        Some(OpenError::DataDir { .. } | OpenError::Locked { .. }) => "DEJA_DATA_DIR",
        Some(OpenError::DatabaseUrl { .. } | OpenError::Database { .. }) => "DEJA_DATABASE_URL",
        _ => return String::new(),
    };
    format!(" ({})", error.downcast_ref().map_or(setting, |side: &transfer::Side| side.option()))
}

/// Which command lists what there is, if an error says that something is not there.
fn listed(error: &anyhow::Error) -> &'static str {
    const LISTS: [(&str, &str); 4] = [
        ("there is no project", " (see deja project list)"),
        ("there is no operator", " (see deja operator list)"),
        ("there is no active key", " (see deja key list)"),
        (" has no provider ", " (see deja provider list)"),
    ];
    let Some(AdminError::NotFound(text)) = error.downcast_ref() else { return "" };
    LISTS.iter().find(|(missing, _)| text.contains(missing)).map_or("", |(_, list)| *list)
}

fn complain(text: &str, code: u8) -> u8 {
    say(text);
    code
}

pub(crate) fn say(text: &str) {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Standard error may be closed; the exit code says it all the same.
    let _nowhere_to_complain = writeln!(io::stderr(), "deja: {line}");
}

/// The exit code of an error: whether any of its causes is a matter of usage, settings or a database that stays as it is. A
/// supervisor does not start deja again after that.
fn code_of(error: &anyhow::Error) -> u8 {
    let wrong_usage = error.chain().any(|cause| {
        cause.is::<ConfigError>()
            || matches!(cause.downcast_ref(), Some(AdminError::Invalid(_) | AdminError::Setting { .. }))
            || match cause.downcast_ref() {
                Some(OpenError::DataDir { reason, .. }) => is_of_settings(reason),
                Some(
                    OpenError::DatabaseUrl { .. }
                    | OpenError::Foreign { .. }
                    | OpenError::NewerSchema { .. }
                    | OpenError::NewerDatabase { .. },
                ) => true,
                _ => false,
            }
            || match cause.downcast_ref() {
                Some(VaultError::File(_, reason)) => is_of_settings(reason),
                other => other.is_some_and(VaultError::is_configuration),
            }
    });
    if wrong_usage { WRONG_USAGE } else { FAILED }
}

/// Whether a file cannot be used until somebody changes a setting or rights. A disk that is full, or mounted late, is
/// worth another try.
fn is_of_settings(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, PermissionDenied};
    // AlreadyExists is said where a directory is to be made and a file is.
    matches!(error.kind(), PermissionDenied | AlreadyExists | NotADirectory | IsADirectory)
}
