//! The kernel for every machine: no intrinsics. It is also what the others are tested against.

use super::forward::{Scratch, forward};
use super::product::{Product, Strip};
use super::vector::LANES;
use crate::image::{Image, Linear, PANEL, QUAD};

/// Inputs of a panel that are widened at once: their weights and those inputs of a few rows fit the first-level cache.
const CHUNK: usize = 384;
/// Rows of a tile.
const ROWS: usize = 2;
/// Channels of a tile: half of sixteen registers of 128 bits hold its sums.
const CHANNELS: usize = 4;

/// Two neighbouring inputs or their weights.
type Pair = [i16; 2];

/// See [`forward`].
pub(super) fn run(image: &Image, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
    forward::<[f32; LANES], i16>(image, texts, scratch, out, product())
}

/// The product, with memory of its own.
pub(super) fn product() -> impl Product<i16> {
    let mut wide = vec![[0; 2]; CHUNK / 2 * PANEL];
    move |rows: &[[i16; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]| {
        multiply(rows, linear, strip, sums, &mut wide);
    }
}

fn multiply(rows: &[[i16; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32], wide: &mut [Pair]) {
    let inputs = linear.inputs;
    sums.fill(0);
    for (at, panel) in strip.panels().enumerate() {
        let panel = &linear.weights[panel * inputs * PANEL..][..inputs * PANEL];
        for (chunk, weights) in panel.chunks(CHUNK * PANEL).enumerate() {
            let wide = &mut wide[..weights.len() / 2];
            widen(weights, wide.as_flattened_mut());
            let rows = rows.as_flattened().chunks(ROWS * inputs);
            for (rows, sums) in rows.zip(sums.chunks_mut(ROWS * strip.count * PANEL)) {
                let row = |m: usize| {
                    let row = &rows[m * inputs + chunk * CHUNK..][..weights.len() / PANEL];
                    row.as_chunks().0
                };
                // The last row of an odd number is taken twice; the second result goes nowhere.
                let rows = [row(0), row(rows.len() / inputs - 1)];
                for (part, columns) in wide.chunks_exact(wide.len() / PANEL * CHANNELS).enumerate() {
                    let tile = tile(rows, columns);
                    for (products, sums) in tile.iter().zip(sums.chunks_mut(strip.count * PANEL)) {
                        let sums = &mut sums[at * PANEL..][part * CHANNELS..];
                        for (sum, product) in sums.iter_mut().zip(products) {
                            *sum += product;
                        }
                    }
                }
            }
        }
    }
}

/// `[inputs / QUAD][PANEL][QUAD]` bytes to `[PANEL][inputs]`, doubled. Inlined, it is compiled to slower code.
#[inline(never)]
fn widen(weights: &[i8], wide: &mut [i16]) {
    let steps: &[[[[i8; QUAD]; PANEL]; 2]] = bytemuck::cast_slice(weights);
    for (channel, wide) in wide.chunks_exact_mut(weights.len() / PANEL).enumerate() {
        for (step, wide) in steps.iter().zip(wide.as_chunks_mut::<{ 2 * QUAD }>().0) {
            for i in 0..QUAD {
                wide[i] = 2 * i16::from(step[0][channel][i]);
                wide[QUAD + i] = 2 * i16::from(step[1][channel][i]);
            }
        }
    }
}

/// The sums of two rows and four channels.
///
/// A plain loop over pairs: compilers turn it into vectors with link-time optimisation and without. Arrays of four sums,
/// spelled out, were vectors only without it.
fn tile([a, b]: [&[Pair]; ROWS], columns: &[Pair]) -> [[i32; CHANNELS]; ROWS] {
    let [c, d, e, f]: [&[Pair]; CHANNELS] = std::array::from_fn(|n| &columns[n * a.len()..][..a.len()]);
    let mut sums = [[0; CHANNELS]; ROWS];
    for (((((a, b), c), d), e), f) in a.iter().zip(b).zip(c).zip(d).zip(e).zip(f) {
        for (sums, inputs) in sums.iter_mut().zip([a, b]) {
            for (sum, weights) in sums.iter_mut().zip([c, d, e, f]) {
                *sum += sum_of_two(*inputs, *weights);
            }
        }
    }
    sums
}

/// SSE2 has an instruction for a sum of two products of 16 bits, but compilers regroup additions before they look for
/// such sums. Since the weights are doubled, this one can be halved, exactly: then it stays what it is.
#[inline]
fn sum_of_two(inputs: Pair, weights: Pair) -> i32 {
    let product = |i: usize| i32::from(inputs[i]) * i32::from(weights[i]);
    (product(0) + product(1)) >> 1
}
