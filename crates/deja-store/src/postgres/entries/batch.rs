//! Storing many entries: three statements in a transaction for a hundred of them. An entry that something keeps from being
//! stored so is stored alone, which tells what.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use deja_core::cache::{Inserted, NewEntry};
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{EVICTED_AT_ONCE, StoreError};
use futures::{StreamExt as _, stream};
use tokio_postgres::Row;

use super::super::PostgresStore;
use super::super::connections::{Connections, Params, Transaction};
use super::super::fault::is_deadlock;
use super::super::rows::{get, id, signed, to_json, uuid};
use super::super::vectors;
use super::insert::insert;
use super::surplus;

/// Entries of one transaction at most. Until its end whoever stores the same prompt waits: half a second and more beside a graph.
const ROWS: usize = 128;
/// Parts that are stored side by side: connections are few, and queries need them too.
const SIDE_BY_SIDE: usize = 4;

/// Passes over an entry whose twin, or another entry of whose identity, is there. In one order, so that no two statements wait
/// for each other's entries.
const ENTRIES: &str = "
    INSERT INTO entries (project_id, entry_id, scope_key, prompt_hash, created, expires, last_used,
                         input_tokens, output_tokens, tokens_estimated, provider, model, served_model,
                         context, prompt, answer, kind, parameters, exact, record)
    SELECT $1, entry_id, scope_key, prompt_hash, created, expires, created,
           input_tokens, output_tokens, tokens_estimated, provider, model, served_model,
           context, prompt, answer, kind, parameters, exact, record
    FROM unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::boolean[], $10::text[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[],
                $16::text[], $17::text[], $18::boolean[], $19::bytea[])
         AS given (entry_id, scope_key, prompt_hash, created, expires, input_tokens, output_tokens,
                   tokens_estimated, provider, model, served_model, context, prompt, answer,
                   kind, parameters, exact, record)
    ORDER BY scope_key, prompt_hash
    ON CONFLICT DO NOTHING
    RETURNING entry_id";

const VECTORS: &str = "
    INSERT INTO vectors (project_id, entry_id, scope_key, created, expires, embedder, dimension, vector)
    SELECT $1, given.*
    FROM unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[], $7::integer[], $8::halfvec[]) AS given";

/// Counts $2 entries, of which $3 is the last, and evicts as many at most: any but the last. Says whether more are too much.
static COUNT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "
    WITH counts AS (
        SELECT coalesce(sum(entries), 0)::bigint + $2::bigint - {} AS over
        FROM entry_counts WHERE project_id = $1),
    oldest AS MATERIALIZED (
        SELECT entry_id FROM entries WHERE project_id = $1 AND entry_id <> $3::uuid
        ORDER BY last_used, entry_id LIMIT (SELECT greatest(least(over, $2::bigint), 0) FROM counts)
        FOR UPDATE SKIP LOCKED),
    evicted AS (
        DELETE FROM entries e USING oldest o
        WHERE e.project_id = $1 AND e.entry_id = o.entry_id RETURNING 1),
    counted AS (
        INSERT INTO entry_counts AS t (project_id, slot, entries)
        SELECT $1, pg_backend_pid() & 15, $2::bigint - (SELECT count(*) FROM evicted)
        ON CONFLICT (project_id, slot) DO UPDATE SET entries = t.entries + excluded.entries)
    SELECT coalesce(over > $2::bigint, false) FROM counts",
        surplus::most()
    )
});

const TWINS: &str = "
    SELECT given.entry_id
    FROM unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[]) AS given (entry_id, scope_key, prompt_hash, now)
         JOIN entries e ON e.project_id = $1 AND e.scope_key = given.scope_key AND e.prompt_hash = given.prompt_hash
                           AND (e.expires IS NULL OR e.expires > given.now)";

