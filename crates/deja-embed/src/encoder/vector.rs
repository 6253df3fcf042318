//! Sixteen f32 lanes: the operations that the encoder needs, for AVX-512, AVX2, NEON and plain Rust.
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

/// Numbers with which one computes lane by lane.
pub(super) trait Numbers: Copy {
    /// All lanes `value`.
    fn splat(value: f32) -> Self;
    /// Lane by lane.
    fn add(self, other: Self) -> Self;
    /// Lane by lane.
    fn sub(self, other: Self) -> Self;
    /// Lane by lane.
    fn mul(self, other: Self) -> Self;
    /// Lane by lane; `other` where the two do not compare as less.
    fn min(self, other: Self) -> Self;
    /// Lane by lane; `other` where the two do not compare as greater.
    fn max(self, other: Self) -> Self;
    /// 2^n where n is the integer in the low bits of each lane.
    fn power_of_two(self) -> Self;
}

/// Sixteen numbers.
pub(super) trait Vector: Numbers {
    /// Queries that the attention handles at once: as many as the registers hold sums for.
    const QUERIES: usize;
    /// Whether they hold them for 32 keys or components instead of 16.
    const WIDE: bool;

    /// Reads the lanes.
    fn load(from: &[f32; LANES]) -> Self;
    /// Reads integers and converts them.
    fn load_integers(from: &[i32; LANES]) -> Self;
    /// Writes the lanes.
    fn store(self, to: &mut [f32; LANES]);
}

/// A vector that can be stored as what the kernel's product reads.
pub(super) trait Quantise<I>: Vector {
    /// Writes the low byte of each lane's bits: as it is, wider, or less 128.
    fn store_low_bytes(self, to: &mut [I; LANES]);
}

/// Several at once: while one waits for its result, the next goes on.
impl<T: Numbers, const N: usize> Numbers for [T; N] {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        [T::splat(value); N]
    }
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] = self[i].add(other[i]);
        }
        self
    }
    #[inline(always)]
    fn sub(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] = self[i].sub(other[i]);
        }
        self
    }
    #[inline(always)]
    fn mul(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] = self[i].mul(other[i]);
        }
        self
    }
    #[inline(always)]
    fn min(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] = self[i].min(other[i]);
        }
        self
    }
    #[inline(always)]
    fn max(mut self, other: Self) -> Self {
        for i in 0..N {
            self[i] = self[i].max(other[i]);
        }
        self
    }
    #[inline(always)]
    fn power_of_two(mut self) -> Self {
        for one in &mut self {
            *one = one.power_of_two();
        }
        self
    }
}

/// Plain Rust.
impl Numbers for f32 {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        Self::from_bits((self.to_bits() << 23).wrapping_add(127 << 23))
    }
}

impl Vector for [f32; LANES] {
    const QUERIES: usize = 2;
    const WIDE: bool = false;

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
}

impl Quantise<i16> for [f32; LANES] {
    #[inline(always)]
    fn store_low_bytes(self, to: &mut [i16; LANES]) {
        *to = std::array::from_fn(|i| (self[i].to_bits() & 0xff) as i16);
    }
}
