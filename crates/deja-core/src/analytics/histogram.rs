//! Distributions in fixed buckets, so that they can be added up: latencies on a logarithmic scale, similarities on
//! a linear one.

use std::time::Duration;

use deja_wire::Wire;

use crate::embedding::Similarity;

/// Two buckets for each doubling: bucket `i` begins at 16 microseconds times the square root of 2 to the `i`. The
/// first takes all below, the last (from 190 seconds) all above.
const LATENCY_BUCKETS: usize = 48;
/// Buckets of 0.02 over 0..=1.
pub const SIMILARITY_BUCKETS: usize = 50;
/// Buckets of all distributions, and of what is counted of each wire format.
const BUCKETS: usize = SEMANTIC + LATENCY_BUCKETS;

const STREAMS: usize = 2 * LATENCY_BUCKETS + 2 * SIMILARITY_BUCKETS;
const WIRES: usize = STREAMS + LATENCY_BUCKETS;
const SEMANTIC: usize = WIRES + Wire::ALL.len() * WireOutcome::COUNT;
/// As bytes their numbers are one byte each; this many higher ones follow a pair without a count.
const PAGE: u16 = 256;
const _: () = assert!(BUCKETS <= 2 * PAGE as usize);

const FIRST_BOUND_SECONDS: f64 = 16e-6;

/// What is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Time to answer from the cache.
    HitLatency,
    /// Time to answer from the cache by a similar prompt. Older rollups lack it.
    SemanticHitLatency,
    /// Time to answer from the provider.
    MissLatency,
    /// Similarity of prompts that were answered from the cache.
    HitSimilarity,
    /// Similarity of the best entry below the threshold, of misses.
    NearMiss,
    /// Time until a stream began, of hits and misses.
    StreamBegan,
}

/// How an answered request in a wire format is counted. These are few numbers beside the distributions, so they lie with the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireOutcome {
    /// Answered from the cache.
    Hit,
    /// Answered by the provider.
    Miss,
    /// Passed on.
    Passed,
}

impl WireOutcome {
    const COUNT: usize = 3;

    const fn bucket(self, wire: Wire) -> usize {
        WIRES + wire as usize * Self::COUNT + self as usize
    }
}

impl Distribution {
    const fn range(self) -> std::ops::Range<usize> {
        const SIMILARITIES: usize = 2 * LATENCY_BUCKETS;
        match self {
            Self::HitLatency => 0..LATENCY_BUCKETS,
            Self::MissLatency => LATENCY_BUCKETS..SIMILARITIES,
            Self::HitSimilarity => SIMILARITIES..SIMILARITIES + SIMILARITY_BUCKETS,
            Self::NearMiss => SIMILARITIES + SIMILARITY_BUCKETS..STREAMS,
            Self::StreamBegan => STREAMS..WIRES,
            Self::SemanticHitLatency => SEMANTIC..BUCKETS,
        }
    }
}

/// Where latency bucket `bucket` begins; for [`LATENCY_BUCKETS`], where the last one ends.
fn latency_bound(bucket: usize) -> Duration {
    Duration::from_secs_f64(FIRST_BOUND_SECONDS * 2f64.powf(bucket as f64 / 2.0))
}

fn latency_bucket(latency: Duration) -> usize {
    let doublings = (latency.as_secs_f64() / FIRST_BOUND_SECONDS).log2();
    // Zero has minus infinity doublings; the cast takes it, and everything below the first bound, to 0.
    ((doublings * 2.0).floor() as usize).min(LATENCY_BUCKETS - 1)
}

/// The bucket of a similarity, out of [`SIMILARITY_BUCKETS`].
pub(crate) fn similarity_bucket(similarity: Similarity) -> usize {
    // The bucket that begins nearest, unless the similarity lies below its bound. Compared at f32, as a threshold is, so
    // that 0.9 falls where 0.9 begins.
    let nearest = (similarity.get() * SIMILARITY_BUCKETS as f32).round();
    let below = similarity.get() < nearest / SIMILARITY_BUCKETS as f32;
    (nearest as usize - usize::from(below)).min(SIMILARITY_BUCKETS - 1)
}

