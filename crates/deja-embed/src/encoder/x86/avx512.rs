//! AVX-512 VNNI: one instruction folds four byte products into each of 16 sums.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::{Linear, Operands, PANEL, QUAD, STEP, kernel, quad};

kernel!(
    std::arch::x86_64::__m512,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni",
    3,
    8,
    [1, 2, 3, 4, 5, 6, 7, 8]
);

/// The sums of `M` rows and `P` panels: 24 of the 32 registers at most.
///
/// # Safety
/// `row + M` and `panel + P` must be within the operands.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn tile<const M: usize, const P: usize>(operands: Operands, row: usize, panel: usize) {
    let mut sums = [[_mm512_setzero_si512(); P]; M];
    // SAFETY: all offsets stay inside the rows and panels which the caller vouches for.
    unsafe {
        let bytes = operands.row(row);
        let weights = operands.panel(panel);
        for step in 0..operands.inputs / QUAD {
            let mut columns = [_mm512_setzero_si512(); P];
            for p in 0..P {
                columns[p] =
                    _mm512_loadu_si512(weights.add(p * operands.inputs * PANEL + step * STEP).cast());
            }
            for m in 0..M {
                let inputs = _mm512_set1_epi32(quad(bytes.add(m * operands.inputs + step * QUAD)));
                for p in 0..P {
                    sums[m][p] = _mm512_dpbusd_epi32(sums[m][p], inputs, columns[p]);
                }
            }
        }
        for m in 0..M {
            for p in 0..P {
                _mm512_storeu_si512(operands.sum(row + m, panel + p).cast(), sums[m][p]);
            }
        }
    }
}
