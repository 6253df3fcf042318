//! Bytes that look random and are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::id::{Entropy, EntropyError};

/// SHA-256 over a seed and a counter. No two calls give the same bytes.
#[derive(Debug, Default)]
pub struct SeededEntropy {
    seed: u64,
    calls: AtomicU64,
}

impl SeededEntropy {
    /// The bytes of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed, calls: AtomicU64::new(0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        for (block, chunk) in (0u64..).zip(buffer.chunks_mut(32)) {
            let mut hash = Sha256::new();
            for number in [self.seed, call, block] {
                hash.update(number.to_le_bytes());
            }
            chunk.copy_from_slice(&hash.finalize()[..chunk.len()]);
        }
        Ok(())
    }
}
