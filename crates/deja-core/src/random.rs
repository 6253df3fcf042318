//! Numbers that look random and are the same in every run. What must not be guessed comes from [`crate::id::Entropy`].

/// The next number of the generator SplitMix64 (Steele, Lea, Flood 2014). The seed is the first state.
pub const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut state = 1_234_567;
        let numbers: [u64; 3] = std::array::from_fn(|_| split_mix(&mut state));
        assert_eq!(numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }
}