/// The latency that a share `q` (0..=1) of the counts of [`LATENCY_BUCKETS`] buckets does not exceed, interpolated
/// in its bucket; `None` without counts.
pub fn quantile(counts: &[u64], q: f64) -> Option<Duration> {
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return None;
    }
    let rank = (q.clamp(0.0, 1.0) * all as f64).max(1.0);
    let mut below = 0.0;
    for (bucket, count) in counts.iter().enumerate() {
        let count = *count as f64;
        if count > 0.0 && below + count >= rank {
            let (from, to) = (latency_bound(bucket).as_secs_f64(), latency_bound(bucket + 1).as_secs_f64());
            let inside = (rank - below) / count;
            return Some(Duration::from_secs_f64(from * (to / from).powf(inside)));
        }
        below += count;
    }
    None
}

/// The distributions of some requests, and how many came in each wire format. Sparse: few buckets of few requests are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// By bucket number, each once, in order; no zero counts.
    counts: Vec<(u16, u64)>,
}

impl Histograms {
    /// Counts one latency.
    pub(crate) fn count_latency(&mut self, of: Distribution, latency: Duration) {
        self.bump(of.range().start + latency_bucket(latency), 1);
    }

    /// Counts one similarity.
    pub(crate) fn count_similarity(&mut self, of: Distribution, similarity: Similarity) {
        self.bump(of.range().start + similarity_bucket(similarity), 1);
    }

    /// Counts one request in a wire format.
    pub(crate) fn count_wire(&mut self, wire: Wire, outcome: WireOutcome) {
        self.bump(outcome.bucket(wire), 1);
    }

    /// Requests in a wire format that ended so.
    pub fn of_wire(&self, wire: Wire, outcome: WireOutcome) -> u64 {
        let bucket = outcome.bucket(wire);
        self.buckets().find(|(found, _)| usize::from(*found) == bucket).map_or(0, |(_, count)| count)
    }

