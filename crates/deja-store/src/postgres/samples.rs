//! Samples of what was asked and what came near.

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
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::connections::Params;
use super::rows::{
    count, get, id, limit_of, signed, similarity, text, time, time_or_none, total, unreadable, uuid, word,
};
use crate::lists::cut;

/// How many samples of a band the settings of the project `p` allow.
fn of_a_band() -> String {
    format!("coalesce((p.settings::json->>'samples')::bigint, {DEFAULT_SAMPLES}) / {BANDS}")
}

/// A part of a statement that deletes the samples of the project $1 beyond `samples`.
pub(super) fn beyond(samples: &str) -> String {
    format!(
        "samples_gone AS (
             DELETE FROM samples WHERE project_id = $1 AND (band, sample_id) IN (
                 SELECT band, sample_id
                 FROM (SELECT band, sample_id, row_number() OVER (PARTITION BY band ORDER BY sample_id) AS place
                       FROM samples WHERE project_id = $1) placed
                 WHERE place > {samples}::bigint / {BANDS}))"
    )
}

#[async_trait]
impl Samples for PostgresStore {
    async fn keep_samples(&self, samples: &[NewSample], now: Timestamp) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let columns = Columns::of(samples);
        // Old and new ones together are ranked. The project's row is held, so that its settings stay as they are.
        let sql = format!(
            "WITH projects_held AS (
                 SELECT p.project_id, {} AS allowed FROM projects p WHERE p.project_id = ANY ($1::uuid[])
                 ORDER BY p.project_id FOR SHARE),
             entries_held AS (
                 SELECT e.project_id, e.entry_id
                 FROM (SELECT DISTINCT project_id, entry_id
                       FROM unnest($1::uuid[], $4::uuid[]) AS g (project_id, entry_id)) u
                      JOIN projects_held p USING (project_id)
                      JOIN entries e ON e.project_id = u.project_id AND e.entry_id = u.entry_id
                 ORDER BY e.project_id, e.entry_id FOR KEY SHARE OF e),
             given AS (
                 SELECT DISTINCT ON (u.project_id, u.band, u.sample_id) u.*, p.allowed
                 FROM unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::uuid[], $5::bigint[], $6::bigint[],
                             $7::real[], $8::text[], $9::text[], $10::real[], $11::bytea[])
                      AS u (project_id, band, sample_id, entry_id, at, expires, similarity, met, reason, score, asked)
                      JOIN projects_held p ON p.project_id = u.project_id
                      JOIN entries_held e ON e.project_id = u.project_id AND e.entry_id = u.entry_id
                 WHERE u.expires IS NULL OR u.expires > $12
                 ORDER BY u.project_id, u.band, u.sample_id),
             bands AS (SELECT DISTINCT project_id, band, allowed FROM given),
             there AS (
                 SELECT s.project_id, s.band, s.sample_id, b.allowed, s.expires <= $12 AS ended
                 FROM samples s JOIN bands b ON b.project_id = s.project_id AND b.band = s.band),
             placed AS (
                 SELECT project_id, band, sample_id, allowed,
                        row_number() OVER (PARTITION BY project_id, band ORDER BY sample_id) AS place
                 FROM (SELECT project_id, band, sample_id, allowed FROM there WHERE ended IS NOT TRUE
                       UNION SELECT project_id, band, sample_id, allowed FROM given) a),
             kept AS (SELECT project_id, band, sample_id FROM placed WHERE place <= allowed),
             gone AS (
                 DELETE FROM samples s USING there t
                 WHERE s.project_id = t.project_id AND s.band = t.band AND s.sample_id = t.sample_id
                       AND NOT EXISTS (SELECT FROM kept k WHERE k.project_id = s.project_id AND k.band = s.band
                                                                AND k.sample_id = s.sample_id))
             INSERT INTO samples
                    (project_id, band, sample_id, entry_id, at, expires, similarity, met, reason, score, asked)
             SELECT g.project_id, g.band, g.sample_id, g.entry_id, g.at, g.expires, g.similarity, g.met, g.reason,
                    g.score, g.asked
             FROM given g JOIN kept k ON k.project_id = g.project_id AND k.band = g.band
                                         AND k.sample_id = g.sample_id
             ON CONFLICT DO NOTHING",
            of_a_band()
        );
        let params: Params<'_> = &[
            &columns.projects,
            &columns.bands,
            &columns.ids,
            &columns.entries,
            &columns.times,
            &columns.expires,
            &columns.similarities,
            &columns.mets,
            &columns.reasons,
            &columns.scores,
            &columns.asked,
            &now.as_nanos(),
        ];
        self.connections.bulk(&sql, params).await.map(drop)
    }

    async fn samples(
        &self,
        project: ProjectId,
        after: Option<SamplePlace>,
        now: Timestamp,
        at_most: NonZeroUsize,
    ) -> Result<Vec<Sample>, StoreError> {
        let sql = format!(
            "SELECT {} FROM {LIVE} AND (s.band, s.sample_id) > ($3::smallint, $4::bigint)
             ORDER BY s.band, s.sample_id LIMIT $5",
            *COLUMNS
        );
        let (band, id) = after.map_or((-1, 0), |after| (after.band.index() as i16, after.id.get()));
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &now.as_nanos(), &band, &id, &limit_of(at_most)];
        let rows = self.connections.bulk(&sql, params).await?;
        rows.iter().map(|row| from_row(project, row)).collect()
    }

    async fn sample(
        &self,
        project: ProjectId,
        place: SamplePlace,
        now: Timestamp,
    ) -> Result<Option<Sample>, StoreError> {
        let sql = format!("SELECT {} FROM {LIVE} AND s.band = $3 AND s.sample_id = $4", *COLUMNS);
        let (band, id) = (place.band.index() as i16, place.id.get());
        let params: Params<'_> = &[&uuid(project.as_bytes()), &now.as_nanos(), &band, &id];
        let row = self.connections.query_opt(&sql, params).await?;
        row.map(|row| from_row(project, &row)).transpose()
    }

    async fn sample_places(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Vec<SamplePlace>, StoreError> {
        let sql = format!("SELECT s.similarity, s.sample_id FROM {LIVE} ORDER BY s.band, s.sample_id");
        let rows = self.connections.bulk(&sql, &[&uuid(project.as_bytes()), &now.as_nanos()]).await?;
        let place = |row: &Row| {
            Ok(SamplePlace { band: band(similarity(row, 0)?, 0)?, id: SampleId::new(get(row, 1)?) })
        };
        rows.iter().map(place).collect()
    }

    async fn samples_beyond(&self, project: ProjectId, allowed: u64) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(greatest(there - $2::bigint, 0)), 0)::bigint
                   FROM (SELECT count(*) AS there FROM samples WHERE project_id = $1 GROUP BY band) bands";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &signed(allowed / BANDS as u64)];
        count(&self.connections.query_one(sql, params).await?, 0)
    }

    async fn sweep_samples(&self, now: Timestamp, at_most: NonZeroUsize) -> Result<u64, StoreError> {
        // A batch that was written while a project's settings changed may have left some behind.
        let sql = format!(
            "WITH old AS (
                 SELECT ctid FROM samples WHERE expires <= $1
                 UNION ALL
                 SELECT s.ctid FROM projects p JOIN samples s ON s.project_id = p.project_id WHERE {} = 0
                 LIMIT $2),
             gone AS (DELETE FROM samples WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
             SELECT count(*) FROM gone",
            of_a_band()
        );
        let rows = self.connections.bulk(&sql, &[&now.as_nanos(), &limit_of(at_most)]).await?;
        total(&rows)
    }
}

