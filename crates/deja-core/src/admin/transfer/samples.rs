//! Samples of queries, out and in.

use std::collections::BTreeSet;

use super::{Imported, Record, SampleRecord, timestamp};
use crate::admin::names::shown;
use crate::admin::quality::SAMPLES_AT_ONCE;
use crate::admin::{Acting, AdminError};
use crate::embedding::Similarity;
use crate::id::ProjectId;
use crate::quality::{Band, MAX_SAMPLED_BYTES, NewSample, SampleId, SamplePlace};
use crate::words::UnknownWord;

/// Characters of the guard's reason at most.
const MAX_REASON: usize = 64;

/// A page of the project's samples, by place, those behind `after` if it is given; an empty one is the end.
pub async fn samples(
    by: &Acting<'_>,
    slug: &str,
    after: Option<SamplePlace>,
) -> Result<Vec<Record>, AdminError> {
    let project = by.project(slug).await?;
    let samples = by.store().samples(project.id, after, by.now(), SAMPLES_AT_ONCE).await?;
    Ok(samples.into_iter().map(|sample| record(slug, sample.sampled)).collect())
}

fn record(slug: &str, sample: NewSample) -> Record {
    Record::Sample(SampleRecord {
        project: slug.to_owned(),
        id: sample.id.get(),
        at: sample.at.into(),
        expires: sample.expires.map(Into::into),
        asked: sample.asked,
        entry: sample.entry.to_string(),
        similarity: sample.similarity.get(),
        met: sample.met.as_str().to_owned(),
        reason: sample.reason,
        score: sample.score,
    })
}

/// Keeps these samples, and says of each what became of it.
pub(super) async fn keep(by: &Acting<'_>, samples: &[NewSample]) -> Result<Vec<Imported>, AdminError> {
    let mut before = present(by, samples).await?;
    by.store().keep_samples(samples, by.now()).await?;
    let after = present(by, samples).await?;
    let became = samples.iter().map(|sample| match key(sample) {
        key if !after.contains(&key) => Imported::LeftOut,
        key if before.insert(key) => Imported::Stored,
        _ => Imported::There,
    });
    Ok(became.collect())
}

/// All samples of the projects that these are of.
async fn present(by: &Acting<'_>, samples: &[NewSample]) -> Result<BTreeSet<Key>, AdminError> {
    let projects: BTreeSet<_> = samples.iter().map(|sample| sample.project).collect();
    let mut present = BTreeSet::new();
    for project in projects {
        let there = by.store().sample_places(project, by.now()).await?;
        present.extend(there.into_iter().map(|place| (project, place)));
    }
    Ok(present)
}

/// What no two samples have in common.
type Key = (ProjectId, SamplePlace);

const fn key(sample: &NewSample) -> Key {
    (sample.project, sample.place())
}

/// The sample that a record holds, or in words why it cannot be taken.
pub(super) fn sample(project: ProjectId, record: SampleRecord) -> Result<NewSample, String> {
    let similarity = Similarity::from_cosine(record.similarity);
    let is_word = |reason: &String| reason.len() <= MAX_REASON && !reason.contains(char::is_control);
    if record.id < 0 || record.asked.len() > MAX_SAMPLED_BYTES || !record.reason.iter().all(is_word) {
        return Err("its id, prompt or reason is none of a sample".into());
    }
    Ok(NewSample {
        project,
        id: SampleId::new(record.id),
        at: timestamp(record.at)?,
        expires: record.expires.map(timestamp).transpose()?,
        asked: record.asked,
        entry: record.entry.parse().map_err(|_| format!("'{}' is not an id", shown(&record.entry)))?,
        similarity,
        band: Band::of(similarity).ok_or("its similarity is too small for a sample")?,
        met: record.met.parse().map_err(|error: UnknownWord| error.to_string())?,
        reason: record.reason,
        score: record.score,
    })
}
