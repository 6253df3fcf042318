//! Samples that are not written yet.

use std::collections::BTreeMap;

use super::{Band, NewSample, SampleId};
use crate::id::ProjectId;

/// Samples of one project and band that wait at most: more of them come in the same second only where the band is
/// full anyhow.
const OF_A_BAND: usize = 4;
/// Samples that wait at most.
const MOST: usize = 512;

/// A few samples of each project and band, those with the smallest numbers.
#[derive(Debug, Default)]
pub struct Reservoir {
    bands: BTreeMap<(ProjectId, Band), BTreeMap<SampleId, NewSample>>,
    len: usize,
}

impl Reservoir {
    /// Takes a sample, unless there are enough with smaller numbers.
    pub fn add(&mut self, sample: NewSample) {
        if self.len >= MOST {
            return;
        }
        let band = self.bands.entry((sample.project, sample.band)).or_default();
        let before = band.len();
        band.insert(sample.id, sample);
        if band.len() > OF_A_BAND {
            band.pop_last();
        }
        self.len += band.len() - before;
    }

    /// Takes all out.
    #[must_use]
    pub fn take(&mut self) -> Vec<NewSample> {
        self.len = 0;
        std::mem::take(&mut self.bands).into_values().flat_map(BTreeMap::into_values).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::embedding::Similarity;
    use crate::id::EntryId;
    use crate::testing;

    fn sample(project: u8, similarity: f32, number: i64) -> NewSample {
        let (project, entry) = (ProjectId::from_bytes([project; 16]), EntryId::from_bytes([1; 16]));
        let similarity = Similarity::from_cosine(similarity);
        testing::sample(number, project, entry, "asked", similarity, Timestamp::default())
    }

    #[test]
    fn each_band_of_each_project_has_its_own_few() {
        let mut reservoir = Reservoir::default();
        for number in (0..100).rev() {
            reservoir.add(sample(1, 0.9, number));
        }
        reservoir.add(sample(1, 0.8, 1000));
        reservoir.add(sample(2, 0.9, 1001));
        let mut numbers: Vec<i64> = reservoir.take().into_iter().map(|sample| sample.id.get()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 1000, 1001]);
        assert_eq!(reservoir.take(), []);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut reservoir = Reservoir::default();
        for project in 0..=255 {
            for number in 0..4 {
                reservoir.add(sample(project, 0.9, number));
            }
        }
        assert_eq!(reservoir.take().len(), MOST);
        reservoir.add(sample(1, 0.9, 1));
        assert_eq!(reservoir.take().len(), 1);
    }
}
