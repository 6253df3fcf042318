//! `make trust`: trials that do one thing again and again, against the built binary over real sockets, and what must
//! hold each time. docs/topics/trust.md tells what each one does and what came of it.
//!
//! Without arguments, as `cargo test` runs it, each trial does a few rounds. `--short` is `make trust`, `--long` goes on
//! for hours and where it was cut short. `--trial NAME --seed N --rounds N` repeats what failed.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step is a failed round"
)]
#![expect(clippy::print_stdout, reason = "a run tells how far it is")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]

mod backup;
mod cut;
mod database;
mod drip;
mod full;
mod generated;
mod kill;
mod limiter;
mod points;
mod resumed;
mod rolling;
mod run;
mod soak;
mod ssrf;
mod tenants;
#[expect(dead_code, unused_imports, reason = "its unit tests run with the other tests")]
mod trend;
mod trial;
mod worlds;

#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/durability.rs"]
mod durability;
#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/fuzz.rs"]
mod fuzz;
#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/handover.rs"]
mod handover;
#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../../../deja-store/tests/postgres/mod.rs"]
mod postgres;
#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../../../deja-store/tests/it/proxy.rs"]
mod proxy;
#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../../../deja-wire/tests/it/streams.rs"]
mod recorded;
#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/util/mod.rs"]
mod util;
#[expect(dead_code, unused_imports, reason = "the other tests use the rest")]
#[path = "../it/wire/mod.rs"]
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::run::{Form, Plan};
use crate::trial::Trial;

/// In the order of a run.
const TRIALS: [Trial; 14] = [
    kill::TRIAL,
    cut::TRIAL,
    generated::TRIAL,
    tenants::TRIAL,
    limiter::TRIAL,
    drip::TRIAL,
    ssrf::TRIAL,
    backup::TRIAL,
    database::TRIAL,
    points::TRIAL,
    full::TRIAL,
    rolling::TRIAL,
    soak::TRIAL,
    resumed::TRIAL,
];

/// Trials of deja, each done again and again.
#[derive(Parser)]
struct Wanted {
    /// Each trial up to its short goal, and for less than a minute.
    #[arg(long)]
    short: bool,
    /// Each trial up to its long goal: hours.
    #[arg(long, conflicts_with = "short")]
    long: bool,
    /// This trial alone; may be given more than once.
    #[arg(long)]
    trial: Vec<String>,
    /// The seed of the first round; each further round has the next number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many rounds of each trial, whatever its goal is.
    #[arg(long)]
    rounds: Option<u64>,
    /// Where state and report lie, target/trust unless given.
    #[arg(long)]
    home: Option<PathBuf>,
    /// What `cargo test` may pass on to every test binary.
    #[command(flatten)]
    libtest: libtest_mimic::Arguments,
}

impl Wanted {
    fn chosen(&self) -> Vec<&'static Trial> {
        let Self { trial: wanted, libtest, .. } = self;
        let named =
            |name: &str, given: &str| if libtest.exact { name == given } else { name.contains(given) };
        let wanted = |trial: &&Trial| {
            let name = trial.name;
            (wanted.is_empty() || wanted.iter().any(|given| given == name))
                && libtest.filter.as_ref().is_none_or(|given| named(name, given))
                && !libtest.skip.iter().any(|given| named(name, given))
                && !libtest.ignored
        };
        TRIALS.iter().filter(wanted).collect()
    }
}

fn main() -> ExitCode {
    let arguments = Wanted::parse();
    let mut trials = arguments.chosen();
    if let Some(unknown) =
        arguments.trial.iter().find(|given| !TRIALS.iter().any(|trial| trial.name == **given))
    {
        eprintln!(
            "trust: there is no trial '{unknown}'; there are {}",
            TRIALS.map(|trial| trial.name).join(", ")
        );
        return ExitCode::FAILURE;
    }
    let form = match (arguments.rounds, arguments.short, arguments.long) {
        (Some(rounds), ..) => Form::Rounds(rounds),
        (None, true, _) => Form::Short,
        (None, _, true) => Form::Long,
        (None, false, false) => Form::Few,
    };
    if form == Form::Few {
        trials.retain(|trial| trial.goals.few > 0);
    }
    if arguments.libtest.list {
        for trial in trials {
            println!("{}: test", trial.name);
        }
        return ExitCode::SUCCESS;
    }
    let home = arguments.home.unwrap_or_else(run::usual_home);
    run::run(&trials, &Plan { form, seed: arguments.seed, home })
}
