//! The kernel for aarch64 with dot products: sixteen lanes in four NEON registers.

#![expect(unsafe_code, reason = "SIMD loads, stores and one instruction need it; docs/adr/0066")]
#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

use std::arch::aarch64::{
    float32x4_t, int8x16_t, int32x4_t, uint16x4_t, vaddq_f32, vaddq_s32, vbslq_f32, vcgtq_f32, vcltq_f32,
    vcombine_u8, vcombine_u16, vcvtq_f32_s32, vdupq_n_f32, vdupq_n_s32, vdupq_n_u8, veorq_u8, vld1q_f32,
    vld1q_s8, vld1q_s32, vmovn_u16, vmovn_u32, vmulq_f32, vreinterpretq_f32_s32, vreinterpretq_s8_u8,
    vreinterpretq_s32_f32, vreinterpretq_u32_f32, vshlq_n_s32, vst1q_f32, vst1q_s8, vst1q_s32, vsubq_f32,
    vsubq_s32,
};

use super::dot::{self, Sums};
use super::forward::{Scratch, forward};
use super::vector::{LANES, Numbers, Quantise, Vector};
use crate::image::{Image, Linear};

/// See [`forward`].
#[target_feature(enable = "neon,dotprod")]
pub(super) fn run(image: &Image, texts: &[&[u32]], scratch: &mut Scratch, out: &mut Vec<f32>) -> Option<()> {
    forward::<[float32x4_t; 4], i8>(
        image,
        texts,
        scratch,
        out,
        |rows: &[_], linear: &Linear<'_>, strip, sums: &mut [_]| {
            dot::product::<int32x4_t>(rows, linear, strip, sums);
        },
    )
}

impl Sums for int32x4_t {
    type Bytes = int8x16_t;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: every aarch64 processor has NEON.
        unsafe { vdupq_n_s32(0) }
    }
    #[inline(always)]
    fn bytes(from: &[i8; LANES]) -> int8x16_t {
        // SAFETY: an array of sixteen bytes.
        unsafe { vld1q_s8(from.as_ptr()) }
    }
    #[inline(always)]
    fn add_products<const STEP: i32>(mut self, weights: int8x16_t, inputs: int8x16_t) -> Self {
        // The intrinsic `vdotq_laneq_s32` is not stable yet.
        // SAFETY: reads and writes registers only; `run` is entered only where the instruction was detected.
        unsafe {
            std::arch::asm!(
                ".arch_extension dotprod",
                "sdot {sums:v}.4s, {weights:v}.16b, {inputs:v}.4b[{step}]",
                sums = inout(vreg) self,
                weights = in(vreg) weights,
                inputs = in(vreg) inputs,
                step = const STEP,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        self
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: every aarch64 processor has NEON.
        unsafe { vsubq_s32(self, other) }
    }
    #[inline(always)]
    fn store(self, to: &mut [i32; 4]) {
        // SAFETY: an array of four numbers.
        unsafe { vst1q_s32(to.as_mut_ptr(), self) }
    }
}

/// SAFETY of every block from here on: every aarch64 processor has NEON, and pointers come from references to arrays
/// of the full length.
impl Numbers for float32x4_t {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        unsafe { vaddq_f32(self, other) }
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        unsafe { vsubq_f32(self, other) }
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        unsafe { vmulq_f32(self, other) }
    }
    // The minimum instruction orders zeros by sign, which the other kernels do not.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        unsafe { vbslq_f32(vcltq_f32(self, other), self, other) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        unsafe { vbslq_f32(vcgtq_f32(self, other), self, other) }
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        unsafe {
            let bits = vshlq_n_s32::<23>(vreinterpretq_s32_f32(self));
            vreinterpretq_f32_s32(vaddq_s32(bits, vdupq_n_s32(127 << 23)))
        }
    }
}

impl Vector for [float32x4_t; 4] {
    const QUERIES: usize = 4;
    const WIDE: bool = false;

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let [a, b, c, d] = parts(from);
        unsafe { [vld1q_f32(a), vld1q_f32(b), vld1q_f32(c), vld1q_f32(d)] }
    }
    #[inline(always)]
    fn load_integers(from: &[i32; LANES]) -> Self {
        let [a, b, c, d] = parts(from);
        unsafe {
            [
                vcvtq_f32_s32(vld1q_s32(a)),
                vcvtq_f32_s32(vld1q_s32(b)),
                vcvtq_f32_s32(vld1q_s32(c)),
                vcvtq_f32_s32(vld1q_s32(d)),
            ]
        }
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        for (to, part) in to.as_chunks_mut::<4>().0.iter_mut().zip(self) {
            unsafe { vst1q_f32(to.as_mut_ptr(), part) }
        }
    }
}

/// Less 128, as the product reads them.
impl Quantise<i8> for [float32x4_t; 4] {
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [i8; LANES]) {
        unsafe {
            let low = vcombine_u16(low_words(self[0]), low_words(self[1]));
            let high = vcombine_u16(low_words(self[2]), low_words(self[3]));
            let bytes = vcombine_u8(vmovn_u16(low), vmovn_u16(high));
            vst1q_s8(to.as_mut_ptr(), vreinterpretq_s8_u8(veorq_u8(bytes, vdupq_n_u8(128))));
        }
    }
}

#[inline(always)]
fn low_words(lanes: float32x4_t) -> uint16x4_t {
    unsafe { vmovn_u32(vreinterpretq_u32_f32(lanes)) }
}

/// Where the quarters of `from` start.
#[inline(always)]
fn parts<T>(from: &[T; LANES]) -> [*const T; 4] {
    [from.as_ptr(), from[4..].as_ptr(), from[8..].as_ptr(), from[12..].as_ptr()]
}
