//! The two loops that a search spends its time in, once for each instruction set.
//!
//! The instruction set is chosen once at run time. Each variant is a whole loop inside one function: spread
//! over generics, functions with a `target_feature` are not inlined and the loop is several times slower.
#![expect(unsafe_code, reason = "SIMD intrinsics, measured in benches/nearest.rs; each has its SAFETY note")]

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
/// sketches are compared at once without adding across lanes.
#[derive(Clone, Copy)]
pub(super) struct Sketches<'a> {
    pub(super) words: &'a [u64],
    pub(super) stride: usize,
    pub(super) len: usize,
}

/// Appends to `found` the sketches whose Hamming distance to `probe` is at most `radius`.
pub(super) fn within(level: Level, sketches: Sketches<'_>, probe: &[u64], radius: u32, found: &mut Vec<u16>) {
    assert!(
        sketches.len <= sketches.stride && sketches.words.len() >= probe.len() * sketches.stride,
        "every word of every sketch is there"
    );
    match level {
        Level::Portable => within_portable(sketches, probe, radius, found, 0),
        // SAFETY: the level says that the processor has the features, and the assertion above that the loads
        // stay inside `words`.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { within_popcnt(sketches, probe, radius, found) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { within_avx512(sketches, probe, radius, found) },
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "inlined into the variant compiled with POPCNT")]
fn within_portable(s: Sketches<'_>, probe: &[u64], radius: u32, found: &mut Vec<u16>, from: usize) {
    for i in from..s.len {
        let mut distance = 0;
        for (w, word) in probe.iter().enumerate() {
            distance += (s.words[w * s.stride + i] ^ word).count_ones();
        }
        if distance <= radius {
            found.push(i as u16);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,avx2")]
fn within_popcnt(s: Sketches<'_>, probe: &[u64], radius: u32, found: &mut Vec<u16>) {
    // Distances of a stretch first, in a loop without branches; then the few that are near.
    const STRETCH: usize = 64;
    let mut distances = [0u32; STRETCH];
    let mut start = 0;
    while start < s.len {
        let count = STRETCH.min(s.len - start);
        distances[..count].fill(0);
        for (w, word) in probe.iter().enumerate() {
            let words = &s.words[w * s.stride + start..][..count];
            for (distance, stored) in distances[..count].iter_mut().zip(words) {
                *distance += (stored ^ word).count_ones();
            }
        }
        for (i, distance) in distances[..count].iter().enumerate() {
            if *distance <= radius {
                found.push((start + i) as u16);
            }
        }
        start += count;
    }
}

/// # Safety
/// `s.words` must hold `probe.len() * s.stride` words, with `s.len <= s.stride`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
unsafe fn within_avx512(s: Sketches<'_>, probe: &[u64], radius: u32, found: &mut Vec<u16>) {
    use std::arch::x86_64::{
        _mm512_add_epi64, _mm512_cmple_epu64_mask, _mm512_loadu_si512, _mm512_popcnt_epi64,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_xor_si512,
    };
    let limit = _mm512_set1_epi64(i64::from(radius));
    let mut i = 0;
    while i + 8 <= s.len {
        let mut distances = _mm512_setzero_si512();
        for (w, word) in probe.iter().enumerate() {
            // SAFETY: w < probe.len() and i + 8 <= len <= stride, so the eight words lie inside `words`.
            let stored = unsafe { _mm512_loadu_si512(s.words.as_ptr().add(w * s.stride + i).cast()) };
            let differing = _mm512_xor_si512(stored, _mm512_set1_epi64(*word as i64));
            distances = _mm512_add_epi64(distances, _mm512_popcnt_epi64(differing));
        }
        let mut near = _mm512_cmple_epu64_mask(distances, limit);
        while near != 0 {
            found.push((i + near.trailing_zeros() as usize) as u16);
            near &= near - 1;
        }
        i += 8;
    }
    within_portable(s, probe, radius, found, i);
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
                let probe: Vec<u64> = noise(2).take(words).collect();
                let sketches = Sketches { words: &stored, stride, len };
                for radius in [0, words as u32 * 31, words as u32 * 32, words as u32 * 64] {
                    let mut expected = Vec::new();
                    within_portable(sketches, &probe, radius, &mut expected, 0);
                    for level in levels() {
                        let mut found = Vec::new();
                        within(level, sketches, &probe, radius, &mut found);
                        assert_eq!(found, expected, "{level:?} {words} words, {len} sketches");
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
            for level in levels() {
                let got = f64::from(dot(level, &stored, &probe));
                assert!((got - exact).abs() < 1e-5, "{level:?} at {dimension}: {got} and {exact}");
            }
        }
    }
}
