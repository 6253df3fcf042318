//! Which sketches are near a probe: the loop that a search spends most of its time in, once for each instruction set.
//!
//! Of the first [`HEAD`] words the distance is looked up: for each value of some bits a table has the weight of the bits that
//! differ, and one instruction looks 32 or 64 values up (as André et al. 2015 do for product quantisation). The
//! sums are bytes that stop at 255, which is no less than a radius that counts. Few sketches are still near then;
//! their other words are compared by population counts, eight at once.
//!
//! Each variant is a few loops in functions of their own: see [`super::kernels`].
#![expect(unsafe_code, reason = "SIMD intrinsics, measured in benches/index.rs; each has its SAFETY note")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::kernels::Level;

/// Words whose distance is looked up.
pub(super) const HEAD: usize = 2;
/// Sketches whose heads lie together.
pub(super) const BLOCK: usize = 64;
/// Bits of a weight.
pub(super) const PLANES: usize = 3;
const BYTES: usize = size_of::<u64>();

/// A word of the probe.
pub(super) struct Word {
    pub(super) signs: u64,
    /// The weights of the signs: bit `p` of each is in plane `p`.
    pub(super) planes: [u64; PLANES],
    /// What the weights of all signs that differ up to this word may add up to.
    pub(super) radius: u64,
}

impl Word {
    /// The weights of the signs of `stored` that differ.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "inlined into the variant compiled with POPCNT")]
    pub(super) fn distance(&self, stored: u64) -> u64 {
        let differ = stored ^ self.signs;
        let plane = |at: usize| u64::from((differ & self.planes[at]).count_ones()) << at;
        plane(0) + plane(1) + plane(2)
    }

    /// For each value of some bits, the lowest bit first: the weights of the bits that differ. `None` is a bit that says nothing.
    fn table<const VALUES: usize>(&self, bits: impl IntoIterator<Item = Option<usize>>) -> [u8; VALUES] {
        let mut table = [0; VALUES];
        let mut known = 1;
        for bit in bits {
            let weight = bit.map_or(0, |bit| self.distance(self.signs ^ 1 << bit) as u8);
            let (if_clear, if_set) = match bit {
                Some(bit) if self.signs >> bit & 1 == 1 => (weight, 0),
                _ => (0, weight),
            };
            let (clear, set) = table.split_at_mut(known);
            for (clear, set) in clear.iter_mut().zip(set) {
                (*clear, *set) = (*clear + if_clear, *clear + if_set);
            }
            known *= 2;
        }
        table
    }

    /// The radius, as far as sums go that stop at 255.
    fn radius_of_bytes(&self) -> u8 {
        self.radius.try_into().unwrap_or(u8::MAX)
    }
}

/// The tables of a probe for each word of its head, in the form of an instruction set.
pub(super) enum Tables {
    Bytes(Box<[Bytes; HEAD]>),
    #[cfg(target_arch = "x86_64")]
    Halves(Box<[Halves; HEAD]>),
    #[cfg(target_arch = "x86_64")]
    Sixes(Box<[Sixes; HEAD]>),
}

/// By byte.
type Bytes = [[u8; 256]; BYTES];
/// By the lower half of each byte, and by the upper one.
#[cfg(target_arch = "x86_64")]
type Halves = [[[u8; 16]; 2]; BYTES];
/// Weights by the six lower bits of each byte, then by the two upper bits of three bytes together, the first byte's highest.
#[cfg(target_arch = "x86_64")]
type Sixes = [[u8; 64]; SIXES];
#[cfg(target_arch = "x86_64")]
const SIXES: usize = BYTES + BYTES.div_ceil(3);

