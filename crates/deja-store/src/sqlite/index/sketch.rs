//! One-bit sketches: the signs of a vector after a random rotation.
//!
//! The rotation makes the signs say the same of every kind of vector: without it a vector with few non-zero
//! components has few signs that mean anything. It is built from three rounds of random signs and Hadamard
//! transforms (Andoni et al. 2015), with a shuffle between them, because the dimension need not be a power of two.
//! What two sketches say of the angle between their vectors: [`super::sieve`].

use deja_core::random::split_mix;

use super::sieve::Sieve;
use super::sift::HEAD;

/// Thresholds are taken in steps of this, rounded down, which leaves less out.
const STEPS: u32 = 256;
const ROUNDS: usize = 3;

/// Makes the sketches of vectors of one dimension.
pub(super) struct Sketcher {
    dimension: usize,
    /// The dimension, rounded up to whole words, of which there are as many as a head has at least.
    bits: usize,
    /// Hadamard transforms run over blocks of this length, the largest power of two that divides `bits`.
    block: usize,
    signs: [Vec<f32>; ROUNDS],
    shuffle: Vec<u32>,
    /// The lowest step of the threshold at which sketches leave much out.
    least: u32,
}

impl Sketcher {
    pub(super) fn new(dimension: usize) -> Self {
        let bits = dimension.next_multiple_of(64).max(HEAD * 64);
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
        let mut sketcher = Self { dimension, bits, block, signs, shuffle, least: 0 };
        // Rotated, one vector is as good as another.
        let any = sketcher.rotate(&vec![1.0; dimension]);
        let helps = |step: &u32| Sieve::new(&any, similarity_at(*step)).leaves_much_out();
        sketcher.least = (0..STEPS).find(helps).unwrap_or(STEPS);
        sketcher
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Words of a sketch.
    pub(super) fn words(&self) -> usize {
        self.bits / 64
    }

    /// Whether sketches leave much out at this threshold.
    pub(super) fn helps(&self, threshold: f64) -> bool {
        step_of(threshold) >= self.least
    }

    /// What leaves out all that is less similar to `probe`, and more; `None` if sketches do not help.
    pub(super) fn sieve(&self, probe: &[f32], threshold: f64) -> Option<Sieve> {
        self.helps(threshold).then(|| Sieve::new(&self.rotate(probe), similarity_at(step_of(threshold))))
    }

    /// The sketch of `vector`.
    pub(super) fn sketch(&self, vector: &[f32]) -> Box<[u64]> {
        self.rotate(vector).chunks_exact(64).map(signs).collect()
    }

    /// `vector` after the rotation, at a length of its own.
    pub(super) fn rotate(&self, vector: &[f32]) -> Vec<f32> {
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
    }
}

/// The signs of up to 64 values. A zero counts as positive.
pub(super) fn signs(values: &[f32]) -> u64 {
    values.iter().enumerate().fold(0, |word, (bit, value)| word | (u64::from(*value < 0.0) << bit))
}

fn step_of(threshold: f64) -> u32 {
    ((threshold * f64::from(STEPS)) as u32).min(STEPS - 1)
}

fn similarity_at(step: u32) -> f64 {
    f64::from(step) / f64::from(STEPS)
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
