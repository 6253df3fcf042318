//! Claims on flights: a row each, with an owner and an end. Who waits says so in it, and is told by a notification: the
//! commit of one that notifies keeps all others that do from theirs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use deja_core::cache::{Inserted, NewEntry, PromptHash};
use deja_core::clock::{Timestamp, nanos};
use deja_core::id::FlightId;
use deja_core::store::{Claimed, Claims, FlightKey, StoreError, Unanswered};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::PostgresStore;
use super::connections::Params;
use super::entries::insert;
use super::rows::{get, id, to_json, uuid};
use super::server::Server;

/// $1 project, $2 scope, $3 prompt, $4 owner, $5 the lease, $6 the owner that was waited for, $7 now. A function of the
/// database: each of its queries sees what was committed before that query. The parts of one statement would see only what was
/// committed before the statement.
const CLAIM: &str = "SELECT state, holder, ended FROM claim_flight($1, $2, $3, $4, $5, $6, $7)";
const PROLONG: &str = "
    UPDATE flights SET until = (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint + $5
    WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND owner = $4 AND ended IS NULL RETURNING 1";
const RELEASE: &str = "
    WITH released AS (
        UPDATE flights SET ended = $6, until = (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint
        WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND owner = $4 RETURNING waited_for)
    SELECT pg_notify('deja_flights', $5) FROM released WHERE waited_for";
/// A flight that is released at this very moment is gone or ended when this statement sees it.
const AWAIT: &str = "
    UPDATE flights SET waited_for = true
    WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND owner = $4 AND ended IS NULL RETURNING 1";

/// Notifications of released flights that a slow waiter may be behind; more, and it looks for itself.
const BACKLOG: usize = 1024;
/// Between two tries to connect.
const PAUSE: Duration = Duration::from_secs(1);

#[async_trait]
impl Claims for PostgresStore {
    async fn claim(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        lease: Duration,
        awaited: Option<FlightId>,
        now: Timestamp,
    ) -> Result<Claimed, StoreError> {
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        let (lease, awaited) = (nanos(lease), awaited.map(|owner| uuid(owner.as_bytes())));
        let params: Params<'_> = &[&project, &scope, &prompt, &owner, &lease, &awaited, &now.as_nanos()];
        let row = self.connections.of(flight.project).query_one(CLAIM, params).await?;
        Ok(match get(&row, 0)? {
            "ours" => Claimed::Ours,
            "theirs" => Claimed::Theirs(FlightId::from_bytes(id(&row, 1)?)),
            "answered" => Claimed::Answered,
            _ => {
                let ended = serde_json::from_str(get(&row, 2)?);
                Claimed::Unanswered(ended.map_err(|error| StoreError::Corrupt(error.to_string()))?)
            }
        })
    }

    async fn prolong(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        let params: Params<'_> = &[&project, &scope, &prompt, &owner, &nanos(lease)];
        Ok(self.connections.of(flight.project).query_opt(PROLONG, params).await?.is_some())
    }

    async fn store_and_release(&self, new: NewEntry, owner: FlightId) -> Result<Inserted, StoreError> {
        insert(self, new, Some(owner)).await
    }

    async fn release(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        ended: &Unanswered,
    ) -> Result<(), StoreError> {
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        let (payload, ended) = (payload(&flight.prompt), to_json(ended)?);
        let params: Params<'_> = &[&project, &scope, &prompt, &owner, &payload, &ended];
        self.connections.of(flight.project).query(RELEASE, params).await.map(drop)
    }

    async fn released(&self, flight: &FlightKey, owner: FlightId, patience: Duration) {
        let mut notified = self.notifications.subscribe();
        let (project, owner) = (uuid(flight.project.as_bytes()), uuid(owner.as_bytes()));
        let (scope, prompt) = (&flight.scope.0[..], &flight.prompt.0[..]);
        // Released before anybody listened here.
        let connections = self.connections.of(flight.project);
        if let Ok(None) = connections.query_opt(AWAIT, &[&project, &scope, &prompt, &owner]).await {
            return;
        }
        let payload = payload(&flight.prompt);
        let wait = async {
            loop {
                match notified.recv().await {
                    Ok(received) if *received == *payload => return,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        // Notified or not, the caller looks again.
        let _ = tokio::time::timeout(patience, wait).await;
    }
}

/// What a notification of a released flight carries. Prompts of different projects may share it: then somebody looks
/// once too often.
pub(super) fn payload(prompt: &PromptHash) -> String {
    hex::encode(prompt.0)
}

/// One connection that listens for all who wait in this process, from the first of them on.
pub(super) struct Notifications {
    server: Server,
    payloads: broadcast::Sender<Arc<str>>,
    listening: OnceLock<JoinHandle<()>>,
}

impl Notifications {
    pub(super) fn new(server: Server) -> Self {
        Self { server, payloads: broadcast::Sender::new(BACKLOG), listening: OnceLock::new() }
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.listening.get_or_init(|| {
            let (server, payloads) = (self.server.clone(), self.payloads.clone());
            #[expect(clippy::disallowed_methods, reason = "it ends at the close of the store")]
            tokio::spawn(async move {
                loop {
                    if let Err(reason) = listen(&server, &payloads).await {
                        tracing::warn!(reason, "no notifications of ended calls come: requests that wait for another replica's call look for its answer instead");
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            })
        });
        self.payloads.subscribe()
    }

    pub(super) fn close(&self) {
        if let Some(task) = self.listening.get() {
            task.abort();
        }
    }
}

/// Passes notifications on, until the connection breaks.
async fn listen(server: &Server, payloads: &broadcast::Sender<Arc<str>>) -> Result<(), String> {
    let (client, mut messages) = server.listen().await?;
    client.batch_execute("LISTEN deja_flights").await.map_err(|error| super::fault::describe(&error))?;
    while let Some(message) = messages.recv().await {
        if let AsyncMessage::Notification(notification) = message {
            // Nobody may be waiting just now.
            let _ = payloads.send(notification.payload().into());
        }
    }
    Err("the connection broke".to_owned())
}
