//! Two tables of 16 for each byte, 32 sketches at once.

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
};

use super::{BLOCK, HEAD, Halves, View, Word, others};

const HALF: usize = BLOCK / 2;

/// See [`super::within`].
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn within(tables: &[Halves; HEAD], s: View<'_>, probe: &[Word], found: &mut Vec<u16>) {
    let lower_half = _mm256_set1_epi8(0x0f);
    for at in 0..s.heads[0].len() {
        let (mut near, mut sums) = (s.those_of(at), [0_u8; BLOCK]);
        for ((blocks, tables), word) in s.heads.iter().zip(tables).zip(probe) {
            let radius = _mm256_set1_epi8(word.radius_of_bytes().cast_signed());
            let mut reached = 0;
            for half in 0..2 {
                // SAFETY: both halves of `sums` have 32 bytes.
                let to: *mut __m256i = unsafe { sums.as_mut_ptr().add(half * HALF).cast() };
                // SAFETY: as above.
                let mut sum = unsafe { _mm256_loadu_si256(to) };
                for (column, [lower, upper]) in blocks[at].iter().zip(tables) {
                    // SAFETY: a column has 64 bytes, a table 16.
                    let (values, lower, upper) = unsafe {
                        (
                            _mm256_loadu_si256(column.as_ptr().add(half * HALF).cast()),
                            _mm256_broadcastsi128_si256(_mm_loadu_si128(lower.as_ptr().cast())),
                            _mm256_broadcastsi128_si256(_mm_loadu_si128(upper.as_ptr().cast())),
                        )
                    };
                    let low = _mm256_and_si256(values, lower_half);
                    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(values), lower_half);
                    sum = _mm256_adds_epu8(sum, _mm256_shuffle_epi8(lower, low));
                    sum = _mm256_adds_epu8(sum, _mm256_shuffle_epi8(upper, high));
                }
                // SAFETY: as above.
                unsafe { _mm256_storeu_si256(to, sum) };
                let is_near = _mm256_cmpeq_epi8(_mm256_min_epu8(sum, radius), sum);
                reached |= u64::from(_mm256_movemask_epi8(is_near).cast_unsigned()) << (half * HALF);
            }
            near &= reached;
        }
        others(s, at, near, &sums, probe, found);
    }
}
