//! AVX-VNNI: the dot-product instruction on 256 bits, for processors without AVX-512.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
};

use super::{Linear, Operands, PANEL, QUAD, STEP, kernel, quad};

kernel!(super::vector::Pair, "avx2,avxvnni", 1, 6, [1, 2, 3, 4, 5, 6]);

/// The sums of `M` rows and `P` panels of two registers each: 12 of the 16 registers at most.
///
/// # Safety
/// `row + M` and `panel + P` must be within the operands.
#[target_feature(enable = "avx2,avxvnni")]
unsafe fn tile<const M: usize, const P: usize>(operands: Operands, row: usize, panel: usize) {
    let mut sums = [[[_mm256_setzero_si256(); 2]; P]; M];
    // SAFETY: all offsets stay inside the rows and panels which the caller vouches for.
    unsafe {
        let bytes = operands.row(row);
        let weights = operands.panel(panel);
        for step in 0..operands.inputs / QUAD {
            for p in 0..P {
                let at = weights.add(p * operands.inputs * PANEL + step * STEP);
                let columns = [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(STEP / 2).cast())];
                for m in 0..M {
                    let inputs = _mm256_set1_epi32(quad(bytes.add(m * operands.inputs + step * QUAD)));
                    for h in 0..2 {
                        sums[m][p][h] = _mm256_dpbusd_avx_epi32(sums[m][p][h], inputs, columns[h]);
                    }
                }
            }
        }
        for m in 0..M {
            for p in 0..P {
                let at = operands.sum(row + m, panel + p);
                _mm256_storeu_si256(at.cast(), sums[m][p][0]);
                _mm256_storeu_si256(at.add(PANEL / 2).cast(), sums[m][p][1]);
            }
        }
    }
}
