//! Storing an entry with its vectors: twin, eviction and all, in one savepoint.

use std::sync::{Arc, LazyLock};

use deja_core::cache::{Inserted, NewEntry, PromptHash, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::embedding::EmbedderId;
use deja_core::id::ProjectId;
use deja_core::store::{EVICTED_AT_ONCE, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::super::counts;
use super::super::fault::{Failed, conflict};
use super::super::index::{Gone, Placed, Row, Vector};
use super::super::projects::{must_be_there, must_not_be_purged_since};
use super::super::rows::{parameters_column, signed};
use super::super::{Done, EmbedderNumber, Memory};
use super::{remove, texts};

/// Stores `new`, and in memory what became of it.
pub(super) fn insert(
    connection: &Connection,
    memory: Arc<Memory>,
    new: NewEntry,
    vectors: Vec<(EmbedderId, Vector)>,
) -> Result<Done<Inserted>, Failed> {
    must_be_there(connection, new.scope.project())?;
    if let Some(purges) = new.purges {
        must_not_be_purged_since(connection, new.scope.project(), purges)?;
    }
    let mut gone = Vec::new();
    let twin = place(connection, new.scope.project(), new.scope.key(), new.prompt_hash)?;
    if let Some((row, expires)) = twin {
        if !new.replaces && expires.is_none_or(|expires| new.now.as_nanos() < expires) {
            let twin = texts::read(connection, row)?;
            let (twin, _) = twin.ok_or_else(|| StoreError::Corrupt(format!("entry {row} has no text")))?;
            return Ok(Done::quiet(Inserted::Twin(Arc::new(twin))));
        }
        gone = remove::remove(connection, memory.own_embedder(), &[row])?;
    }
    let row = write(connection, &new)?;
    let mut stored = Vec::with_capacity(vectors.len());
    for (embedder, vector) in vectors {
        let number = embedder_number(connection, &embedder)?;
        put_vector(connection, row, number, Some(&vector))?;
        stored.push((number, vector));
    }
    let (evicted, more) = evict(connection, &memory, new.scope.project(), row)?;
    gone.extend(evicted);

    Ok(Done::then(Inserted::New, move || {
        if more != 0 {
            memory.index.count_more(new.scope.project(), more);
        }
        memory.forget(&gone);
        let entry = Arc::new(new.entry);
        let own = memory.own_embedder();
        let vector = stored.into_iter().find(|(by, _)| own == Some(*by)).map(|(_, vector)| vector);
        let placed = Placed {
            row,
            project: new.scope.project(),
            id: entry.id,
            scope: new.scope.key(),
            prompt: new.prompt_hash,
            expires: entry.expires,
            vector,
        };
        memory.texts.insert(row, entry);
        memory.index.add(placed);
    }))
}

/// The entry for exactly this prompt, with its expiry.
pub(super) fn place(
    connection: &Connection,
    project: ProjectId,
    scope: ScopeKey,
    prompt: PromptHash,
) -> rusqlite::Result<Option<(Row, Option<i64>)>> {
    connection
        .prepare_cached(
            "SELECT e.entry, e.expires
             FROM scopes s JOIN entries e ON e.scope = s.scope AND e.prompt_hash = ?3
             WHERE s.project_id = ?1 AND s.scope_key = ?2",
        )?
        .query_row(params![project.as_bytes(), scope.0, prompt.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Writes the rows; gives the entry's number.
fn write(connection: &Connection, new: &NewEntry) -> Result<Row, Failed> {
    let project = new.scope.project();
    let scope = scope_number(connection, new)?;
    let entry = &new.entry;
    connection
        .prepare_cached(
            "INSERT INTO entries (project_id, entry_id, scope, prompt_hash, created, expires, last_used,
                                  input_tokens, output_tokens, tokens_estimated, model, provider,
                                  served_model, prompt, answer, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?5, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            project.as_bytes(),
            entry.id.as_bytes(),
            scope,
            new.prompt_hash.0,
            entry.created.as_nanos(),
            entry.expires.map(Timestamp::as_nanos),
            signed(entry.answer.input_tokens),
            signed(entry.answer.output_tokens),
            entry.answer.tokens_estimated,
            entry.model,
            entry.answer.provider,
            entry.answer.served_model,
            entry.prompt,
            entry.answer.text,
            entry.answer.record.as_deref(),
        ])
        .map_err(|error| conflict(error, || format!("the entry {}", entry.id)))?;
    let row = connection.last_insert_rowid();
    connection
        .prepare_cached(
            "INSERT INTO heads (entry, project_id, entry_id, scope, prompt_hash, expires)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            row,
            project.as_bytes(),
            entry.id.as_bytes(),
            scope,
            new.prompt_hash.0,
            entry.expires.map(Timestamp::as_nanos),
        ])?;
    Ok(row)
}

fn scope_number(connection: &Connection, new: &NewEntry) -> rusqlite::Result<i64> {
    let (project, key, frame) = (new.scope.project(), new.scope.key(), new.scope.frame());
    let known = connection
        .prepare_cached("SELECT scope FROM scopes WHERE project_id = ?1 AND scope_key = ?2")?
        .query_row(params![project.as_bytes(), key.0], |row| row.get(0))
        .optional()?;
    if let Some(scope) = known {
        return Ok(scope);
    }
    connection
        .prepare_cached(
            "INSERT INTO scopes (project_id, scope_key, context, kind, parameters, exact)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert(params![
            project.as_bytes(),
            key.0,
            frame.instructions(),
            frame.kind().as_str(),
            parameters_column(frame.parameters())?,
            frame.is_exact(),
        ])
}

/// The number of an embedder, given the first time it is seen.
pub(in super::super) fn embedder_number(
    connection: &Connection,
    embedder: &EmbedderId,
) -> rusqlite::Result<EmbedderNumber> {
    let known = connection
        .prepare_cached("SELECT embedder FROM embedders WHERE name = ?1")?
        .query_row([embedder.as_str()], |row| row.get(0))
        .optional()?;
    match known {
        Some(number) => Ok(number),
        None => {
            connection.prepare_cached("INSERT INTO embedders (name) VALUES (?1)")?.insert([embedder.as_str()])
        }
    }
}

/// Writes an entry's vector of this embedder, in place of an earlier one; without one, that it was too long.
pub(in super::super) fn put_vector(
    connection: &Connection,
    row: Row,
    embedder: EmbedderNumber,
    vector: Option<&Vector>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO vectors (entry, embedder, vector) VALUES (?1, ?2, ?3)
             ON CONFLICT (entry, embedder) DO UPDATE SET vector = excluded.vector",
        )?
        .execute(params![row, embedder, vector.map(Vector::to_bytes)])
        .map(drop)
}

static OVER_OF_ONE: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM projects WHERE project_id = ?1", *remove::OVER));

/// Removes the least recently used entries beyond the project's maximum, as many as one insert may, the new one apart. Says which,
/// and how many entries the project had more than was known.
fn evict(
    connection: &Connection,
    memory: &Memory,
    project: ProjectId,
    row: Row,
) -> rusqlite::Result<(Vec<Gone>, i64)> {
    let over: i64 =
        connection.prepare_cached(&OVER_OF_ONE)?.query_row([project.as_bytes()], |row| row.get(0))?;
    if over <= 0 {
        return Ok((Vec::new(), 0));
    }
    let more = counts::correct(connection, project)?;
    let over = (over + more).clamp(0, signed(EVICTED_AT_ONCE));
    let rows = connection
        .prepare_cached(
            "SELECT entry FROM entries WHERE project_id = ?1 AND entry <> ?2
             ORDER BY last_used, entry_id LIMIT ?3",
        )?
        .query_map(params![project.as_bytes(), row, over], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<Row>>>()?;
    Ok((remove::remove(connection, memory.own_embedder(), &rows)?, more))
}
