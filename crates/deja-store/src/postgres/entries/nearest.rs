//! Nearest neighbours in one round trip: candidates by half precision, the best of them by full precision, and
//! the texts of the best.
//!
//! A scope that is small is scanned; in a large one a graph index (HNSW) gives the candidates, and goes on
//! until enough of them pass the filter. Where the vectors of others crowd around the prompt it gives up, and the
//! scope is scanned after all. Which way is taken is a matter of speed only. What is returned was scored here, at
//! full precision.

use std::sync::Arc;
use std::time::Duration;

use deja_core::cache::{Candidate, Scope};
use deja_core::clock::Timestamp;
use deja_core::store::{Probe, StoreError};
use half::f16;
use pgvector::{HalfVector, Vector};
use tokio_postgres::Row;

use super::super::PostgresStore;
use super::super::connections::{Connections, Params};
use super::super::rows::{get, limit_of, signed, uuid};
use super::super::vectors::{self, similarity};
use super::super::wrong_answers::Asked;
use super::{COLUMNS, WIDTH, from_row};

/// How long a scope's size is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// The part of a large scope's entries from which on the graph is built, so that it is there in time: on a table of so many
/// that takes a second, and from then on each entry joins the graph as it is stored.
const EARLY: i64 = 4;
/// How many of the nearest a search keeps in view on its way through the graph (`ef_search`): enough for nearly
/// every prompt that has a neighbour.
const QUICK: u32 = 64;
/// How many of the nearest it keeps in view where [`QUICK`] found no neighbour.
const DEEP: u32 = 200;
/// Candidates beyond the limit, for those that half precision puts in a wrong order.
const SPARE: i64 = 16;
/// More than the difference between the two precisions.
const SLACK: f64 = 1e-5;

/// Which way scopes are searched.
pub(in super::super) struct Plans {
    /// Entries of a scope beyond which the graph is asked, in a table of up to 250,000.
    graph_from: i64,
    large: moka::sync::Cache<[u8; 32], bool>,
}

impl Plans {
    pub(in super::super) fn new(graph_from: u64) -> Self {
        let large = moka::sync::Cache::builder().max_capacity(100_000).time_to_live(BELIEVED).build();
        Self { graph_from: signed(graph_from), large }
    }

    /// The dimensions of vectors of which a scope has so many that it is large, or may soon be.
    pub(in super::super) async fn grown(&self, connections: &Connections) -> Result<Vec<i32>, StoreError> {
        let sql = "SELECT DISTINCT dimension FROM vectors WHERE dimension IS NOT NULL
                   GROUP BY project_id, scope_key, dimension HAVING count(*) > $1";
        let rows = connections.bulk(sql, &[&(self.graph_from / EARLY)]).await?;
        rows.iter().map(|row| get(row, 0)).collect()
    }
}

/// See `Entries::nearest`.
pub(super) async fn nearest(
    store: &PostgresStore,
    scope: &Scope,
    probe: Probe<'_>,
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let connections = &store.connections.of(scope.project());
    let dimension = vectors::dimension(probe.embedding);
    let (project, scope_key) = (uuid(scope.project().as_bytes()), scope.key().0);
    let full = Vector::from(probe.embedding.as_slice().to_vec());
    let half = HalfVector::from_f32_slice(probe.embedding.as_slice());
    let limit = limit_of(probe.limit);
    let params: Params<'_> = &[
        &project,
        &scope_key.as_slice(),
        &probe.embedder.as_str(),
        &dimension,
        &now.as_nanos(),
        &half,
        &full,
        &(probe.threshold.get() - SLACK),
        &probe.prompt.0.as_slice(),
    ];
    let large = store.plans.large.get(&scope_key);
    let looked = match large {
        None => scan_if_small(store, connections, scope_key, dimension, limit, params).await?,
        Some(true) => None,
        Some(false) => Some(scan(connections, limit, params).await?),
    };
    let looked = match looked {
        None if store.graphs.covers(dimension) => search_graph(connections, dimension, limit, params).await?,
        looked => looked,
    };
    let rows = match looked {
        Some(rows) => rows,
        None => scan(connections, limit, params).await?,
    };
    let mut candidates =
        rows.iter().map(|row| candidate(row, &probe)).collect::<Result<Vec<_>, StoreError>>()?;
    candidates.retain(|candidate| probe.threshold.reached_by(candidate.similarity));
    candidates
        .sort_by(|a, b| b.similarity.get().total_cmp(&a.similarity.get()).then(a.entry.id.cmp(&b.entry.id)));
    Ok(candidates)
}

/// What the graph gives; `None` if it gave up before it had as many candidates as wanted and none of them is near
/// enough. Before somebody pays for an answer, it is searched once more, and further.
async fn search_graph(
    connections: &Connections,
    dimension: i32,
    limit: i64,
    params: Params<'_>,
) -> Result<Option<Vec<Row>>, StoreError> {
    let sql = by_graph(dimension, limit);
    for breadth in [QUICK, DEEP] {
        let mut rows = connections.in_graph(breadth, &sql, params).await?;
        let seen: i64 = rows.first().map_or(Ok(0), |row| get(row, WIDTH + 1))?;
        retain_entries(&mut rows);
        if !rows.is_empty() {
            return Ok(Some(rows));
        }
        if seen < candidates(limit) {
            return Ok(None);
        }
    }
    Ok(Some(Vec::new()))
}

