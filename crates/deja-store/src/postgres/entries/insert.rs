//! Storing an entry with its vector, the count, the eviction and the end of a claim: one statement, so all of it or
//! nothing, and one round trip. Where it takes the place of a twin, that goes in the same transaction.

use std::sync::{Arc, LazyLock};

use deja_core::cache::{Entry, Inserted, NewEntry};
use deja_core::clock::Timestamp;
use deja_core::id::FlightId;
use deja_core::store::{EVICTED_AT_ONCE, StoreError, Vectors as _};

use super::super::PostgresStore;
use super::super::claims::payload;
use super::super::connections::{Connections, Params, Transaction};
use super::super::fault::{conflict, unavailable};
use super::super::rows::{get, signed, to_json, uuid};
use super::super::vectors;
use super::{COLUMNS, remove, surplus, whole_from_row};

/// Times that an expired twin, or one that goes at this very moment, is looked at again.
const ATTEMPTS: u32 = 5;

/// `stored` has no row if there is a twin; the claim stays then. What is evicted is chosen from what was there before
/// the statement, so the new entry is never among it; one that another statement holds is passed over. One goes at most:
/// otherwise all who insert at a time would each take away what is too much.
static INSERT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "
    WITH call AS (SELECT $19::bigint IS NULL OR was_purged($1, $19) AS may_store),
    stored AS (
        INSERT INTO entries (project_id, entry_id, scope_key, prompt_hash, created, expires, last_used,
                             input_tokens, output_tokens, tokens_estimated, provider, model, served_model,
                             context, prompt, answer, kind, parameters, exact, record)
        SELECT $1, $2, $3, $4, $5, $6, $5, $7, $8, $9, $10, $11, $12, $13, $14, $15, $22, $23, $24, $25
        FROM call WHERE may_store
        ON CONFLICT (project_id, scope_key, prompt_hash) DO NOTHING
        RETURNING project_id),
    placed AS (
        INSERT INTO vectors (project_id, entry_id, scope_key, created, expires, embedder, dimension, vector)
        SELECT $1, $2, $3, $5, $6, $16::text, $17::integer, $18::halfvec FROM stored WHERE $16::text IS NOT NULL),
    counts AS (
        SELECT coalesce(sum(entries), 0)::bigint + 1 - {} AS over
        FROM entry_counts WHERE project_id = $1),
    oldest AS MATERIALIZED (
        SELECT entry_id FROM entries WHERE project_id = $1 AND EXISTS (SELECT FROM stored)
        ORDER BY last_used, entry_id LIMIT (SELECT greatest(least(over, 1), 0) FROM counts)
        FOR UPDATE SKIP LOCKED),
    evicted AS (
        DELETE FROM entries e USING oldest o
        WHERE e.project_id = $1 AND e.entry_id = o.entry_id RETURNING 1),
    counted AS (
        INSERT INTO entry_counts AS t (project_id, slot, entries)
        SELECT $1, pg_backend_pid() & 15, 1 - (SELECT count(*) FROM evicted) FROM stored
        ON CONFLICT (project_id, slot) DO UPDATE SET entries = t.entries + excluded.entries),
    released AS (
        DELETE FROM flights WHERE project_id = $1 AND scope_key = $3 AND prompt_hash = $4 AND owner = $20
                                  AND EXISTS (SELECT FROM stored)
        RETURNING waited_for)
    SELECT EXISTS (SELECT FROM stored), (SELECT coalesce(over > 1, false) FROM counts), (SELECT may_store FROM call),
           (SELECT pg_notify('deja_flights', $21) FROM released WHERE waited_for)",
        surplus::most()
    )
});

/// What became of an entry.
#[derive(Default)]
struct Put {
    stored: bool,
    /// Whether the project has too many entries beside the one that went for it.
    leaves_surplus: bool,
    /// Whether all of the cache was purged since its call began.
    too_late: bool,
}

/// Stores `new` unless it has a live twin, and releases the claim of `owner`, if there is one.
pub(in super::super) async fn insert(
    store: &PostgresStore,
    new: NewEntry,
    owner: Option<FlightId>,
) -> Result<Inserted, StoreError> {
    let connections = &store.connections.of(new.scope.project());
    for _ in 0..ATTEMPTS {
        let mut put = put(connections, None, &new, owner).await?;
        if put.too_late {
            let project = new.scope.project();
            let reason =
                format!("the cache of project {project} was purged since the call began, or is gone");
            return Err(StoreError::Conflict(reason));
        }
        if !put.stored
            && !new.replaces
            && let Some(twin) = live_twin(connections, &new, owner).await?
        {
            return Ok(Inserted::Twin(Arc::new(twin)));
        }
        if !put.stored {
            put = replace(connections, &new, owner).await?;
        }
        if put.stored {
            if put.leaves_surplus {
                surplus::evict_behind(connections, &new, EVICTED_AT_ONCE - 1).await;
            }
            // Those of an import. If it ends before one is stored, a job makes it.
            for (embedder, vector) in new.vectors.iter().skip(1) {
                store.put_vector(new.scope.project(), new.entry.id, embedder, Some(vector)).await?;
            }
            return Ok(Inserted::New);
        }
    }
    Err(unavailable("the entry's twin comes and goes"))
}

