//! The kernel for every machine: no intrinsics. It is also what the others are tested against.

use super::forward::{Scratch, forward};
use super::product::{Product, Strip};
use super::vector::LANES;
use crate::image::{Image, Linear, PANEL, QUAD};

/// Inputs whose products are summed as f32: exactly, since 384 * 255 * 127 is less than 2^24.
const CHUNK: usize = 384;
/// Rows of a tile: sixteen registers of 128 bits hold their sums and a step of weights.
const ROWS: usize = 2;

/// See [`forward`].
pub(super) fn run(image: &Image, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
    forward::<[f32; LANES], f32>(image, texts, scratch, out, product())
}

/// The product, with memory of its own.
pub(super) fn product() -> impl Product<f32> {
    let mut wide = vec![[0.0; PANEL]; CHUNK];
    move |rows: &[[f32; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]| {
        multiply(rows, linear, strip, sums, &mut wide);
    }
}

/// Compilers make better code of products of f32 than of any integers; `wide` takes the weights in that form.
fn multiply(
    rows: &[[f32; LANES]],
    linear: &Linear<'_>,
    strip: Strip,
    sums: &mut [i32],
    wide: &mut [[f32; PANEL]],
) {
    let inputs = linear.inputs;
    sums.fill(0);
    for (at, panel) in strip.panels().enumerate() {
        let panel = &linear.weights[panel * inputs * PANEL..][..inputs * PANEL];
        for (chunk, weights) in panel.chunks(CHUNK * PANEL).enumerate() {
            let wide = widen(weights, wide);
            let rows = rows.as_flattened().chunks(ROWS * inputs);
            for (rows, sums) in rows.zip(sums.chunks_mut(ROWS * strip.count * PANEL)) {
                let row = |m: usize| &rows[m * inputs + chunk * CHUNK..][..wide.len()];
                // The last row of an odd number is taken twice; the second result goes nowhere.
                let tile = tile([row(0), row(rows.len() / inputs - 1)], wide);
                for (products, sums) in tile.iter().zip(sums.chunks_mut(strip.count * PANEL)) {
                    for (sum, product) in sums.as_chunks_mut::<PANEL>().0[at].iter_mut().zip(products) {
                        *sum += *product as i32;
                    }
                }
            }
        }
    }
}

/// `[inputs / QUAD][PANEL][QUAD]` bytes to f32, the channels of an input in each row.
#[inline(never)]
fn widen<'a>(weights: &[i8], wide: &'a mut [[f32; PANEL]]) -> &'a [[f32; PANEL]] {
    let steps = weights.as_chunks::<{ PANEL * QUAD }>().0.iter().zip(wide.as_chunks_mut::<QUAD>().0);
    for (weights, wide) in steps {
        let weights = weights.as_chunks::<QUAD>().0;
        for (input, wide) in wide.iter_mut().enumerate() {
            // Shifts of whole words, which compilers turn into vectors.
            for (wide, weights) in wide.iter_mut().zip(weights) {
                let word = i32::from_le_bytes(weights.map(i8::cast_unsigned));
                *wide = (word << (24 - 8 * input) >> 24) as f32;
            }
        }
    }
    &wide[..weights.len() / PANEL]
}

/// The sums of two rows. Inlined, it is compiled to slower code.
#[inline(never)]
fn tile(rows: [&[f32]; ROWS], weights: &[[f32; PANEL]]) -> [[f32; PANEL]; ROWS] {
    let mut sums = [[0.0; PANEL]; ROWS];
    for ((a, b), weights) in rows[0].iter().zip(rows[1]).zip(weights) {
        for (sums, x) in sums.iter_mut().zip([*a, *b]) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += x * weight;
            }
        }
    }
    sums
}
