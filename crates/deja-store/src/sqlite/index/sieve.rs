//! What a search leaves out by sketches alone: how far a sketch may be from a probe, word by word.
//!
//! Rotated, a vector at cosine c to the probe q is c q + s w with s² = 1 - c², where w is of length 1, at a right
//! angle to q and otherwise of any direction. So coordinate i of w is about normal with variance
//! (1 - q_i²) / (D - 1), and the sign of coordinate i differs from the probe's with a probability p_i that
//! falls fast with |q_i|. A sign weighs the more, the less likely it is to differ: v_i of 0 to 7, about
//! proportional to |q_i|. The distance is the sum of v_i over the signs that differ.
//!
//! The Chernoff bound of that sum, given the p_i, is the radius: for every tilt t > 0 the sum exceeds
//! (L + sum ln(1 + p_i (e^(t v_i) - 1))) / t with a probability of at most e^-L. It holds after each word, so
//! most sketches are left out by their first word and the others are never read. docs/adr/0064-sieve.md has
//! the derivation.

use std::sync::LazyLock;

use super::kernels;
use super::sift::{self, PLANES, Tables, View, Word};
use super::sketch::signs;

/// A pair exactly at the threshold is left out with at most this probability over all words, about 1 in 1.2
/// million; pairs above the threshold are far less likely to be. As a natural logarithm.
const LOG_MISS: f64 = 14.0;
/// Weights are 0 to this.
const HEAVIEST: usize = (1 << PLANES) - 1;
/// The weight of a coordinate of the size that coordinates have in the mean square.
const SCALE: f32 = 3.0;
/// Tilts to choose from: each is this much of the one before.
const TILT_STEP: f64 = 0.85;
const LARGEST_TILT: f64 = 2.0;
const TILTS: i32 = 30;
/// The radius is made anew when the similarity has grown by this much: it takes as long as a thousand sketches.
const WORTHWHILE: f64 = 1.0 / 64.0;

/// What one probe leaves out.
pub(super) struct Sieve {
    words: Box<[Word]>,
    tables: Tables,
    coordinates: Box<[Coordinate]>,
    similarity: f64,
}

/// A coordinate of the probe.
struct Coordinate {
    /// Its size over the standard deviation of the same coordinate of `w`.
    size: f32,
    weight: u8,
}

impl Sieve {
    /// For a probe after the rotation, of any length but zero.
    pub(super) fn new(probe: &[f32], similarity: f64) -> Self {
        let dimension = probe.len() as f32;
        let squared = probe.iter().map(|value| value * value).sum::<f32>().max(f32::MIN_POSITIVE);
        let coordinate = |value: &f32| {
            let share = (value * value / squared).min(1.0);
            let size = (share * (dimension - 1.0) / (1.0 - share).max(f32::EPSILON)).sqrt();
            let weight = (SCALE * (share * dimension).sqrt() + 0.5).min(HEAVIEST as f32) as u8;
            Coordinate { size, weight }
        };
        let coordinates: Box<[_]> = probe.iter().map(coordinate).collect();
        let word = |(values, coordinates): (&[f32], &[Coordinate])| {
            let mut planes = [0; PLANES];
            for (bit, coordinate) in coordinates.iter().enumerate() {
                for (plane, mask) in planes.iter_mut().enumerate() {
                    *mask |= u64::from(coordinate.weight >> plane & 1) << bit;
                }
            }
            Word { signs: signs(values), planes, radius: 0 }
        };
        let words: Box<[_]> = probe.chunks(64).zip(coordinates.chunks(64)).map(word).collect();
        let tables = Tables::new(kernels::level(), &words);
        let mut sieve = Self { words, tables, coordinates, similarity };
        sieve.set_radii(LOG_MISS);
        sieve
    }

    /// Words of a sketch.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// Appends the places of the sketches that pass to `found`. `ahead` will be asked next.
    pub(super) fn within(&self, sketches: View<'_>, ahead: Option<View<'_>>, found: &mut Vec<u16>) {
        sift::within(&self.tables, sketches, &self.words, ahead, found);
    }

    /// Leaves out what is less similar than this, if that is worth the work.
    pub(super) fn tighten(&mut self, similarity: f64) {
        if similarity >= self.similarity + WORTHWHILE {
            self.similarity = similarity;
            self.set_radii(LOG_MISS);
        }
    }

    /// Whether few sketches of vectors that have nothing to do with the probe pass. Theirs are at half of all
    /// weights.
    pub(super) fn leaves_much_out(&self) -> bool {
        let weights: u64 = self.coordinates.iter().map(|coordinate| u64::from(coordinate.weight)).sum();
        self.words.last().is_some_and(|word| word.radius * 16 <= weights * 7)
    }

