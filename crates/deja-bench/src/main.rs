//! Measures deja against its targets and prints one table; docs/benchmarks.md says how each figure is made.
//!
//! The servers, the load generator and the yardsticks each run as a process of their own, started from this
//! same executable, so that the processor time of each can be read apart. Everything lives in temporary
//! directories and talks over 127.0.0.1.

#![expect(clippy::print_stdout, reason = "a tool for developers: its output is the table")]

mod deja;
mod figures;
mod fill;
mod load;
mod parts;
mod process;
mod prompts;
mod report;
mod vectors;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand, ValueEnum as _};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::report::Row;

#[derive(Parser)]
#[command(about = "Measures deja against its targets")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

/// What is measured, and how long.
#[derive(Args, Clone)]
struct Options {
    /// The deja binary; by default the one beside this executable.
    #[arg(long, global = true)]
    deja: Option<PathBuf>,
    /// Rounds of each figure. The table shows the median of the rounds, and the smallest and largest.
    #[arg(long, global = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Also write the figures to this file as JSON.
    #[arg(long, global = true)]
    json: Option<PathBuf>,
    /// Entries in the cache for `exact` and `semantic`.
    #[arg(long, global = true, default_value_t = 10_000)]
    entries: usize,
    /// Seconds of load in each round of `exact`.
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
    /// Prompts in each round of `semantic` and `durable`.
    #[arg(long, global = true, default_value_t = 2_000)]
    prompts: usize,
    /// Entries in the store for the time to start.
    #[arg(long, global = true, default_value_t = 100_000)]
    start_entries: usize,
    /// Scopes of one entry each for `scopes`.
    #[arg(long, global = true, default_value_t = 1_000_000)]
    scopes: usize,
    /// Streams at once for `wire`.
    #[arg(long, global = true, default_value_t = 2_000)]
    streams: usize,
    /// Seconds that each of them lasts.
    #[arg(long, global = true, default_value_t = 60)]
    stream_seconds: u64,
    /// Seconds of overload for `overload`.
    #[arg(long, global = true, default_value_t = 300.0)]
    overload_seconds: f64,
    /// Parts of `postgres`, which are measured one after the other.
    #[arg(long, global = true, value_delimiter = ',', value_enum, default_values_t = figures::postgres::Part::value_variants())]
    postgres_parts: Vec<figures::postgres::Part>,
    /// Where `peers` finds other gateways.
    #[arg(long, global = true, default_value = "target/peers")]
    peers: PathBuf,
    /// Entries in one scope for `index`, one size after the other.
    #[arg(long, global = true, value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    index_entries: Vec<usize>,
    /// Where the stores of `index` are kept: the first run fills them, later ones use them again.
    #[arg(long, global = true)]
    index_data: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// All figures, one after the other.
    All,
    #[command(flatten)]
    Figure(Figure),
    /// A server that only answers; prints its address.
    #[command(hide = true)]
    Bare(parts::bare::Bare),
    /// An LLM provider; prints its address.
    #[command(hide = true)]
    Provider(parts::provider::Provider),
    /// Embeds the prompts of a job file; prints what it cost.
    #[command(hide = true)]
    Embed { job: PathBuf },
    /// Searches the store of a job file; prints how fast and how well.
    #[command(hide = true)]
    Search { job: PathBuf },
    /// Sends the requests of a job file; prints what came back.
    #[command(hide = true)]
    Load { job: PathBuf },
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Figure {
    /// Exact hits against a bare axum server.
    Exact,
    /// Hits by meaning against the embedding alone.
    Semantic,
    /// Misses that are stored against the embedding alone.
    Durable,
    /// Nearest neighbour and memory of the index, 100,000 and 1,000,000 vectors.
    Index,
    /// Time to start with a full store, and memory when idle.
    Start,
    /// The same with every entry in a scope of its own, as where each caller has a context of its own.
    Scopes,
    /// Chat completions: hits, plain and streamed, misses beside their provider, many streams at once.
    Wire,
    /// Ten times the requests that the server can answer: what is still answered, how fast the rest is refused. Not part
    /// of `all`.
    Overload,
    /// A project far beyond its limit beside one within its own: how much longer the second one waits. Not part of `all`.
    Neighbour,
    /// The same requests through other gateways. Not part of `all`.
    Peers,
    /// PostgreSQL beside the embedded store: hits, replicas, limits, revocation, faults. Not part of `all`.
    Postgres,
}

impl Figure {
    /// The figures of `all`. The others take longer, or need what is not there everywhere.
    const ALL: [Self; 7] =
        [Self::Exact, Self::Semantic, Self::Durable, Self::Index, Self::Start, Self::Scopes, Self::Wire];

