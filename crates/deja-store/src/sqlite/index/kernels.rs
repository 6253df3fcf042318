//! The two loops that a search spends its time in, once for each instruction set.
//!
//! The instruction set is chosen once at run time. Each variant is a whole loop inside one function: spread
//! over generics, functions with a `target_feature` are not inlined and the loop is several times slower.
#![expect(unsafe_code, reason = "SIMD intrinsics, measured in benches/index.rs; each has its SAFETY note")]

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use half::f16;

/// What this processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Whatever the compiler targets.
    Portable,
    /// POPCNT, AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, DQ and VPOPCNTDQ.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best level of this processor.
pub(super) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Portable
}

/// Sketches of a chunk, word by word: word `w` of sketch `i` is `words[w * stride + i]`, so that eight
/// sketches are compared at once without adding across lanes, and of most only the first word is read.
#[derive(Clone, Copy)]
pub(super) struct Sketches<'a> {
    pub(super) words: &'a [u64],
    pub(super) stride: usize,
    pub(super) len: usize,
}

impl Sketches<'_> {
    /// The words of the sketch at `at`.
    pub(super) fn of(&self, at: usize) -> Box<[u64]> {
        self.words.chunks_exact(self.stride).map(|words| words[at]).collect()
    }
}

/// Bits of a weight.
pub(super) const PLANES: usize = 3;

/// A word of the probe.
pub(super) struct Word {
    pub(super) signs: u64,
    /// The weights of the signs: bit `p` of each is in plane `p`.
    pub(super) planes: [u64; PLANES],
    /// What the weights of all signs that differ up to this word may add up to.
    pub(super) radius: u64,
}

impl Word {
    /// The weights of the signs of `stored` that differ.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "inlined into the variant compiled with POPCNT")]
    pub(super) fn distance(&self, stored: u64) -> u64 {
        let differ = stored ^ self.signs;
        let plane = |at: usize| u64::from((differ & self.planes[at]).count_ones()) << at;
        plane(0) + plane(1) + plane(2)
    }
}

/// Appends to `found` the sketches that are within the radius of `probe` after each word. `ahead` will be
/// looked at next.
pub(super) fn within(
    level: Level,
    sketches: Sketches<'_>,
    probe: &[Word],
    ahead: Option<Sketches<'_>>,
    found: &mut Vec<u16>,
) {
    assert!(
        sketches.len <= sketches.stride && sketches.words.len() >= probe.len() * sketches.stride,
        "every word of every sketch is there"
    );
    match level {
        Level::Portable => within_portable(sketches, probe, found, 0),
        // SAFETY: the level says that the processor has the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { within_popcnt(sketches, probe, found) },
        // SAFETY: as above, and the assertion says that the loads stay inside `words`.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { within_avx512(sketches, probe, ahead, found) },
    }
}

