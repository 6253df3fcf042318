//! A long run of this program, killed and begun again: it goes on with the round that was cut short, and its report says how
//! far it came, whenever it is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::trial::{Goals, Limit, Progress, Rounds, Trial};
use crate::util::eventually;

pub const TRIAL: Trial =
    Trial { name: "resumed", counts: "runs killed", goals: Goals { few: 2, short: 2, long: 20 }, play };

/// What is played: it needs no server, and its rounds are short.
const PLAYED: &str = "ssrf";

fn play(rounds: &mut Rounds<'_>) {
    what_is_one_thing_begins_anew();
    while let Some(seed) = rounds.next() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let mut before = Progress::default();
        for run in 0..3 {
            let played = cut_short(home, seed, before.rounds + 2);
            // The round under way when it was killed counts for nothing, and is played again.
            assert!(played.rounds >= before.rounds + 2 && played.seconds > before.seconds, "{played:?}");
            assert_eq!(played.done, 100 * played.rounds, "run {run}");
            assert!(!played.ended && played.failures.is_empty(), "{played:?}");
            before = played;
        }
        // Another seed is another run.
        let other = cut_short(home, seed + 1, 1);
        assert_eq!(other.done, 100 * other.rounds);
        let text = fs::read_to_string(home.join("report.md")).unwrap();
        assert!(text.contains(&format!("seeds from {}.", seed + 1)), "{text}");
        rounds.done(1);
    }
}

/// What an earlier run did of a trial that is one thing is not done; what this one did stays, also after a failure.
fn what_is_one_thing_begins_anew() {
    let limit = Limit { few: false, done: 100, rounds: u64::MAX, time: Duration::MAX };
    let mut keep = |_: &Progress| {};
    let before = Progress { rounds: 9, done: 90, ..Progress::default() };
    let mut rounds = Rounds::new(before, 1, limit, &mut keep);
    for _ in 0..10 {
        rounds.at_a_stretch();
        rounds.next().expect("it is not done");
        rounds.done(10);
    }
    rounds.at_a_stretch();
    assert_eq!((rounds.next(), rounds.end().rounds), (None, 19));
}

/// A long run from this seed, killed once it has played so many rounds; what it kept.
fn cut_short(home: &Path, seed: u64, enough: u64) -> Progress {
    let mut run = Killed(
        Command::new(std::env::current_exe().unwrap())
            .args(["--long", "--trial", PLAYED, "--seed", &seed.to_string(), "--home"])
            .arg(home)
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let wanted = |(of, progress): &(u64, Progress)| *of == seed && progress.rounds >= enough;
    eventually("so many rounds are played", || {
        assert!(run.0.try_wait().unwrap().is_none(), "it ended by itself");
        kept(home).is_some_and(|kept| wanted(&kept))
    });
    drop(run);
    let (_, progress) = kept(home).unwrap();
    // The report was written after the state, or is that of the round before.
    let report = fs::read_to_string(home.join("report.md")).unwrap();
    let row = report.lines().find(|line| line.starts_with(&format!("| `{PLAYED}` |"))).unwrap();
    let done: u64 = row.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!([progress.done, progress.done - 100].contains(&done), "{done} of {progress:?}");
    let head = format!("the long form, seeds from {seed}.");
    assert!(report.starts_with("Commit ") && report.contains(&head), "{report}");
    progress
}

/// The seed and the progress of the trial, as the last run kept them.
fn kept(home: &Path) -> Option<(u64, Progress)> {
    let state: Value = serde_json::from_slice(&fs::read(home.join("long.json")).ok()?).unwrap();
    let mut trials: BTreeMap<String, Progress> = serde_json::from_value(state["trials"].clone()).unwrap();
    Some((state["seed"].as_u64().unwrap(), trials.remove(PLAYED)?))
}

/// A process that is killed when it goes.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _ = self.0.wait();
    }
}
