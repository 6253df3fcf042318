//! A sample: one query, and the entry that came nearest to it.

use serde::{Deserialize, Serialize};

use crate::analytics::{SIMILARITY_BUCKETS, similarity_bucket};
use crate::cache::Met;
use crate::clock::Timestamp;
use crate::embedding::{Similarity, Threshold};
use crate::id::{Entropy, EntropyError, EntryId, ProjectId};

/// Samples that a project keeps at most, unless it sets another number.
pub const DEFAULT_SAMPLES: u64 = 1_000;
/// Bytes of a prompt that is sampled at most: longer ones are left out.
pub const MAX_SAMPLED_BYTES: usize = 8 * 1024;
/// Bytes of the prompt of its entry that are read at most. Of a longer one the beginning stands for it: it says far more than what was
/// asked.
pub const MAX_MATCHED_BYTES: usize = 8 * MAX_SAMPLED_BYTES;
/// Bytes of the context of its entry that are read at most, to show what it is.
pub const MAX_CONTEXT_BYTES: usize = 1024;

/// The bucket of the analytics' histograms that [`Threshold::NEAR`] lies in.
const FIRST_BUCKET: usize = 37;
/// How many bands there are.
pub const BANDS: usize = SIMILARITY_BUCKETS - FIRST_BUCKET;

/// Similarities of about the same size: a bucket of the analytics' histograms, which count all queries and so say how
/// much of the traffic the samples of a band stand for. Each band has a share of the samples of its own, so that rare
/// ones are not drowned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Band(u8);

impl Band {
    /// The band of a similarity; `None` below [`Threshold::NEAR`].
    pub fn of(similarity: Similarity) -> Option<Self> {
        let at = similarity_bucket(similarity).checked_sub(FIRST_BUCKET)?;
        Threshold::NEAR.reached_by(similarity).then_some(Self(at as u8))
    }

    /// All bands, the least similar first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..BANDS as u8).map(Self)
    }

    /// Its place among [`BANDS`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its bucket in a similarity histogram.
    pub const fn bucket(self) -> usize {
        self.0 as usize + FIRST_BUCKET
    }
}

/// A sample's number. It is random, and the smallest of each band are kept: so they are a uniform sample of the band,
/// whichever processes took them (bottom-k sampling: Cohen and Kaplan, "Summarizing data using bottom-k sketches",
/// PODC 2007).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SampleId(i64);

impl SampleId {
    /// A new number.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut bytes = [0; 8];
        entropy.fill(&mut bytes)?;
        // Without the sign, which databases give it.
        Ok(Self(i64::from_le_bytes(bytes) & i64::MAX))
    }

    /// The sample of this number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// The place of a sample among those of its project. No two have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SamplePlace {
    /// Its band.
    pub band: Band,
    /// Its number.
    pub id: SampleId,
}

/// The reason of a pair of prompts that somebody forbade to meet.
pub const FORBIDDEN: &str = "forbidden";

/// A sample to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSample {
    /// The project.
    pub project: ProjectId,
    /// Its number.
    pub id: SampleId,
    /// When it was asked.
    pub at: Timestamp,
    /// When it ends: with the time to live that the project had then. `None` is with its entry.
    pub expires: Option<Timestamp>,
    /// The prompt that was asked.
    pub asked: String,
    /// The entry that came nearest.
    pub entry: EntryId,
    /// The cosine similarity of the two prompts.
    pub similarity: Similarity,
    /// The band of that.
    pub band: Band,
    /// What became of it.
    pub met: Met,
    /// Why it was refused: the guard's reason, or [`FORBIDDEN`].
    pub reason: Option<String>,
    /// The guard's score, 0 to 1, if it was judged.
    pub score: Option<f32>,
}

impl NewSample {
    /// Its place.
    pub const fn place(&self) -> SamplePlace {
        SamplePlace { band: self.band, id: self.id }
    }
}

/// A sample with what its entry says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The sample.
    pub sampled: NewSample,
    /// The prompt of the entry, [`MAX_MATCHED_BYTES`] of it at most.
    pub prompt: String,
    /// The model of the entry.
    pub model: String,
    /// The context of the entry, and so of the query; [`MAX_CONTEXT_BYTES`] of it at most.
    pub context: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SeededEntropy;

    #[test]
    fn bands_are_the_buckets_from_near_on() {
        let band = |value| Band::of(Similarity::from_cosine(value)).map(Band::index);
        assert_eq!(
            [0.74, 0.749, 0.75, 0.759, 0.76, 0.99, 1.0].map(band),
            [None, None, Some(0), Some(0), Some(1), Some(BANDS - 1), Some(BANDS - 1)]
        );
        assert_eq!(Band::all().count(), BANDS);
        assert_eq!(Band::all().last().map(Band::bucket), Some(SIMILARITY_BUCKETS - 1));
    }

    #[test]
    fn numbers_are_random_and_not_negative() {
        let entropy = SeededEntropy::new(1);
        let ids: Vec<i64> = (0..100).map(|_| SampleId::generate(&entropy).unwrap().get()).collect();
        assert!(ids.iter().all(|id| *id >= 0));
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
    }
}
