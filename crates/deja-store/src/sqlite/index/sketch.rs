//! One-bit sketches: the signs of a vector after a random rotation, and how far apart two may be.
//!
//! Under a random rotation each sign of two vectors at angle t differs with probability t/pi, whatever the
//! vectors are (Charikar 2002). So the Hamming distance of two sketches of D bits is close to binomial, and
//! its tail gives the radius that a threshold needs. The rotation matters: without it a vector with few
//! non-zero components has few signs that mean anything. It is built from three rounds of random signs and
//! Hadamard transforms (Andoni et al. 2015), with a shuffle between them, because D need not be a power of two.

use std::f64::consts::PI;

/// A pair exactly at the threshold falls outside its radius with at most this probability, about 1 in 1.2
/// million; pairs above the threshold are far less likely to. As a natural logarithm.
const LOG_MISS: f64 = 14.0;
/// Thresholds are looked up in steps of this, rounded down, which makes the radius larger.
const STEPS: usize = 256;
const ROUNDS: usize = 3;

/// Makes the sketches of vectors of one dimension.
pub(super) struct Sketcher {
    dimension: usize,
    /// The dimension, rounded up to whole words.
    bits: usize,
    /// Hadamard transforms run over blocks of this length, the largest power of two that divides `bits`.
    block: usize,
    signs: [Vec<f32>; ROUNDS],
    shuffle: Vec<u32>,
    /// Radius by threshold; `None` where it is too wide to leave much out.
    radii: Vec<Option<u32>>,
}

