//! A vector as it is stored: f16, on disk and in memory alike.

use deja_core::embedding::{Embedding, Similarity};
use half::f16;
use half::slice::{HalfBitsSliceExt as _, HalfFloatSliceExt as _};

use super::components::Reading;
use super::kernels;

/// A cosine this near to 1 counts as 1: rounding to f16 turns a vector by up to 2^-11, so the store cannot
/// tell such a pair from an equal one, and a threshold of 1 must find an equal one.
const INDISTINGUISHABLE: f32 = 1.0 - 1.0 / 1_048_576.0;

/// The similarity that a cosine of two vectors is.
pub(super) fn similarity(cosine: f32) -> Similarity {
    if cosine >= INDISTINGUISHABLE { Similarity::ONE } else { Similarity::from_cosine(cosine) }
}

/// The components at full precision.
pub(super) fn to_f32(stored: &[u16]) -> Vec<f32> {
    let mut values = vec![0.0; stored.len()];
    stored.reinterpret_cast::<f16>().convert_to_f32_slice(&mut values);
    values
}

/// The squared length. A start computes it for each entry: in steps that need no memory, and sums that do not wait for
/// each other.
fn squared(stored: &[u16]) -> f64 {
    let (mut sums, mut values) = ([0.0; 8], [0.0; 64]);
    for part in stored.reinterpret_cast::<f16>().chunks(values.len()) {
        let values = &mut values[..part.len()];
        part.convert_to_f32_slice(values);
        for eight in values.chunks(sums.len()) {
            for (sum, value) in sums.iter_mut().zip(eight) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
    }
    sums.iter().sum()
}

/// A vector on its way into the index.
pub(in crate::sqlite) struct Vector {
    /// The f16 bits of the components.
    pub(super) stored: Box<[u16]>,
    /// One over the length that rounding to f16 left: close to 1, not 1.
    inverse_norm: f32,
}

impl Vector {
    /// The vector of `embedding`.
    pub(in crate::sqlite) fn new(embedding: &Embedding) -> Option<Self> {
        let stored = embedding.as_slice().iter().map(|value| f16::from_f32(*value).to_bits()).collect();
        Self::stored(stored)
    }

    /// The vector in `bytes`, little-endian; `None` if they are none.
    pub(in crate::sqlite) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let whole = !bytes.is_empty() && bytes.len().is_multiple_of(2);
        let stored = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        whole.then(|| Self::stored(stored)).flatten()
    }

    fn stored(stored: Box<[u16]>) -> Option<Self> {
        let inverse_norm = (1.0 / squared(&stored).sqrt()) as f32;
        inverse_norm.is_finite().then_some(Self { stored, inverse_norm })
    }

    /// What goes into the database.
    pub(in crate::sqlite) fn to_bytes(&self) -> Vec<u8> {
        self.stored.iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    /// The cosine to a probe; none if it has another number of components.
    pub(in crate::sqlite) fn similarity(&self, probe: &[f32]) -> Similarity {
        if self.stored.len() != probe.len() {
            return Similarity::ZERO;
        }
        similarity(kernels::dot(kernels::level(), &self.stored, probe) * self.inverse_norm)
    }

    /// How it is read as it is stored.
    pub(super) fn reading(&self) -> Reading {
        Reading { factor: self.inverse_norm, lost: 0.0 }
    }

    /// The number of components.
    pub(in crate::sqlite) fn dimension(&self) -> usize {
        self.stored.len()
    }
}