    fn set_radii(&mut self, log_miss: f64) {
        // Rounding turns a vector by up to 2^-11: at a cosine of 1 signs may differ too.
        let cosine = self.similarity.min(1.0 - 1.0 / 256.0);
        let pull = (cosine / (1.0 - cosine * cosine).sqrt()) as f32;
        let log_miss = log_miss + (self.words.len() as f64).ln();
        let (mut weights, mut tilt) = (Weights::default(), 0);
        for (word, coordinates) in self.words.iter_mut().zip(self.coordinates.chunks(64)) {
            for coordinate in coordinates {
                weights.add(coordinate.weight, TAIL.beyond(pull * coordinate.size));
            }
            word.radius = weights.radius(log_miss, &mut tilt);
        }
    }
}

/// By weight: how many coordinates have it, and the sum of the probabilities that their signs differ.
#[derive(Default)]
struct Weights([(f64, f64); HEAVIEST + 1]);

impl Weights {
    fn add(&mut self, weight: u8, differs: f32) {
        let (count, sum) = &mut self.0[usize::from(weight)];
        *count += 1.0;
        *sum += f64::from(differs);
    }

    /// What the distance exceeds with a probability of at most e^-log_miss. The best tilt falls as words are
    /// added, so the search goes on from that of the word before; every tilt gives a radius that holds.
    fn radius(&self, log_miss: f64, tilt: &mut i32) -> u64 {
        let mut radius = self.bound(log_miss, *tilt);
        while *tilt < TILTS {
            let next = self.bound(log_miss, *tilt + 1);
            if next >= radius {
                break;
            }
            (radius, *tilt) = (next, *tilt + 1);
        }
        radius as u64
    }

    /// Coordinates of the same weight count with their mean: the logarithm is concave, so the bound only grows.
    fn bound(&self, log_miss: f64, tilt: i32) -> f64 {
        let tilt = LARGEST_TILT * TILT_STEP.powi(tilt);
        let growth = tilt.exp();
        let (mut power, mut sum) = (1.0, log_miss);
        for (count, differ) in &self.0[1..] {
            power *= growth;
            if *count > 0.0 {
                sum += count * (differ / count * (power - 1.0)).ln_1p();
            }
        }
        sum / tilt
    }
}

/// The upper tail of the normal distribution. Between the points of the table it is at most what this gives,
/// since it is convex; beyond the last it is less.
struct Tail(Vec<f32>);

static TAIL: LazyLock<Tail> = LazyLock::new(Tail::new);

impl Tail {
    const END: f64 = 6.0;
    const STEPS: usize = 384;

    fn new() -> Self {
        let step = Self::END / Self::STEPS as f64;
        let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
        // Beyond 6 standard deviations.
        let mut tail = 9.87e-10;
        let mut points = vec![tail as f32];
        for at in (0..Self::STEPS).rev() {
            let (low, high) = (at as f64 * step, (at + 1) as f64 * step);
            tail += (density(low) + 4.0 * density(f64::midpoint(low, high)) + density(high)) * step / 6.0;
            points.push(tail as f32);
        }
        points.reverse();
        Self(points)
    }

    /// The probability that a normal variable exceeds `deviations`, which is not negative.
    fn beyond(&self, deviations: f32) -> f32 {
        let at = deviations * (Self::STEPS as f64 / Self::END) as f32;
        let below = at.min(Self::STEPS as f32) as usize;
        match self.0.get(below..below + 2) {
            Some(&[low, high]) => low + (high - low) * (at - below as f32),
            _ => self.0[Self::STEPS],
        }
    }
}

#[cfg(test)]
mod tests {
    use deja_core::random::split_mix;

    use super::super::sketch::Sketcher;
    use super::*;

    const COSINES: [f64; 5] = [0.5, 0.75, 0.85, 0.95, 0.999];

    fn unit(values: Vec<f64>) -> Vec<f64> {
        let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        values.into_iter().map(|v| v / norm).collect()
    }

    /// `base` turned by the angle of `cosine` towards `other`.
    fn turned(base: &[f64], other: &[f64], cosine: f64) -> Vec<f32> {
        let along: f64 = base.iter().zip(other).map(|(a, b)| a * b).sum();
        let across = unit(base.iter().zip(other).map(|(a, b)| b - along * a).collect());
        let sine = (1.0 - cosine * cosine).sqrt();
        base.iter().zip(&across).map(|(a, b)| (cosine * a + sine * b) as f32).collect()
    }

    fn passes(sieve: &Sieve, sketch: &[u64]) -> bool {
        let mut sum = 0;
        sieve.words.iter().zip(sketch).all(|(word, stored)| {
            sum += word.distance(*stored);
            sum <= word.radius
        })
    }

