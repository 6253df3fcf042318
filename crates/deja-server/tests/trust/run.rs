//! Plays trials, keeps how far they came below `target/trust`, and writes the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::TRIALS;
use crate::trial::{Limit, Progress, Rounds, Trial};

/// A trial that fails so often is given up.
const MAX_FAILURES: usize = 5;

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Few,
    Short,
    Long,
    Rounds(u64),
}

/// A run that was asked for.
pub struct Plan {
    pub form: Form,
    pub seed: u64,
    /// Where its state and its report lie.
    pub home: PathBuf,
}

impl Plan {
    fn limit(&self, trial: &Trial) -> Limit {
        let goals = &trial.goals;
        let limit = Limit { few: false, done: u64::MAX, rounds: u64::MAX, time: Duration::MAX };
        match self.form {
            Form::Few => Limit { few: true, done: goals.few, time: Duration::from_secs(4), ..limit },
            Form::Short => Limit { done: goals.short, time: Duration::from_secs(50), ..limit },
            Form::Long => Limit { done: goals.long, ..limit },
            Form::Rounds(rounds) => Limit { rounds, ..limit },
        }
    }

    /// Where its state lies. What is repeated by hand is kept nowhere.
    fn file(&self) -> Option<PathBuf> {
        match self.form {
            Form::Long => Some(self.home.join("long.json")),
            Form::Short => Some(self.home.join("short.json")),
            Form::Few | Form::Rounds(_) => None,
        }
    }

    fn report(&self) -> PathBuf {
        self.home.join("report.md")
    }
}

/// How far a run came.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// It goes on only with the code and the seed that it began with.
    commit: String,
    seed: u64,
    trials: BTreeMap<String, Progress>,
}

impl State {
    /// What an earlier run with this plan came to. If it did all that is wanted now, that begins anew.
    fn resume(plan: &Plan, trials: &[&Trial]) -> Self {
        let new = Self { commit: commit(), seed: plan.seed, trials: BTreeMap::new() };
        let kept = plan.file().and_then(|file| fs::read(file).ok());
        let kept = kept.and_then(|kept| serde_json::from_slice::<Self>(&kept).ok());
        let Some(mut kept) = kept else { return new };
        if (&kept.commit, kept.seed) != (&new.commit, new.seed) {
            println!("anew: the last run was of commit {}, from seed {}", kept.commit, kept.seed);
            return new;
        }
        let ended = |trial: &&Trial| kept.trials.get(trial.name).is_some_and(|played| played.ended);
        if trials.iter().all(ended) {
            for trial in trials {
                kept.trials.remove(trial.name);
            }
        }
        kept
    }

    /// Also the report: a run that is cut short says how far it came.
    fn keep(&self, plan: &Plan) {
        let Some(file) = plan.file() else { return };
        fs::create_dir_all(&plan.home).unwrap();
        write_whole(&file, &serde_json::to_vec_pretty(self).unwrap());
        write_whole(&plan.report(), report(plan, self).as_bytes());
    }
}

/// Never half a file, wherever it is cut short.
fn write_whole(file: &Path, content: &[u8]) {
    let new = file.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, file).unwrap();
}

/// Where state and report lie unless somewhere else is named.
pub fn usual_home() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("trust")
}

/// The commit, and whether there is more than that.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"]).is_empty();
    git(&["rev-parse", "--short=12", "HEAD"]) + if changed { " with changes" } else { "" }
}

/// What was said by panics since it was last taken, of all threads.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Plays trials; fails if one of their rounds did.
pub fn run(trials: &[&Trial], plan: &Plan) -> ExitCode {
    panic::set_hook(Box::new(|what| {
        // A thread that was joined says no more than that it panicked.
        SAID.lock().push(what.to_string());
    }));
    let mut state = State::resume(plan, trials);
    for trial in trials {
        let progress = state.trials.get(trial.name).cloned().unwrap_or_default();
        if progress.ended {
            println!("{}: done before", trial.name);
            continue;
        }
        let limit = plan.limit(trial);
        println!(
            "{}: {} of {} {}, from seed {}",
            trial.name,
            progress.done,
            goal(limit),
            trial.counts,
            plan.seed
        );
        let progress = play(trial, progress, limit, plan, &mut state);
        println!("{}: {} {} in {:.0} s", trial.name, progress.done, trial.counts, progress.seconds);
        for (what, count) in &progress.seen {
            println!("    {what}: {count}");
        }
    }
    if plan.file().is_some() {
        state.keep(plan);
        println!("{}", plan.report().display());
    }
    let failed =
        |trial: &&Trial| state.trials.get(trial.name).is_some_and(|played| !played.failures.is_empty());
    ExitCode::from(u8::from(trials.iter().any(failed)))
}

fn goal(limit: Limit) -> String {
    if limit.done == u64::MAX { format!("{} rounds of", limit.rounds) } else { limit.done.to_string() }
}

fn play(trial: &Trial, progress: Progress, limit: Limit, plan: &Plan, state: &mut State) -> Progress {
    let mut told = Instant::now();
    let mut keep = |progress: &Progress| {
        state.trials.insert(trial.name.to_owned(), progress.clone());
        state.keep(plan);
        if told.elapsed() > Duration::from_secs(10) {
            println!("{}: {} of {} {}", trial.name, progress.done, goal(limit), trial.counts);
            told = Instant::now();
        }
    };
    let mut rounds = Rounds::new(progress, plan.seed, limit, &mut keep);
    loop {
        // After a failed round the next one begins with a world of its own.
        let ended = panic::catch_unwind(AssertUnwindSafe(|| (trial.play)(&mut rounds))).is_ok();
        let said = std::mem::take(&mut *SAID.lock());
        if ended || rounds.failures() >= MAX_FAILURES {
            return rounds.end();
        }
        let said = said.join("\n");
        println!(
            "{} FAILED with seed {}: {said}\nrepeat it: --trial {0} --seed {1} --rounds 1",
            trial.name,
            rounds.seed()
        );
        rounds.failed(said);
        if rounds.failures() >= MAX_FAILURES {
            return rounds.end();
        }
    }
}

/// What was done, how often, with which seeds, and what it showed.
fn report(plan: &Plan, state: &State) -> String {
    let form = if plan.form == Form::Long { "long" } else { "short" };
    let mut text = format!("Commit {}, the {form} form, seeds from {}.\n\n", state.commit, state.seed);
    text.push_str("| Trial | Done | Goal | Rounds | Time | Failed | Seen |\n|---|---|---|---|---|---|---|\n");
    let mut failures = String::new();
    for trial in &TRIALS {
        let Some(progress) = state.trials.get(trial.name) else { continue };
        let seen: Vec<String> = progress.seen.iter().map(|(what, count)| format!("{what} {count}")).collect();
        let Progress { rounds, done, seconds, .. } = progress;
        let (name, counts, failed) = (trial.name, trial.counts, progress.failures.len());
        let goal = plan.limit(trial).done;
        let seen = seen.join("; ");
        writeln!(
            text,
            "| `{name}` | {done} {counts} | {goal} | {rounds} | {seconds:.0} s | {failed} | {seen} |"
        )
        .unwrap();
        for failure in &progress.failures {
            let first = failure.said.lines().take(12).collect::<Vec<_>>().join("\n    ");
            writeln!(failures, "\n`{name}`, seed {}:\n\n    {first}", failure.seed).unwrap();
        }
    }
    text + &failures
}
