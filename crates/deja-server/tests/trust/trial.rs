//! What a trial is, and what it keeps of its rounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Something that is done again and again.
pub struct Trial {
    pub name: &'static str,
    /// What a goal counts, such as "kills".
    pub counts: &'static str,
    pub goals: Goals,
    /// Plays rounds until there is none. A panic is a failure of the round under way.
    pub play: fn(&mut Rounds<'_>),
}

/// How much is to be done: in each usual test run, by `make trust`, and in its long form.
pub struct Goals {
    pub few: u64,
    pub short: u64,
    pub long: u64,
}

/// What was done of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Rounds that began; the next one has the first seed plus this.
    pub rounds: u64,
    /// In what the goal counts.
    pub done: u64,
    /// Time that it took.
    pub seconds: f64,
    pub failures: Vec<Failure>,
    /// What was seen on the way, by name.
    pub seen: BTreeMap<String, u64>,
    pub ended: bool,
}

/// A round that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    pub seed: u64,
    pub said: String,
}

/// The rounds of a trial, one after the other.
pub struct Rounds<'a> {
    progress: Progress,
    first_seed: u64,
    limit: Limit,
    began: Instant,
    /// Seconds of earlier runs.
    before: f64,
    /// Whether a round began in this run.
    playing: bool,
    keep: &'a mut dyn FnMut(&Progress),
}

/// When a trial has done enough.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub few: bool,
    pub done: u64,
    pub rounds: u64,
    pub time: Duration,
}

impl<'a> Rounds<'a> {
    pub fn new(
        progress: Progress,
        first_seed: u64,
        limit: Limit,
        keep: &'a mut dyn FnMut(&Progress),
    ) -> Self {
        let before = progress.seconds;
        Self { progress, first_seed, limit, began: Instant::now(), before, playing: false, keep }
    }

    /// The seed of the next round; `None` once enough was done.
    pub fn next(&mut self) -> Option<u64> {
        self.progress.seconds = self.before + self.began.elapsed().as_secs_f64();
        (self.keep)(&self.progress);
        let Limit { done, rounds, time, .. } = self.limit;
        // One round is played however long it takes to begin with it.
        let late = self.began.elapsed() >= time && self.progress.rounds > 0;
        if self.progress.done >= done || self.progress.rounds >= rounds || late {
            return None;
        }
        self.progress.rounds += 1;
        self.playing = true;
        Some(self.seed())
    }

    /// For a trial that is one thing from its beginning to its end: what a run that was cut short did of it is not done.
    pub fn at_a_stretch(&mut self) {
        if !self.playing {
            self.progress.done = 0;
        }
    }

    /// The seed of the round under way.
    pub fn seed(&self) -> u64 {
        self.first_seed + self.progress.rounds.saturating_sub(1)
    }

    /// Whether this is a usual test run, which shares the machine with others.
    pub fn are_few(&self) -> bool {
        self.limit.few
    }

    /// Says that so much more of the goal is done.
    pub fn done(&mut self, count: u64) {
        self.progress.done += count;
    }

    /// Adds to what was seen.
    pub fn saw(&mut self, what: &str, count: u64) {
        *self.progress.seen.entry(what.to_owned()).or_default() += count;
    }

    /// The largest of what was seen.
    pub fn saw_at_most(&mut self, what: &str, value: u64) {
        let most = self.progress.seen.entry(what.to_owned()).or_default();
        *most = value.max(*most);
    }

    /// What is seen now, whatever it was before.
    pub fn sees(&mut self, what: &str, value: u64) {
        self.progress.seen.insert(what.to_owned(), value);
    }

    /// The round under way failed.
    pub fn failed(&mut self, said: String) {
        let seed = self.seed();
        self.progress.failures.push(Failure { seed, said });
        (self.keep)(&self.progress);
    }

    pub fn failures(&self) -> usize {
        self.progress.failures.len()
    }

    /// What was done in the end.
    pub fn end(mut self) -> Progress {
        self.progress.ended = true;
        self.progress.seconds = self.before + self.began.elapsed().as_secs_f64();
        (self.keep)(&self.progress);
        self.progress
    }
}
