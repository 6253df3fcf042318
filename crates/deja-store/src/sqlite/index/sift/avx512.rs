//! Tables of 64, 64 sketches at once.
//!
//! There are no closures around intrinsics: they are inlined with link-time optimisation only.

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _MM_HINT_T1, _mm_loadl_epi64, _mm_prefetch, _mm512_add_epi64, _mm512_adds_epu8,
    _mm512_and_si512, _mm512_cmple_epu8_mask, _mm512_cvtepu8_epi64, _mm512_loadu_si512,
    _mm512_mask_cmple_epu64_mask, _mm512_permutexvar_epi8, _mm512_popcnt_epi64, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi16, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_xor_si512,
};
use std::mem::MaybeUninit;

use super::{BLOCK, BYTES, Block, HEAD, PLANES, SIXES, Sixes, View, Word};

/// Blocks that are looked at before the other words are, so that memory is waited for once and not for each.
const STRETCH: usize = 16;
const EIGHT: usize = 8;
const GROUPS: usize = STRETCH * BLOCK / EIGHT;

/// What a stretch of blocks has come to.
struct Stretch {
    /// Which sketches are near so far.
    near: [u64; STRETCH],
    /// The sums of the head's words.
    sums: [[u8; BLOCK]; STRETCH],
}

/// See [`super::within`].
///
/// # Safety
/// `s.tails` must hold every word of the places of all blocks behind the head.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vpopcntdq,popcnt")]
pub(super) unsafe fn within(
    tables: &[Sixes; HEAD],
    s: View<'_>,
    probe: &[Word],
    ahead: Option<View<'_>>,
    found: &mut Vec<u16>,
) {
    for start in (0..s.heads[0].len()).step_by(STRETCH) {
        let mut stretch = Stretch { near: [0; STRETCH], sums: [[0; BLOCK]; STRETCH] };
        for (at, near) in (start..s.heads[0].len()).zip(&mut stretch.near) {
            *near = s.those_of(at);
        }
        for (w, word) in probe[..HEAD].iter().enumerate() {
            let ahead = ahead.and_then(|ahead| ahead.heads[w].get(start..)).unwrap_or_default();
            add_word(&tables[w], &s.heads[w][start..], word.radius_of_bytes(), &mut stretch, ahead);
        }
        // SAFETY: as above.
        unsafe { add_others(&stretch, start * BLOCK, s, &probe[HEAD..], found) };
    }
}

/// Adds a word of the head. Never inlined, so that all tables are in registers.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn add_word(tables: &Sixes, blocks: &[Block], radius: u8, stretch: &mut Stretch, ahead: &[Block]) {
    let tables = load_all(tables);
    let radius = _mm512_set1_epi8(radius.cast_signed());
    for (at, (block, (near, sums))) in
        blocks.iter().zip(stretch.near.iter_mut().zip(&mut stretch.sums)).enumerate()
    {
        if *near == 0 {
            continue;
        }
        let values = load_all(block);
        let mut sum = load(sums);
        for byte in 0..BYTES {
            // The two upper bits of an index are ignored.
            sum = _mm512_adds_epu8(sum, _mm512_permutexvar_epi8(values[byte], tables[byte]));
        }
        for three in 0..SIXES - BYTES {
            let second = _mm512_srli_epi16::<2>(values[three * 3 + 1]);
            let mut upper = select(0xc0, values[three * 3], second);
            if let Some(third) = values.get(three * 3 + 2) {
                upper = select(0xf0, upper, _mm512_srli_epi16::<4>(*third));
            }
            let upper = _mm512_srli_epi16::<2>(upper);
            sum = _mm512_adds_epu8(sum, _mm512_permutexvar_epi8(upper, tables[BYTES + three]));
        }
        *near &= _mm512_cmple_epu8_mask(sum, radius);
        // SAFETY: there are 64 bytes.
        unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum) };
        // A word of a chunk is two pages: too few for the processor to see where they go on. Into the second-level cache:
        // more can be on its way there than to the first.
        for column in ahead.get(at).into_iter().flatten() {
            _mm_prefetch::<_MM_HINT_T1>(column.as_ptr().cast());
        }
    }
}

