//! AVX2: 16-bit numbers and the exact multiply-add of pairs.
//!
//! `vpmaddubsw` multiplies bytes but saturates at 16 bits. So inputs are kept at 16 bits, and the weights of a
//! panel are widened once for all rows of a block.

#![expect(clippy::needless_range_loop, reason = "indices name registers; the loops unroll completely")]

use std::arch::x86_64::{
    __m256, __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_add_epi32, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cvtepi8_epi16, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_ps,
    _mm256_storeu_si256,
};

use super::{LANES, Linear, Operands, PANEL, STEP, Strip, tiles, word};
use crate::encoder::forward::{Scratch, forward};
use crate::image::Image;

/// Inputs of a panel that are widened at once: their weights and those inputs of a few rows fit the first-level cache.
const CHUNK: usize = 384;

/// The weights of one panel for two neighbouring inputs, in the channels' order 0 1 4 5 2 3 6 7, 8 9 12 13 10 11 14 15.
type Pairs = [[i16; LANES]; 2];

/// See [`forward`].
#[target_feature(enable = "avx2")]
pub(in crate::encoder) fn run(
    image: &Image,
    texts: &[&[u32]],
    scratch: &mut Scratch,
    out: &mut Vec<f32>,
) -> Option<()> {
    let mut wide = [[[0; LANES]; 2]; CHUNK / 2];
    forward::<[__m256; 2], i16>(
        image,
        texts,
        scratch,
        out,
        |rows: &[_], linear: &Linear<'_>, strip, sums: &mut [_]| {
            product(rows, linear, strip, sums, &mut wide);
        },
    )
}

#[target_feature(enable = "avx2")]
fn product(
    rows: &[[i16; LANES]],
    linear: &Linear<'_>,
    strip: Strip,
    sums: &mut [i32],
    wide: &mut [Pairs; CHUNK / 2],
) {
    let operands = Operands::new(rows, linear, strip, sums);
    for at in 0..strip.count {
        for first in (0..linear.inputs).step_by(CHUNK) {
            let inputs = CHUNK.min(linear.inputs - first);
            let pairs = &mut wide[..inputs / 2];
            let next = if first + inputs < linear.inputs {
                linear.weights[(strip.panel(at) * linear.inputs + first + inputs) * PANEL..].as_ptr()
            } else {
                operands.after(at)
            };
            // SAFETY: the panel is one of the strip, first + inputs <= linear.inputs, and row + HEIGHT <= rows.
            unsafe { widen(operands.panel(at).add(first * PANEL), pairs) };
            tiles!(operands.rows, 6, [1, 2, 3, 4, 5, 6], |row, HEIGHT| unsafe {
                tile::<HEIGHT>(operands, row, at, first, pairs, next);
            });
        }
    }
}

/// The weights from `panel` on, two inputs of all channels at a time.
///
/// # Safety
/// `panel` must be readable for 16 weights of two inputs for each of `pairs`, which are even in number.
#[target_feature(enable = "avx2")]
unsafe fn widen(panel: *const i8, pairs: &mut [Pairs]) {
    for (step, pairs) in pairs.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        for half in 0..2 {
            // SAFETY: a step has 64 weights, four inputs of each channel; half of them are read here.
            let [low, high] = unsafe {
                let at = panel.add(step * STEP + half * STEP / 2);
                [_mm_loadu_si128(at.cast()), _mm_loadu_si128(at.add(STEP / 4).cast())]
            };
            let low = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(low));
            let high = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(high));
            let first = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
            let second = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
            // SAFETY: each is an array of the length of a register.
            unsafe {
                _mm256_storeu_si256(pairs[0][half].as_mut_ptr().cast(), first);
                _mm256_storeu_si256(pairs[1][half].as_mut_ptr().cast(), second);
            }
        }
    }
}

/// Adds the products of the inputs from `first` on to the sums of `M` rows and one panel: 12 of the 16 registers
/// at most. The sums of the first inputs are set. The weights from `next` on are fetched meanwhile.
///
/// # Safety
/// `row + M`, `at` and `first` with all of `pairs` must be within the operands.
#[target_feature(enable = "avx2")]
unsafe fn tile<const M: usize>(
    operands: Operands<i16>,
    row: usize,
    at: usize,
    first: usize,
    pairs: &[Pairs],
    next: *const i8,
) {
    let mut sums = [[_mm256_setzero_si256(); 2]; M];
    // SAFETY: all offsets stay inside the rows and the panel which the caller vouches for; a prefetch reads nothing.
    unsafe {
        let inputs = operands.row(row).add(first);
        for (step, columns) in pairs.iter().enumerate() {
            _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(step * STEP / 2));
            let columns = columns.each_ref().map(|half| _mm256_loadu_si256(half.as_ptr().cast()));
            for m in 0..M {
                let pair = _mm256_set1_epi32(word(inputs.add(m * operands.inputs + 2 * step)));
                for h in 0..2 {
                    sums[m][h] = _mm256_add_epi32(sums[m][h], _mm256_madd_epi16(pair, columns[h]));
                }
            }
        }
        for m in 0..M {
            for h in 0..2 {
                let to: *mut __m256i = operands.sum(row + m, at).add(h * PANEL / 2).cast();
                let mut sum = _mm256_permute4x64_epi64::<0b11_01_10_00>(sums[m][h]);
                if first > 0 {
                    sum = _mm256_add_epi32(sum, _mm256_loadu_si256(to));
                }
                _mm256_storeu_si256(to, sum);
            }
        }
    }
}
