//! Sketches in memory, in the order in which a search reads them.

use super::sift::{BLOCK, Block, HEAD, View};

/// The sketches of a chunk.
///
/// The first words of [`BLOCK`] sketches lie together, byte by byte: the first byte of all, then the second of all. So do
/// their second words, behind the first words of all blocks, and so on for [`HEAD`] words. The other words follow as they
/// are, the third of all sketches first.
#[derive(Default)]
pub(super) struct Sketches(Box<[u64]>);

impl Sketches {
    /// Room for `capacity` sketches of so many words.
    pub(super) fn new(capacity: usize, words: usize) -> Self {
        Self(vec![0; capacity.next_multiple_of(BLOCK) * words].into())
    }

    /// Whether there is room for none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a sketch in the place of another.
    pub(super) fn put(&mut self, at: usize, sketch: &[u64]) {
        let places = self.0.len() / sketch.len();
        let (heads, tails) = self.0.split_at_mut(places * HEAD);
        let (head, others) = sketch.split_at(HEAD);
        for (heads, word) in heads.chunks_exact_mut(places).zip(head) {
            let blocks: &mut [Block] = bytemuck::cast_slice_mut(heads);
            for (column, byte) in blocks[at / BLOCK].iter_mut().zip(word.to_le_bytes()) {
                column[at % BLOCK] = byte;
            }
        }
        for (tail, word) in tails.chunks_exact_mut(places).zip(others) {
            tail[at] = *word;
        }
    }

    /// The sketch of so many words at `at`.
    pub(super) fn of(&self, at: usize, words: usize) -> Box<[u64]> {
        let View { heads, tails, .. } = self.view(0, words);
        let head =
            heads.map(|blocks| u64::from_le_bytes(blocks[at / BLOCK].map(|column| column[at % BLOCK])));
        let tail = tails.chunks_exact(self.0.len() / words).map(|tail| tail[at]);
        head.into_iter().chain(tail).collect()
    }

    /// The first `len` sketches, which have so many words each.
    pub(super) fn view(&self, len: usize, words: usize) -> View<'_> {
        let places = self.0.len() / words;
        let (first, others) = self.0.split_at(places);
        let (second, tails) = others.split_at(places);
        View { heads: [bytemuck::cast_slice(first), bytemuck::cast_slice(second)], tails, len }
    }
}
