//! The kernel for every machine: no intrinsics. It is also what the others are tested against.

use super::forward::{Scratch, forward};
use super::product::{Product, Strip};
use super::vector::LANES;
use crate::image::{Image, Linear, PANEL, QUAD};

/// Inputs of a panel that are widened at once: few enough for the first-level cache.
const CHUNK: usize = 384;
/// Channels whose sums are made at once: what sixteen registers of 128 bits hold.
const PART: usize = 4;

/// See [`forward`].
pub(super) fn run(image: &Image, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
    forward::<[f32; LANES], i16>(image, texts, scratch, out, product())
}

/// The product, with memory of its own.
pub(super) fn product() -> impl Product<i16> {
    let mut wide = [[0; CHUNK]; PANEL];
    move |rows: &[[i16; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]| {
        multiply(rows, linear, strip, sums, &mut wide);
    }
}

/// Compilers know the sum of products of 16-bit numbers; `wide` takes weights in that form.
fn multiply(
    rows: &[[i16; LANES]],
    linear: &Linear<'_>,
    strip: Strip,
    sums: &mut [i32],
    wide: &mut [[i16; CHUNK]; PANEL],
) {
    let inputs = linear.inputs;
    sums.fill(0);
    for (at, panel) in strip.panels().enumerate() {
        let panel = &linear.weights[panel * inputs * PANEL..][..inputs * PANEL];
        for (chunk, weights) in panel.chunks(CHUNK * PANEL).enumerate() {
            widen(weights, wide);
            let len = weights.len() / PANEL;
            let rows = rows.as_flattened().chunks_exact(inputs);
            for (row, sums) in rows.zip(sums.chunks_exact_mut(strip.count * PANEL)) {
                let row = &row[chunk * CHUNK..][..len];
                let sums = sums[at * PANEL..][..PANEL].as_chunks_mut::<PART>().0;
                for (channels, sums) in wide.as_chunks::<PART>().0.iter().zip(sums) {
                    let products = dot(row, channels.each_ref().map(|channel| &channel[..len]));
                    for (sum, product) in sums.iter_mut().zip(products) {
                        *sum += product;
                    }
                }
            }
        }
    }
}

/// `[inputs / QUAD][PANEL][QUAD]` bytes to numbers of 16 bits, a channel in each row.
fn widen(weights: &[i8], wide: &mut [[i16; CHUNK]; PANEL]) {
    for (step, weights) in weights.as_chunks::<{ PANEL * QUAD }>().0.iter().enumerate() {
        for (channel, weights) in wide.iter_mut().zip(weights.as_chunks::<QUAD>().0) {
            channel.as_chunks_mut::<QUAD>().0[step] = weights.map(i16::from);
        }
    }
}

fn dot(row: &[i16], [a, b, c, d]: [&[i16]; PART]) -> [i32; PART] {
    let mut sums = [0; PART];
    for ((((x, a), b), c), d) in row.iter().zip(a).zip(b).zip(c).zip(d) {
        let x = i32::from(*x);
        sums[0] += x * i32::from(*a);
        sums[1] += x * i32::from(*b);
        sums[2] += x * i32::from(*c);
        sums[3] += x * i32::from(*d);
    }
    sums
}
