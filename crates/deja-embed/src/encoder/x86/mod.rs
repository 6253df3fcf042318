//! Kernels for x86-64: AVX-512 VNNI, AVX-VNNI and AVX2.
//!
//! Each instruction set has one `run` function with the whole forward pass inside, because a function that
//! is compiled for an instruction set is inlined only into callers compiled for it too. Splitting the
//! kernels by a generic parameter instead made everything six times slower.
//!
//! A tile multiplies a few rows with a few panels of 16 output channels and keeps all its sums in registers.
//! Integer sums are exact on every path: AVX2 widens to 16 bits first, since its byte instruction saturates.

#![expect(unsafe_code, reason = "SIMD loads and stores need raw pointers; measured in docs/adr/0003")]
#![expect(clippy::inline_always, reason = "tiles must be inlined")]

pub(super) mod avx2;
pub(super) mod avx512;
pub(super) mod avx_vnni;
mod vector;

use super::product::Strip;
use super::vector::LANES;
use crate::image::{Linear, PANEL, QUAD};

/// Bytes of one step of a panel: 16 channels by 4 inputs.
const STEP: usize = PANEL * QUAD;

/// The operands of one product after their sizes were checked.
#[derive(Clone, Copy)]
struct Operands<I> {
    values: *const I,
    weights: *const i8,
    sums: *mut i32,
    rows: usize,
    inputs: usize,
    strip: Strip,
}

impl<I> Operands<I> {
    /// The asserts are what the pointer arithmetic of the tiles relies on.
    fn new(values: &[[I; LANES]], linear: &Linear<'_>, strip: Strip, sums: &mut [i32]) -> Self {
        let inputs = linear.inputs;
        let rows = values.len() * LANES / inputs;
        assert!(inputs.is_multiple_of(LANES) && strip.count > 0);
        assert!(values.len() * LANES == rows * inputs && sums.len() == rows * strip.count * PANEL);
        assert!(strip.panel(strip.count - 1) < linear.outputs / PANEL);
        assert!(linear.weights.len() == inputs * linear.outputs);
        Self {
            values: values.as_ptr().cast(),
            weights: linear.weights.as_ptr(),
            sums: sums.as_mut_ptr(),
            rows,
            inputs,
            strip,
        }
    }

    /// The first of the inputs of `row`.
    ///
    /// # Safety
    /// `row` must be less than `rows`.
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> *const I {
        // SAFETY: inside the slice of rows * inputs numbers.
        unsafe { self.values.add(row * self.inputs) }
    }

    /// The first of the weights of the strip's panel `at`.
    ///
    /// # Safety
    /// `at` must be less than `strip.count`.
    #[inline(always)]
    unsafe fn panel(&self, at: usize) -> *const i8 {
        // SAFETY: the last panel of the strip is one of the layer's, each of inputs * PANEL weights.
        unsafe { self.weights.add(self.strip.panel(at) * self.inputs * PANEL) }
    }

    /// How far behind the weights of a panel those of the same panel of the next strip lie: to be fetched, not read,
    /// since they may lie beyond the layer.
    #[inline(always)]
    fn next_strip(&self) -> usize {
        let panels = if self.strip.stride == 1 { self.strip.count } else { 1 };
        panels * self.inputs * PANEL
    }

    /// The weights that are read after those of the strip's panel `at`, if panels are read one by one: to be fetched,
    /// not read, likewise.
    #[inline(always)]
    fn after(&self, at: usize) -> *const i8 {
        let panel = match self.strip {
            Strip { stride: 1, .. } => self.strip.panel(at) + 1,
            Strip { count, .. } if at + 1 < count => self.strip.panel(at + 1),
            Strip { first, .. } => first + 1,
        };
        self.weights.wrapping_add(panel * self.inputs * PANEL)
    }

    /// Where the 16 sums of `row` and of the strip's panel `at` go.
    ///
    /// # Safety
    /// Both must be in range as above.
    #[inline(always)]
    unsafe fn sum(&self, row: usize, at: usize) -> *mut i32 {
        // SAFETY: inside the slice of rows * count * PANEL sums.
        unsafe { self.sums.add((row * self.strip.count + at) * PANEL) }
    }
}

/// Four bytes of a row as they lie in memory: four inputs, or two of 16 bits.
///
/// # Safety
/// `at` must be readable for four bytes.
#[inline(always)]
unsafe fn word<I>(at: *const I) -> i32 {
    // SAFETY: by this function's contract; the read may be unaligned.
    unsafe { at.cast::<i32>().read_unaligned() }
}

/// `$tile` for all `$rows` rows, in tiles of nearly equal height: `$row` is the first row of each, `$height` its
/// height as a constant.
macro_rules! tiles {
    ($rows:expr, $largest:literal, [$($possible:literal),+], |$row:ident, $height:ident| $tile:expr) => {{
        let (rows, mut $row) = ($rows, 0);
        for left in (1..=rows.div_ceil($largest)).rev() {
            let height = (rows - $row).div_ceil(left);
            match height {
                $($possible => {
                    const $height: usize = $possible;
                    $tile
                })+
                _ => {}
            }
            $row += height;
        }
    }};
}
use tiles;