impl Tables {
    /// For a probe of these words and a level that this processor has.
    pub(super) fn new(level: Level, words: &[Word]) -> Self {
        let head = words.iter().take(HEAD);
        match level {
            Level::Portable => {
                let mut tables = Box::new([[[0; _]; _]; HEAD]);
                for (tables, word) in tables.iter_mut().zip(head) {
                    for (byte, table) in tables.iter_mut().enumerate() {
                        *table = word.table((byte * 8..byte * 8 + 8).map(Some));
                    }
                }
                Self::Bytes(tables)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                let mut tables = Box::new([[[[0; _]; _]; _]; HEAD]);
                for (tables, word) in tables.iter_mut().zip(head) {
                    for (half, table) in tables.as_flattened_mut().iter_mut().enumerate() {
                        *table = word.table((half * 4..half * 4 + 4).map(Some));
                    }
                }
                Self::Halves(tables)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                let mut tables = Box::new([[[0; _]; _]; HEAD]);
                for (tables, word) in tables.iter_mut().zip(head) {
                    let (lower, upper) = tables.split_at_mut(BYTES);
                    for (byte, table) in lower.iter_mut().enumerate() {
                        *table = word.table((byte * 8..byte * 8 + 6).map(Some));
                    }
                    for (three, table) in upper.iter_mut().enumerate() {
                        let bits =
                            (three * 3..three * 3 + 3).rev().flat_map(|byte| [byte * 8 + 6, byte * 8 + 7]);
                        *table = word.table(bits.map(|bit| (bit < 64).then_some(bit)));
                    }
                }
                Self::Sixes(tables)
            }
        }
    }
}

/// Some sketches, as [`super::sketches::Sketches`] has them.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// Each word of the heads, in as many blocks.
    pub(super) heads: [&'a [Block]; HEAD],
    /// The words behind the head: one word of every sketch, then the next word of every sketch. Each such part has room
    /// for whole blocks.
    pub(super) tails: &'a [u64],
    pub(super) len: usize,
}

/// A word of some sketches, byte by byte.
pub(super) type Block = [[u8; BLOCK]; BYTES];

impl View<'_> {
    /// Which sketches of a block there are, as bits.
    fn those_of(&self, block: usize) -> u64 {
        match self.len.saturating_sub(block * BLOCK) {
            some @ 0..BLOCK => (1 << some) - 1,
            _ => u64::MAX,
        }
    }
}

/// Appends to `found` the sketches that are within the radius of `probe` after each word. `tables` are made of `probe`;
/// `ahead` will be looked at next.
pub(super) fn within(
    tables: &Tables,
    sketches: View<'_>,
    probe: &[Word],
    ahead: Option<View<'_>>,
    found: &mut Vec<u16>,
) {
    let places = sketches.heads[0].len() * BLOCK;
    assert!(
        sketches.len <= places
            && sketches.heads[1].len() * BLOCK == places
            && sketches.tails.len() + HEAD * places == probe.len() * places,
        "every word of every sketch is there"
    );
    match tables {
        Tables::Bytes(tables) => within_portable(tables, sketches, probe, found),
        // SAFETY: these tables are made for processors that have the features.
        #[cfg(target_arch = "x86_64")]
        Tables::Halves(tables) => unsafe { avx2::within(tables, sketches, probe, found) },
        // SAFETY: as above, and the assertion says that the loads stay inside `tails`.
        #[cfg(target_arch = "x86_64")]
        Tables::Sixes(tables) => unsafe { avx512::within(tables, sketches, probe, ahead, found) },
    }
}

fn within_portable(tables: &[Bytes; HEAD], s: View<'_>, probe: &[Word], found: &mut Vec<u16>) {
    for at in 0..s.heads[0].len() {
        let (mut near, mut sums) = (s.those_of(at), [0_u8; BLOCK]);
        for ((blocks, tables), word) in s.heads.iter().zip(tables).zip(probe) {
            for (column, table) in blocks[at].iter().zip(tables) {
                for (sum, value) in sums.iter_mut().zip(column) {
                    *sum = sum.saturating_add(table[usize::from(*value)]);
                }
            }
            let radius = word.radius_of_bytes();
            let reached = sums.iter().enumerate();
            near &= reached.fold(0, |bits, (lane, sum)| bits | u64::from(*sum <= radius) << lane);
        }
        others(s, at, near, &sums, probe, found);
    }
}