/// Stores these entries as [`insert`] would one after the other, and says of each whether it is stored, or has a live twin.
pub(super) async fn insert_all(store: &PostgresStore, new: Vec<NewEntry>) -> Vec<Result<bool, StoreError>> {
    let (mut known, mut down) = (HashMap::new(), None);
    for run in firsts(&new).chunk_by(|one, next| one.scope.project() == next.scope.project()) {
        for became in put_run(&store.connections, run).await {
            match became {
                Ok(became) => known.extend(became),
                Err(error) if ends_all(&error) => down = Some(error),
                // One of them is to blame. Alone it says so.
                Err(_) => {}
            }
        }
        if down.is_some() {
            break;
        }
    }
    let mut done = Vec::with_capacity(new.len());
    for new in new {
        // What comes behind with the same identity is another entry.
        let became = known.remove(&(new.scope.project(), new.entry.id));
        let stored = match (became, &down) {
            (Some(stored), _) => Ok(stored),
            (None, Some(error)) => Err(error.duplicate()),
            (None, None) => insert(store, new, None).await.map(|inserted| matches!(inserted, Inserted::New)),
        };
        if let Err(error) = &stored
            && ends_all(error)
        {
            down = Some(error.duplicate());
        }
        done.push(stored);
    }
    done
}

/// Whether other entries would fail as well. A deadlock is over.
fn ends_all(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_)) && !is_deadlock(error)
}

/// The first entry of each identity, if it is the first of its scope and prompt too. What a call brought is stored alone, which asks
/// whether the cache was purged meanwhile.
fn firsts(new: &[NewEntry]) -> Vec<&NewEntry> {
    let (mut ids, mut prompts) = (HashSet::new(), HashSet::new());
    let is_first = |new: &&NewEntry| {
        let project = new.scope.project();
        let is_first = ids.insert((project, new.entry.id))
            && prompts.insert((project, new.scope.key(), new.prompt_hash));
        is_first && new.purges.is_none()
    };
    new.iter().filter(is_first).collect()
}

/// What an entry became: whether it is stored, or has a live twin.
type Became = ((ProjectId, EntryId), bool);

/// Stores the entries of a project in parts: side by side if there is room for all, because which entries are evicted depends on the
/// order in which others come.
async fn put_run(connections: &Connections, run: &[&NewEntry]) -> Vec<Result<Vec<Became>, StoreError>> {
    let Some(project) = run.first().map(|new| new.scope.project()) else { return Vec::new() };
    let connections = connections.of(project);
    let at_once = match surplus::has_room(&connections, project, run.len()).await {
        Ok(true) => SIDE_BY_SIDE,
        Ok(false) => 1,
        Err(error) => return vec![Err(error)],
    };
    let mut parts = Vec::new();
    for part in run.chunks(ROWS) {
        parts.push(put(&connections, project, part));
    }
    stream::iter(parts).buffer_unordered(at_once).collect().await
}

/// Stores those of a part that nothing there keeps from it. Says of them, and of those with a live twin, whether they are stored.
async fn put(
    connections: &Connections,
    project: ProjectId,
    part: &[&NewEntry],
) -> Result<Vec<Became>, StoreError> {
    let mut became: HashMap<_, _> =
        store(connections, project, part).await?.into_iter().map(|id| (id, true)).collect();
    let is_left = |new: &&NewEntry| !new.replaces && !became.contains_key(&new.entry.id);
    let left: Vec<_> = part.iter().copied().filter(is_left).collect();
    if !left.is_empty() {
        became.extend(twins(connections, project, &left).await?.into_iter().map(|id| (id, false)));
    }
    Ok(became.into_iter().map(|(id, stored)| ((project, id), stored)).collect())
}

/// Stores what can be stored, and gives that.
async fn store(
    connections: &Connections,
    project: ProjectId,
    part: &[&NewEntry],
) -> Result<HashSet<EntryId>, StoreError> {
    let mut transaction = connections.begin_bulk().await?;
    let stored = put_entries(&mut transaction, project, part).await?;
    let new: Vec<_> = part.iter().copied().filter(|new| stored.contains(&new.entry.id)).collect();
    let Some(last) = new.last() else {
        transaction.rollback().await?;
        return Ok(stored);
    };
    put_vectors(&mut transaction, project, &new).await?;
    let count = new.len() as u64;
    let params: Params<'_> = &[&uuid(project.as_bytes()), &signed(count), &uuid(last.entry.id.as_bytes())];
    // Right before the end: a sixteenth of the others who store wait for this row.
    let counted = transaction.query(&COUNT, params).await?;
    transaction.commit().await?;
    if counted.first().map_or(Ok(false), |row| get(row, 0))? {
        surplus::evict_behind(connections, last, count * (EVICTED_AT_ONCE - 1)).await;
    }
    Ok(stored)
}

