//! Where PostgreSQL is, how it is reached, and what each connection is told first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::config::{Config, Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::describe;
use crate::{OpenError, PostgresSettings};

/// A socket after the TLS handshake, where there is one.
type Encrypted = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// A connection, and what drives it.
type Connected = (Client, Connection<Socket, Encrypted>);

/// Where PostgreSQL is and how it is reached.
#[derive(Clone)]
pub(super) struct Server {
    hosts: Arc<[Config]>,
    /// The host to begin with: the one that worked last, or the one after it if the load is to be spread.
    first: Arc<AtomicUsize>,
    tls: MakeRustlsConnect,
    settings: PostgresSettings,
}

impl Server {
    pub(super) fn parse(settings: &PostgresSettings) -> Result<Self, OpenError> {
        let failed = |reason| OpenError::DatabaseUrl { reason };
        let (mut config, tls) = super::tls::parse(settings.url.expose_secret()).map_err(failed)?;
        if config.get_application_name().is_none() {
            config.application_name("deja");
        }
        // The name of a host may have several addresses, and the first of them be silent.
        config.connect_timeout(settings.connect_timeout / 2);
        // A peer that is gone without a word is noticed in about the time that a call may take.
        config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3).tcp_user_timeout(settings.call_timeout * 2);
        let hosts = hosts(&config).map_err(failed)?.into();
        Ok(Self { hosts, first: Arc::default(), tls, settings: settings.clone() })
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

    /// A connection to the first host that works. Each has its time, from the look-up of its name to the word on
    /// whether it takes writes. A host that is gone may be silent, so the next is tried beside it before that ends.
    async fn connection(&self) -> Result<Connected, String> {
        let patience = self.settings.connect_timeout;
        let (count, first) = (self.hosts.len(), self.first.load(Ordering::Relaxed));
        let mut hosts = self.hosts.iter().enumerate().cycle().skip(first).take(count);
        let (mut tries, mut reasons) = (JoinSet::new(), Vec::new());
        loop {
            if let Some((at, host)) = hosts.next() {
                let (host, tls) = (host.clone(), self.tls.clone());
                tries.spawn(async move {
                    let connected = match timeout(patience, host.connect(tls)).await {
                        Ok(connected) => connected.map_err(|error| describe(&error)),
                        Err(_) => Err("it does not answer".to_owned()),
                    };
                    (at, host, connected)
                });
            }
            match timeout(patience / 4, tries.join_next()).await {
                Ok(Some(Ok((at, host, Ok(connected))))) => {
                    let spread = host.get_load_balance_hosts() == LoadBalanceHosts::Random;
                    self.first.store(at + usize::from(spread), Ordering::Relaxed);
                    return Ok(connected);
                }
                Ok(Some(Ok((_, host, Err(reason))))) if count > 1 => {
                    reasons.push(format!("{}: {reason}", address(&host)));
                }
                Ok(Some(Ok((_, _, Err(reason))))) => reasons.push(reason),
                Ok(Some(Err(error))) => reasons.push(error.to_string()),
                Ok(None) => return Err(reasons.join("; ")),
                Err(_) => {}
            }
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

    /// Hosts, ports and database: what may be shown of the URL.
    pub(super) fn name(&self) -> String {
        let addresses: Vec<_> = self.hosts.iter().map(address).collect();
        let database = self.hosts.first().and_then(|host| host.get_dbname().or(host.get_user()));
        format!("{}/{}", addresses.join(","), database.unwrap_or_default())
    }
}

fn address(host: &Config) -> String {
    let port = host.get_ports().first().copied().unwrap_or(5432);
    match (host.get_hosts().first(), host.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => format!("{name}:{port}"),
        (Some(Host::Unix(path)), _) => format!("{}:{port}", path.display()),
        (None, Some(address)) => format!("{address}:{port}"),
        (None, None) => String::new(),
    }
}

/// One configuration for each host: the driver, given all, would wait for one that is silent.
fn hosts(all: &Config) -> Result<Vec<Config>, String> {
    let (names, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    let count = names.len().max(addresses.len());
    if count == 0 {
        return Err("it names no host".to_owned());
    }
    let fits = |given: usize, least: usize| given <= least || given == count;
    if !fits(names.len(), 0) || !fits(addresses.len(), 0) || !fits(ports.len(), 1) {
        return Err("it must have as many addresses and ports as hosts".to_owned());
    }
    let one = |at: usize| {
        let mut config = without_hosts(all);
        match names.get(at) {
            Some(Host::Tcp(name)) => config.host(name),
            Some(Host::Unix(path)) => config.host_path(path),
            None => &mut config,
        };
        addresses.get(at).map(|address| config.hostaddr(*address));
        ports.get(at).or(ports.first()).map(|port| config.port(*port));
        // Of several hosts, the one that takes writes is meant: what the others know may be old.
        if count > 1 && all.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config
    };
    Ok((0..count).map(one).collect())
}

fn without_hosts(all: &Config) -> Config {
    let mut config = Config::new();
    all.get_user().map(|user| config.user(user));
    all.get_password().map(|password| config.password(password));
    all.get_dbname().map(|name| config.dbname(name));
    all.get_options().map(|options| config.options(options));
    all.get_application_name().map(|name| config.application_name(name));
    all.get_connect_timeout().map(|timeout| config.connect_timeout(*timeout));
    all.get_tcp_user_timeout().map(|timeout| config.tcp_user_timeout(*timeout));
    all.get_keepalives_interval().map(|interval| config.keepalives_interval(interval));
    all.get_keepalives_retries().map(|retries| config.keepalives_retries(retries));
    config
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .target_session_attrs(all.get_target_session_attrs())
        .load_balance_hosts(all.get_load_balance_hosts());
    config
}

/// How far a search goes in a graph where the vectors of other scopes lie nearer, about 0.2 s. Then the scope is
/// scanned.
const GRAPH_STEPS: u32 = 5_000;

/// What each connection is told first. The server gives up a little after the caller did, and notices a caller that is
/// gone; a graph is searched until enough candidates pass the filter, or it took [`GRAPH_STEPS`]. Statements lock what
/// they count on: serializable transactions, which a role or a database may ask for, would fail beside each other. A
/// commit is on disk before it is acknowledged, whatever the role or the database sets: otherwise a crash brings a
/// revoked key back. Nothing is compiled: up to version 17 the planner adds 10^10 to the cost of a plan with a sort
/// that [`Connections::in_graph`] forbids, and takes a search of a millisecond for worth compiling, which takes a
/// hundred.
///
/// [`Connections::in_graph`]: super::connections::Connections::in_graph
fn session(settings: &PostgresSettings) -> String {
    let call = settings.call_timeout.as_millis();
    format!(
        "SET statement_timeout = {call};
         SET lock_timeout = {call};
         SET idle_in_transaction_session_timeout = {call};
         SET client_connection_check_interval = 1000;
         SET default_transaction_isolation = 'read committed';
         SET TimeZone = 'UTC';
         SET jit = off;
         SELECT set_config('synchronous_commit', 'local', false) WHERE current_setting('synchronous_commit') = 'off';
         SET hnsw.iterative_scan = strict_order;
         SET hnsw.max_scan_tuples = {GRAPH_STEPS};
         SET hnsw.scan_mem_multiplier = 8"
    )
}
