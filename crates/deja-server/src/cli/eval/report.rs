//! The figures as a table and as JSON.

use std::collections::BTreeMap;
use std::io::Write;

use deja_core::embedding::Threshold;
use deja_core::project::Guard;
use serde::Serialize;

use super::measure::{Compared, Counts, Point, average_precision, curve, hits_at, share};
use crate::cli::print;

/// Everything that was measured.
#[derive(Serialize)]
pub(super) struct Report {
    embedder: String,
    pairs: usize,
    right: usize,
    wrong: usize,
    /// Pairs with a text longer than the embedder's window: never served.
    too_long: usize,
    /// Milliseconds to embed a text, all threads at work.
    embed_ms: f64,
    /// Microseconds to read a candidate's prompt and to judge it.
    judge_us: f64,
    pub(super) rows: Vec<Row>,
    pub(super) rankings: Vec<Ranking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<KindRow>,
}

/// One threshold with one guard.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) threshold: f64,
    pub(super) guard: &'static str,
    /// Pairs served, and the right ones of them.
    served: usize,
    served_right: usize,
    /// Right ones of those served; `None` where nothing is served.
    pub(super) precision: Option<f64>,
    /// Served ones of the right pairs.
    recall: Option<f64>,
    /// Of the right pairs that reach the threshold, those that the guard refuses.
    lost: Option<f64>,
    /// Of the wrong pairs that reach the threshold, those that the guard refuses.
    cut: Option<f64>,
}

/// All thresholds with one guard.
#[derive(Serialize)]
pub(super) struct Ranking {
    pub(super) guard: &'static str,
    average_precision: Option<f64>,
    /// Right pairs served at the threshold where 1 % of the wrong ones is.
    hits_at_1_percent_wrong: Option<f64>,
    #[serde(skip)]
    pub(super) curve: Vec<Point>,
}

/// One kind of pairs at one threshold with one guard.
#[derive(Serialize)]
struct KindRow {
    kind: String,
    threshold: f64,
    guard: &'static str,
    /// Pairs that reach the threshold, and those that are served.
    near: Labelled,
    served: Labelled,
}

#[derive(Serialize)]
struct Labelled {
    right: usize,
    wrong: usize,
}

impl From<Counts> for Labelled {
    fn from(Counts { right, wrong }: Counts) -> Self {
        Self { right, wrong }
    }
}

/// What was measured beside the pairs.
pub(super) struct Taken {
    pub(super) embedder: String,
    pub(super) embed_ms: f64,
    pub(super) judge_us: f64,
}

impl Report {
    /// The figures of `pairs`, each with its kind, for each threshold and guard.
    pub(super) fn of(
        pairs: &[Compared],
        kinds: Option<&[String]>,
        thresholds: &[Threshold],
        guards: &[Guard],
        taken: Taken,
    ) -> Self {
        let all = Counts::of(pairs.iter());
        let combinations = || thresholds.iter().flat_map(|t| guards.iter().map(move |g| (*t, *g)));
        let rows = combinations().map(|(threshold, guard)| row(pairs, threshold, guard, all)).collect();
        let rankings = guards.iter().map(|guard| {
            let curve = curve(pairs.iter().map(|pair| (pair.rank(*guard), pair.right)).collect());
            Ranking {
                guard: guard.as_str(),
                average_precision: average_precision(&curve),
                hits_at_1_percent_wrong: hits_at(&curve, 0.01),
                curve,
            }
        });
        let mut by_kind: BTreeMap<&str, Vec<&Compared>> = BTreeMap::new();
        for (kind, pair) in kinds.unwrap_or_default().iter().zip(pairs) {
            by_kind.entry(kind).or_default().push(pair);
        }
        let kinds = combinations().flat_map(|(threshold, guard)| {
            by_kind.iter().map(move |(kind, pairs)| KindRow {
                kind: (*kind).to_owned(),
                threshold: threshold.get(),
                guard: guard.as_str(),
                near: served(pairs.iter().copied(), threshold, Guard::Off).into(),
                served: served(pairs.iter().copied(), threshold, guard).into(),
            })
        });
        Self {
            embedder: taken.embedder,
            pairs: pairs.len(),
            right: all.right,
            wrong: all.wrong,
            too_long: pairs.iter().filter(|pair| pair.similarity.is_none()).count(),
            embed_ms: taken.embed_ms,
            judge_us: taken.judge_us,
            rows,
            rankings: rankings.collect(),
            kinds: kinds.collect(),
        }
    }

    /// Writes it for people.
    pub(super) fn print(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        writeln!(
            out,
            "{} pairs, {} right and {} wrong; embedder {}; {:.2} ms a text, {:.0} us a judgement",
            self.pairs, self.right, self.wrong, self.embedder, self.embed_ms, self.judge_us
        )?;
        if self.too_long > 0 {
            writeln!(out, "{} of them are longer than the embedder reads: never served", self.too_long)?;
        }
        writeln!(out)?;
        let head = ["THRESHOLD", "GUARD", "SERVED", "PRECISION", "RECALL", "RIGHT LOST", "WRONG CUT"];
        let rows = self.rows.iter().map(|row| {
            [
                digits(row.threshold),
                row.guard.to_owned(),
                row.served.to_string(),
                print::percent(row.precision),
                print::percent(row.recall),
                print::percent(row.lost),
                print::percent(row.cut),
            ]
        });
        print::table(head, &[0, 2, 3, 4, 5, 6], rows, out)?;
        writeln!(out)?;
        let head = ["ALL THRESHOLDS", "AVERAGE PRECISION", "HITS AT 1 % WRONG"];
        let rows = self.rankings.iter().map(|ranking| {
            [
                ranking.guard.to_owned(),
                ranking.average_precision.map_or_else(|| "-".into(), |value| format!("{value:.3}")),
                print::percent(ranking.hits_at_1_percent_wrong),
            ]
        });
        print::table(head, &[1, 2], rows, out)?;
        if self.kinds.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let head = ["KIND", "THRESHOLD", "GUARD", "RIGHT SERVED", "WRONG SERVED"];
        let part = |served: usize, near: usize| {
            if near == 0 { "-".to_owned() } else { format!("{served} of {near}") }
        };
        let rows = self.kinds.iter().map(|row| {
            [
                print::clean(&row.kind),
                digits(row.threshold),
                row.guard.to_owned(),
                part(row.served.right, row.near.right),
                part(row.served.wrong, row.near.wrong),
            ]
        });
        print::table(head, &[1, 3, 4], rows, out)
    }
}

/// A threshold with all of its digits, and at least two behind the point.
pub(super) fn digits(threshold: f64) -> String {
    let (all, two) = (threshold.to_string(), format!("{threshold:.2}"));
    if all.len() > two.len() { all } else { two }
}

fn served<'a>(pairs: impl Iterator<Item = &'a Compared>, threshold: Threshold, guard: Guard) -> Counts {
    Counts::of(pairs.filter(|pair| pair.served(threshold, guard)))
}

fn row(pairs: &[Compared], threshold: Threshold, guard: Guard, all: Counts) -> Row {
    let near = served(pairs.iter(), threshold, Guard::Off);
    let served = served(pairs.iter(), threshold, guard);
    Row {
        threshold: threshold.get(),
        guard: guard.as_str(),
        served: served.all(),
        served_right: served.right,
        precision: share(served.right, served.all()),
        recall: share(served.right, all.right),
        lost: share(near.right - served.right, near.right),
        cut: share(near.wrong - served.wrong, near.wrong),
    }
}