#[inline(always)]
fn within_portable(s: Sketches<'_>, probe: &[Word], found: &mut Vec<u16>, from: usize) {
    // Of a stretch those that are near after each word, in a loop without branches.
    const STRETCH: usize = 64;
    let mut near = [(0_u16, 0_u64); STRETCH];
    let mut start = from;
    while start < s.len {
        let mut count = STRETCH.min(s.len - start);
        for (place, near) in (start..).zip(&mut near[..count]) {
            *near = (place as u16, 0);
        }
        for (w, word) in probe.iter().enumerate() {
            let words = &s.words[w * s.stride..][..s.len];
            let mut kept = 0;
            for i in 0..count {
                let (place, before) = near[i];
                let distance = before + word.distance(words[usize::from(place)]);
                near[kept] = (place, distance);
                kept += usize::from(distance <= word.radius);
            }
            count = kept;
        }
        found.extend(near[..count].iter().map(|(place, _)| place));
        start += STRETCH;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,avx2")]
fn within_popcnt(s: Sketches<'_>, probe: &[Word], found: &mut Vec<u16>) {
    within_portable(s, probe, found, 0);
}

/// # Safety
/// `s.words` must hold `probe.len() * s.stride` words, with `s.len <= s.stride`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
unsafe fn within_avx512(s: Sketches<'_>, probe: &[Word], ahead: Option<Sketches<'_>>, found: &mut Vec<u16>) {
    use std::arch::x86_64::{
        __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_add_epi64, _mm512_and_si512, _mm512_cmple_epu64_mask,
        _mm512_loadu_si512, _mm512_mask_cmple_epu64_mask, _mm512_popcnt_epi64, _mm512_set1_epi64,
        _mm512_slli_epi64, _mm512_xor_si512,
    };
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn all(word: u64) -> __m512i {
        _mm512_set1_epi64(word as i64)
    }
    // No closures around intrinsics: they are inlined with link-time optimisation only.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn all_planes([one, two, four]: [u64; PLANES]) -> [__m512i; PLANES] {
        [all(one), all(two), all(four)]
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn distance(stored: __m512i, signs: __m512i, planes: [__m512i; PLANES]) -> __m512i {
        let differ = _mm512_xor_si512(stored, signs);
        let [one, two, four] = planes;
        let one = _mm512_popcnt_epi64(_mm512_and_si512(differ, one));
        let two = _mm512_popcnt_epi64(_mm512_and_si512(differ, two));
        let four = _mm512_popcnt_epi64(_mm512_and_si512(differ, four));
        _mm512_add_epi64(one, _mm512_add_epi64(_mm512_slli_epi64::<1>(two), _mm512_slli_epi64::<2>(four)))
    }
    /// Groups of eight that are looked at together, so that memory is waited for once and not for each.
    const GROUPS: usize = 128;
    let Some((first, others)) = probe.split_first() else { return };
    let (signs, planes, radius) = (all(first.signs), all_planes(first.planes), all(first.radius));
    let words = s.words.as_ptr();
    let next = ahead.map_or(s.words, |ahead| ahead.words).as_ptr();
    let second = if others.is_empty() { 0 } else { s.stride };
    let whole = s.len / 8 * 8;
    // Those that are near so far: where they are, which of the eight, and the distances.
    let mut groups = [(0, 0); GROUPS];
    let mut sums = [const { MaybeUninit::<__m512i>::uninit() }; GROUPS];
    for start in (0..whole).step_by(GROUPS * 8) {
        let mut nears = [0; GROUPS];
        for (i, near) in (start..whole).step_by(8).zip(&mut nears) {
            // SAFETY: i + 8 <= len <= stride, so the eight words lie inside `words`.
            let sum = distance(unsafe { _mm512_loadu_si512(words.add(i).cast()) }, signs, planes);
            *near = _mm512_cmple_epu64_mask(sum, radius);
            // The first words of a chunk are two pages: too few for the processor to see where they go on.
            _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(i).cast());
        }
        let mut count = 0;
        for (from, nears) in (0..).step_by(8).zip(nears.as_chunks::<8>().0) {
            let mut bits = u64::from_le_bytes(*nears);
            while bits != 0 {
                let group = bits.trailing_zeros() as usize / 8;
                let i = start + (from + group) * 8;
                _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(i + second).cast());
                groups[count] = (i as u32, nears[group]);
                count += 1;
                bits &= !(0xff << (group * 8));
            }
        }
        for (w, word) in (1..).zip(others) {
            let (others, limit) = ((all(word.signs), all_planes(word.planes)), all(word.radius));
            // Twice as many words each time.
            let ahead =
                if (w + 1_usize).is_power_of_two() { w + 1..(2 * w + 2).min(probe.len()) } else { 0..0 };
            let mut kept = 0;
            for group in 0..count {
                let (at, near) = groups[group];
                let i = at as usize;
                // SAFETY: as above, and w < probe.len(); from the second word on the first `count` groups have sums.
                let (stored, before) = unsafe {
                    let before = if w == 1 {
                        distance(_mm512_loadu_si512(words.add(i).cast()), signs, planes)
                    } else {
                        sums[group].assume_init()
                    };
                    (_mm512_loadu_si512(words.add(w * s.stride + i).cast()), before)
                };
                let sum = _mm512_add_epi64(before, distance(stored, others.0, others.1));
                let near = _mm512_mask_cmple_epu64_mask(near, sum, limit);
                groups[kept] = (at, near);
                sums[kept].write(sum);
                if near != 0 {
                    kept += 1;
                    for w in ahead.clone() {
                        _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(w * s.stride + i).cast());
                    }
                }
            }
            count = kept;
        }
        for (at, near) in &groups[..count] {
            let mut near = *near;
            while near != 0 {
                found.push((at + near.trailing_zeros()) as u16);
                near &= near - 1;
            }
        }
    }
    within_portable(s, probe, found, whole);
}

