//! Dot products, once for each instruction set.
//!
//! The instruction set is chosen once at run time. Each variant is a whole loop inside one function: spread
//! over generics, functions with a `target_feature` are not inlined and the loop is several times slower.
#![expect(unsafe_code, reason = "SIMD intrinsics, measured in benches/index.rs; each has its SAFETY note")]

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
    /// AVX-512 F, BW, VBMI and VPOPCNTDQ.
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
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vpopcntdq");
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
pub(super) mod tests {
    use super::*;

    /// All that this processor has.
    pub(in super::super) fn levels() -> Vec<Level> {
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
        std::iter::repeat_with(move || deja_core::random::split_mix(&mut state))
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
