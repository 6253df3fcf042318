//! What each threshold and guard would do with the traffic that a project had.

use super::interval::{Estimate, effective, wilson};
use super::{BANDS, Band, FORBIDDEN, NewSample, Sample, SamplePlace};
use crate::analytics::{Distribution, Rollup, Totals};
use crate::cache::{Judge, Met, PromptHash, Readings};
use crate::embedding::{Similarity, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::project::{Guard, ProjectSettings};

/// Thresholds of the curve, in hundredths.
const THRESHOLDS: std::ops::RangeInclusive<u32> = 75..=99;
/// A setting is advised if its precision is at least this with 97.5 % certainty.
pub const ADVISED_PRECISION: f64 = 0.90;

/// The traffic of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Counts and sums.
    pub totals: Totals,
    /// Queries other than exact hits by the similarity of what came nearest.
    pub bands: [u64; BANDS],
}

impl Traffic {
    /// The sum of these rollups of all the project's requests.
    pub fn of<'a>(rollups: impl IntoIterator<Item = &'a Rollup>) -> Self {
        let mut traffic = Self::default();
        for Rollup { totals, histograms } in rollups {
            traffic.totals.add(totals);
            let (hits, misses) =
                (histograms.counts(Distribution::HitSimilarity), histograms.counts(Distribution::NearMiss));
            for band in Band::all() {
                let count = |counts: &[u64]| counts.get(band.bucket()).copied().unwrap_or(0);
                traffic.bands[band.index()] += count(&hits) + count(&misses);
            }
        }
        // The same prompt has similarity 1.
        traffic.bands[BANDS - 1] = traffic.bands[BANDS - 1].saturating_sub(traffic.totals.exact_hits);
        traffic
    }

    /// Queries that got an answer.
    pub const fn answered(&self) -> u64 {
        self.totals.exact_hits + self.totals.semantic_hits + self.totals.misses
    }

    /// What a hit saves: as much as the hits did on average. Without hits it is what an answer of a provider cost on average: no total tells
    /// the money of misses from that of what was passed on.
    fn price(&self) -> f64 {
        let Totals { saved, spent, misses, passed, .. } = self.totals;
        let (money, of) = match self.totals.hits() {
            0 => (spent, misses + passed),
            hits => (saved, hits),
        };
        money.as_nanos() as f64 / of.max(1) as f64
    }
}

/// A threshold and a guard: they decide whether a stored answer serves another prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The least similarity.
    pub threshold: Threshold,
    /// How strictly the guard compares words.
    pub guard: Guard,
}

impl Setting {
    /// The setting of a project.
    pub fn of(settings: &ProjectSettings) -> Self {
        Self { threshold: settings.threshold(None), guard: settings.guard }
    }

    /// Whether both are the same, but for what calculating with fractions leaves.
    pub fn is(self, other: Self) -> bool {
        self.guard == other.guard && (self.threshold.get() - other.threshold.get()).abs() < 1e-6
    }
}

/// What the guard says of a sample, without its texts: a project has thousands.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// The place of the sample.
    pub place: SamplePlace,
    /// The hash of the prompt that was asked.
    pub asked: PromptHash,
    /// The entry that came nearest.
    pub entry: EntryId,
    /// How similar the two prompts are.
    pub similarity: Similarity,
    /// What became of the entry.
    pub met: Met,
    /// Whether somebody forbade the two prompts to meet.
    pub forbidden: bool,
    /// Whether its entry's answer is right for what was asked, as far as somebody said.
    pub label: Option<bool>,
    /// Whether the guard takes proof only: it is not English, is code, or is long.
    pub proof_only: bool,
    /// The lowest threshold at which the guard refuses it: standard, strict and thorough.
    refused_from: [Option<Threshold>; 3],
}

