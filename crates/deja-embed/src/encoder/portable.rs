//! The kernel for every machine: no intrinsics. It is also what the others are tested against.

use super::forward::{Scratch, forward};
use super::vector::LANES;
use crate::image::{Image, Linear, PANEL, QUAD};

/// See [`forward`].
pub(super) fn run(image: &Image, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
    forward::<[f32; LANES]>(image, texts, scratch, out, product)
}

fn product(bytes: &[u8], linear: &Linear<'_>, sums: &mut [i32]) {
    /// Channels in a quarter of a panel: what a 128-bit machine holds in registers.
    const PART: usize = PANEL / 4;
    let (inputs, outputs) = (linear.inputs, linear.outputs);
    for (row, sums) in bytes.chunks_exact(inputs).zip(sums.chunks_exact_mut(outputs)) {
        let panels = linear.weights.chunks_exact(inputs * PANEL);
        for (panel, sums) in panels.zip(sums.as_chunks_mut::<PANEL>().0) {
            for (part, sums) in sums.as_chunks_mut::<PART>().0.iter_mut().enumerate() {
                let mut lanes = [0_i32; PART * QUAD];
                let steps = panel.as_chunks::<{ PANEL * QUAD }>().0.iter();
                for (weights, quad) in steps.zip(row.as_chunks::<QUAD>().0) {
                    let weights = &weights.as_chunks::<{ PART * QUAD }>().0[part];
                    for i in 0..PART * QUAD {
                        // The product fits 16 bits: 255 * 127.
                        lanes[i] += i32::from(i16::from(quad[i % QUAD]).wrapping_mul(i16::from(weights[i])));
                    }
                }
                *sums = std::array::from_fn(|n| lanes[n * QUAD..(n + 1) * QUAD].iter().sum());
            }
        }
    }
}