/// Stores `new` in the place of its twin, if that expired or `new` replaces it: both or neither.
async fn replace(
    connections: &Connections,
    new: &NewEntry,
    owner: Option<FlightId>,
) -> Result<Put, StoreError> {
    let mut transaction = connections.begin().await?;
    let mut became = Put::default();
    if remove::twin_of(&mut transaction, new).await? > 0 {
        became = put(connections, Some(&mut transaction), new, owner).await?;
    }
    if became.stored {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(became)
}

/// Stores `new`, unless it has a twin, in this transaction or one of its own.
async fn put(
    connections: &Connections,
    transaction: Option<&mut Transaction>,
    new: &NewEntry,
    owner: Option<FlightId>,
) -> Result<Put, StoreError> {
    let (entry, answer, frame) = (&new.entry, &new.entry.answer, new.scope.frame());
    let parameters = frame.parameters();
    let parameters = (!parameters.is_empty()).then(|| to_json(parameters)).transpose()?;
    let (project, scope_key) = (uuid(new.scope.project().as_bytes()), new.scope.key().0);
    let (embedder, embedding) = new.vectors.first().map(|(by, embedding)| (by.as_str(), embedding)).unzip();
    let dimension = embedding.map(vectors::dimension);
    let vector = embedding.map(vectors::stored).transpose()?;
    let params: Params<'_> = &[
        &project,
        &uuid(entry.id.as_bytes()),
        &scope_key.as_slice(),
        &new.prompt_hash.0.as_slice(),
        &entry.created.as_nanos(),
        &entry.expires.map(Timestamp::as_nanos),
        &signed(answer.input_tokens),
        &signed(answer.output_tokens),
        &answer.tokens_estimated,
        &answer.provider,
        &entry.model.as_bytes(),
        &answer.served_model.as_ref().map(String::as_bytes),
        &frame.instructions().map(str::as_bytes),
        &entry.prompt.as_bytes(),
        &answer.text.as_bytes(),
        &embedder,
        &dimension,
        &vector,
        &new.purges.map(signed),
        &owner.map(|owner| uuid(owner.as_bytes())),
        &payload(&new.prompt_hash),
        &frame.kind().as_str(),
        &parameters,
        &frame.is_exact(),
        &answer.record.as_deref(),
    ];
    let what =
        || format!("the entry {} is there already, or project {} is not", entry.id, new.scope.project());
    let rows = match transaction {
        Some(transaction) => transaction.query(&INSERT, params).await,
        None => connections.query(&INSERT, params).await,
    };
    let rows = rows.map_err(|error| conflict(error, what))?;
    let Some(row) = rows.first() else { return Ok(Put::default()) };
    Ok(Put { stored: get(row, 0)?, leaves_surplus: get(row, 1)?, too_late: !get::<bool>(row, 2)? })
}

/// The entry of the same scope and prompt, if it is live. It is the answer that `owner` has to give, whose claim ends.
async fn live_twin(
    connections: &Connections,
    new: &NewEntry,
    owner: Option<FlightId>,
) -> Result<Option<Entry>, StoreError> {
    let sql = format!(
        "WITH twin AS (
             SELECT * FROM entries WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3
                                         AND (expires IS NULL OR expires > $4)),
         released AS (
             DELETE FROM flights WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND owner = $5
                                       AND EXISTS (SELECT FROM twin)
             RETURNING waited_for)
         SELECT {COLUMNS}, e.record, (SELECT pg_notify('deja_flights', $6) FROM released WHERE waited_for) FROM twin e"
    );
    let (project, scope_key) = (uuid(new.scope.project().as_bytes()), new.scope.key().0);
    let params: Params<'_> = &[
        &project,
        &scope_key.as_slice(),
        &new.prompt_hash.0.as_slice(),
        &new.now.as_nanos(),
        &owner.map(|owner| uuid(owner.as_bytes())),
        &payload(&new.prompt_hash),
    ];
    connections.query_opt(&sql, params).await?.map(|row| whole_from_row(&row, 0)).transpose()
}
