//! Embeddings, the one type for similarity, and the port to an embedding model.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::id::ProjectId;

/// Names the model that made a vector, its quantisation included. Vectors of two embedders are never compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EmbedderId(Arc<str>);

impl EmbedderId {
    /// The embedder called `name`.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EmbedderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EmbedderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbedderId({})", self.0)
    }
}

/// A vector of unit length (L2 norm 1).
#[derive(Clone, PartialEq)]
pub struct Embedding(Box<[f32]>);

/// A vector that has no direction: empty, all zero, or with a component that is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the vector has no direction: it is empty, all zero, or has a component that is not finite")]
pub struct NoDirection;

impl Embedding {
    /// Scales `values` to unit length.
    pub fn new(values: impl Into<Box<[f32]>>) -> Result<Self, NoDirection> {
        let mut values = values.into();
        let norm = values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        if !norm.is_finite() || norm < 1e-12 {
            return Err(NoDirection);
        }
        for value in &mut values {
            *value = (f64::from(*value) / norm) as f32;
        }
        Ok(Self(values))
    }

    /// The components.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The number of components.
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Cosine similarity to another vector of the same embedder. Zero if the dimensions differ.
    pub fn similarity(&self, other: &Self) -> Similarity {
        if self.0.len() != other.0.len() {
            return Similarity::ZERO;
        }
        // Eight sums side by side: a single one would forbid the compiler to use vector instructions.
        let mut sums = [0f32; 8];
        let (a, b) = (self.0.chunks_exact(8), other.0.chunks_exact(8));
        let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
        for (a, b) in a.zip(b) {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum += a * b;
            }
        }
        Similarity::from_cosine(sums.iter().sum::<f32>() + rest)
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedding(dimension {})", self.0.len())
    }
}

/// Cosine similarity on a scale of 0 to 1. A negative cosine counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Similarity(f32);

impl Similarity {
    /// Nothing in common.
    pub const ZERO: Self = Self(0.0);
    /// The same text.
    pub const ONE: Self = Self(1.0);

    /// The one place where a cosine becomes a similarity: clamped to 0..=1, NaN counts as 0.
    pub fn from_cosine(cosine: f32) -> Self {
        if cosine.is_nan() { Self::ZERO } else { Self(cosine.clamp(0.0, 1.0)) }
    }

    /// The value, 0..=1.
    pub const fn get(self) -> f32 {
        self.0
    }
}

/// Smallest similarity that counts as a hit, 0..=1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Threshold(f64);

/// Never NaN.
impl Eq for Threshold {}

impl TryFrom<f64> for Threshold {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        Self::new(value).ok_or("a threshold must be between 0 and 1")
    }
}

impl From<Threshold> for f64 {
    fn from(threshold: Threshold) -> Self {
        threshold.0
    }
}

impl Threshold {
    /// Everything reaches it.
    pub const ZERO: Self = Self(0.0);

    /// The spec's default, 0.85.
    pub const DEFAULT: Self = Self(0.85);

    /// The least similarity that counts as near, and the lowest threshold that the interface recommends. Looking
    /// further down would cost a scan of the scope on each miss.
    pub const NEAR: Self = Self(0.75);

    /// The threshold `value`, if it lies between 0 and 1. A zero has no sign.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value.abs()))
    }

    /// The value, 0..=1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The lower of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The stricter of the two.
    #[must_use]
    pub const fn at_least(self, least: Self) -> Self {
        if self.0 < least.0 { least } else { self }
    }

    /// Whether `similarity` is enough. Compared at f32, the precision similarity is computed at,
    /// so that a similarity printed as 0.85 reaches a threshold of 0.85.
    pub fn reached_by(self, similarity: Similarity) -> bool {
        similarity.0 >= self.0 as f32
    }
}

/// The outcome of embedding a text.
#[derive(Clone, Debug)]
pub enum Embedded {
    /// The text's vector.
    Vector {
        /// Unit length, of the embedder's dimension.
        embedding: Embedding,
        /// Tokens read, special ones included.
        tokens: u32,
    },
    /// The text has more tokens than the model reads at once. It is never cut: a cut prompt would match
    /// every prompt with the same beginning.
    TooLong {
        /// Tokens found, possibly a lower bound.
        tokens: u32,
        /// Tokens the model reads at most.
        window: u32,
    },
}

impl Embedded {
    /// The vector; `None` if the text is too long for one.
    pub const fn vector(&self) -> Option<&Embedding> {
        match self {
            Self::Vector { embedding, .. } => Some(embedding),
            Self::TooLong { .. } => None,
        }
    }
}

/// Why a text could not be embedded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbedError {
    /// The queue is full: try again in a moment.
    #[error("the embedding queue is full")]
    Overloaded,
    /// The deadline passed while the text waited or was computed.
    #[error("embedding did not end within its deadline")]
    Timeout,
    /// The model failed; the text says how. Holds no prompt text.
    #[error("embedding failed: {0}")]
    Failed(String),
}

/// Turns a text into a vector.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The identity that entries carry.
    fn id(&self) -> &EmbedderId;

    /// The number of components of every vector.
    fn dimension(&self) -> usize;

    /// Tokens of the longest text that has a vector.
    fn window(&self) -> u32;

    /// The vector of `text`, or word that it is too long for one. Sheds load instead of queueing without bound.
    async fn embed(&self, text: &str) -> Result<Embedded, EmbedError>;

    /// The vector of a text in a request of `project`. Where texts wait, projects take turns.
    async fn embed_for(&self, _project: ProjectId, text: &str) -> Result<Embedded, EmbedError> {
        self.embed(text).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_clamped_in_one_place() {
        assert_eq!(Similarity::from_cosine(-0.5), Similarity::ZERO);
        assert_eq!(Similarity::from_cosine(1.000_001), Similarity::ONE);
        assert_eq!(Similarity::from_cosine(f32::NAN), Similarity::ZERO);
    }

    #[test]
    fn thresholds_zero_and_one_mean_what_they_say() {
        let zero = Threshold::new(0.0).unwrap();
        let one = Threshold::new(1.0).unwrap();
        assert!(zero.reached_by(Similarity::ZERO));
        assert!(one.reached_by(Similarity::ONE));
        assert!(!one.reached_by(Similarity::from_cosine(0.999_999)));
        assert!(Threshold::new(0.85).unwrap().reached_by(Similarity::from_cosine(0.85)));
    }

    #[test]
    fn thresholds_outside_the_scale_do_not_exist() {
        for value in [-0.000_1, 1.000_1, f64::NAN, f64::INFINITY] {
            assert!(Threshold::new(value).is_none(), "{value}");
        }
    }

    #[test]
    fn vectors_have_unit_length_or_do_not_exist() {
        let v = Embedding::new(vec![3.0, 4.0]).unwrap();
        assert_eq!(v.as_slice(), [0.6, 0.8]);
        assert!(Embedding::new(vec![0.0; 4]).is_err());
        assert!(Embedding::new(Vec::new()).is_err());
        assert!(Embedding::new(vec![f32::NAN, 1.0]).is_err());
    }
}