    /// Pairs on all of which sign sketches without a rotation break down: a probe of some kind, and what it is
    /// turned towards.
    fn pair(kind: usize, trial: usize, dimension: usize, random: &mut u64) -> (Vec<f64>, Vec<f64>) {
        let mut gauss =
            move || (0..12).map(|_| (split_mix(random) >> 11) as f64 / 2f64.powi(53)).sum::<f64>() - 6.0;
        let mut draw = |i: usize| match kind {
            0 => gauss(),
            // One, two or few components that are not zero.
            1 => f64::from(u8::from(i == trial % dimension)),
            2 => f64::from(u8::from((i + trial).is_multiple_of(dimension / 2))),
            3 if i % 37 == trial % 37 => gauss(),
            3 => 0.0,
            // All positive; nearly all equal.
            4 => gauss().abs(),
            _ => 1.0 + 0.01 * gauss(),
        };
        let base = unit((0..dimension).map(&mut draw).collect());
        // Towards a neighbouring component, the hardest case for sparse vectors, or anywhere.
        let mut other = vec![0.0; dimension];
        if trial.is_multiple_of(2) {
            other[(trial + 1) % dimension] = 1.0;
            other[(trial + 5) % dimension] = 0.5;
        } else {
            other = (0..dimension).map(|i| ((i * 7919 + trial * 31) % 101) as f64 - 50.0).collect();
        }
        (base, unit(other))
    }

    #[test]
    fn no_kind_of_vector_is_left_out() {
        let mut random = 7;
        for dimension in [100usize, 384, 768, 1536] {
            let sketcher = Sketcher::new(dimension);
            for (kind, trial) in (0..6).flat_map(|kind| (0..300).map(move |trial| (kind, trial))) {
                let (base, other) = pair(kind, trial, dimension, &mut random);
                let probe: Vec<f32> = base.iter().map(|v| *v as f32).collect();
                for cosine in COSINES {
                    let Some(sieve) = sketcher.sieve(&probe, cosine) else { continue };
                    let near = sketcher.sketch(&turned(&base, &other, cosine));
                    assert!(passes(&sieve, &near), "kind {kind} at {dimension}, {cosine}, trial {trial}");
                }
            }
        }
    }

    /// With the bound at 1 in 200, where what it promises can be counted.
    #[test]
    fn pairs_at_the_threshold_are_left_out_as_seldom_as_promised() {
        const TRIALS: usize = 2_000;
        let mut random = 11;
        let sketcher = Sketcher::new(384);
        for (kind, cosine) in (0..6).flat_map(|kind| COSINES.map(|cosine| (kind, cosine))) {
            let mut left_out = 0;
            for trial in 0..TRIALS {
                let (base, other) = pair(kind, trial, 384, &mut random);
                let probe: Vec<f32> = base.iter().map(|v| *v as f32).collect();
                let mut sieve = Sieve::new(&sketcher.rotate(&probe), cosine);
                sieve.set_radii(200_f64.ln());
                let near = sketcher.sketch(&turned(&base, &other, cosine));
                left_out += usize::from(!passes(&sieve, &near));
            }
            assert!(left_out <= TRIALS / 200, "kind {kind} at {cosine}: {left_out} of {TRIALS}");
        }
    }

    #[test]
    fn the_nearer_the_smaller() {
        let sketcher = Sketcher::new(384);
        let mut random = 13;
        let (probe, _) = pair(0, 0, 384, &mut random);
        let probe: Vec<f32> = probe.iter().map(|v| *v as f32).collect();
        let radii = |sieve: &Sieve| sieve.words.iter().map(|word| word.radius).collect::<Vec<_>>();
        let mut sieve = sketcher.sieve(&probe, 0.75).unwrap();
        let wide = radii(&sieve);
        assert!(wide.is_sorted());
        sieve.tighten(0.75 + WORTHWHILE / 2.0);
        assert_eq!(radii(&sieve), wide, "not worth the work");
        sieve.tighten(0.95);
        assert!(wide.iter().zip(radii(&sieve)).all(|(wide, narrow)| *wide > narrow));
        assert!(sketcher.sieve(&probe, 0.0).is_none() && sketcher.helps(0.45));
        // The first word leaves out nearly all vectors that have nothing to do with the probe.
        let sieve = sketcher.sieve(&probe, 0.85).unwrap();
        let first = &sieve.words[0];
        let passed = (0..10_000).filter(|_| first.distance(split_mix(&mut random)) <= first.radius).count();
        assert!(passed < 200, "{passed} of 10000");
    }

    #[test]
    fn the_tail_is_that_of_the_normal_distribution() {
        // Abramowitz and Stegun, table 26.1.
        for (deviations, tail) in [(0.0, 0.5), (1.0, 0.158_655), (1.96, 0.024_998), (3.0, 0.001_349_9)] {
            assert!((TAIL.beyond(deviations) / tail - 1.0).abs() < 1e-3, "{deviations}");
        }
        assert!(TAIL.beyond(5.99) >= 9.8e-10 && TAIL.beyond(100.0) >= 9.8e-10);
        assert!(TAIL.beyond(f32::INFINITY) >= 9.8e-10);
    }
}
