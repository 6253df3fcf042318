//! The f32 part of the encoder, written once over [`Vector`].
//!
//! There is no fused multiply-add and sums have a fixed order, so every kernel gives the same bits.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use super::vector::{LANES, Vector};
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
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[inline(always)]
fn groups(row: &[f32]) -> &[[f32; LANES]] {
    row.as_chunks().0
}

/// How a row was quantised: `x = least + step * q`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quantised {
    step: f32,
    least: f32,
}

/// Quantises one row to 0..=255 over its own range.
#[inline(always)]
pub(super) fn quantise<V: Vector>(row: &[f32], out: &mut [u8]) -> Quantised {
    let (mut low, mut high) = (V::splat(f32::INFINITY), V::splat(f32::NEG_INFINITY));
    for group in groups(row) {
        let group = V::load(group);
        low = low.min(group);
        high = high.max(group);
    }
    let (least, most) = (fold(low, smaller), fold(high, larger));
    let range = most - least;
    let factor = V::splat(if range > 0.0 { 255.0 / range } else { 0.0 });
    let (shift, round) = (V::splat(least), V::splat(ROUND));
    for (group, bytes) in groups(row).iter().zip(out.as_chunks_mut().0) {
        V::load(group).sub(shift).mul(factor).add(round).store_low_bytes(bytes);
    }
    Quantised { step: range / 255.0, least }
}

/// The f32 outputs of a linear layer from the integer sums of one row: `put` gets each group and its number.
#[inline(always)]
pub(super) fn dequantise<V: Vector>(
    linear: &Linear<'_>,
    sums: &[i32],
    input: Quantised,
    mut put: impl FnMut(usize, V),
) {
    let (step, least) = (V::splat(input.step), V::splat(input.least));
    let factors = groups(linear.scale).iter().zip(groups(linear.offset)).zip(groups(linear.bias));
    for (index, (sum, ((scale, offset), bias))) in sums.as_chunks().0.iter().zip(factors).enumerate() {
        let constant = V::load(offset).mul(least).add(V::load(bias));
        put(index, V::load_integers(sum).mul(V::load(scale).mul(step)).add(constant));
    }
}

/// Normalises one row in place.
#[inline(always)]
pub(super) fn normalise<V: Vector>(row: &mut [f32], norm: Norm<'_>, epsilon: f32) {
    let width = row.len() as f32;
    let mut sum = V::splat(0.0);
    for group in groups(row) {
        sum = sum.add(V::load(group));
    }
    let mean = V::splat(fold(sum, |a, b| a + b) / width);
    let mut squares = V::splat(0.0);
    for group in groups(row) {
        let distance = V::load(group).sub(mean);
        squares = squares.add(distance.mul(distance));
    }
    let factor = V::splat(1.0 / (fold(squares, |a, b| a + b) / width + epsilon).sqrt());
    let factors = groups(norm.gamma).iter().zip(groups(norm.beta));
    for (group, (gamma, beta)) in row.as_chunks_mut().0.iter_mut().zip(factors) {
        let scaled = V::load(group).sub(mean).mul(factor);
        scaled.mul(V::load(gamma)).add(V::load(beta)).store(group);
    }
}

/// `0.5 * x * (1 + erf(x / sqrt(2)))`, wrong by less than 1e-4 (absolute).
///
/// The normal distribution function minus 0.5 is odd; it is `x * P(x^2)` with a polynomial fitted for the
/// least largest error of the result on |x| <= 4.3, and constant beyond, where it is within 1e-5 of 0.5.
#[inline(always)]
pub(super) fn gelu<V: Vector>(x: V) -> V {
    const EDGE: f32 = 4.3;
    const P: [f32; 10] = [
        3.989_093_3e-1,
        -6.639_655e-2,
        9.880_338e-3,
        -1.140_822_3e-3,
        1.017_892_6e-4,
        -6.872_833_6e-6,
        3.361_748e-7,
        -1.111_115_5e-8,
        2.199_543e-10,
        -1.956_487e-12,
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
fn exp<V: Vector>(x: V) -> V {
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

/// Turns scores into weights that sum to 1. `row` is padded to whole groups; only `len` scores are real.
#[inline(always)]
pub(super) fn softmax<V: Vector>(row: &mut [f32], len: usize) {
    row[len..].fill(f32::MIN);
    let mut high = V::splat(f32::MIN);
    for group in groups(row) {
        high = high.max(V::load(group));
    }
    let most = V::splat(fold(high, larger));
    let mut sum = V::splat(0.0);
    for group in row.as_chunks_mut().0 {
        let power = exp(V::load(group).sub(most));
        power.store(group);
        sum = sum.add(power);
    }
    let factor = V::splat(1.0 / fold(sum, |a, b| a + b));
    for group in row.as_chunks_mut().0 {
        V::load(group).mul(factor).store(group);
    }
}

/// `out[r][j] = sum_d queries[d][r] * keys[d][j]` for `R` queries and `C` groups of keys from group `at`.
#[inline(always)]
pub(super) fn scores<V: Vector, const R: usize, const C: usize>(
    queries: &[[f32; R]],
    keys: &[f32],
    stride: usize,
    at: usize,
    out: &mut [f32],
) {
    let mut sums = [[V::splat(0.0); C]; R];
    for (query, key) in queries.iter().zip(keys.chunks_exact(stride)) {
        let (key, _) = key[at..at + C * LANES].as_chunks();
        for c in 0..C {
            let key = V::load(&key[c]);
            for r in 0..R {
                sums[r][c] = sums[r][c].add(V::splat(query[r]).mul(key));
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
) -> [[[f32; LANES]; C]; R] {
    let mut sums = [[V::splat(0.0); C]; R];
    for (j, value) in values.chunks_exact(width).enumerate() {
        let (value, _) = value[at..at + C * LANES].as_chunks();
        for c in 0..C {
            let value = V::load(&value[c]);
            for r in 0..R {
                sums[r][c] = sums[r][c].add(V::splat(weights[r][j]).mul(value));
            }
        }
    }
    let mut out = [[[0.0; LANES]; C]; R];
    for r in 0..R {
        for c in 0..C {
            sums[r][c].store(&mut out[r][c]);
        }
    }
    out
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
