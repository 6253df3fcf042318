//! The f32 part of the encoder, written once over [`Vector`].
//!
//! There is no fused multiply-add and sums have a fixed order, so every kernel gives the same bits. What one step
//! waits for is mostly the step before, so several rows or groups go through each step together.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]
#![expect(
    clippy::needless_range_loop,
    reason = "indices name registers; closures of iterators and `array::map` are not always inlined"
)]

use std::ops::Range;

use super::vector::{LANES, Numbers, Quantise, Vector};
use crate::image::{Linear, Norm};

/// 1.5 * 2^23: adding it rounds to the nearest integer, which is then in the low bits.
const ROUND: f32 = 12_582_912.0;

/// Folds the lanes in a fixed order: 16, 8, 4, 2, 1.
#[inline(always)]
fn fold<V: Vector>(vector: V, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    vector.store(&mut lanes);
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = f(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn groups(row: &[f32]) -> &[[f32; LANES]] {
    row.as_chunks().0
}

/// `R` rows of the same width, one after another.
struct Rows<'a, const R: usize>([&'a mut [[f32; LANES]]; R]);

impl<'a, const R: usize> Rows<'a, R> {
    #[inline(always)]
    fn new(rows: &'a mut [f32]) -> Self {
        let width = rows.len() / LANES / R;
        let mut rows = rows.as_chunks_mut().0.chunks_exact_mut(width);
        Self(std::array::from_fn(|_| rows.next().unwrap_or_default()))
    }

    #[inline(always)]
    fn groups(&self) -> Range<usize> {
        0..self.0[0].len()
    }

    /// Group `at` of each row.
    #[inline(always)]
    fn load<V: Vector>(&self, at: usize) -> [V; R] {
        let mut groups = [V::splat(0.0); R];
        for r in 0..R {
            groups[r] = V::load(&self.0[r][at]);
        }
        groups
    }

    #[inline(always)]
    fn store<V: Vector>(&mut self, at: usize, values: [V; R]) {
        for r in 0..R {
            values[r].store(&mut self.0[r][at]);
        }
    }
}

/// Folds each of `vectors`, and puts `g` of the result into all lanes.
#[inline(always)]
fn folded<V: Vector, const R: usize>(
    mut vectors: [V; R],
    f: impl Fn(f32, f32) -> f32,
    g: impl Fn(f32) -> f32,
) -> [V; R] {
    for vector in &mut vectors {
        *vector = V::splat(g(fold(*vector, &f)));
    }
    vectors
}

/// How a row was quantised: `x = least + step * q`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quantised {
    step: f32,
    least: f32,
}

/// The least and the largest numbers of `R` rows, lane by lane.
#[derive(Clone, Copy)]
struct Extremes<V, const R: usize> {
    low: [V; R],
    high: [V; R],
}

impl<V: Vector, const R: usize> Extremes<V, R> {
    #[inline(always)]
    fn none() -> Self {
        Self { low: Numbers::splat(f32::INFINITY), high: Numbers::splat(f32::NEG_INFINITY) }
    }

    #[inline(always)]
    fn with(self, groups: [V; R]) -> Self {
        Self { low: self.low.min(groups), high: self.high.max(groups) }
    }
}

/// Quantises `R` rows to 0..=255, each over its own range.
#[inline(always)]
pub(super) fn quantise<V: Quantise<I>, I, const R: usize>(
    rows: &mut [f32],
    out: &mut [[I; LANES]],
    scales: &mut [Quantised],
) {
    let rows = Rows::<R>::new(rows);
    let mut extremes = Extremes::<V, R>::none();
    for at in rows.groups() {
        extremes = extremes.with(rows.load(at));
    }
    put(&rows, extremes, out, scales);
}

/// Quantises `gelu` of `R` rows. The rows are `gelu` afterwards.
#[inline(always)]
pub(super) fn gelu_and_quantise<V: Quantise<I>, I, const R: usize>(
    rows: &mut [f32],
    out: &mut [[I; LANES]],
    scales: &mut [Quantised],
) {
    let mut rows = Rows::<R>::new(rows);
    let mut extremes = Extremes::<V, R>::none();
    for at in rows.groups() {
        let values = gelu(rows.load(at));
        rows.store(at, values);
        extremes = extremes.with(values);
    }
    put(&rows, extremes, out, scales);
}

