//! The charts of Analytics, from the rollups of their bars.

use deja_core::analytics::{Distribution, Rollup, SIMILARITY_BUCKETS};
use deja_core::embedding::Threshold;

use super::figures::{Latency, latency, plain, streamed};
use crate::console::chart::{Chart, Kind, Label, Series, Unit};
use crate::console::range::Span;

/// A series: its name, its colour, and the value of a bar.
type Sum = (&'static str, u8, fn(&Rollup) -> f64);

const NONE: &str = "Nothing in this range.";

/// All charts, in the order of the page.
pub(super) fn charts(span: &Span, bars: &[Rollup], all: &Rollup, threshold: Threshold) -> Vec<Chart> {
    let bars = Bars { labels: span.labels(), bars };
    let mut charts = bars.answered();
    charts.extend([
        bars.latency("exact-latency", "Latency of exact hits", Latency::Exact),
        bars.latency("semantic-latency", "Latency of hits by meaning", Latency::Semantic),
        bars.latency("miss-latency", "Latency of misses", Latency::Miss),
        bars.stack(
            "streams",
            "Streams and plain answers",
            Unit::Count,
            &[("streams", 1, |bar| streamed(bar) as f64), ("plain answers", 3, |bar| plain(bar) as f64)],
        ),
        bars.latency("first-byte", "Time to first byte of streams", Latency::FirstByte),
        bars.stack(
            "errors",
            "Errors and refusals",
            Unit::Count,
            &[
                ("errors", 4, |bar| bar.totals.errors as f64),
                ("refused", 3, |bar| bar.totals.refused as f64),
                ("over the limit (429)", 1, |bar| bar.totals.rate_limited as f64),
            ],
        ),
        similarities(all, threshold),
    ]);
    charts
}

/// What charts over time are drawn of.
struct Bars<'a> {
    labels: Vec<Label>,
    bars: &'a [Rollup],
}

impl Bars<'_> {
    /// What was answered, how, and at what cost.
    fn answered(&self) -> Vec<Chart> {
        let hit_rate = self.bars.iter().map(|bar| bar.totals.hit_rate());
        vec![
            self.stack(
                "requests",
                "Answered requests",
                Unit::Count,
                &[
                    ("exact hits", 1, |bar| bar.totals.exact_hits as f64),
                    ("hits by meaning", 2, |bar| bar.totals.semantic_hits as f64),
                    ("misses", 3, |bar| bar.totals.misses as f64),
                ],
            ),
            self.chart(
                "hit-rate",
                "Hit rate",
                Kind::Lines,
                Unit::Percent,
                vec![Series::gaps("hits per answered request", 1, hit_rate)],
            ),
            self.stack(
                "dollars",
                "Dollars",
                Unit::Dollars,
                &[
                    ("saved", 2, |bar| bar.totals.saved.as_dollars()),
                    ("spent", 3, |bar| bar.totals.spent.as_dollars()),
                ],
            ),
            self.stack(
                "tokens",
                "Tokens",
                Unit::Count,
                &[
                    ("saved", 2, |bar| {
                        bar.totals.saved_input_tokens.saturating_add(bar.totals.saved_output_tokens) as f64
                    }),
                    ("bought, in", 3, |bar| bar.totals.input_tokens as f64),
                    ("bought, out", 1, |bar| bar.totals.output_tokens as f64),
                ],
            ),
        ]
    }

    fn stack(&self, id: &'static str, title: &'static str, unit: Unit, sums: &[Sum]) -> Chart {
        let series = |&(name, colour, of): &Sum| Series::new(name, colour, self.bars.iter().map(of));
        self.chart(id, title, Kind::Stack, unit, sums.iter().map(series).collect())
    }

    fn latency(&self, id: &'static str, title: &'static str, of: Latency) -> Chart {
        let quantile = |(name, colour, q)| {
            Series::gaps(name, colour, self.bars.iter().map(move |bar| latency(bar, of, q)))
        };
        let series = [("p50", 1, 0.5), ("p95", 2, 0.95), ("p99", 4, 0.99)].map(quantile);
        self.chart(id, title, Kind::Lines, Unit::Millis, series.into())
    }

    fn chart(
        &self,
        id: &'static str,
        title: &'static str,
        kind: Kind,
        unit: Unit,
        series: Vec<Series>,
    ) -> Chart {
        let labels = self.labels.clone();
        Chart { id, title, by: "From (UTC)", timed: true, kind, unit, labels, series, mark: None, none: NONE }
    }
}

/// How similar the prompts of hits were, and how near misses came. The line is the project's threshold.
fn similarities(all: &Rollup, threshold: Threshold) -> Chart {
    let counts = |of| all.histograms.counts(of).into_iter().map(|count| count as f64).collect::<Vec<_>>();
    let bound = |bucket: usize| bucket as f64 / SIMILARITY_BUCKETS as f64;
    Chart {
        id: "similarity",
        title: "Similarity",
        by: "From",
        timed: false,
        kind: Kind::Stack,
        unit: Unit::Count,
        labels: (0..SIMILARITY_BUCKETS).map(|bucket| Label::plain(format!("{:.2}", bound(bucket)))).collect(),
        series: vec![
            Series::new("hits", 2, counts(Distribution::HitSimilarity).into_iter()),
            Series::new("near misses", 3, counts(Distribution::NearMiss).into_iter()),
        ],
        mark: Some((threshold.get(), format!("default threshold, {}", threshold.get()))),
        none: NONE,
    }
}