/// The dot product of a stored f16 vector with an f32 vector of the same length, in f32.
pub(super) fn dot(level: Level, stored: &[u16], probe: &[f32]) -> f32 {
    assert_eq!(stored.len(), probe.len(), "one partition holds vectors of one dimension");
    match level {
        Level::Portable => dot_portable(stored, probe),
        // SAFETY: the level says that the processor has the features, and the lengths are equal.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { dot_avx2(stored, probe) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { dot_avx512(stored, probe) },
    }
}

fn dot_portable(stored: &[u16], probe: &[f32]) -> f32 {
    // Eight sums, so that the error does not grow with the length of one.
    let mut sums = [0.0f32; 8];
    for (a, b) in stored.chunks(8).zip(probe.chunks(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f16::from_bits(*a).to_f32() * b;
        }
    }
    sums.iter().sum()
}

/// # Safety
/// `stored` and `probe` must be of equal length.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn dot_avx2(stored: &[u16], probe: &[f32]) -> f32 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps,
        _mm256_storeu_ps,
    };
    let mut sums = [_mm256_setzero_ps(); 2];
    let whole = stored.len() / 16 * 16;
    let mut i = 0;
    while i < whole {
        for (half, sum) in sums.iter_mut().enumerate() {
            let at = i + half * 8;
            // SAFETY: at + 8 <= whole <= the length of both.
            let (a, b) = unsafe {
                (
                    _mm256_cvtph_ps(_mm_loadu_si128(stored.as_ptr().add(at).cast())),
                    _mm256_loadu_ps(probe.as_ptr().add(at)),
                )
            };
            *sum = _mm256_fmadd_ps(a, b, *sum);
        }
        i += 16;
    }
    let mut lanes = [0.0f32; 16];
    // SAFETY: `lanes` has room for both halves.
    unsafe {
        _mm256_storeu_ps(lanes.as_mut_ptr(), sums[0]);
        _mm256_storeu_ps(lanes.as_mut_ptr().add(8), sums[1]);
    }
    lanes.iter().sum::<f32>() + dot_portable(&stored[whole..], &probe[whole..])
}

/// # Safety
/// `stored` and `probe` must be of equal length.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,f16c")]
unsafe fn dot_avx512(stored: &[u16], probe: &[f32]) -> f32 {
    use std::arch::x86_64::{
        _mm256_loadu_si256, _mm512_add_ps, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_loadu_ps,
        _mm512_reduce_add_ps, _mm512_setzero_ps,
    };
    let mut sums = [_mm512_setzero_ps(); 2];
    let whole = stored.len() / 32 * 32;
    let mut i = 0;
    while i < whole {
        for (half, sum) in sums.iter_mut().enumerate() {
            let at = i + half * 16;
            // SAFETY: at + 16 <= whole <= the length of both.
            let (a, b) = unsafe {
                (
                    _mm512_cvtph_ps(_mm256_loadu_si256(stored.as_ptr().add(at).cast())),
                    _mm512_loadu_ps(probe.as_ptr().add(at)),
                )
            };
            *sum = _mm512_fmadd_ps(a, b, *sum);
        }
        i += 32;
    }
    let sum = _mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1]));
    sum + dot_portable(&stored[whole..], &probe[whole..])
}

/// The dot product of int8 components with an f32 vector of the same length, in f32.
pub(super) fn dot_int8(level: Level, stored: &[i8], probe: &[f32]) -> f32 {
    match level {
        Level::Portable => dot_int8_portable(stored, probe),
        // SAFETY: the level says that the processor has the features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { dot_int8_avx2(stored, probe) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { dot_int8_avx512(stored, probe) },
    }
}

