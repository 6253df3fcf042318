//! The PostgreSQL backend: any number of deja processes share one database.
//!
//! The database is the only meeting point of replicas. Nothing that a request depends on is kept in a process:
//! key, project, limit and entries are asked for each time, one statement a call; each admission names the state of the
//! project's own providers, so that they are read when it changed. What is kept is which way a
//! scope is searched ([`entries`]), for half a minute, and that is a matter of speed alone.

mod access_tokens;
mod admissions;
mod audit;
mod browse;
mod claims;
mod connections;
mod entries;
mod export;
mod fault;
mod graphs;
mod invites;
mod keys;
mod labels;
mod limits;
mod members;
mod migrations;
pub(crate) mod open;
mod operators;
mod opinions;
mod projects;
mod providers;
mod request_log;
mod rows;
mod samples;
mod second_factors;
mod server;
mod sessions;
mod tls;
mod usage;
mod vectors;
mod wrong_answers;

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::api_key::KeyHash;
use deja_core::clock::Timestamp;
use deja_core::store::{Claims, Door, LooksAhead, Store, StoreError};

use admissions::Admissions;
use claims::Notifications;
use connections::Connections;
use entries::{Plans, Together};
use graphs::Graphs;

/// The store.
#[derive(Clone)]
pub(crate) struct PostgresStore {
    connections: Connections,
    admissions: Arc<Admissions>,
    plans: Arc<Plans>,
    together: Arc<Together>,
    graphs: Arc<Graphs>,
    notifications: Arc<Notifications>,
}

/// The number of the lock that a change of projects, providers and operators holds.
const ALONE: i64 = 0x6465_6a61_0001_0000;

#[async_trait]
impl Store for PostgresStore {
    async fn ready(&self) -> Result<(), StoreError> {
        // A row that is really written, and so refused by a standby or a full disk.
        let sql = "INSERT INTO facts AS f (name, value) VALUES ('ready', '\\x00')
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connections.query(sql, &[]).await.map(drop)
    }

    async fn admit_within_limit(&self, hash: &KeyHash, now: Timestamp) -> Result<Door, StoreError> {
        keys::admit_within_limit(&self.connections, hash, now).await
    }

    fn looks_ahead(&self) -> Option<&dyn LooksAhead> {
        Some(self)
    }

    fn claims(&self) -> Option<&dyn Claims> {
        Some(self)
    }

    async fn lock_changes(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        let connections = self.connections.alone(ALONE).await?;
        Ok(Some(Box::new(Self { connections, ..self.clone() })))
    }

    async fn index_build(&self) -> Result<Option<f64>, StoreError> {
        graphs::progress(&self.connections).await
    }

    async fn build_missing_indexes(&self) -> Result<(), StoreError> {
        for dimension in self.plans.grown(&self.connections).await? {
            self.graphs.build(dimension).await?;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.graphs.close();
        self.notifications.close();
        self.connections.close();
        Ok(())
    }
}