impl Judged {
    /// Has the guard judge a sample of which this was `said`.
    pub fn of(
        sample: &Sample,
        said: impl FnOnce(PromptHash, EntryId) -> Option<bool>,
        readings: (&Readings, ProjectId),
    ) -> Self {
        let NewSample { asked, entry, similarity, met, reason, .. } = &sample.sampled;
        let refused_from = [Guard::Standard, Guard::Strict, Guard::Thorough].map(|guard| {
            let settings = ProjectSettings { guard, ..ProjectSettings::default() };
            let judge = Judge::new(asked, Threshold::NEAR, &settings, readings);
            judge.objection_from(&sample.prompt, *similarity).map(|(threshold, _)| threshold)
        });
        let hash = PromptHash::of(asked);
        Self {
            place: sample.sampled.place(),
            asked: hash,
            entry: *entry,
            similarity: *similarity,
            met: *met,
            forbidden: reason.as_deref() == Some(FORBIDDEN),
            label: said(hash, *entry),
            proof_only: deja_guard::Prompt::read(asked).proof_only(),
            refused_from,
        }
    }

    /// Whether its entry would have answered.
    pub fn served_by(&self, setting: Setting) -> bool {
        let refused_from = match setting.guard {
            Guard::Off => None,
            Guard::Standard => self.refused_from[0],
            Guard::Strict => self.refused_from[1],
            Guard::Thorough => self.refused_from[2],
        };
        setting.threshold.reached_by(self.similarity)
            && refused_from.is_none_or(|from| setting.threshold.get() < from.get())
    }
}

/// The figures of one setting: what it would have done with the traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The setting.
    pub setting: Setting,
    /// Hits among the queries that were answered, 0 to 1; those by the same prompt too.
    pub hit_rate: f64,
    /// Right ones among the hits by meaning; `None` where nobody has labelled any.
    pub precision: Option<Estimate>,
    /// Dollars saved.
    pub saved: NanoUsd,
}

impl Point {
    /// The figures of this setting, whether it is one of the curve or not.
    pub fn of(setting: Setting, traffic: &Traffic, samples: &[Judged]) -> Self {
        Self::weighed(setting, traffic, samples, &Weights::of(traffic, samples))
    }

    fn weighed(setting: Setting, traffic: &Traffic, samples: &[Judged], weights: &Weights) -> Self {
        let served = weights.served(samples, |judged| judged.served_by(setting));
        let hits = traffic.totals.exact_hits as f64 + served.queries;
        Self {
            setting,
            hit_rate: hits / traffic.answered().max(1) as f64,
            precision: served.precision,
            saved: NanoUsd::from_nanos((hits * traffic.price()) as u64),
        }
    }
}

/// How good a project's hits are, as far as traffic, samples and labels tell.
#[derive(Clone, Debug)]
pub struct Quality {
    /// The traffic.
    pub traffic: Traffic,
    /// Hits among the queries that were answered, as it was.
    pub hit_rate: f64,
    /// Wrong ones among the hits, as it was; `None` where nobody has labelled any.
    pub wrong: Option<Estimate>,
    /// The share of samples that the guard takes proof for only, by traffic.
    pub proof_only: f64,
    /// Queries that came near an entry at similarities of which no sample is left: samples go with their entries. The curve takes them for
    /// misses, because nothing tells what the guard would say of them.
    pub without_samples: u64,
    /// Every threshold of 0.75 to 0.99 with every guard.
    pub curve: Vec<Point>,
}

impl Quality {
    /// Computes the figures of this traffic and its samples.
    pub fn of(traffic: Traffic, samples: &[Judged]) -> Self {
        let weights = Weights::of(&traffic, samples);
        let answered = traffic.answered().max(1) as f64;
        let by_meaning = traffic.totals.semantic_hits as f64;
        let hits = traffic.totals.exact_hits as f64 + by_meaning;
        let was_hit = weights.served(samples, |judged| judged.met == Met::Served);
        let wrong = was_hit.precision.map(|right| right.of_the_rest().within(by_meaning / hits.max(1.0)));
        let curve = settings().map(|setting| Point::weighed(setting, &traffic, samples, &weights)).collect();
        let proof_only = weights.share(samples, |judged| judged.proof_only);
        let sampled = |band: &Band| samples.iter().any(|judged| judged.place.band == *band);
        let without_samples =
            Band::all().filter(|band| !sampled(band)).map(|band| traffic.bands[band.index()]).sum();
        Self { hit_rate: hits / answered, wrong, proof_only, without_samples, curve, traffic }
    }