/// Appends the sketches of a block that are `near` after the head and after the other words too. `sums` are the distances of
/// the head.
#[inline(always)]
#[expect(clippy::inline_always, reason = "inlined into the variant compiled with POPCNT")]
fn others(
    s: View<'_>,
    block: usize,
    mut near: u64,
    sums: &[u8; BLOCK],
    probe: &[Word],
    found: &mut Vec<u16>,
) {
    let mut left = [(0_u16, 0_u64); BLOCK];
    let mut count = 0;
    while near != 0 {
        let lane = near.trailing_zeros() as usize;
        left[count] = ((block * BLOCK + lane) as u16, u64::from(sums[lane]));
        count += 1;
        near &= near - 1;
    }
    // In loops without branches.
    for (stored, word) in s.tails.chunks_exact(s.heads[0].len() * BLOCK).zip(&probe[HEAD..]) {
        let mut kept = 0;
        for i in 0..count {
            let (place, before) = left[i];
            let distance = before + word.distance(stored[usize::from(place)]);
            left[kept] = (place, distance);
            kept += usize::from(distance <= word.radius);
        }
        count = kept;
    }
    found.extend(left[..count].iter().map(|(place, _)| place));
}

#[cfg(test)]
mod tests {
    use super::super::kernels::tests::levels;
    use super::super::sketches::Sketches;
    use super::*;
    use deja_core::random::split_mix;

    fn noise(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || split_mix(&mut state))
    }

    /// The weights of the signs that differ, told bit by bit.
    fn weights(word: &Word, stored: u64) -> u64 {
        let weight =
            |bit: u64| word.planes.iter().rev().fold(0, |weight, plane| weight * 2 + (plane >> bit & 1));
        (0..64).map(|bit| ((stored ^ word.signs) >> bit & 1) * weight(bit)).sum()
    }

    #[test]
    fn every_level_finds_the_same_sketches() {
        for words in [2_usize, 3, 6, 8, 24] {
            for len in [0_usize, 1, 7, 8, 9, 63, 64, 65, 200, 1024, 1500] {
                let stored: Vec<Vec<u64>> =
                    (0..len as u64).map(|seed| noise(seed).take(words).collect()).collect();
                let mut sketches = Sketches::new(len, words);
                for (at, sketch) in stored.iter().enumerate() {
                    sketches.put(at, sketch);
                }
                let view = sketches.view(len, words);
                // In the mean a word of noise differs by 32 signs of weight 3.5; two words mostly by less than 255.
                for radius in [0, 90, 112, 130, 448] {
                    let bits: Vec<u64> = noise(1 << 40).take(words * 4).collect();
                    let word = |(w, bits): (u64, &[u64])| Word {
                        signs: bits[0],
                        planes: [bits[1], bits[2], bits[3]],
                        radius: (w + 1) * radius,
                    };
                    let probe: Vec<Word> = (0..).zip(bits.chunks(4)).map(word).collect();
                    let is_near = |sketch: &Vec<u64>| {
                        let mut sum = 0;
                        probe.iter().zip(sketch).enumerate().all(|(w, (word, stored))| {
                            sum += weights(word, *stored);
                            if w < HEAD {
                                sum = sum.min(255);
                            }
                            sum <= word.radius
                        })
                    };
                    let expected: Vec<u16> =
                        (0..).zip(&stored).filter(|(_, sketch)| is_near(sketch)).map(|(at, _)| at).collect();
                    for level in levels() {
                        let tables = Tables::new(level, &probe);
                        for ahead in [None, Some(view)] {
                            let mut found = vec![7];
                            within(&tables, view, &probe, ahead, &mut found);
                            assert_eq!(found.remove(0), 7, "what was found before stays");
                            assert_eq!(found, expected, "{level:?} {words} words, {len} sketches, {radius}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_sketch_is_read_as_it_was_put() {
        for words in [2_usize, 3, 6, 24] {
            let mut sketches = Sketches::new(130, words);
            let stored = |at: usize| noise(at as u64).take(words).collect::<Vec<_>>();
            for at in (0..130).rev() {
                sketches.put(at, &stored(129 - at));
                sketches.put(at, &stored(at));
            }
            assert!((0..130).all(|at| *sketches.of(at, words) == stored(at)), "{words} words");
        }
    }
}
