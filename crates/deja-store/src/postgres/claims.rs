//! Claims on flights: a row each, with an owner and an end. Who waits is told by a notification.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use deja_core::id::FlightId;
use deja_core::store::{Claims, FlightKey, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::PostgresStore;
use super::rows::uuid;
use super::server::Server;

/// $1 project, $2 scope, $3 prompt, $4 owner, $5 the lease. By the server's clock, in nanoseconds: those of replicas
/// differ. Rows that nobody released go with the next claim.
const CLAIM: &str = "
    WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint AS now),
    old AS (
        DELETE FROM flights
        WHERE (project_id, scope_key, prompt_hash) IN (
            SELECT project_id, scope_key, prompt_hash FROM flights
            WHERE project_id = $1 AND until < (SELECT now FROM clock) - 60000000000 LIMIT 10 FOR UPDATE SKIP LOCKED))
    INSERT INTO flights AS f (project_id, scope_key, prompt_hash, owner, until)
    VALUES ($1, $2, $3, $4, (SELECT now FROM clock) + $5)
    ON CONFLICT (project_id, scope_key, prompt_hash) DO UPDATE SET owner = excluded.owner, until = excluded.until
    WHERE f.owner = excluded.owner OR f.until <= excluded.until - $5
    RETURNING 1";
const RELEASE: &str = "
    WITH gone AS (
        DELETE FROM flights WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND owner = $4 RETURNING 1)
    SELECT pg_notify('deja_flights', $5) FROM gone";
const HELD: &str = "SELECT 1 FROM flights WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3";

/// Words about released flights that a slow listener may be behind; more, and it looks for itself.
const BACKLOG: usize = 1024;
/// Between two tries to connect.
const PAUSE: Duration = Duration::from_secs(1);

#[async_trait]
impl Claims for PostgresStore {
    async fn claim(&self, flight: &FlightKey, owner: FlightId, lease: Duration) -> Result<bool, StoreError> {
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        let lease = i64::try_from(lease.as_nanos()).unwrap_or(i64::MAX);
        let params: super::connections::Params<'_> = &[&project, &scope, &prompt, &owner, &lease];
        Ok(self.connections.query_opt(CLAIM, params).await?.is_some())
    }

    async fn release(&self, flight: &FlightKey, owner: FlightId) -> Result<(), StoreError> {
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        let word = word(flight);
        self.connections.query(RELEASE, &[&project, &scope, &prompt, &owner, &word]).await.map(drop)
    }

    async fn released(&self, flight: &FlightKey, patience: Duration) {
        let mut words = self.bell.listen();
        let project = uuid(flight.project.as_bytes());
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        // Released before anybody listened here.
        if let Ok(None) = self.connections.query_opt(HELD, &[&project, &scope, &prompt]).await {
            return;
        }
        let word = word(flight);
        let wait = async {
            loop {
                match words.recv().await {
                    Ok(said) if *said == *word => return,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        // Either end means the same: look again.
        let _ = tokio::time::timeout(patience, wait).await;
    }
}

/// What is said when a flight is released. Prompts of different projects may share a word: then somebody looks once
/// too often.
fn word(flight: &FlightKey) -> String {
    hex::encode(flight.prompt.0)
}

/// One connection that listens for all who wait in this process, from the first of them on.
pub(super) struct Bell {
    server: Server,
    words: broadcast::Sender<Arc<str>>,
    listening: OnceLock<JoinHandle<()>>,
}

impl Bell {
    pub(super) fn new(server: Server) -> Self {
        Self { server, words: broadcast::Sender::new(BACKLOG), listening: OnceLock::new() }
    }

    fn listen(&self) -> broadcast::Receiver<Arc<str>> {
        self.listening.get_or_init(|| {
            let (server, words) = (self.server.clone(), self.words.clone());
            #[expect(clippy::disallowed_methods, reason = "it ends at the close of the store")]
            tokio::spawn(async move {
                loop {
                    if let Err(reason) = hear(&server, &words).await {
                        tracing::warn!(reason, "released flights are not heard of; waiting takes longer");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            })
        });
        self.words.subscribe()
    }

    pub(super) fn close(&self) {
        if let Some(task) = self.listening.get() {
            task.abort();
        }
    }
}

/// Passes on what is said, until the connection breaks.
async fn hear(server: &Server, words: &broadcast::Sender<Arc<str>>) -> Result<(), String> {
    let (client, mut messages) = server.listen().await?;
    client.batch_execute("LISTEN deja_flights").await.map_err(|error| super::fault::describe(&error))?;
    while let Some(message) = messages.recv().await {
        if let AsyncMessage::Notification(said) = message {
            // Nobody may be waiting just now.
            let _ = words.send(said.payload().into());
        }
    }
    Err("the connection broke".to_owned())
}