    /// The point of the curve at this setting, if it is one of the curve's.
    pub fn at(&self, setting: Setting) -> Option<&Point> {
        self.curve.iter().find(|point| point.setting.is(setting))
    }

    /// The setting with the most hits of those that are almost certainly right in [`ADVISED_PRECISION`] of the hits by
    /// meaning. `None` while the labels do not say so of any.
    pub fn advised(&self) -> Option<&Point> {
        let sure = |point: &&Point| point.precision.is_some_and(|right| right.low >= ADVISED_PRECISION);
        // Of equal points `max_by` gives the last: the strictest.
        self.curve.iter().filter(sure).max_by(|a, b| a.hit_rate.total_cmp(&b.hit_rate))
    }
}

fn settings() -> impl Iterator<Item = Setting> {
    THRESHOLDS
        .filter_map(|hundredths| Threshold::new(f64::from(hundredths) / 100.0))
        .flat_map(|threshold| Guard::ALL.into_iter().map(move |guard| Setting { threshold, guard }))
}

/// How much traffic a sample stands for, by band.
struct Weights([f64; BANDS]);

/// What came of serving some of the samples.
struct Served {
    /// Queries that they stand for.
    queries: f64,
    precision: Option<Estimate>,
}

impl Weights {
    fn of(traffic: &Traffic, samples: &[Judged]) -> Self {
        let mut sampled = [0u64; BANDS];
        for judged in samples {
            sampled[judged.place.band.index()] += 1;
        }
        let mut weights = [0.0; BANDS];
        for (weight, (queries, sampled)) in weights.iter_mut().zip(traffic.bands.iter().zip(sampled)) {
            *weight = *queries as f64 / sampled.max(1) as f64;
        }
        Self(weights)
    }

    fn weight(&self, judged: &Judged) -> f64 {
        self.0[judged.place.band.index()]
    }

    fn share(&self, samples: &[Judged], has: impl Fn(&Judged) -> bool) -> f64 {
        let (mut all, mut some) = (0.0, 0.0);
        for judged in samples {
            all += self.weight(judged);
            some += if has(judged) { self.weight(judged) } else { 0.0 };
        }
        if all > 0.0 { some / all } else { 0.0 }
    }

    /// The precision of serving the samples that `is_served` says, by strata: the labelled ones of a stratum speak for
    /// all of it. Of a stratum without labels nothing is known, so that the interval takes both ends.
    fn served(&self, samples: &[Judged], is_served: impl Fn(&Judged) -> bool) -> Served {
        let mut queries = [0.0; STRATA];
        let mut labelled: [Vec<(f64, bool)>; STRATA] = Default::default();
        for judged in samples.iter().filter(|judged| is_served(judged)) {
            let (stratum, weight) = (stratum(judged.place.band), self.weight(judged));
            queries[stratum] += weight;
            labelled[stratum].extend(judged.label.map(|right| (weight, right)));
        }
        let all: f64 = queries.iter().sum();
        let (mut known, mut right, mut scaled) = (0.0, 0.0, Vec::new());
        for (queries, labelled) in queries.into_iter().zip(&labelled) {
            let sum: f64 = labelled.iter().map(|(weight, _)| weight).sum();
            if sum <= 0.0 {
                continue;
            }
            known += queries;
            for (weight, is_right) in labelled {
                let weight = weight * queries / sum;
                right += if *is_right { weight } else { 0.0 };
                scaled.push(weight);
            }
        }
        let labels = scaled.len();
        let precision = (known > 0.0).then(|| {
            let share = right / known;
            let (low, high) = wilson(share, effective(scaled.into_iter()));
            let known = known / all;
            Estimate { share, low: low * known, high: high * known + 1.0 - known, labels }
        });
        Served { queries: all, precision }
    }
}

/// Bands are too narrow for few labels: five groups of them.
const STRATA: usize = 5;

