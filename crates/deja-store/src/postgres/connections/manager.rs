//! What deadpool asks of us: a new connection, and whether an old one may be used again.

use std::collections::HashMap;
use std::time::Duration;

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Error, Statement};

use super::super::server::Server;
use crate::PostgresSettings;

/// Makes connections, and knows which of them may be dead.
pub(super) struct Manager {
    server: Server,
    /// Longest wait for a sign of life.
    ping: Duration,
    silence: Mutex<Silence>,
}

/// A server may go without a word to anybody. What is older than this was known then.
#[derive(Clone, Copy)]
struct Silence {
    /// When an answer was last waited for in vain: who has not answered since has to give a sign of life.
    doubted: Instant,
    /// The last doubt that proved right: who has not answered since is dead.
    dead: Instant,
}

impl Manager {
    pub(super) fn new(server: Server, settings: &PostgresSettings) -> Self {
        let now = Instant::now();
        let silence = Mutex::new(Silence { doubted: now, dead: now });
        Self { server, ping: settings.connect_timeout / 2, silence }
    }

    /// Has the connections that wait for work give a sign of life before they are used again.
    pub(super) fn doubt(&self) {
        self.silence.lock().doubted = Instant::now();
    }
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = String;

    async fn create(&self) -> Result<Connection, String> {
        let (client, driver) = self.server.session().await?;
        Ok(Connection::new(client, driver))
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<String> {
        let Silence { doubted, dead } = *self.silence.lock();
        if connection.client.is_closed() || connection.answered <= dead {
            return Err(RecycleError::message("it is closed"));
        }
        if connection.answered > doubted
            || matches!(timeout(self.ping, connection.client.batch_execute("")).await, Ok(Ok(())))
        {
            return Ok(());
        }
        // So the doubt was right, and the others from before would make as many callers wait.
        let mut silence = self.silence.lock();
        silence.dead = silence.dead.max(doubted);
        tracing::warn!("PostgreSQL does not answer: connecting anew");
        Err(RecycleError::message("it does not answer"))
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

    /// It has answered all that it was asked.
    pub(super) fn answered(&mut self) {
        self.answered = Instant::now();
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

    /// Waits until all that was asked is answered, and `undo` too.
    pub(super) async fn settle(&mut self, undo: &str) -> Result<(), Error> {
        // The server answers in order.
        self.client.batch_execute(undo).await?;
        // The server has it by now, but its name is lost here. If nobody waited for it to the end, however often
        // it is asked for, the server would collect them.
        match self.preparing.take() {
            Some(sql) => self.prepare(&sql).await.map(drop),
            None => Ok(()),
        }
    }
}