impl Sketcher {
    pub(super) fn new(dimension: usize) -> Self {
        let bits = dimension.next_multiple_of(64).max(64);
        // Any seed serves: sketches never leave the process.
        let mut state = 0x6465_6a61_0000_0000 ^ dimension as u64;
        let signs = [(); ROUNDS].map(|()| {
            (0..bits).map(|_| if split_mix(&mut state) & 1 == 0 { 1.0 } else { -1.0 }).collect::<Vec<f32>>()
        });
        let mut shuffle: Vec<u32> = (0..bits as u32).collect();
        for i in (1..bits).rev() {
            shuffle.swap(i, (split_mix(&mut state) % (i as u64 + 1)) as usize);
        }
        let block = 1 << bits.trailing_zeros();
        let radii = (0..STEPS).map(|step| radius_for(bits, step as f64 / STEPS as f64)).collect();
        Self { dimension, bits, block, signs, shuffle, radii }
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Words of a sketch.
    pub(super) fn words(&self) -> usize {
        self.bits / 64
    }

    /// The largest distance at which a vector of this similarity is looked at; `None` if sketches do not help.
    pub(super) fn radius(&self, similarity: f64) -> Option<u32> {
        let step = (similarity * STEPS as f64) as usize;
        self.radii[step.min(STEPS - 1)]
    }

    /// The sketch of `vector`. A zero after the rotation counts as positive.
    pub(super) fn sketch(&self, vector: &[f32]) -> Box<[u64]> {
        let mut current = vec![0.0f32; self.bits];
        let mut next = vec![0.0f32; self.bits];
        for (value, given) in current.iter_mut().zip(vector) {
            *value = *given;
        }
        for (round, signs) in self.signs.iter().enumerate() {
            if round > 0 {
                for (value, from) in next.iter_mut().zip(&self.shuffle) {
                    *value = current[*from as usize];
                }
                std::mem::swap(&mut current, &mut next);
            }
            for (value, sign) in current.iter_mut().zip(signs) {
                *value *= sign;
            }
            for block in current.chunks_exact_mut(self.block) {
                hadamard(block);
            }
        }
        current
            .chunks_exact(64)
            .map(|chunk| {
                chunk.iter().enumerate().fold(0, |word, (bit, value)| word | (u64::from(*value < 0.0) << bit))
            })
            .collect()
    }
}

/// The fast Walsh-Hadamard transform, in place and not scaled: only signs are wanted.
fn hadamard(values: &mut [f32]) {
    // Three levels at once while the pairs lie within eight values, then wide loops that vectorise.
    for group in values.chunks_exact_mut(8) {
        let a = [group[0] + group[1], group[0] - group[1], group[2] + group[3], group[2] - group[3]];
        let b = [group[4] + group[5], group[4] - group[5], group[6] + group[7], group[6] - group[7]];
        let c = [a[0] + a[2], a[1] + a[3], a[0] - a[2], a[1] - a[3]];
        let d = [b[0] + b[2], b[1] + b[3], b[0] - b[2], b[1] - b[3]];
        for i in 0..4 {
            group[i] = c[i] + d[i];
            group[i + 4] = c[i] - d[i];
        }
    }
    let mut half = 8;
    while half < values.len() {
        for pair in values.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// The smallest distance that a pair of this similarity exceeds with probability at most e^-LOG_MISS, by the
/// Chernoff bound for `bits` independent signs: exp(-bits * KL(distance/bits || angle/pi)).
fn radius_for(bits: usize, similarity: f64) -> Option<u32> {
    let differs = similarity.clamp(-1.0, 1.0).acos() / PI;
    let bits_f = bits as f64;
    // Random pairs differ in half of the bits: a radius near that leaves nothing out.
    let useful = bits * 7 / 16;
    let first = (bits_f * differs).ceil() as usize;
    (first..=useful)
        .find(|distance| bits_f * divergence(*distance as f64 / bits_f, differs) >= LOG_MISS)
        .map(|distance| distance as u32)
}

/// Kullback-Leibler divergence of two coins.
fn divergence(a: f64, b: f64) -> f64 {
    let term = |x: f64, y: f64| if x <= 0.0 { 0.0 } else { x * (x / y).ln() };
    term(a, b) + term(1.0 - a, 1.0 - b)
}

/// The SplitMix64 generator (Steele et al. 2014).
pub(super) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &[u64], b: &[u64]) -> u32 {
        a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
    }

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

    #[test]
    fn radii_shrink_as_similarity_grows() {
        let sketcher = Sketcher::new(384);
        let radius = |similarity| sketcher.radius(similarity).unwrap();
        assert!(radius(0.75) > radius(0.85) && radius(0.85) > radius(0.99));
        // The largest distances ever seen between real sentences (384 bits) must lie inside.
        for (similarity, seen) in [(0.75, 109), (0.80, 97), (0.85, 85), (0.90, 73)] {
            assert!(radius(similarity) > seen, "{similarity}: {}", radius(similarity));
        }
        assert_eq!(sketcher.radius(0.0), None);
    }

    /// Sign sketches without a rotation break down on all of these.
    #[test]
    fn no_kind_of_vector_falls_outside_its_radius() {
        let mut state = 7;
        let mut gauss =
            move || (0..12).map(|_| (split_mix(&mut state) >> 11) as f64 / 2f64.powi(53)).sum::<f64>() - 6.0;
        for dimension in [100usize, 384, 768, 1536] {
            let sketcher = Sketcher::new(dimension);
            for kind in 0..6 {
                for trial in 0..300usize {
                    let mut draw = |i: usize| match kind {
                        0 => gauss(),
                        // One, two or few components that are not zero.
                        1 => f64::from(u8::from(i == trial % dimension)),
                        2 => {
                            if (i + trial).is_multiple_of(dimension / 2) {
                                1.0
                            } else {
                                0.0
                            }
                        }
                        3 => {
                            if i % 37 == trial % 37 {
                                gauss()
                            } else {
                                0.0
                            }
                        }
                        // All positive; nearly all equal.
                        4 => gauss().abs(),
                        _ => 1.0 + 0.01 * gauss(),
                    };
                    let base = unit((0..dimension).map(&mut draw).collect());
                    // Turned towards a neighbouring component, the hardest case for sparse vectors, or anywhere.
                    let mut other = vec![0.0; dimension];
                    if trial % 2 == 0 {
                        other[(trial + 1) % dimension] = 1.0;
                        other[(trial + 5) % dimension] = 0.5;
                    } else {
                        other =
                            (0..dimension).map(|i| ((i * 7919 + trial * 31) % 101) as f64 - 50.0).collect();
                    }
                    let base_sketch = sketcher.sketch(&base.iter().map(|v| *v as f32).collect::<Vec<_>>());
                    for cosine in [0.75, 0.85, 0.95, 0.999] {
                        let Some(radius) = sketcher.radius(cosine) else { continue };
                        let near = sketcher.sketch(&turned(&base, &unit(other.clone()), cosine));
                        let distance = distance(&base_sketch, &near);
                        assert!(
                            distance <= radius,
                            "kind {kind} at {dimension}, {cosine}: {distance} > {radius}"
                        );
                    }
                }
            }
        }
    }
}