    fn bump(&mut self, bucket: usize, by: u64) {
        let bucket = bucket as u16;
        match self.counts.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(by),
            Err(at) => self.counts.insert(at, (bucket, by)),
        }
    }

    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        for (bucket, count) in &other.counts {
            self.bump(usize::from(*bucket), *count);
        }
    }

    /// The counts of one distribution, bucket by bucket, empty ones included.
    pub fn counts(&self, of: Distribution) -> Vec<u64> {
        let range = of.range();
        let mut dense = vec![0; range.len()];
        for (bucket, count) in &self.counts {
            if let Some(place) =
                usize::from(*bucket).checked_sub(range.start).and_then(|at| dense.get_mut(at))
            {
                *place = *count;
            }
        }
        dense
    }

    /// All buckets in use, by number below [`BUCKETS`], in order: what a store keeps.
    pub fn buckets(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// The distributions with these buckets. Unknown numbers are left out.
    pub fn from_buckets(buckets: impl IntoIterator<Item = (u16, u64)>) -> Self {
        let mut histograms = Self::default();
        for (bucket, count) in buckets {
            if usize::from(bucket) < BUCKETS && count > 0 {
                histograms.bump(usize::from(bucket), count);
            }
        }
        histograms
    }

    /// As bytes: for each bucket its number and its count, the latter in 7-bit groups, lowest first (LEB128). A pair of
    /// zeros says that 256 is to be added to the numbers behind it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut bytes, mut first) = (Vec::with_capacity(self.counts.len() * 3), 0);
        for (bucket, count) in &self.counts {
            if *bucket >= first + PAGE {
                bytes.extend([0, 0]);
                first += PAGE;
            }
            bytes.push((bucket - first) as u8);
            let mut left = *count;
            while left >= 0x80 {
                bytes.push(left as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
        }
        bytes
    }

    /// What [`Self::to_bytes`] wrote; `None` if it did not write this.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut buckets, mut first) = (Vec::new(), 0u16);
        let mut bytes = bytes.iter();
        while let Some(bucket) = bytes.next() {
            let (mut count, mut shift) = (0u64, 0);
            loop {
                let byte = *bytes.next()?;
                count |= u64::from(byte & 0x7f).checked_shl(shift)?;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            match count {
                0 => first = first.saturating_add(PAGE),
                _ => buckets.push((first.saturating_add(u16::from(*bucket)), count)),
            }
        }
        Some(Self::from_buckets(buckets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_between_the_bounds_of_their_bucket() {
        for micros in [1u64, 15, 17, 40, 1_000, 12_345, 800_000, 30_000_000, 400_000_000] {
            let latency = Duration::from_micros(micros);
            let bucket = latency_bucket(latency);
            assert!(bucket == 0 || latency_bound(bucket) <= latency, "{micros}");
            assert!(bucket == LATENCY_BUCKETS - 1 || latency < latency_bound(bucket + 1), "{micros}");
        }
        assert_eq!(latency_bucket(Duration::ZERO), 0);
    }

    #[test]
    fn similarities_fall_where_their_bucket_begins() {
        for (similarity, bucket) in [(0.0, 0), (0.86, 43), (0.859, 42), (0.98, 49), (1.0, 49)] {
            assert_eq!(similarity_bucket(Similarity::from_cosine(similarity)), bucket, "{similarity}");
        }
        for bucket in 1..SIMILARITY_BUCKETS {
            let bound = (bucket as f64 / SIMILARITY_BUCKETS as f64) as f32;
            assert_eq!(similarity_bucket(Similarity::from_cosine(bound)), bucket, "{bound}");
            assert_eq!(similarity_bucket(Similarity::from_cosine(bound.next_down())), bucket - 1, "{bound}");
        }
    }

    #[test]
    fn quantiles_are_within_a_bucket_of_the_truth() {
        let mut histograms = Histograms::default();
        for micros in 1..=1000u64 {
            histograms.count_latency(Distribution::HitLatency, Duration::from_micros(micros * 100));
        }
        let counts = histograms.counts(Distribution::HitLatency);
        assert_eq!(quantile(&histograms.counts(Distribution::MissLatency), 0.5), None);
        for (q, millis) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let found = quantile(&counts, q).unwrap().as_secs_f64() * 1e3;
            assert!((found / millis).ln().abs() < 0.35, "{q}: {found}");
        }
    }

    #[test]
    fn counts_of_wires_meet_nobody_elses() {
        let mut histograms = Histograms::default();
        histograms.count_latency(Distribution::StreamBegan, Duration::from_hours(1));
        histograms.count_similarity(Distribution::NearMiss, Similarity::ONE);
        let all = [WireOutcome::Hit, WireOutcome::Miss, WireOutcome::Passed];
        let mut expected = 0;
        for wire in Wire::ALL {
            for what in all {
                expected += 1;
                (0..expected).for_each(|_| histograms.count_wire(wire, what));
            }
        }
        let kept = Histograms::from_bytes(&histograms.to_bytes()).unwrap();
        let found = Wire::ALL.into_iter().flat_map(|wire| all.map(|what| kept.of_wire(wire, what)));
        assert_eq!(found.collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        for of in [Distribution::StreamBegan, Distribution::NearMiss] {
            assert_eq!(kept.counts(of).iter().sum::<u64>(), 1);
        }
    }

    /// Files of before hold numbers below 256 only.
    #[test]
    fn bytes_of_before_are_read() {
        let mut histograms = Histograms::default();
        histograms.count_wire(Wire::Gemini, WireOutcome::Passed);
        assert_eq!(histograms.to_bytes(), [255, 1]);
        histograms.count_latency(Distribution::SemanticHitLatency, Duration::ZERO);
        assert_eq!(histograms.to_bytes(), [255, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn bytes_come_back() {
        let mut histograms = Histograms::default();
        assert_eq!(Histograms::from_bytes(&histograms.to_bytes()), Some(histograms.clone()));
        for (bucket, count) in
            [(195, 1), (0, 127), (7, 128), (96, u64::from(u32::MAX)), (100, u64::MAX), (256, 3), (303, 300)]
        {
            histograms.bump(bucket, count);
        }
        let bytes = histograms.to_bytes();
        assert_eq!(Histograms::from_bytes(&bytes), Some(histograms));
        assert_eq!(Histograms::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(
            Histograms::from_bytes(&[3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
            None
        );
    }
}
