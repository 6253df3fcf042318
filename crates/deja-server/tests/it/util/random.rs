//! Reproducible randomness: SplitMix64 (Steele, Lea, Flood 2014). Tests print the seed when they fail.

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Changes, removes, adds, cuts off or repeats bytes of a JSON text, so many times.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, times: usize) {
        for _ in 0..times {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] = self.bits() as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, self.pick(b"{}[]\",:\\0.e-\x00\xff")),
                3 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
    }
}
