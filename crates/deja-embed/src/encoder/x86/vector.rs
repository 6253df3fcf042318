//! Sixteen lanes in one AVX-512 register or two AVX registers.
//!
//! SAFETY of every block here: these types are named only by the `run` functions of this folder, which are
//! compiled for the instruction set and entered only after it was detected. Pointers come from references
//! to arrays of the full length.

use std::arch::x86_64::{
    __m256, __m256i, __m512, _mm_packus_epi16, _mm_storeu_si128, _mm256_add_epi32, _mm256_add_ps,
    _mm256_and_si256, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cvtepi32_ps,
    _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_ps, _mm256_min_ps,
    _mm256_mul_ps, _mm256_packus_epi32, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_slli_epi32, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_ps, _mm512_add_epi32, _mm512_add_ps,
    _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cvtepi32_epi8, _mm512_cvtepi32_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_max_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps,
    _mm512_slli_epi32, _mm512_storeu_ps, _mm512_sub_ps,
};

use crate::encoder::vector::{LANES, Numbers, Quantise, Vector};

/// Makes [`Numbers`] of one register from its intrinsics.
macro_rules! numbers {
    ($register:ty, $splat:ident, $add:ident, $sub:ident, $mul:ident, $min:ident, $max:ident, $power:ident) => {
        impl Numbers for $register {
            #[inline(always)]
            fn splat(value: f32) -> Self {
                unsafe { $splat(value) }
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                unsafe { $sub(self, other) }
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                unsafe { $mul(self, other) }
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                unsafe { $min(self, other) }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                unsafe { $max(self, other) }
            }
            #[inline(always)]
            fn power_of_two(self) -> Self {
                $power(self)
            }
        }
    };
}

numbers!(
    __m512, _mm512_set1_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_min_ps, _mm512_max_ps,
    power_of_two_512
);

#[inline(always)]
fn power_of_two_512(n: __m512) -> __m512 {
    unsafe {
        let bits = _mm512_slli_epi32::<23>(_mm512_castps_si512(n));
        _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(127 << 23)))
    }
}

impl Vector for __m512 {
    const QUERIES: usize = 8;
    const WIDE: bool = true;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn load_integers(from: &[i32; LANES]) -> Self {
        unsafe { _mm512_cvtepi32_ps(_mm512_loadu_si512(from.as_ptr().cast())) }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self) }
    }
}

impl Quantise<u8> for __m512 {
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [u8; LANES]) {
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(self))) }
    }
}

numbers!(
    __m256, _mm256_set1_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_min_ps, _mm256_max_ps,
    power_of_two_256
);

#[inline(always)]
fn power_of_two_256(n: __m256) -> __m256 {
    unsafe {
        let bits = _mm256_slli_epi32::<23>(_mm256_castps_si256(n));
        _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_set1_epi32(127 << 23)))
    }
}

impl Vector for [__m256; 2] {
    const QUERIES: usize = 4;
    const WIDE: bool = false;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        unsafe { [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))] }
    }
    #[inline(always)]
    fn load_integers(from: &[i32; LANES]) -> Self {
        unsafe {
            let low = _mm256_loadu_si256(from.as_ptr().cast());
            let high = _mm256_loadu_si256(from.as_ptr().add(8).cast());
            [_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)]
        }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), self[0]);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), self[1]);
        }
    }
}

impl Quantise<i16> for [__m256; 2] {
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [i16; LANES]) {
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), low_bytes(self)) }
    }
}

impl Quantise<u8> for [__m256; 2] {
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [u8; LANES]) {
        unsafe {
            let words = low_bytes(self);
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(to.as_mut_ptr().cast(), bytes);
        }
    }
}

/// The low bytes of all lanes, at 16 bits.
#[inline(always)]
fn low_bytes(lanes: [__m256; 2]) -> __m256i {
    unsafe {
        let mask = _mm256_set1_epi32(0xff);
        let low = _mm256_and_si256(_mm256_castps_si256(lanes[0]), mask);
        let high = _mm256_and_si256(_mm256_castps_si256(lanes[1]), mask);
        // Packing works within halves of a register; the permutation restores the order.
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(low, high))
    }
}
