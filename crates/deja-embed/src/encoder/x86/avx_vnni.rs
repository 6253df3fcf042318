//! AVX-VNNI: the dot-product instruction on 256 bits, for processors without AVX-512.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    __m256, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_storeu_si256,
};

use super::{LANES, Linear, Operands, PANEL, QUAD, STEP, Strip, tiles, word};
use crate::encoder::forward::{Scratch, forward};
use crate::image::Image;

/// See [`forward`].
#[target_feature(enable = "avx2,avxvnni")]
pub(in crate::encoder) fn run(
    image: &Image,
    texts: &[&[u32]],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
) -> Option<()> {
    forward::<[__m256; 2], u8>(
        image,
        texts,
        scratch,
        out,
        |bytes: &[_], linear: &Linear<'_>, strip, sums: &mut [_]| {
            product(bytes, linear, strip, sums);
        },
    )
}

#[target_feature(enable = "avx2,avxvnni")]
fn product(bytes: &[[u8; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]) {
    let operands = Operands::new(bytes, linear, strip, sums);
    for at in 0..strip.count {
        // SAFETY: row + HEIGHT <= rows, and the panel is one of the strip.
        tiles!(operands.rows, 6, [1, 2, 3, 4, 5, 6], |row, HEIGHT| unsafe {
            tile::<HEIGHT>(operands, row, at);
        });
    }
}

/// The sums of `M` rows and one panel of two registers: 12 of the 16 registers at most.
///
/// # Safety
/// `row + M` and `at` must be within the operands.
#[target_feature(enable = "avx2,avxvnni")]
unsafe fn tile<const M: usize>(operands: Operands<u8>, row: usize, at: usize) {
    let mut sums = [[_mm256_setzero_si256(); 2]; M];
    // SAFETY: all offsets stay inside the rows and the panel which the caller vouches for.
    unsafe {
        let bytes = operands.row(row);
        let weights = operands.panel(at);
        for step in 0..operands.inputs / QUAD {
            let column = weights.add(step * STEP);
            let columns =
                [_mm256_loadu_si256(column.cast()), _mm256_loadu_si256(column.add(STEP / 2).cast())];
            for m in 0..M {
                let inputs = _mm256_set1_epi32(word(bytes.add(m * operands.inputs + step * QUAD)));
                for h in 0..2 {
                    sums[m][h] = _mm256_dpbusd_avx_epi32(sums[m][h], inputs, columns[h]);
                }
            }
        }
        for m in 0..M {
            let sum = operands.sum(row + m, at);
            _mm256_storeu_si256(sum.cast(), sums[m][0]);
            _mm256_storeu_si256(sum.add(PANEL / 2).cast(), sums[m][1]);
        }
    }
}
