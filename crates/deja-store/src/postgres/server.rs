//! Where PostgreSQL is, how it is reached, and what each connection is told first.

use std::fmt::Write as _;
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::config::{Config, Host};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::describe;
use crate::{OpenError, PostgresSettings};

/// A socket after the TLS handshake, where there is one.
type Encrypted = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Where PostgreSQL is and how it is reached.
#[derive(Clone)]
pub(super) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
    settings: PostgresSettings,
}

impl Server {
    pub(super) fn parse(settings: &PostgresSettings) -> Result<Self, OpenError> {
        let (mut config, tls) = super::tls::parse(settings.url.expose_secret())
            .map_err(|reason| OpenError::DatabaseUrl { reason })?;
        if config.get_application_name().is_none() {
            config.application_name("deja");
        }
        config.connect_timeout(settings.connect_timeout);
        // A peer that is gone without a word is noticed in about the time that a call may take.
        config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3).tcp_user_timeout(settings.call_timeout * 2);
        Ok(Self { config, tls, settings: settings.clone() })
    }

    /// One connection outside of the pool.
    pub(super) async fn connect(&self) -> Result<Client, String> {
        let (client, connection) = self.connection().await?;
        #[expect(clippy::disallowed_methods, reason = "it ends when the client is dropped")]
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(error = describe(&error), "a connection outside of the pool broke");
            }
        });
        Ok(client)
    }

    /// One connection outside of the pool, and what the server says on it unasked.
    pub(super) async fn listen(&self) -> Result<(Client, UnboundedReceiver<AsyncMessage>), String> {
        let (client, mut connection) = self.connection().await?;
        let (messages, said) = unbounded_channel();
        #[expect(clippy::disallowed_methods, reason = "it ends when the client is dropped")]
        tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                // Nobody listens any more: the client is about to be dropped.
                let _ = messages.send(message);
            }
        });
        Ok((client, said))
    }

    async fn connection(&self) -> Result<(Client, Connection<Socket, Encrypted>), String> {
        let connecting = self.config.connect(self.tls.clone());
        match timeout(self.settings.connect_timeout * 2, connecting).await {
            Ok(connected) => connected.map_err(|error| describe(&error)),
            Err(_) => Err("it does not answer".to_owned()),
        }
    }

    /// One connection with the settings of a session. It closes when what is beside it, which drives it, is dropped.
    pub(super) async fn session(&self) -> Result<(Client, JoinSet<()>), String> {
        let (client, connection) = self.connection().await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(error = describe(&error), "a connection to PostgreSQL broke");
            }
        });
        let session = session(&self.settings);
        match timeout(self.settings.connect_timeout, client.batch_execute(&session)).await {
            Ok(Ok(())) => Ok((client, driver)),
            Ok(Err(error)) => Err(describe(&error)),
            Err(_) => Err("it does not answer".to_owned()),
        }
    }

    /// Host, port and database: what may be shown of the URL.
    pub(super) fn name(&self) -> String {
        let mut name = String::new();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let comma = if at == 0 { "" } else { "," };
            let _infallible = match host {
                Host::Tcp(host) => write!(name, "{comma}{host}:{port}"),
                Host::Unix(path) => write!(name, "{comma}{}:{port}", path.display()),
            };
        }
        format!("{name}/{}", self.config.get_dbname().or(self.config.get_user()).unwrap_or_default())
    }
}

/// What each connection is told first. The server gives up a little after the caller did, and notices a caller
/// that is gone; a graph is searched until enough candidates pass the filter.
fn session(settings: &PostgresSettings) -> String {
    let call = settings.call_timeout.as_millis();
    format!(
        "SET statement_timeout = {call};
         SET lock_timeout = {call};
         SET idle_in_transaction_session_timeout = {call};
         SET client_connection_check_interval = 1000;
         SET TimeZone = 'UTC';
         SET hnsw.iterative_scan = strict_order;
         SET hnsw.max_scan_tuples = 1000000;
         SET hnsw.scan_mem_multiplier = 8"
    )
}