async fn put_entries(
    transaction: &mut Transaction,
    project: ProjectId,
    part: &[&NewEntry],
) -> Result<HashSet<EntryId>, StoreError> {
    let parameters = part.iter().map(|new| new.scope.frame().parameters());
    let parameters = parameters.map(|all| (!all.is_empty()).then(|| to_json(all)).transpose());
    let params: Params<'_> = &[
        &uuid(project.as_bytes()),
        &column(part, |new| uuid(new.entry.id.as_bytes())),
        &column(part, |new| new.scope.key().0.to_vec()),
        &column(part, |new| new.prompt_hash.0.as_slice()),
        &column(part, |new| new.entry.created.as_nanos()),
        &column(part, |new| new.entry.expires.map(Timestamp::as_nanos)),
        &column(part, |new| signed(new.entry.answer.input_tokens)),
        &column(part, |new| signed(new.entry.answer.output_tokens)),
        &column(part, |new| new.entry.answer.tokens_estimated),
        &column(part, |new| new.entry.answer.provider.as_str()),
        &column(part, |new| new.entry.model.as_bytes()),
        &column(part, |new| new.entry.answer.served_model.as_ref().map(String::as_bytes)),
        &column(part, |new| new.scope.frame().instructions().map(str::as_bytes)),
        &column(part, |new| new.entry.prompt.as_bytes()),
        &column(part, |new| new.entry.answer.text.as_bytes()),
        &column(part, |new| new.scope.frame().kind().as_str()),
        &parameters.collect::<Result<Vec<_>, _>>()?,
        &column(part, |new| new.scope.frame().is_exact()),
        &column(part, |new| new.entry.answer.record.as_deref()),
    ];
    ids(&transaction.query(ENTRIES, params).await?)
}

async fn put_vectors(
    transaction: &mut Transaction,
    project: ProjectId,
    part: &[&NewEntry],
) -> Result<(), StoreError> {
    let each = part.iter().flat_map(|new| new.vectors.iter().map(|vector| (*new, vector)));
    let (part, vectors): (Vec<_>, Vec<_>) = each.unzip();
    if part.is_empty() {
        return Ok(());
    }
    let stored = vectors.iter().map(|(_, vector)| vectors::stored(vector));
    let params: Params<'_> = &[
        &uuid(project.as_bytes()),
        &column(&part, |new| uuid(new.entry.id.as_bytes())),
        &column(&part, |new| new.scope.key().0.to_vec()),
        &column(&part, |new| new.entry.created.as_nanos()),
        &column(&part, |new| new.entry.expires.map(Timestamp::as_nanos)),
        &vectors.iter().map(|(embedder, _)| embedder.as_str()).collect::<Vec<_>>(),
        &vectors.iter().map(|(_, vector)| vectors::dimension(vector)).collect::<Vec<_>>(),
        &stored.collect::<Result<Vec<_>, _>>()?,
    ];
    transaction.query(VECTORS, params).await.map(drop)
}

/// Those that have a live twin.
async fn twins(
    connections: &Connections,
    project: ProjectId,
    part: &[&NewEntry],
) -> Result<HashSet<EntryId>, StoreError> {
    let params: Params<'_> = &[
        &uuid(project.as_bytes()),
        &column(part, |new| uuid(new.entry.id.as_bytes())),
        &column(part, |new| new.scope.key().0.to_vec()),
        &column(part, |new| new.prompt_hash.0.as_slice()),
        &column(part, |new| new.now.as_nanos()),
    ];
    ids(&connections.query(TWINS, params).await?)
}

fn column<'a, T>(part: &[&'a NewEntry], of: impl Fn(&'a NewEntry) -> T) -> Vec<T> {
    part.iter().map(|new| of(new)).collect()
}

fn ids(rows: &[Row]) -> Result<HashSet<EntryId>, StoreError> {
    rows.iter().map(|row| id(row, 0).map(EntryId::from_bytes)).collect()
}
