//! The connections themselves: those in use, those that wait for work, and what becomes of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use deja_core::store::StoreError;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Error, Statement};

use super::super::fault::unavailable;
use super::super::server::Server;
use crate::PostgresSettings;

/// The connections that wait for work, and slots for those in use.
pub(super) struct Pool {
    server: Server,
    slots: Arc<Semaphore>,
    /// Longest wait for a sign of life.
    ping: Duration,
    idle: Mutex<Idle>,
}

struct Idle {
    /// The one that was used last is at the end.
    connections: Vec<Connection>,
    /// When an answer was last waited for in vain. The server may have gone then, without a word to anybody.
    doubted: Instant,
}

impl Pool {
    /// Without a connection: they are made when they are needed.
    pub(super) fn new(server: Server, settings: &PostgresSettings) -> Self {
        Self {
            server,
            slots: Arc::new(Semaphore::new(settings.pool_size.max(1))),
            ping: settings.connect_timeout / 2,
            idle: Mutex::new(Idle { connections: Vec::new(), doubted: Instant::now() }),
        }
    }

    /// Waits for the right to use a connection.
    pub(super) async fn slot(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        slot.map_err(|_| unavailable("the store is closed"))
    }

    /// A connection that waits for work, and whether it has answered since the last doubt.
    pub(super) fn idle(&self) -> Option<(Connection, bool)> {
        let mut idle = self.idle.lock();
        while let Some(connection) = idle.connections.pop() {
            if !connection.client.is_closed() {
                let trusted = connection.answered > idle.doubted;
                return Some((connection, trusted));
            }
        }
        None
    }

    /// The connection `found`, if it gives a sign of life, or another that waits for work, or a new one.
    pub(super) async fn connection(
        &self,
        mut found: Option<(Connection, bool)>,
    ) -> Result<Connection, StoreError> {
        while let Some((connection, trusted)) = found {
            if trusted || matches!(timeout(self.ping, connection.client.batch_execute("")).await, Ok(Ok(())))
            {
                return Ok(connection);
            }
            // So the doubt was right, and the others from before would make as many callers wait.
            let mut idle = self.idle.lock();
            let doubted = idle.doubted;
            idle.connections.retain(|connection| connection.answered > doubted);
            drop(idle);
            tracing::warn!("PostgreSQL does not answer: connecting anew");
            found = self.idle();
        }
        let (client, driver) = self.server.session().await.map_err(unavailable)?;
        Ok(Connection::new(client, driver))
    }

    /// Has the connections that wait for work give a sign of life before they are used again.
    pub(super) fn doubt(&self) {
        self.idle.lock().doubted = Instant::now();
    }

    pub(super) fn close(&self) {
        self.slots.close();
        self.idle.lock().connections.clear();
    }
}

/// One connection. Dropped, it is closed.
pub(super) struct Connection {
    pub(super) client: Client,
    _driver: JoinSet<()>,
    statements: HashMap<String, Statement>,
    /// What is being prepared.
    preparing: Option<String>,
    /// When it was last known to answer.
    answered: Instant,
}

impl Connection {
    fn new(client: Client, driver: JoinSet<()>) -> Self {
        let answered = Instant::now();
        Self { client, _driver: driver, statements: HashMap::new(), preparing: None, answered }
    }

    pub(super) async fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        self.preparing = Some(sql.to_owned());
        let prepared = self.client.prepare(sql).await;
        self.preparing = None;
        let statement = prepared?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Waits until all that was asked is answered. No transaction is open then.
    pub(super) async fn settle(&mut self, open: bool) -> Result<(), Error> {
        // The server answers in order. Without a transaction it would log a warning about the rollback.
        self.client.batch_execute(if open { "ROLLBACK" } else { "" }).await?;
        // The server has it by now, but its name is lost here. If nobody waited for it to the end, however often
        // it is asked for, the server would collect them.
        match self.preparing.take() {
            Some(sql) => self.prepare(&sql).await.map(drop),
            None => Ok(()),
        }
    }
}

/// A connection in use. Dropped, it is closed, and its slot is free.
pub(super) struct Held {
    pub(super) connection: Connection,
    pub(super) pool: Arc<Pool>,
    pub(super) slot: OwnedSemaphorePermit,
}

impl Held {
    /// Makes it available to the next caller.
    pub(super) fn give_back(self) {
        let Self { mut connection, pool, slot } = self;
        connection.answered = Instant::now();
        let mut idle = pool.idle.lock();
        // Looked at under the lock, so that none is left over by a close.
        if !pool.slots.is_closed() {
            idle.connections.push(connection);
        }
        drop(idle);
        drop(slot);
    }
}