/// Normalises `R` rows in place and quantises them.
#[inline(always)]
pub(super) fn normalise_and_quantise<V: Quantise<I>, I, const R: usize>(
    rows: &mut [f32],
    norm: Norm<'_>,
    epsilon: f32,
    out: &mut [[I; LANES]],
    scales: &mut [Quantised],
) {
    let mut rows = Rows::<R>::new(rows);
    let width = norm.gamma.len() as f32;
    let mut sums = [V::splat(0.0); R];
    for at in rows.groups() {
        sums = sums.add(rows.load(at));
    }
    let means = folded(sums, |a, b| a + b, |sum| sum / width);
    let mut squares = [V::splat(0.0); R];
    for at in rows.groups() {
        let distances = rows.load(at).sub(means);
        squares = squares.add(distances.mul(distances));
    }
    let factors = folded(squares, |a, b| a + b, |sum| 1.0 / (sum / width + epsilon).sqrt());
    let mut extremes = Extremes::none();
    for (at, (gamma, beta)) in groups(norm.gamma).iter().zip(groups(norm.beta)).enumerate() {
        let scaled = rows.load(at).sub(means).mul(factors);
        let values = scaled.mul([V::load(gamma); R]).add([V::load(beta); R]);
        rows.store(at, values);
        extremes = extremes.with(values);
    }
    put(&rows, extremes, out, scales);
}

/// Quantises rows whose extremes are known.
#[inline(always)]
fn put<V: Quantise<I>, I, const R: usize>(
    rows: &Rows<'_, R>,
    extremes: Extremes<V, R>,
    out: &mut [[I; LANES]],
    scales: &mut [Quantised],
) {
    let (mut shifts, mut factors) = (extremes.low, extremes.high);
    for r in 0..R {
        let (least, most) =
            (fold(extremes.low[r], <f32 as Numbers>::min), fold(extremes.high[r], <f32 as Numbers>::max));
        let range = most - least;
        scales[r] = Quantised { step: range / 255.0, least };
        shifts[r] = V::splat(least);
        factors[r] = V::splat(if range > 0.0 { 255.0 / range } else { 0.0 });
    }
    let width = out.len() / R;
    for at in rows.groups() {
        let values = rows.load(at).sub(shifts).mul(factors).add(Numbers::splat(ROUND));
        for r in 0..R {
            values[r].store_low_bytes(&mut out[r * width + at]);
        }
    }
}

/// Sixteen outputs of a linear layer from their integer sums.
#[inline(always)]
pub(super) fn dequantise<V: Vector>(
    linear: &Linear<'_>,
    panel: usize,
    sums: &[i32; LANES],
    input: Quantised,
) -> V {
    let part = |of: &[f32]| V::load(&groups(of)[panel]);
    let constant = part(linear.offset).mul(V::splat(input.least)).add(part(linear.bias));
    V::load_integers(sums).mul(part(linear.scale).mul(V::splat(input.step))).add(constant)
}

/// `0.5 * x * (1 + erf(x / sqrt(2)))`, wrong by less than 1e-4 (absolute).
///
/// The normal distribution function minus 0.5 is odd; it is `x * P(x^2)` with a polynomial fitted for the
/// least largest error of the result on |x| <= 4.3, and constant beyond, where it is within 1e-5 of 0.5.
#[inline(always)]
pub(super) fn gelu<V: Numbers>(x: V) -> V {
    const EDGE: f32 = 4.3;
    const P: [f32; 10] = [
        3.989_093_3e-1, -6.639_655e-2, 9.880_338e-3, -1.140_822_3e-3, 1.017_892_6e-4, -6.872_833_6e-6,
        3.361_748e-7, -1.111_115_5e-8, 2.199_543e-10, -1.956_487e-12,
    ];
    let edge = x.min(V::splat(EDGE)).max(V::splat(-EDGE));
    let square = edge.mul(edge);
    let mut sum = V::splat(P[9]);
    for c in P.iter().rev().skip(1) {
        sum = sum.mul(square).add(V::splat(*c));
    }
    x.mul(edge.mul(sum).add(V::splat(0.5)))
}

/// e^x for x <= 0, relative error about 1e-7; anything under -87 counts as -87.
#[inline(always)]
fn exp<V: Numbers>(x: V) -> V {
    let x = x.max(V::splat(-87.0));
    let shifted = x.mul(V::splat(std::f32::consts::LOG2_E)).add(V::splat(ROUND));
    let n = shifted.sub(V::splat(ROUND));
    // ln 2 in two parts, so that the product with n is exact (Cephes expf).
    let r = x.sub(n.mul(V::splat(0.693_359_4))).sub(n.mul(V::splat(-2.121_944_4e-4)));
    let mut p = V::splat(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul(r).add(V::splat(c));
    }
    p.mul(r).mul(r).add(r).add(V::splat(1.0)).mul(shifted.power_of_two())
}

