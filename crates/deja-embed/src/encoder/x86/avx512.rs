//! AVX-512 VNNI: one instruction folds four byte products into each of 16 sums.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    __m512, _MM_HINT_T1, _mm_prefetch, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::{LANES, Linear, Operands, QUAD, STEP, Strip, tiles, word};
use crate::encoder::forward::{Scratch, forward};
use crate::image::Image;

/// See [`forward`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(in crate::encoder) fn run(
    image: &Image,
    texts: &[&[u32]],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
) -> Option<()> {
    forward::<__m512, u8>(
        image,
        texts,
        scratch,
        out,
        |bytes: &[_], linear: &Linear<'_>, strip, sums: &mut [_]| {
            product(bytes, linear, strip, sums);
        },
    )
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn product(bytes: &[[u8; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]) {
    let operands = Operands::new(bytes, linear, strip, sums);
    // SAFETY: row + HEIGHT <= rows, and the panels are those of the strip.
    match strip.count {
        3 => tiles!(operands.rows, 8, [1, 2, 3, 4, 5, 6, 7, 8], |row, HEIGHT| unsafe {
            tile::<HEIGHT, 3>(operands, row, 0);
        }),
        count => {
            for at in 0..count {
                tiles!(operands.rows, 8, [1, 2, 3, 4, 5, 6, 7, 8], |row, HEIGHT| unsafe {
                    tile::<HEIGHT, 1>(operands, row, at);
                });
            }
        }
    }
}

/// The sums of `M` rows and of `P` panels of the strip: 24 of the 32 registers at most.
///
/// # Safety
/// `row + M` and `at + P` must be within the operands.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn tile<const M: usize, const P: usize>(operands: Operands<u8>, row: usize, at: usize) {
    let mut sums = [[_mm512_setzero_si512(); P]; M];
    // SAFETY: all offsets stay inside the rows and panels which the caller vouches for; a prefetch reads nothing.
    unsafe {
        let bytes = operands.row(row);
        let weights: [_; P] = std::array::from_fn(|p| operands.panel(at + p));
        let ahead = operands.next_strip();
        for step in 0..operands.inputs / QUAD {
            let mut columns = [_mm512_setzero_si512(); P];
            for p in 0..P {
                let column = weights[p].add(step * STEP);
                columns[p] = _mm512_loadu_si512(column.cast());
                _mm_prefetch::<_MM_HINT_T1>(column.wrapping_add(ahead));
            }
            for m in 0..M {
                let inputs = _mm512_set1_epi32(word(bytes.add(m * operands.inputs + step * QUAD)));
                for p in 0..P {
                    sums[m][p] = _mm512_dpbusd_epi32(sums[m][p], inputs, columns[p]);
                }
            }
        }
        for m in 0..M {
            for p in 0..P {
                _mm512_storeu_si512(operands.sum(row + m, at + p).cast(), sums[m][p]);
            }
        }
    }
}
