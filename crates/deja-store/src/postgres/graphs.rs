//! The graph indexes (HNSW): one for each dimension of vectors, built before a scope is large enough to need it.
//!
//! A small installation has none and pays for none. One replica builds it, beside the work of all; until it is
//! done, scopes are scanned.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deja_core::store::StoreError;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::connections::Connections;
use super::fault::{describe, unavailable};
use super::rows::get;
use super::server::Server;

/// The most components that pgvector's graph takes at half precision.
const WIDEST: i32 = 4_000;
/// How often the log says how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(10);
/// With the dimension added, the number of the lock that the replica which builds holds.
const LOCK: i64 = 0x6465_6a61_0000;

/// What the connection that builds is told first. It takes its time, and waits for transactions of others (there is no
/// `transaction_timeout` before PostgreSQL 17). A graph that does not fit into the memory is built at a seventh of the speed, so
/// more that the administrator gave stays.
const SESSION: &str = "
    SELECT set_config(name, '0', false) FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout');
    SELECT set_config(name, greatest(setting::bigint, 262144) || 'kB', false) FROM pg_settings
    WHERE name = 'maintenance_work_mem'";

/// Which graphs are there.
pub(super) struct Graphs {
    server: Server,
    connections: Connections,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    ready: HashSet<i32>,
    /// Dimensions that this process looks after, or did not long ago.
    tried: HashSet<i32>,
    building: Vec<JoinHandle<()>>,
}

impl Graphs {
    pub(super) fn new(server: Server, connections: Connections) -> Self {
        Self { server, connections, known: Arc::default() }
    }

    /// Whether there is a graph for vectors of this dimension. If not, has one built.
    pub(super) fn covers(&self, dimension: i32) -> bool {
        let mut known = self.known.lock();
        if known.ready.contains(&dimension) {
            return true;
        }
        if dimension <= WIDEST && known.tried.insert(dimension) {
            let (server, shared) = (self.server.clone(), Arc::clone(&self.known));
            let connections = self.connections.clone();
            #[expect(clippy::disallowed_methods, reason = "it ends at the close of the store")]
            let building = tokio::spawn(async move {
                let pause = match logged_while(&connections, ensure(&server, dimension)).await {
                    Ok(true) => {
                        shared.lock().ready.insert(dimension);
                        return;
                    }
                    // Another replica builds.
                    Ok(false) => Duration::from_secs(10),
                    Err(reason) => {
                        tracing::warn!(dimension, reason, "no graph index yet: large scopes are scanned");
                        Duration::from_mins(5)
                    }
                };
                // After the pause the next search that wants this graph tries again.
                tokio::time::sleep(pause).await;
                shared.lock().tried.remove(&dimension);
            });
            known.building.push(building);
        }
        false
    }

    /// Builds the graph for vectors of this dimension, unless it is there or another process is at it.
    pub(super) async fn build(&self, dimension: i32) -> Result<(), StoreError> {
        if dimension > WIDEST || self.known.lock().ready.contains(&dimension) {
            return Ok(());
        }
        if logged_while(&self.connections, ensure(&self.server, dimension)).await.map_err(unavailable)? {
            self.known.lock().ready.insert(dimension);
        }
        Ok(())
    }

    /// Stops what is being built. The server gives up when it notices; the next process builds anew.
    pub(super) fn close(&self) {
        for building in self.known.lock().building.drain(..) {
            building.abort();
        }
    }
}

/// Logs how far it is while `building`.
async fn logged_while<T>(connections: &Connections, building: impl Future<Output = T>) -> T {
    let mut building = pin!(building);
    loop {
        match timeout(TOLD_EVERY, &mut building).await {
            Ok(done) => return done,
            Err(_) => {
                if let Ok(Some(done)) = progress(connections).await {
                    tracing::info!("building a graph index: {:.0} %", done * 100.0);
                }
            }
        }
    }
}

/// How much of a graph is built, 0 to 1; `None` if none is being built. Beside the writing of others, entries that came
/// meanwhile are added in the end, of which PostgreSQL does not say how far it is: the last tenth.
pub(super) async fn progress(connections: &Connections) -> Result<Option<f64>, StoreError> {
    let sql = "SELECT CASE WHEN phase LIKE 'building%' THEN 0.9 * coalesce(blocks_done::float8 / nullif(blocks_total, 0), 0)
                           WHEN phase IN ('initializing', 'waiting for writers before build') THEN 0
                           ELSE 0.9 END
               FROM pg_stat_progress_create_index
               WHERE relid = 'vectors'::regclass AND datname = current_database()";
    connections.query_opt(sql, &[]).await?.map(|row| get(&row, 0)).transpose()
}

/// Sees to it that the graph is there. `false`: another replica is at it.
async fn ensure(server: &Server, dimension: i32) -> Result<bool, String> {
    let client = server.connect().await?;
    build(&client, dimension).await.map_err(|error| describe(&error))
}

async fn build(client: &Client, dimension: i32) -> Result<bool, Error> {
    let name = format!("vectors_graph_{dimension}");
    if is_valid(client, &name).await? == Some(true) {
        return Ok(true);
    }
    let lock = LOCK + i64::from(dimension);
    let locked = client.query_one("SELECT pg_try_advisory_lock($1)", &[&lock]).await?;
    if !locked.try_get::<_, bool>(0)? {
        return Ok(false);
    }
    tracing::info!(dimension, "a scope is large, or soon will be: building a graph index");
    client.batch_execute(SESSION).await?;
    let drop = format!("DROP INDEX CONCURRENTLY {name}");
    match is_valid(client, &name).await? {
        Some(true) => return Ok(true),
        // Left by a replica that ended in the middle.
        Some(false) => client.batch_execute(&drop).await?,
        None => {}
    }
    let create = format!(
        "CREATE INDEX CONCURRENTLY {name} ON vectors
         USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops)
         WITH (m = 24, ef_construction = 128) WHERE dimension = {dimension}"
    );
    match client.batch_execute(&create).await {
        // Processes that build together need shared memory, of which a container may have 64 MB.
        Err(error) if lacks_room(&error) => {
            tracing::info!(dimension, reason = describe(&error), "building with one process");
            client.batch_execute("SET max_parallel_maintenance_workers = 0").await?;
            client.batch_execute(&drop).await?;
            client.batch_execute(&create).await?;
        }
        created => created?,
    }
    // The planner weighs graph and scan by its statistics, which may be as old as the table is new.
    client.batch_execute("ANALYZE vectors").await?;
    tracing::info!(dimension, "the graph index is built");
    Ok(true)
}

/// Whether a statement failed since memory or disk was full.
fn lacks_room(error: &Error) -> bool {
    matches!(error.code(), Some(code) if [SqlState::DISK_FULL, SqlState::OUT_OF_MEMORY].contains(code))
}

/// Whether the index is complete; `None` if there is none.
async fn is_valid(client: &Client, name: &str) -> Result<Option<bool>, Error> {
    let sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)";
    client.query_opt(sql, &[&name]).await?.map(|row| row.try_get(0)).transpose()
}