/// Turns `R` rows of scores into weights that sum to 1. They are padded to whole groups; only `len` scores are real.
#[inline(always)]
pub(super) fn softmax<V: Vector, const R: usize>(rows: &mut [f32], len: usize) {
    let mut rows = Rows::<R>::new(rows);
    for row in &mut rows.0 {
        row.as_flattened_mut()[len..].fill(f32::MIN);
    }
    let mut high: [V; R] = Numbers::splat(f32::MIN);
    for at in rows.groups() {
        high = high.max(rows.load(at));
    }
    let most = folded(high, <f32 as Numbers>::max, |most| most);
    let mut sums = [V::splat(0.0); R];
    for at in rows.groups() {
        let powers = exp(rows.load(at).sub(most));
        rows.store(at, powers);
        sums = sums.add(powers);
    }
    let factors = folded(sums, |a, b| a + b, |sum| 1.0 / sum);
    for at in rows.groups() {
        let shares = rows.load(at).mul(factors);
        rows.store(at, shares);
    }
}

/// `out[r][j] = sum_d queries[r][d] * turned[d][j]` for `R` queries and `C` groups of keys from key `at`.
#[inline(always)]
pub(super) fn scores<V: Vector, const R: usize, const C: usize>(
    queries: [&[f32]; R],
    turned: &[f32],
    stride: usize,
    at: usize,
    out: &mut [f32],
) {
    let mut sums = [[V::splat(0.0); C]; R];
    for (d, key) in turned.chunks_exact(stride).enumerate() {
        let (key, _) = key[at..at + C * LANES].as_chunks();
        let mut keys = [V::splat(0.0); C];
        for c in 0..C {
            keys[c] = V::load(&key[c]);
        }
        for r in 0..R {
            let query = V::splat(queries[r][d]);
            for c in 0..C {
                sums[r][c] = sums[r][c].add(query.mul(keys[c]));
            }
        }
    }
    for (row, sums) in out.chunks_exact_mut(stride).zip(sums) {
        for (out, sum) in row[at..at + C * LANES].as_chunks_mut().0.iter_mut().zip(sums) {
            sum.store(out);
        }
    }
}

/// `sum_j weights[r][j] * values[j][at..]` for `R` rows of weights and `C` groups of components.
#[inline(always)]
pub(super) fn mix<V: Vector, const R: usize, const C: usize>(
    weights: [&[f32]; R],
    values: &[f32],
    width: usize,
    at: usize,
) -> [[V; C]; R] {
    let mut sums = [[V::splat(0.0); C]; R];
    for (j, value) in values.chunks_exact(width).enumerate() {
        let (value, _) = value[at..at + C * LANES].as_chunks();
        let mut components = [V::splat(0.0); C];
        for c in 0..C {
            components[c] = V::load(&value[c]);
        }
        for r in 0..R {
            let weight = V::splat(weights[r][j]);
            for c in 0..C {
                sums[r][c] = sums[r][c].add(weight.mul(components[c]));
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_gelu_are_close_to_the_real_functions() {
        for i in 0..40_000 {
            let x = i as f32 * -0.002;
            let have = exp([x; LANES])[0];
            let want = f64::from(x).exp();
            assert!((f64::from(have) - want).abs() <= want * 3e-7, "exp({x}) = {have}");
        }
        // erf by its series, in f64.
        let erf = |x: f64| {
            let (mut term, mut sum) = (x, x);
            for n in 1..200 {
                term *= -x * x / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            sum * 2.0 / std::f64::consts::PI.sqrt()
        };
        for i in -500..=500 {
            let x = i as f32 * 0.01;
            let have = f64::from(gelu([x; LANES])[0]);
            let want = 0.5 * f64::from(x) * (1.0 + erf(f64::from(x) / 2f64.sqrt()));
            assert!((have - want).abs() < 1e-4, "gelu({x}) = {have}, not {want}");
        }
        assert!((gelu([50.0; LANES])[0] - 50.0).abs() < 1e-3);
        assert!(gelu([-50.0; LANES])[0].abs() < 1e-3);
    }
}