/// What a scan gives.
async fn scan(connections: &Connections, limit: i64, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
    connections.query(&by_scan(UNKNOWN, "JOIN", limit), params).await
}

/// What a scan gives in a scope that is not known to be small or large; `None` if it is large. From now on deja remembers
/// which it is. If it may soon be large, the graph is built.
async fn scan_if_small(
    store: &PostgresStore,
    connections: &Connections,
    key: [u8; 32],
    dimension: i32,
    limit: i64,
    params: Params<'_>,
) -> Result<Option<Vec<Row>>, StoreError> {
    // Reading a vector of the scope takes about a sixth of a step in the graph, and where other scopes hold most
    // vectors, most steps lead to theirs: scan n, or step limit * all / n times. So the bound goes with the root.
    let size = "SELECT entries > bound AS large, entries > bound / $11::bigint AS grown
        FROM (SELECT least($10::bigint * greatest(1, sqrt(greatest(reltuples, 0) / 250000)), 9e18)::bigint AS bound
              FROM pg_class WHERE oid = 'vectors'::regclass) bounds,
             LATERAL (SELECT count(*) AS entries FROM (
                 SELECT FROM vectors WHERE project_id = $1 AND scope_key = $2 LIMIT bound + 1) these) sizes";
    let params = [params, &[&store.plans.graph_from, &EARLY]].concat();
    let mut rows = connections.query(&by_scan(size, "LEFT JOIN", limit), &params).await?;
    let flag = |column| rows.first().map_or(Ok(false), |row| get(row, column));
    let (large, grown) = (flag(WIDTH + 3)?, flag(WIDTH + 4)?);
    store.plans.large.insert(key, large);
    if grown {
        store.graphs.covers(dimension);
    }
    retain_entries(&mut rows);
    Ok((!large).then_some(rows))
}

/// A row that says how the search went is there without an entry too.
fn retain_entries(rows: &mut Vec<Row>) {
    rows.retain(|row| row.try_get::<_, uuid::Uuid>(0).is_ok());
}

fn candidate(row: &Row, probe: &Probe<'_>) -> Result<Candidate, StoreError> {
    let vector: HalfVector = get(row, WIDTH)?;
    let stored: &[f16] = vector.as_slice();
    let similarity = similarity(stored, probe.embedding);
    Ok(Candidate { entry: Arc::new(from_row(row, 0)?), similarity, forbidden: get(row, WIDTH + 2)? })
}

/// How many candidates by half precision a search wants for so many neighbours.
pub(in super::super) const fn candidates(limit: i64) -> i64 {
    limit.saturating_add(SPARE)
}

/// The best by a scan of the scope: all of it is looked at, unless it is large.
fn by_scan(size: &str, join: &str, limit: i64) -> String {
    let scan = format!(
        "SELECT entry_id, vector FROM vectors
         WHERE project_id = $1 AND scope_key = $2 AND embedder = $3 AND dimension = $4
               AND (expires IS NULL OR expires > $5) AND NOT (SELECT large FROM size)
         ORDER BY least(vector <#> $6, 0), entry_id LIMIT {}",
        candidates(limit)
    );
    best_of(size, &scan, join, limit)
}

/// The best by the graph of vectors of this dimension. The dimension is a literal, for the index to apply.
fn by_graph(dimension: i32, limit: i64) -> String {
    let graph = format!(
        "SELECT entry_id, vector FROM vectors
         WHERE project_id = $1 AND scope_key = $2 AND embedder = $3 AND dimension = $4
               AND dimension = {dimension} AND (expires IS NULL OR expires > $5)
         ORDER BY vector::halfvec({dimension}) <#> $6 LIMIT {}",
        candidates(limit)
    );
    best_of(UNKNOWN, &graph, "LEFT JOIN", limit)
}

/// The size of a scope whose plan is known.
const UNKNOWN: &str = "SELECT false AS large, false AS grown";

/// The best of the candidates, scored at full precision, with their texts, how many candidates there were, whether
/// this one must not answer, whether the scope is large, and whether it may soon be. The limits are literals, because a plan
/// for any parameters takes a limit that it does not know for a tenth of the table.
fn best_of(size: &str, candidates: &str, join: &str, limit: i64) -> String {
    let asked = Asked { hash: "$9", vector: "$7", embedder: "$3", dimension: "$4" };
    let forbidden = asked.is_forbidden("sha256(e.prompt)", "best.score");
    format!(
        "WITH size AS MATERIALIZED ({size}), near AS MATERIALIZED ({candidates}),
         scored AS (
             SELECT entry_id, vector, -(vector::vector <#> $7) / l2_norm(vector) AS score FROM near)
         SELECT {COLUMNS}, best.vector, seen.candidates,
                {forbidden} OR EXISTS (
                    SELECT FROM quarantine q WHERE q.project_id = $1 AND q.entry_id = e.entry_id),
                (SELECT large FROM size), (SELECT grown FROM size)
         FROM (SELECT count(*) AS candidates FROM near) seen {join} (
              (SELECT * FROM scored WHERE greatest(score, 0) >= $8
               ORDER BY CASE WHEN score >= 1 - 1.0 / 1048576 THEN 1 ELSE greatest(score, 0) END DESC, entry_id
               LIMIT {limit}) best
              JOIN entries e ON e.project_id = $1 AND e.entry_id = best.entry_id) ON true"
    )
}