/// From 0.75, 0.80, 0.86, 0.90 and 0.94 on.
const fn stratum(band: Band) -> usize {
    match band.index() {
        0..=2 => 0,
        3..=5 => 1,
        6..=7 => 2,
        8..=9 => 3,
        _ => 4,
    }
}

/// The samples without a label in the order in which labels tell most: each stratum gets labels by its share of the
/// traffic (by D'Hondt's method), and within it those with the smallest numbers, which are random, come first.
/// A pair of prompts comes once.
pub fn to_label<'a>(traffic: &Traffic, samples: &'a [Judged]) -> Vec<&'a Judged> {
    let mut queries = [0u64; STRATA];
    for band in Band::all() {
        queries[stratum(band)] += traffic.bands[band.index()];
    }
    let mut labels = [0u64; STRATA];
    let mut waiting: [Vec<&Judged>; STRATA] = Default::default();
    let mut seen = std::collections::HashSet::new();
    for judged in samples {
        let stratum = stratum(judged.place.band);
        if judged.label.is_some() {
            labels[stratum] += 1;
        } else if !judged.forbidden && seen.insert((judged.asked, judged.entry)) {
            waiting[stratum].push(judged);
        }
    }
    for waiting in &mut waiting {
        waiting.sort_by_key(|judged| std::cmp::Reverse(judged.place.id));
    }
    let mut order = Vec::new();
    loop {
        let worth = |stratum: &usize| (queries[*stratum].max(1)) as f64 / (labels[*stratum] + 1) as f64;
        let next = (0..STRATA).filter(|stratum| !waiting[*stratum].is_empty());
        let Some(stratum) = next.max_by(|a, b| worth(a).total_cmp(&worth(b))) else { return order };
        labels[stratum] += 1;
        order.extend(waiting[stratum].pop());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::analytics::{Outcome, Step, UsageBatch, UsageEvent};
    use crate::clock::Timestamp;
    use crate::id::KeyId;
    use crate::testing;

    fn sample(number: i64, similarity: f32, label: Option<bool>) -> Judged {
        of(number, similarity, label, "How do I enable read receipts?", "How can I enable read receipts?")
    }

    fn of(number: i64, similarity: f32, label: Option<bool>, asked: &str, prompt: &str) -> Judged {
        let (project, similarity) = (ProjectId::from_bytes([1; 16]), Similarity::from_cosine(similarity));
        let entry = EntryId::from_bytes(u128::try_from(number).unwrap().to_be_bytes());
        let sampled = testing::sample(number, project, entry, asked, similarity, Timestamp::default());
        let sample = Sample { sampled, prompt: prompt.into(), model: "m".into(), context: None };
        Judged::of(&sample, |_, _| label, testing::unread())
    }

    fn setting(threshold: f64, guard: Guard) -> Setting {
        Setting { threshold: Threshold::new(threshold).unwrap(), guard }
    }

    fn traffic(of: &[(f32, u64)]) -> Traffic {
        let mut traffic = Traffic::default();
        for (similarity, queries) in of {
            traffic.bands[Band::of(Similarity::from_cosine(*similarity)).unwrap().index()] = *queries;
            traffic.totals.semantic_hits += queries;
        }
        traffic
    }

    #[test]
    fn thirty_labels_of_one_band_are_wilsons_interval() {
        let samples: Vec<_> = (0..40).map(|n| sample(n, 0.9, (n < 30).then_some(n < 27))).collect();
        let quality = Quality::of(traffic(&[(0.9, 400)]), &samples);
        let right = quality.at(setting(0.85, Guard::Off)).unwrap().precision.unwrap();
        let (low, high) = wilson(0.9, 30.0);
        assert!((right.share - 0.9).abs() < 1e-9 && right.labels == 30);
        assert!((right.low - low).abs() < 1e-9 && (right.high - high).abs() < 1e-9);
        let wrong = quality.wrong.unwrap();
        assert!((wrong.share - 0.1).abs() < 1e-9 && (wrong.high - (1.0 - low)).abs() < 1e-9);
    }

    #[test]
    fn without_labels_nothing_is_known_of_precision() {
        let samples: Vec<_> = (0..40).map(|n| sample(n, 0.9, None)).collect();
        let quality = Quality::of(traffic(&[(0.9, 400)]), &samples);
        assert!(quality.curve.iter().all(|point| point.precision.is_none()));
        assert!(quality.wrong.is_none() && quality.advised().is_none());
        let nothing = Quality::of(Traffic::default(), &[]);
        assert!(nothing.curve.iter().all(|point| point.hit_rate == 0.0 && point.precision.is_none()));
        assert!(nothing.proof_only.abs() < 1e-9);
    }

    #[test]
    fn a_label_speaks_for_the_traffic_of_its_stratum() {
        // Nine tenths of the traffic are at 0.96 and right; the labels of both are as many.
        let mut samples: Vec<_> = (0..20).map(|n| sample(n, 0.961, Some(true))).collect();
        samples.extend((20..40).map(|n| sample(n, 0.871, Some(false))));
        let quality = Quality::of(traffic(&[(0.961, 900), (0.871, 100)]), &samples);
        let at = |threshold| quality.at(setting(threshold, Guard::Off)).unwrap();
        let both = at(0.85).precision.unwrap();
        assert!((both.share - 0.9).abs() < 1e-9);
        // Weights of 45 and 5: (20 * 45 + 20 * 5)^2 / (20 * 45^2 + 20 * 5^2) = 24.39 labels.
        let (low, high) = wilson(0.9, 1_000_000.0 / 41_000.0);
        assert!((both.low - low).abs() < 1e-9 && (both.high - high).abs() < 1e-9);
        assert_eq!((at(0.9).precision.unwrap().share, at(0.9).hit_rate), (1.0, 0.9));
        assert_eq!((at(0.97).precision, at(0.97).hit_rate), (None, 0.0));
        // A setting between those of the curve, or beyond.
        for (threshold, hit_rate) in [(0.7, 1.0), (0.865, 1.0), (0.875, 0.9), (0.995, 0.0)] {
            let setting = setting(threshold, Guard::Off);
            assert!(quality.at(setting).is_none());
            let point = Point::of(setting, &quality.traffic, &samples);
            assert!((point.hit_rate - hit_rate).abs() < 1e-9, "{point:?}");
        }
        assert_eq!(Point::of(setting(0.9, Guard::Off), &quality.traffic, &samples), *at(0.9));
    }

    #[test]
    fn of_a_stratum_without_labels_both_ends_are_taken() {
        let mut samples: Vec<_> = (0..30).map(|n| sample(n, 0.961, Some(true))).collect();
        samples.extend((30..40).map(|n| sample(n, 0.871, None)));
        let quality = Quality::of(traffic(&[(0.961, 750), (0.871, 250)]), &samples);
        let right = quality.at(setting(0.85, Guard::Off)).unwrap().precision.unwrap();
        let (low, _) = wilson(1.0, 30.0);
        assert!((right.share - 1.0).abs() < 1e-9);
        assert!((right.low - 0.75 * low).abs() < 1e-9 && (right.high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_guard_changes_who_is_served() {
        let asked = "How do I enable read receipts?";
        let mut samples: Vec<_> = (0..50).map(|n| sample(n, 0.931, Some(true))).collect();
        let wrong = "How do I disable read receipts?";
        samples.extend((50..100).map(|n| of(n, 0.931, Some(false), asked, wrong)));
        let quality = Quality::of(traffic(&[(0.931, 1000)]), &samples);
        let at = |guard| quality.at(setting(0.85, guard)).unwrap();
        assert_eq!((at(Guard::Off).hit_rate, at(Guard::Standard).hit_rate), (1.0, 0.5));
        let right = |guard| at(guard).precision.unwrap().share;
        assert_eq!((right(Guard::Off), right(Guard::Standard)), (0.5, 1.0));
        let advised = quality.advised().unwrap();
        assert_eq!((advised.setting.guard != Guard::Off, advised.hit_rate), (true, 0.5));
    }

    #[test]
    fn what_is_saved_is_what_the_hits_would_have_cost() {
        let samples: Vec<_> = (0..10).map(|n| sample(n, 0.9, None)).collect();
        let mut traffic = traffic(&[(0.9, 100)]);
        traffic.totals = Totals {
            exact_hits: 100,
            semantic_hits: 100,
            misses: 200,
            saved: NanoUsd::from_nanos(4_000),
            spent: NanoUsd::from_nanos(4_000),
            ..Totals::default()
        };
        // What is passed on and what breaks off cost much, and are no queries that could be hits.
        let others =
            Totals { passed: 1_000, errors: 10, spent: NanoUsd::from_nanos(1_000_000), ..traffic.totals };
        for traffic in [traffic.clone(), Traffic { totals: others, ..traffic }] {
            let quality = Quality::of(traffic, &samples);
            let at = |threshold| *quality.at(setting(threshold, Guard::Off)).unwrap();
            assert_eq!((at(0.85).saved, at(0.85).hit_rate), (NanoUsd::from_nanos(4_000), 0.5));
            assert_eq!((at(0.95).saved, at(0.95).hit_rate), (NanoUsd::from_nanos(2_000), 0.25));
            assert_eq!((quality.hit_rate, quality.wrong), (0.5, None));
        }
    }

    #[test]
    fn without_hits_a_hit_would_save_what_an_answer_cost() {
        let samples: Vec<_> = (0..10).map(|n| sample(n, 0.9, None)).collect();
        let mut traffic = traffic(&[(0.9, 100)]);
        let spent = NanoUsd::from_nanos(6_000);
        traffic.totals = Totals { misses: 200, passed: 100, spent, ..Totals::default() };
        let quality = Quality::of(traffic, &samples);
        assert_eq!(quality.at(setting(0.85, Guard::Off)).unwrap().saved, NanoUsd::from_nanos(2_000));
    }

    #[test]
    fn traffic_is_read_from_rollups() {
        let mut batch = UsageBatch::default();
        let key = (ProjectId::from_bytes([1; 16]), KeyId::from_bytes([2; 16]));
        for (outcome, similarity) in [
            (Outcome::ExactHit, Some(1.0)),
            (Outcome::SemanticHit, Some(0.995)),
            (Outcome::SemanticHit, Some(0.861)),
            (Outcome::Miss, Some(0.86)),
            (Outcome::Miss, None),
        ] {
            let similarity = similarity.map(Similarity::from_cosine);
            let bare = UsageEvent::bare(key.0, key.1, outcome, Timestamp::from_secs(10));
            batch.add(&UsageEvent { similarity, latency: Duration::from_millis(1), ..bare });
        }
        let rows = batch.rollups();
        let all = rows.iter().filter(|(key, _)| key.step == Step::Hour && key.slice.dimensions() == 0);
        let traffic = Traffic::of(all.map(|(_, rollup)| rollup));
        assert_eq!(traffic.answered(), 5);
        let mut bands = [0; BANDS];
        (bands[BANDS - 1], bands[6]) = (1, 2);
        assert_eq!(traffic.bands, bands);
    }

    #[test]
    fn labels_are_asked_for_where_the_traffic_is() {
        let mut samples: Vec<_> = (0..10).map(|n| sample(n, 0.961, None)).collect();
        samples.extend((10..20).map(|n| sample(n, 0.871, None)));
        samples.push(sample(20, 0.76, Some(true)));
        let mut forbidden = sample(21, 0.76, None);
        forbidden.forbidden = true;
        samples.push(forbidden);
        let order = to_label(&traffic(&[(0.961, 200), (0.871, 100)]), &samples);
        let numbers: Vec<i64> = order.iter().map(|judged| judged.place.id.get()).collect();
        assert_eq!(numbers.len(), 20);
        let above = numbers[..6].iter().filter(|number| **number < 10).count();
        assert_eq!((above, numbers[0]), (4, 0), "{numbers:?}");
        // A pair of prompts that was asked twice is labelled once.
        let mut twice = vec![sample(1, 0.9, None), sample(2, 0.9, None)];
        twice[1].entry = twice[0].entry;
        assert_eq!(to_label(&traffic(&[(0.9, 2)]), &twice).len(), 1);
    }
}
