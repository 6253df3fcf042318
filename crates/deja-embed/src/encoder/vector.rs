//! Sixteen f32 lanes: the operations that the encoder needs, for AVX-512, AVX2 and plain Rust.
//!
//! Every method is `inline(always)`: it must end up inside the `run` function of its instruction set.
//! Measured: left to the compiler, plain loops over arrays ran 10 times slower than these. All
//! implementations round alike, lane by lane, so all kernels give the same bits.

#![expect(
    clippy::inline_always,
    reason = "a call that is not inlined is compiled for the baseline instruction set"
)]

/// Lanes of a vector.
pub(super) const LANES: usize = 16;

/// Sixteen numbers.
pub(super) trait Vector: Copy {
    /// All lanes `value`.
    fn splat(value: f32) -> Self;
    /// Reads the lanes.
    fn load(from: &[f32; LANES]) -> Self;
    /// Reads integers and converts them.
    fn load_integers(from: &[i32; LANES]) -> Self;
    /// Writes the lanes.
    fn store(self, to: &mut [f32; LANES]);
    /// Writes the low byte of each lane's bits.
    fn store_low_bytes(self, to: &mut [u8; LANES]);
    /// Lane by lane.
    fn add(self, other: Self) -> Self;
    /// Lane by lane.
    fn sub(self, other: Self) -> Self;
    /// Lane by lane.
    fn mul(self, other: Self) -> Self;
    /// Lane by lane.
    fn min(self, other: Self) -> Self;
    /// Lane by lane.
    fn max(self, other: Self) -> Self;
    /// 2^n where n is the integer in the low bits of each lane.
    fn power_of_two(self) -> Self;
}

/// Plain Rust.
impl Vector for [f32; LANES] {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; LANES]
    }
    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        *from
    }
    #[inline(always)]
    fn load_integers(from: &[i32; LANES]) -> Self {
        std::array::from_fn(|i| from[i] as f32)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self;
    }
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [u8; LANES]) {
        *to = std::array::from_fn(|i| self[i].to_bits() as u8);
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] - other[i])
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] * other[i])
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        std::array::from_fn(|i| if self[i] < other[i] { self[i] } else { other[i] })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        std::array::from_fn(|i| if self[i] > other[i] { self[i] } else { other[i] })
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        std::array::from_fn(|i| f32::from_bits((self[i].to_bits() << 23).wrapping_add(127 << 23)))
    }
}
