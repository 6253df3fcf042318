//! Removing entries: which ones, and what the index has to know of them.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use deja_core::cache::{PromptHash, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, ProjectId};
use deja_core::project::DEFAULT_MAX_ENTRIES;
use deja_core::store::EntryFilter;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::EmbedderNumber;
use super::super::index::{Gone, Row};
use super::super::rows::signed;

/// Removes the entries with these numbers; some may be gone already. Their vectors go with them by the foreign key, counts and empty
/// scopes by triggers. The index holds vectors of the embedder `own`.
pub(in super::super) fn remove(
    connection: &Connection,
    own: Option<EmbedderNumber>,
    rows: &[Row],
) -> rusqlite::Result<Vec<Gone>> {
    // length() of a column at the end of the row reads its header only.
    let mut select = connection.prepare_cached(
        "SELECT h.project_id, s.scope_key, h.prompt_hash, length(v.vector)
         FROM heads h JOIN scopes s ON s.scope = h.scope
              LEFT JOIN vectors v ON v.entry = h.entry AND v.embedder = ?2
         WHERE h.entry = ?1",
    )?;
    let mut delete = connection.prepare_cached("DELETE FROM entries WHERE entry = ?1")?;
    let mut gone = Vec::with_capacity(rows.len());
    for row in rows {
        let found = select.query_row(params![row, own], |found| {
            let bytes: Option<u32> = found.get(3)?;
            Ok(Gone {
                row: *row,
                project: ProjectId::from_bytes(found.get(0)?),
                scope: ScopeKey(found.get(1)?),
                prompt: PromptHash(found.get(2)?),
                dimension: bytes.map(|bytes| bytes as usize / 2),
            })
        });
        gone.extend(found.optional()?);
        delete.execute([row])?;
    }
    Ok(gone)
}

/// Entries of a project, so many at most.
pub(in super::super) fn rows_of(
    connection: &Connection,
    project: ProjectId,
    limit: usize,
) -> rusqlite::Result<Vec<Row>> {
    connection
        .prepare_cached("SELECT entry FROM entries WHERE project_id = ?1 LIMIT ?2")?
        .query_map(params![project.as_bytes(), signed(limit as u64)], |row| row.get(0))?
        .collect()
}

/// One entry of a project.
pub(in super::super) fn row_of(
    connection: &Connection,
    project: ProjectId,
    entry: EntryId,
) -> rusqlite::Result<Option<Row>> {
    connection
        .prepare_cached("SELECT entry FROM entries WHERE project_id = ?1 AND entry_id = ?2")?
        .query_row(params![project.as_bytes(), entry.as_bytes()], |row| row.get(0))
        .optional()
}

/// The number of an entry of a project, and its scope.
pub(in super::super) fn place_of(
    connection: &Connection,
    project: ProjectId,
    entry: EntryId,
) -> rusqlite::Result<Option<(Row, ScopeKey)>> {
    connection
        .prepare_cached(
            "SELECT e.entry, s.scope_key FROM entries e JOIN scopes s ON s.scope = e.scope
             WHERE e.project_id = ?1 AND e.entry_id = ?2",
        )?
        .query_row(params![project.as_bytes(), entry.as_bytes()], |row| {
            Ok((row.get(0)?, ScopeKey(row.get(1)?)))
        })
        .optional()
}

/// The context that entries of a scope `s` go by, as [`Frame::context`](deja_core::cache::Frame::context) says it.
pub(in super::super) const CONTEXT: &str = r#"coalesce(s.parameters ->> '$."X-Deja-Context"', s.context)"#;

/// Whether an entry `e` of the scope `s` is of the project ?1 and passes the filter: the model ?2, any context ?3
/// or the context ?4, the text ?5.
pub(in super::super) fn passes() -> String {
    format!(
        "e.project_id = ?1 AND (?2 IS NULL OR e.model = ?2)
         AND (?3 OR {CONTEXT} IS ?4)
         AND (?5 IS NULL OR instr(folded(e.prompt), folded(?5)) > 0 OR instr(folded(e.answer), folded(?5)) > 0)"
    )
}

/// ?3 and ?4 of [`passes`].
pub(in super::super) fn context_of(filter: &EntryFilter) -> (bool, Option<&str>) {
    (filter.context.is_none(), filter.context.as_ref().and_then(Option::as_deref))
}

/// The entries of a project that pass the filter.
pub(super) fn rows_that_pass(
    connection: &Connection,
    project: ProjectId,
    filter: &EntryFilter,
) -> rusqlite::Result<Vec<Row>> {
    let (any_context, context) = context_of(filter);
    connection
        .prepare_cached(&format!(
            "SELECT e.entry FROM entries e JOIN scopes s ON s.scope = e.scope WHERE {}",
            passes()
        ))?
        .query_map(params![project.as_bytes(), filter.model, any_context, context, filter.text], |row| {
            row.get(0)
        })?
        .collect()
}

/// Entries that may no longer be served, the longest expired first. Those that were used after `now` were used now.
pub(super) fn expired(
    connection: &Connection,
    now: Timestamp,
    limit: NonZeroUsize,
) -> rusqlite::Result<Vec<Row>> {
    let limit = signed(limit.get() as u64);
    // The earliest first, so that they stay in their order. The join is crossed so that each project takes a look into its index.
    connection
        .prepare_cached(
            "UPDATE entries SET last_used = ?1 WHERE entry IN (
                 SELECT e.entry FROM projects p CROSS JOIN entries e
                 WHERE e.project_id = p.project_id AND e.last_used > ?1 LIMIT ?2)",
        )?
        .execute(params![now.as_nanos(), limit])?;
    connection
        .prepare_cached("SELECT entry FROM entries WHERE expires <= ?1 ORDER BY expires LIMIT ?2")?
        .query_map(params![now.as_nanos(), limit], |row| row.get(0))?
        .collect()
}

/// How many entries a project has beyond what its settings allow.
pub(in super::super) static OVER: LazyLock<String> = LazyLock::new(|| {
    format!("entry_count - max(1, coalesce(json_extract(settings, '$.max_entries'), {DEFAULT_MAX_ENTRIES}))")
});

/// The least recently used entries of projects that have more than their settings allow.
pub(super) fn surplus(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<Row>> {
    let sql = format!("SELECT project_id, {} AS over FROM projects WHERE over > 0", *OVER);
    let mut over = connection.prepare_cached(&sql)?;
    let mut oldest = connection.prepare_cached(
        "SELECT entry FROM entries WHERE project_id = ?1 ORDER BY last_used, entry_id LIMIT ?2",
    )?;
    let (mut projects, mut surplus) = (over.query([])?, Vec::new());
    while let Some(project) = projects.next()? {
        let (id, over): ([u8; 16], i64) = (project.get(0)?, project.get(1)?);
        let count = over.min(signed((limit - surplus.len()) as u64));
        let rows = oldest.query_map(params![id, count], |row| row.get(0))?;
        surplus.extend(rows.collect::<rusqlite::Result<Vec<Row>>>()?);
    }
    Ok(surplus)
}