#[inline(always)]
fn dot_int8_portable(stored: &[i8], probe: &[f32]) -> f32 {
    // So many sums that the compiler makes vectors of them.
    const SUMS: usize = 64;
    let mut sums = [0.0_f32; SUMS];
    let ((stored, more), (probe, more_probe)) = (stored.as_chunks::<SUMS>(), probe.as_chunks::<SUMS>());
    for (a, b) in stored.iter().zip(probe) {
        for i in 0..SUMS {
            sums[i] += f32::from(a[i]) * b[i];
        }
    }
    let more: f32 = more.iter().zip(more_probe).map(|(a, b)| f32::from(*a) * b).sum();
    sums.iter().sum::<f32>() + more
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_int8_avx2(stored: &[i8], probe: &[f32]) -> f32 {
    dot_int8_portable(stored, probe)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn dot_int8_avx512(stored: &[i8], probe: &[f32]) -> f32 {
    dot_int8_portable(stored, probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<Level> {
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        if level() == Level::Avx512 {
            levels.extend([Level::Avx2, Level::Avx512]);
        } else if level() == Level::Avx2 {
            levels.push(Level::Avx2);
        }
        levels
    }

    fn noise(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || super::super::sketch::split_mix(&mut state))
    }

    #[test]
    fn every_level_finds_the_same_sketches() {
        for words in [1usize, 6, 8, 24] {
            for len in [0usize, 1, 7, 8, 9, 63, 64, 65, 200] {
                let stride = len.next_power_of_two();
                let stored: Vec<u64> = noise(1).take(words * stride).collect();
                let sketches = Sketches { words: &stored, stride, len };
                // In the mean a word of noise differs by 32 signs of weight 3.5.
                for radius in [0, 90, 112, 130, 448] {
                    let bits: Vec<u64> = noise(2).take(words * 4).collect();
                    let word = |(w, bits): (u64, &[u64])| Word {
                        signs: bits[0],
                        planes: [bits[1], bits[2], bits[3]],
                        radius: (w + 1) * radius,
                    };
                    let probe: Vec<Word> = (0..).zip(bits.chunks(4)).map(word).collect();
                    let mut sum = vec![0; len];
                    let mut expected: Vec<u16> = (0..len as u16).collect();
                    for (w, word) in probe.iter().enumerate() {
                        for (i, sum) in sum.iter_mut().enumerate() {
                            let differ = stored[w * stride + i] ^ word.signs;
                            let weight = |bit: u64| {
                                word.planes
                                    .iter()
                                    .rev()
                                    .fold(0, |weight, plane| weight * 2 + (plane >> bit & 1))
                            };
                            *sum += (0..64).map(|bit| (differ >> bit & 1) * weight(bit)).sum::<u64>();
                        }
                        expected.retain(|i| sum[usize::from(*i)] <= word.radius);
                    }
                    for level in levels() {
                        for ahead in [None, Some(sketches)] {
                            let mut found = Vec::new();
                            within(level, sketches, &probe, ahead, &mut found);
                            assert_eq!(found, expected, "{level:?} {words} words, {len} sketches, {radius}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_level_gives_the_same_dot_product() {
        for dimension in [1usize, 2, 15, 16, 31, 32, 33, 384, 1000] {
            let value = |bits: u64| (bits >> 40) as f32 / 16_777_216.0 - 0.5;
            let stored: Vec<u16> =
                noise(3).take(dimension).map(|bits| f16::from_f32(value(bits)).to_bits()).collect();
            let probe: Vec<f32> = noise(4).take(dimension).map(value).collect();
            let exact: f64 = stored
                .iter()
                .zip(&probe)
                .map(|(a, b)| f64::from(f16::from_bits(*a).to_f32()) * f64::from(*b))
                .sum();
            let steps: Vec<i8> = noise(5).take(dimension).map(|bits| bits as i8).collect();
            let exact_int8: f64 = steps.iter().zip(&probe).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            for level in levels() {
                let got = f64::from(dot(level, &stored, &probe));
                assert!((got - exact).abs() < 1e-5, "{level:?} at {dimension}: {got} and {exact}");
                let got = f64::from(dot_int8(level, &steps, &probe));
                assert!((got - exact_int8).abs() < 1e-3, "{level:?} at {dimension}: {got} and {exact_int8}");
            }
        }
    }
}
