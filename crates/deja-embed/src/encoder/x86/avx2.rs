//! AVX2: bytes widened to 16 bits, then the exact multiply-add of pairs.
//!
//! `vpmaddubsw` would do a step in fewer instructions but saturates at 16 bits with eight-bit inputs.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    __m256i, _mm_cvtepu8_epi16, _mm_cvtsi32_si128, _mm_loadu_si128, _mm256_add_epi32,
    _mm256_broadcastq_epi64, _mm256_cvtepi8_epi16, _mm256_hadd_epi32, _mm256_madd_epi16,
    _mm256_permute4x64_epi64, _mm256_setzero_si256, _mm256_storeu_si256,
};

use super::{Linear, Operands, PANEL, QUAD, STEP, kernel, quad};

kernel!(super::vector::Pair, "avx2", 1, 2, [1, 2]);

/// The sums of `M` rows and `P` panels. Each sum is held as two halves until the end: four registers a panel.
///
/// # Safety
/// `row + M` and `panel + P` must be within the operands.
#[target_feature(enable = "avx2")]
unsafe fn tile<const M: usize, const P: usize>(operands: Operands, row: usize, panel: usize) {
    let mut sums = [[[_mm256_setzero_si256(); 4]; P]; M];
    // SAFETY: all offsets stay inside the rows and panels which the caller vouches for.
    unsafe {
        let bytes = operands.row(row);
        let weights = operands.panel(panel);
        for step in 0..operands.inputs / QUAD {
            let mut inputs = [_mm256_setzero_si256(); M];
            for m in 0..M {
                let bytes = _mm_cvtsi32_si128(quad(bytes.add(m * operands.inputs + step * QUAD)));
                inputs[m] = _mm256_broadcastq_epi64(_mm_cvtepu8_epi16(bytes));
            }
            for p in 0..P {
                let at = weights.add(p * operands.inputs * PANEL + step * STEP);
                for part in 0..4 {
                    let columns = _mm256_cvtepi8_epi16(_mm_loadu_si128(at.add(part * STEP / 4).cast()));
                    for m in 0..M {
                        let products = _mm256_madd_epi16(inputs[m], columns);
                        sums[m][p][part] = _mm256_add_epi32(sums[m][p][part], products);
                    }
                }
            }
        }
        for m in 0..M {
            for p in 0..P {
                let at = operands.sum(row + m, panel + p);
                _mm256_storeu_si256(at.cast(), join(sums[m][p][0], sums[m][p][1]));
                _mm256_storeu_si256(at.add(PANEL / 2).cast(), join(sums[m][p][2], sums[m][p][3]));
            }
        }
    }
}

/// Adds neighbours and puts the eight results in order.
#[target_feature(enable = "avx2")]
fn join(low: __m256i, high: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(low, high))
}
