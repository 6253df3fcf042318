//! Forgetting old counts. What is old is found on a reader, so the writer is asked only if there is something to delete.

use std::num::NonZeroUsize;

use deja_core::analytics::Step;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::store::StoreError;
use rusqlite::{Connection, params};

use super::super::writer::PART;
use super::super::{Done, SqliteStore};

/// Dimensions that a slice may give: every choice of three.
const CHOICES: u8 = 8;

/// Rollups of a project with one step and choice of dimensions, of which some are from before a period.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Old {
    project: ProjectId,
    step: i64,
    dimensions: u8,
    before: i64,
}

/// Deletes up to `limit` rollups of old periods, and says how many; the labels of contexts that no rollup names any more, and what is
/// known of recorders that are gone.
pub(super) async fn sweep(
    store: &SqliteStore,
    now: Timestamp,
    limit: NonZeroUsize,
) -> Result<u64, StoreError> {
    let hour = Step::Hour.oldest(now);
    let taken = Step::Hour.start_of(hour).as_nanos();
    let find = move |connection: &Connection| {
        let sql = "SELECT EXISTS (SELECT 1 FROM context_labels WHERE hour < ?1),
                          EXISTS (SELECT 1 FROM recorders WHERE taken < ?2)";
        let mut rest = connection.prepare_cached(sql)?;
        let (labels, recorders) =
            rest.query_row([hour, taken], |row| Ok((row.get::<_, bool>(0)?, row.get::<_, bool>(1)?)))?;
        Ok((old_rollups(connection, now)?, labels, recorders))
    };
    let (old, labels, recorders) = store.readers.read(find).await?;
    let (limit, mut swept) = (limit.get() as u64, 0);
    for of_project in old.chunk_by(|one, next| one.project == next.project) {
        while swept < limit {
            let (of_project, most) = (of_project.to_vec(), (limit - swept).min(PART.get() as u64));
            let delete =
                move |connection: &Connection| Ok(Done::quiet(delete(connection, &of_project, most)?));
            let gone = store.writer.write(delete).await?;
            swept += gone;
            if gone < most {
                break;
            }
        }
    }
    if labels {
        let sql = format!(
            "DELETE FROM context_labels WHERE (project_id, context) IN
                 (SELECT project_id, context FROM context_labels WHERE hour < ?1 LIMIT {PART})"
        );
        let part = move |connection: &Connection| {
            connection.prepare_cached(&sql)?.execute([hour]).map(|gone| gone as u64)
        };
        store.writer.in_parts(part).await?;
    }
    if recorders {
        store.writer.execute("DELETE FROM recorders WHERE taken < ?1", [taken]).await?;
    }
    Ok(swept)
}

/// What is old, project by project. The primary key answers for each.
fn old_rollups(connection: &Connection, now: Timestamp) -> rusqlite::Result<Vec<Old>> {
    let mut select = connection.prepare_cached(
        "SELECT p.project_id FROM projects p WHERE EXISTS (
             SELECT 1 FROM rollups r
             WHERE r.project_id = p.project_id AND r.step = ?1 AND r.dimensions = ?2 AND r.period < ?3)",
    )?;
    let mut all = Vec::new();
    for step in Step::ALL {
        for dimensions in 0..CHOICES {
            let (step, before) = (step.seconds(), step.oldest(now));
            let old = select.query_map(params![step, dimensions, before], |row| {
                Ok(Old { project: ProjectId::from_bytes(row.get(0)?), step, dimensions, before })
            })?;
            all.extend(old.collect::<rusqlite::Result<Vec<_>>>()?);
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// Deletes so many rollups at most.
fn delete(connection: &Connection, old: &[Old], most: u64) -> rusqlite::Result<u64> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM rollups WHERE (project_id, step, dimensions, period, key_id, model, context) IN
             (SELECT project_id, step, dimensions, period, key_id, model, context FROM rollups
              WHERE project_id = ?1 AND step = ?2 AND dimensions = ?3 AND period < ?4 LIMIT ?5)",
    )?;
    let mut gone = 0;
    for Old { project, step, dimensions, before } in old {
        let values = params![project.as_bytes(), step, dimensions, before, (most - gone).cast_signed()];
        gone += delete.execute(values)? as u64;
    }
    Ok(gone)
}
