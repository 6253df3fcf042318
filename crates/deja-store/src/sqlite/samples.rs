//! Samples of what was asked and what came near.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use deja_core::quality::{
    BANDS, Band, DEFAULT_SAMPLES, MAX_CONTEXT_BYTES, MAX_MATCHED_BYTES, NewSample, Sample, SampleId,
    SamplePlace,
};
use deja_core::store::{Samples, StoreError};
use rusqlite::{Connection, Row, params};

use super::rows::{count, limit_of, signed, similarity, time, time_or_none, unreadable, word};
use super::{Done, SqliteStore};
use crate::lists::cut;

#[async_trait]
impl Samples for SqliteStore {
    async fn keep_samples(&self, samples: &[NewSample], now: Timestamp) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let samples = samples.to_vec();
        self.writer.write_if_room(move |connection| Ok(Done::quiet(keep(connection, &samples, now)?))).await
    }

    async fn samples(
        &self,
        project: ProjectId,
        after: Option<SamplePlace>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Sample>, StoreError> {
        let sql = format!(
            "SELECT {} FROM {LIVE} AND (s.band, s.sample_id) > (?3, ?4) ORDER BY s.band, s.sample_id LIMIT ?5",
            *COLUMNS
        );
        let (band, id) = after.map_or((-1, 0), |after| (after.band.index() as i64, after.id.get()));
        let values = (*project.as_bytes(), now.as_nanos(), band, id, limit_of(limit));
        self.readers.all(sql, values, move |row| from_row(project, row)).await
    }

    async fn sample(
        &self,
        project: ProjectId,
        place: SamplePlace,
        now: Timestamp,
    ) -> Result<Option<Sample>, StoreError> {
        let sql = format!("SELECT {} FROM {LIVE} AND s.band = ?3 AND s.sample_id = ?4", *COLUMNS);
        let values = (*project.as_bytes(), now.as_nanos(), place.band.index() as i64, place.id.get());
        self.readers.one(sql, values, move |row| from_row(project, row)).await
    }

    async fn sample_places(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Vec<SamplePlace>, StoreError> {
        let sql = format!("SELECT s.similarity, s.sample_id FROM {LIVE} ORDER BY s.band, s.sample_id");
        let place = |row: &Row<'_>| {
            Ok(SamplePlace { band: band(similarity(row, 0)?, 0)?, id: SampleId::new(row.get(1)?) })
        };
        self.readers.all(sql, (*project.as_bytes(), now.as_nanos()), place).await
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

/// What [`from_row`] reads. The beginnings of texts are cut from their bytes: as a text each would end at its first NUL.
static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "s.sample_id, s.at, s.expires, s.asked, e.entry_id, s.similarity, s.met, s.reason, s.score,
         substr(CAST(e.prompt AS BLOB), 1, {MAX_MATCHED_BYTES}), e.model,
         substr(CAST(c.context AS BLOB), 1, {MAX_CONTEXT_BYTES})"
    )
});

/// The samples of the project ?1 that did not end by ?2, with their entries and scopes.
const LIVE: &str = "samples s CROSS JOIN entries e ON e.entry = s.entry CROSS JOIN scopes c ON c.scope = e.scope
     WHERE s.project_id = ?1 AND (s.expires IS NULL OR s.expires > ?2) AND (e.expires IS NULL OR e.expires > ?2)";

fn band(similarity: Similarity, column: usize) -> rusqlite::Result<Band> {
    Band::of(similarity).ok_or_else(|| unreadable(column, "too small for a sample"))
}

/// A column with the beginning of a text, or nothing.
fn cut_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let bytes: Option<Vec<u8>> = row.get(column)?;
    bytes.map(cut).transpose().map_err(|error| unreadable(column, error))
}

fn from_row(project: ProjectId, row: &Row<'_>) -> rusqlite::Result<Sample> {
    let similarity = similarity(row, 5)?;
    let sampled = NewSample {
        project,
        id: SampleId::new(row.get(0)?),
        at: time(row, 1)?,
        expires: time_or_none(row, 2)?,
        asked: row.get(3)?,
        entry: EntryId::from_bytes(row.get(4)?),
        similarity,
        band: band(similarity, 5)?,
        met: word(row, 6)?,
        reason: row.get(7)?,
        score: row.get::<_, Option<f64>>(8)?.map(|score| score as f32),
    };
    let prompt = cut_or_none(row, 9)?.unwrap_or_default();
    Ok(Sample { sampled, prompt, model: row.get(10)?, context: cut_or_none(row, 11)? })
}
