//! The product on 128-bit registers with a dot-product instruction of signed bytes, as aarch64 has it.
//!
//! The instruction is a trait, so that tests run this arithmetic on any processor. Both its factors are signed, so
//! inputs are kept less 128: `sum(x w) = sum((x - 128) w) + 128 sum(w)`.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use super::product::Strip;
use super::vector::LANES;
use crate::image::{Linear, PANEL, QUAD};

/// Sums in one register.
const PART: usize = 4;
/// Registers that the sums of one row and one panel take.
const PARTS: usize = PANEL / PART;
/// Rows of the largest tile: 16 of the 32 registers hold sums, four weights, four inputs.
const ROWS: usize = 4;

/// The weights of a panel for sixteen inputs: four steps of four registers.
type Columns = [[[i8; LANES]; PARTS]; LANES / QUAD];

/// Four 32-bit sums.
pub(super) trait Sums: Copy {
    /// Sixteen bytes.
    type Bytes: Copy;

    /// All sums 0.
    fn zero() -> Self;
    /// Reads bytes.
    fn bytes(from: &[i8; LANES]) -> Self::Bytes;
    /// Adds to sum `n` the products of the bytes from `4 n` of `weights` with those from `4 STEP` of `inputs`.
    fn add_products<const STEP: i32>(self, weights: Self::Bytes, inputs: Self::Bytes) -> Self;
    /// Lane by lane.
    fn sub(self, other: Self) -> Self;
    /// Writes the sums.
    fn store(self, to: &mut [i32; PART]);
}

/// See [`Product`](super::product::Product); `rows` are less 128.
#[inline(always)]
pub(super) fn product<S: Sums>(rows: &[[i8; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]) {
    let (inputs, groups) = (linear.inputs, linear.inputs / LANES);
    for (at, panel) in strip.panels().enumerate() {
        let columns: &[Columns] =
            bytemuck::cast_slice(&linear.weights[panel * inputs * PANEL..][..inputs * PANEL]);
        let start = offset::<S>(columns);
        let blocks = rows.chunks(ROWS * groups).zip(sums.chunks_mut(ROWS * strip.count * PANEL));
        for (rows, sums) in blocks {
            let sums = sums.chunks_exact_mut(strip.count * PANEL).map(|row| &mut row[at * PANEL..][..PANEL]);
            match rows.len() / groups {
                4 => tile::<S, 4>(rows, columns, start, sums),
                3 => tile::<S, 3>(rows, columns, start, sums),
                2 => tile::<S, 2>(rows, columns, start, sums),
                _ => tile::<S, 1>(rows, columns, start, sums),
            }
        }
    }
}

/// `128 sum(w)`.
#[inline(always)]
fn offset<S: Sums>(columns: &[Columns]) -> [S; PARTS] {
    let mut sums = [[S::zero(); PARTS]];
    let inputs = [S::bytes(&[-128; LANES])];
    for column in columns.as_flattened() {
        step::<S, 1, 0>(&mut sums, column, inputs);
    }
    let [mut sums] = sums;
    for sum in &mut sums {
        *sum = S::zero().sub(*sum);
    }
    sums
}

/// The sums of `M` rows and one panel, from `start`.
#[inline(always)]
fn tile<'a, S: Sums, const M: usize>(
    rows: &[[i8; LANES]],
    columns: &[Columns],
    start: [S; PARTS],
    to: impl Iterator<Item = &'a mut [i32]>,
) {
    let rows: [&[[i8; LANES]]; M] =
        std::array::from_fn(|m| &rows[m * columns.len()..(m + 1) * columns.len()]);
    let mut sums = [start; M];
    for (group, columns) in columns.iter().enumerate() {
        let mut inputs = [S::bytes(&[0; LANES]); M];
        for m in 0..M {
            inputs[m] = S::bytes(&rows[m][group]);
        }
        step::<S, M, 0>(&mut sums, &columns[0], inputs);
        step::<S, M, 1>(&mut sums, &columns[1], inputs);
        step::<S, M, 2>(&mut sums, &columns[2], inputs);
        step::<S, M, 3>(&mut sums, &columns[3], inputs);
    }
    for (to, sums) in to.zip(sums) {
        for (to, sum) in to.as_chunks_mut().0.iter_mut().zip(sums) {
            sum.store(to);
        }
    }
}

/// Four inputs of each of `M` rows.
#[inline(always)]
fn step<S: Sums, const M: usize, const STEP: i32>(
    sums: &mut [[S; PARTS]; M],
    column: &[[i8; LANES]; PARTS],
    inputs: [S::Bytes; M],
) {
    for part in 0..PARTS {
        let weights = S::bytes(&column[part]);
        for m in 0..M {
            sums[m][part] = sums[m][part].add_products::<STEP>(weights, inputs[m]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoder::portable;

    /// What Arm's manual says of SDOT (by element), in plain Rust.
    impl Sums for [i32; PART] {
        type Bytes = [i8; LANES];

        fn zero() -> Self {
            [0; PART]
        }
        fn bytes(from: &[i8; LANES]) -> [i8; LANES] {
            *from
        }
        fn add_products<const STEP: i32>(self, weights: [i8; LANES], inputs: [i8; LANES]) -> Self {
            let factor = |i: usize| i32::from(inputs[STEP as usize * QUAD + i]);
            std::array::from_fn(|n| {
                let products = (0..QUAD).map(|i| i32::from(weights[n * QUAD + i]) * factor(i));
                self[n] + products.sum::<i32>()
            })
        }
        fn sub(self, other: Self) -> Self {
            std::array::from_fn(|n| self[n] - other[n])
        }
        fn store(self, to: &mut [i32; PART]) {
            *to = self;
        }
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_portable_kernel(
            rows in 1_usize..10,
            groups in prop_oneof![1_usize..5, 23_usize..26],
            panels in 1_usize..5,
            extreme in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let (inputs, outputs) = (groups * LANES, panels * PANEL);
            let mut state = seed | 1;
            let mut byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let byte = (state >> 56) as u8;
                if extreme { if byte < 128 { 0 } else { 255 } } else { byte }
            };
            let weights: Vec<i8> = (0..inputs * outputs).map(|_| (byte() as i8).max(-127)).collect();
            let bytes: Vec<u8> = (0..rows * inputs).map(|_| byte()).collect();
            let constants = vec![0.0; outputs];
            let (scale, offset, bias) = (&constants[..], &constants[..], &constants[..]);
            let linear = Linear { inputs, outputs, weights: &weights, scale, offset, bias };
            let wide: Vec<i16> = bytes.iter().map(|b| i16::from(*b)).collect();
            let shifted: Vec<i8> = bytes.iter().map(|b| (b ^ 128) as i8).collect();
            for strip in Strip::all(outputs) {
                let mut want = vec![7; rows * strip.count * PANEL];
                let mut have = want.clone();
                portable::product()(wide.as_chunks().0, &linear, strip, &mut want);
                product::<[i32; PART]>(shifted.as_chunks().0, &linear, strip, &mut have);
                prop_assert_eq!(&want, &have);
                for (at, sum) in want.iter().enumerate() {
                    let (row, panel, channel) = (at / PANEL / strip.count, at / PANEL % strip.count, at % PANEL);
                    let weights = &weights[strip.panel(panel) * inputs * PANEL..];
                    let exact: i32 = (0..inputs)
                        .map(|k| {
                            let weight = weights[(k / QUAD * PANEL + channel) * QUAD + k % QUAD];
                            i32::from(bytes[row * inputs + k]) * i32::from(weight)
                        })
                        .sum();
                    prop_assert_eq!(*sum, exact);
                }
            }
        }
    }
}
