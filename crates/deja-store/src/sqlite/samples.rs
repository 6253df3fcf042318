//! Samples of what was asked and what came near.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use deja_core::quality::{BANDS, Band, DEFAULT_SAMPLES, NewSample, Sample, SampleId};
use deja_core::store::{Samples, StoreError};
use rusqlite::{Connection, Row, params};

use super::rows::{count, limit_of, signed, time, time_or_none, unreadable, word};
use super::{Done, SqliteStore};

#[async_trait]
impl Samples for SqliteStore {
    async fn keep_samples(&self, samples: &[NewSample], now: Timestamp) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let samples = samples.to_vec();
        self.writer.write_if_room(move |connection| Ok(Done::quiet(keep(connection, &samples, now)?))).await
    }

    async fn samples(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Sample>, StoreError> {
        let sql = "SELECT s.sample_id, s.at, s.expires, s.asked, e.entry_id, s.similarity, s.met, s.reason,
                          s.score, e.prompt, e.model, c.context
                   FROM samples s JOIN entries e ON e.entry = s.entry JOIN scopes c ON c.scope = e.scope
                   WHERE s.project_id = ?1 AND (s.expires IS NULL OR s.expires > ?2)
                         AND (e.expires IS NULL OR e.expires > ?2)
                   ORDER BY s.sample_id, s.band";
        let values = (*project.as_bytes(), now.as_nanos());
        self.readers.all(sql, values, move |row| from_row(project, row)).await
    }

    async fn samples_beyond(&self, project: ProjectId, allowed: u64) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(max(there - ?2, 0)), 0)
                   FROM (SELECT count(*) AS there FROM samples WHERE project_id = ?1 GROUP BY band)";
        let values = (*project.as_bytes(), signed(allowed / BANDS as u64));
        Ok(self.readers.one(sql, values, |row| count(row, 0)).await?.unwrap_or_default())
    }

    async fn sweep_samples(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        // Samples beyond what the settings allow went when the settings changed.
        let sql = "DELETE FROM samples WHERE (project_id, band, sample_id) IN
                       (SELECT project_id, band, sample_id FROM samples WHERE expires <= ?1 LIMIT ?2)";
        Ok(self.writer.execute(sql, (now.as_nanos(), limit_of(limit))).await? as u64)
    }
}

fn keep(connection: &Connection, samples: &[NewSample], now: Timestamp) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO samples (project_id, band, sample_id, entry, at, expires, similarity, met, reason, score, asked)
         SELECT ?1, ?2, ?3, entry, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM entries
         WHERE project_id = ?1 AND entry_id = ?4
         ON CONFLICT DO NOTHING",
    )?;
    let mut expire = connection
        .prepare_cached("DELETE FROM samples WHERE project_id = ?1 AND band = ?2 AND expires <= ?3")?;
    let mut touched = BTreeSet::new();
    for sample in samples {
        let kept = insert.execute(params![
            sample.project.as_bytes(),
            sample.band.index() as i64,
            sample.id.get(),
            sample.entry.as_bytes(),
            sample.at.as_nanos(),
            sample.expires.map(Timestamp::as_nanos),
            f64::from(sample.similarity.get()),
            sample.met.as_str(),
            sample.reason,
            sample.score.map(f64::from),
            sample.asked,
        ])?;
        if kept > 0 {
            touched.insert((sample.project, sample.band));
        }
    }
    for (project, band) in &touched {
        expire.execute(params![project.as_bytes(), band.index() as i64, now.as_nanos()])?;
    }
    trim(connection, touched)
}

/// Deletes what is beyond the samples that the projects' settings allow, in these bands.
pub(super) fn trim(
    connection: &Connection,
    bands: impl IntoIterator<Item = (ProjectId, Band)>,
) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached(&format!(
        "DELETE FROM samples WHERE project_id = ?1 AND band = ?2 AND sample_id IN
             (SELECT sample_id FROM samples WHERE project_id = ?1 AND band = ?2 ORDER BY sample_id
              LIMIT -1 OFFSET (SELECT coalesce(json_extract(settings, '$.samples'), {DEFAULT_SAMPLES}) / {BANDS}
                               FROM projects WHERE project_id = ?1))"
    ))?;
    for (project, band) in bands {
        delete.execute(params![project.as_bytes(), band.index() as i64])?;
    }
    Ok(())
}

fn from_row(project: ProjectId, row: &Row<'_>) -> rusqlite::Result<Sample> {
    let similarity = Similarity::from_cosine(row.get::<_, f64>(5)? as f32);
    let sampled = NewSample {
        project,
        id: SampleId::new(row.get(0)?),
        at: time(row, 1)?,
        expires: time_or_none(row, 2)?,
        asked: row.get(3)?,
        entry: EntryId::from_bytes(row.get(4)?),
        similarity,
        band: Band::of(similarity).ok_or_else(|| unreadable(5, "too small for a sample"))?,
        met: word(row, 6)?,
        reason: row.get(7)?,
        score: row.get::<_, Option<f64>>(8)?.map(|score| score as f32),
    };
    Ok(Sample { sampled, prompt: row.get(9)?, model: row.get(10)?, context: row.get(11)? })
}