/// Samples, column by column.
#[derive(Default)]
struct Columns<'a> {
    projects: Vec<Uuid>,
    bands: Vec<i16>,
    ids: Vec<i64>,
    entries: Vec<Uuid>,
    times: Vec<i64>,
    expires: Vec<Option<i64>>,
    similarities: Vec<f32>,
    mets: Vec<&'a str>,
    reasons: Vec<Option<&'a str>>,
    scores: Vec<Option<f32>>,
    asked: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(samples: &'a [NewSample]) -> Self {
        let mut columns = Self::default();
        for sample in samples {
            columns.projects.push(uuid(sample.project.as_bytes()));
            columns.bands.push(sample.band.index() as i16);
            columns.ids.push(sample.id.get());
            columns.entries.push(uuid(sample.entry.as_bytes()));
            columns.times.push(sample.at.as_nanos());
            columns.expires.push(sample.expires.map(Timestamp::as_nanos));
            columns.similarities.push(sample.similarity.get());
            columns.mets.push(sample.met.as_str());
            columns.reasons.push(sample.reason.as_deref());
            columns.scores.push(sample.score);
            columns.asked.push(sample.asked.as_bytes());
        }
        columns
    }
}

/// What [`from_row`] reads.
static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "s.sample_id, s.at, s.expires, s.asked, s.entry_id, s.similarity, s.met, s.reason, s.score,
         substr(e.prompt, 1, {MAX_MATCHED_BYTES}), e.model, substr(e.context, 1, {MAX_CONTEXT_BYTES})"
    )
});

/// The samples of the project $1 that did not end by $2, with their entries.
const LIVE: &str = "samples s JOIN entries e ON e.project_id = s.project_id AND e.entry_id = s.entry_id
     WHERE s.project_id = $1 AND (s.expires IS NULL OR s.expires > $2) AND (e.expires IS NULL OR e.expires > $2)";

fn band(similarity: Similarity, column: usize) -> Result<Band, StoreError> {
    Band::of(similarity).ok_or_else(|| unreadable(column, "too small for a sample"))
}

/// A column with the beginning of a text, or nothing.
fn cut_or_none(row: &Row, column: usize) -> Result<Option<String>, StoreError> {
    let bytes: Option<Vec<u8>> = get(row, column)?;
    bytes.map(cut).transpose().map_err(|error| unreadable(column, error.utf8_error()))
}

fn from_row(project: ProjectId, row: &Row) -> Result<Sample, StoreError> {
    let similarity = similarity(row, 5)?;
    let sampled = NewSample {
        project,
        id: SampleId::new(get(row, 0)?),
        at: time(row, 1)?,
        expires: time_or_none(row, 2)?,
        asked: text(row, 3)?,
        entry: EntryId::from_bytes(id(row, 4)?),
        similarity,
        band: band(similarity, 5)?,
        met: word(row, 6)?,
        reason: get(row, 7)?,
        score: get(row, 8)?,
    };
    let prompt = cut_or_none(row, 9)?.unwrap_or_default();
    Ok(Sample { sampled, prompt, model: text(row, 10)?, context: cut_or_none(row, 11)? })
}
