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

use crate::image::{Linear, PANEL, QUAD};

/// Bytes of one step of a panel: 16 channels by 4 inputs.
const STEP: usize = PANEL * QUAD;

/// The operands of one product after their sizes were checked.
#[derive(Clone, Copy)]
struct Operands {
    bytes: *const u8,
    weights: *const i8,
    sums: *mut i32,
    rows: usize,
    inputs: usize,
    outputs: usize,
}

impl Operands {
    /// The asserts are what the pointer arithmetic of the tiles relies on.
    fn new(bytes: &[u8], linear: &Linear<'_>, sums: &mut [i32]) -> Self {
        let (inputs, outputs) = (linear.inputs, linear.outputs);
        let rows = bytes.len() / inputs;
        assert!(inputs.is_multiple_of(QUAD) && outputs.is_multiple_of(PANEL));
        assert!(bytes.len() == rows * inputs && sums.len() == rows * outputs);
        assert!(linear.weights.len() == inputs * outputs);
        Self {
            bytes: bytes.as_ptr(),
            weights: linear.weights.as_ptr(),
            sums: sums.as_mut_ptr(),
            rows,
            inputs,
            outputs,
        }
    }

    /// The first of the inputs of `row`.
    ///
    /// # Safety
    /// `row` must be less than `rows`.
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> *const u8 {
        // SAFETY: inside the slice of rows * inputs bytes.
        unsafe { self.bytes.add(row * self.inputs) }
    }

    /// The first of the weights of `panel`.
    ///
    /// # Safety
    /// `panel` must be less than `outputs / PANEL`.
    #[inline(always)]
    unsafe fn panel(&self, panel: usize) -> *const i8 {
        // SAFETY: inside the slice of inputs * outputs weights, since a panel has inputs * PANEL of them.
        unsafe { self.weights.add(panel * self.inputs * PANEL) }
    }

    /// Where the 16 sums of `row` and `panel` go.
    ///
    /// # Safety
    /// Both must be in range as above.
    #[inline(always)]
    unsafe fn sum(&self, row: usize, panel: usize) -> *mut i32 {
        // SAFETY: inside the slice of rows * outputs sums.
        unsafe { self.sums.add(row * self.outputs + panel * PANEL) }
    }
}

/// Four neighbouring inputs of one row as they lie in memory.
///
/// # Safety
/// `at` must be readable for four bytes.
#[inline(always)]
unsafe fn quad(at: *const u8) -> i32 {
    // SAFETY: by this function's contract; the read may be unaligned.
    unsafe { at.cast::<i32>().read_unaligned() }
}

/// Makes `run` and the walk over tiles for one instruction set.
///
/// `$panels` and the last of `$rows` are the largest tile; the module has a function `tile<ROWS, PANELS>`.
macro_rules! kernel {
    ($vector:ty, $features:literal, $panels:literal, $largest:literal, [$($rows:literal),+]) => {
        /// See [`forward`](crate::encoder::forward::forward).
        #[target_feature(enable = $features)]
        pub(in crate::encoder) fn run(
            image: &crate::image::Image,
            texts: &[&[u32]],
            scratch: &mut crate::encoder::forward::Scratch,
            out: &mut Vec<f32>,
        ) -> Option<()> {
            let product = |bytes: &[u8], linear: &Linear<'_>, sums: &mut [i32]| product(bytes, linear, sums);
            crate::encoder::forward::forward::<$vector>(image, texts, scratch, out, product)
        }

        #[target_feature(enable = $features)]
        fn product(bytes: &[u8], linear: &Linear<'_>, sums: &mut [i32]) {
            let operands = Operands::new(bytes, linear, sums);
            let panels = operands.outputs / PANEL;
            let mut panel = 0;
            while panel < panels {
                if panels - panel >= $panels {
                    columns::<$panels>(operands, panel);
                    panel += $panels;
                } else {
                    columns::<1>(operands, panel);
                    panel += 1;
                }
            }
        }

        /// All rows of `P` panels, in tiles of nearly equal height.
        #[target_feature(enable = $features)]
        fn columns<const P: usize>(operands: Operands, panel: usize) {
            let tiles = operands.rows.div_ceil($largest);
            let mut row = 0;
            for left in (1..=tiles).rev() {
                let height = (operands.rows - row).div_ceil(left);
                match height {
                    // SAFETY: row + height <= rows and panel + P <= outputs / PANEL by the loops here and above.
                    $($rows => unsafe { tile::<$rows, P>(operands, row, panel) },)+
                    _ => {}
                }
                row += height;
            }
        }
    };
}
use kernel;