/// Appends the sketches of a stretch that are near after the words behind the head too. The stretch begins at place `start`.
///
/// # Safety
/// `s.tails` must hold every one of these words for all places of the stretch.
#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
unsafe fn add_others(stretch: &Stretch, start: usize, s: View<'_>, words: &[Word], found: &mut Vec<u16>) {
    let (tails, places) = (s.tails.as_ptr(), s.heads[0].len() * BLOCK);
    // Groups of eight sketches: their place, and which of them are near so far. `sums` has the sums of groups that were read.
    let mut groups = [const { MaybeUninit::<(u32, u8)>::uninit() }; GROUPS];
    let mut sums = [const { MaybeUninit::<__m512i>::uninit() }; GROUPS];
    let mut count = 0;
    for (at, near) in stretch.near.iter().enumerate() {
        let mut near = *near;
        while near != 0 {
            let group = near.trailing_zeros() as usize / EIGHT;
            let place = at * BLOCK + group * EIGHT;
            _mm_prefetch::<_MM_HINT_T0>(tails.wrapping_add(start + place).cast());
            groups[count].write((place as u32, (near >> (group * EIGHT)) as u8));
            count += 1;
            near &= !(0xff << (group * EIGHT));
        }
    }
    for (w, word) in words.iter().enumerate() {
        let (signs, radius) = (all(word.signs), all(word.radius));
        let planes = [all(word.planes[0]), all(word.planes[1]), all(word.planes[2])];
        // Twice as many words each time.
        let ahead = if (w + 1).is_power_of_two() { w + 1..(2 * w + 2).min(words.len()) } else { 0..0 };
        let mut kept = 0;
        for group in 0..count {
            // SAFETY: the first `count` of the groups are there.
            let (place, near) = unsafe { groups[group].assume_init() };
            let at = start + place as usize;
            // SAFETY: at + 8 <= places and w < words.len(), so the eight words lie inside `tails`.
            let stored = unsafe { _mm512_loadu_si512(tails.add(w * places + at).cast()) };
            let before = if w == 0 {
                let sums = &stretch.sums.as_flattened()[place as usize..][..EIGHT];
                // SAFETY: these are eight bytes.
                _mm512_cvtepu8_epi64(unsafe { _mm_loadl_epi64(sums.as_ptr().cast()) })
            } else {
                // SAFETY: from the second word on the first `count` groups have sums.
                unsafe { sums[group].assume_init() }
            };
            let sum = _mm512_add_epi64(before, distance(stored, signs, planes));
            let near = _mm512_mask_cmple_epu64_mask(near, sum, radius);
            groups[kept].write((place, near));
            sums[kept].write(sum);
            if near != 0 {
                kept += 1;
                for w in ahead.clone() {
                    _mm_prefetch::<_MM_HINT_T0>(tails.wrapping_add(w * places + at).cast());
                }
            }
        }
        count = kept;
    }
    for group in &groups[..count] {
        // SAFETY: as above.
        let (place, mut near) = unsafe { group.assume_init() };
        while near != 0 {
            found.push((start + (place + near.trailing_zeros()) as usize) as u16);
            near &= near - 1;
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; BLOCK]) -> __m512i {
    // SAFETY: these are 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_all<const COUNT: usize>(from: &[[u8; BLOCK]; COUNT]) -> [__m512i; COUNT] {
    let mut all = [_mm512_setzero_si512(); COUNT];
    for i in 0..COUNT {
        all[i] = load(&from[i]);
    }
    all
}

/// The bits of `one` where those of `mask` are set, of `other` elsewhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn select(mask: u8, one: __m512i, other: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xca>(_mm512_set1_epi8(mask.cast_signed()), one, other)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// See [`Word::distance`].
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn distance(stored: __m512i, signs: __m512i, [one, two, four]: [__m512i; PLANES]) -> __m512i {
    let differ = _mm512_xor_si512(stored, signs);
    let one = _mm512_popcnt_epi64(_mm512_and_si512(differ, one));
    let two = _mm512_popcnt_epi64(_mm512_and_si512(differ, two));
    let four = _mm512_popcnt_epi64(_mm512_and_si512(differ, four));
    _mm512_add_epi64(one, _mm512_add_epi64(_mm512_slli_epi64::<1>(two), _mm512_slli_epi64::<2>(four)))
}