    fn measure(self, bench: &Bench) -> Result<Vec<Row>> {
        match self {
            Self::Exact => figures::exact::run(bench),
            Self::Semantic => figures::semantic::run(bench),
            Self::Durable => figures::durable::run(bench),
            Self::Index => figures::index::run(bench),
            Self::Start => figures::start::run(bench),
            Self::Scopes => figures::start::scopes(bench),
            Self::Wire => figures::wire::run(bench),
            Self::Overload => figures::overload::run(bench),
            Self::Neighbour => figures::neighbour::run(bench),
            Self::Peers => figures::peers::run(bench),
            Self::Postgres => figures::postgres::run(bench),
        }
    }
}

/// What every figure needs to know.
struct Bench {
    deja: PathBuf,
    me: PathBuf,
    options: Options,
}

impl Bench {
    fn new(options: Options) -> Result<Self> {
        let me = std::env::current_exe()?;
        let deja = options.deja.clone().unwrap_or_else(|| me.with_file_name("deja"));
        // It runs in a directory of its own.
        let deja = std::path::absolute(deja)?;
        anyhow::ensure!(deja.is_file(), "{} is not there: build it, or name it with --deja", deja.display());
        Ok(Self { deja, me, options })
    }

    /// `measure(round)` for every round, with a word on standard error about how far it is.
    fn rounds<T>(&self, name: &str, mut measure: impl FnMut(u32) -> Result<T>) -> Result<Vec<T>> {
        (0..self.options.rounds)
            .map(|round| {
                eprintln!("{name}: round {} of {}", round + 1, self.options.rounds);
                measure(round).with_context(|| format!("{name}, round {}", round + 1))
            })
            .collect()
    }
}

/// Thousands of streams need as many descriptors; the servers get them from here.
fn raise_descriptors() -> Result<()> {
    let limits = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits })?)
}

fn main() -> Result<()> {
    let Cli { command, options } = Cli::parse();
    let wanted = match command {
        Command::Bare(bare) => return parts::bare::serve(&bare),
        Command::Provider(provider) => return parts::provider::serve(&provider),
        Command::Embed { job } => return parts::embed::run(&job),
        Command::Search { job } => return parts::search::run(&job),
        Command::Load { job } => return load::run(&job),
        Command::All => None,
        Command::Figure(figure) => Some(figure),
    };
    let bench = Bench::new(options)?;
    raise_descriptors()?;
    let rows = match wanted {
        Some(figure) => figure.measure(&bench)?,
        None => Figure::ALL.into_iter().flat_map(|figure| measured(figure, &bench)).collect(),
    };
    println!("{}", report::table(&rows));
    if let Some(file) = &bench.options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&rows)?).context("writing the JSON file")?;
    }
    anyhow::ensure!(!rows.iter().any(|row| row.error.is_some()), "a figure could not be measured");
    Ok(())
}

/// The rows of a figure. If it fails, a row says so: it must not cost the others an hour of measuring.
fn measured(figure: Figure, bench: &Bench) -> Vec<Row> {
    figure.measure(bench).unwrap_or_else(|error| {
        vec![Row::failed(&format!("{figure:?}").to_lowercase(), &format!("{error:#}"))]
    })
}
