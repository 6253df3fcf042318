//! Opening: the URL, the schema, the pool.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::PostgresStore;
use super::admissions::Admissions;
use super::claims::Notifications;
use super::connections::Connections;
use super::entries::Plans;
use super::fault::describe;
use super::graphs::Graphs;
use super::migrations::{self, Schema};
use super::server::Server;
use crate::{Backend, OpenError, PostgresSettings, SchemaVersion};

/// The oldest pgvector that goes on in a graph until enough candidates pass the filter.
const PGVECTOR: (Option<u32>, Option<u32>) = (Some(0), Some(8));
const POOLED: &str = "a pooler gives its connections away after each transaction: have it pool by session (PgBouncer: pool_mode = \
                      session), or name the database itself";
/// Longest wait for another replica that migrates.
const PATIENCE: Duration = Duration::from_mins(10);

impl PostgresStore {
    /// Opens the store; brings the schema up to date first, or refuses an older one.
    pub(crate) async fn open(settings: &PostgresSettings, migrates: bool) -> Result<Self, OpenError> {
        let server = Server::parse(settings)?;
        migrated(&server, migrates).await?;
        let connections = Connections::new(server.clone(), settings)
            .map_err(|error| OpenError::Database { server: server.name(), reason: error.to_string() })?;
        Ok(Self {
            admissions: Arc::new(Admissions::new(connections.clone())),
            plans: Arc::new(Plans::new(settings.graph_from)),
            together: Arc::default(),
            notifications: Arc::new(Notifications::new(server.clone())),
            graphs: Arc::new(Graphs::new(server, connections.clone())),
            connections,
        })
    }
}

/// Whether the URL can be read.
pub(crate) fn check(settings: &PostgresSettings) -> Result<(), OpenError> {
    Server::parse(settings).map(drop)
}

/// Brings the schema up to date.
pub(crate) async fn migrate(settings: &PostgresSettings) -> Result<SchemaVersion, OpenError> {
    migrated(&Server::parse(settings)?, true).await.map(version)
}

/// The schema that the database has.
pub(crate) async fn schema(settings: &PostgresSettings) -> Result<SchemaVersion, OpenError> {
    let server = Server::parse(settings)?;
    let failed = |reason| OpenError::Database { server: server.name(), reason };
    let client = server.connect().await.map_err(failed)?;
    let schema = migrations::schema(&client).await.map_err(|error| failed(describe(&error)))?;
    Ok(version(schema))
}

/// Hosts, port and database, without user and password.
pub(crate) fn name(settings: &PostgresSettings) -> Result<String, OpenError> {
    Server::parse(settings).map(|server| server.name())
}

async fn migrated(server: &Server, migrates: bool) -> Result<Schema, OpenError> {
    let failed = |reason| OpenError::Database { server: server.name(), reason };
    let unfit = |reason| OpenError::Unfit { server: server.name(), reason };
    let mut client = server.connect().await.map_err(failed)?;
    if is_pooled(server, &client).await.map_err(failed)? {
        return Err(unfit(POOLED.into()));
    }
    let before = migrations::schema(&client).await.map_err(|error| failed(describe(&error)))?;
    if let Some(lacking) = lacking(&client).await.map_err(|error| failed(describe(&error)))? {
        // A database that deja has used before is served as it is: its texts have to come out of it first.
        if before.found == 0 {
            return Err(unfit(lacking));
        }
        tracing::warn!("the database is not fit for deja: {lacking}");
    }
    if !migrates && (1..migrations::known()).contains(&before.found) {
        let SchemaVersion { found, known, .. } = version(before);
        return Err(OpenError::OlderSchema { database: server.name(), found, known });
    }
    let schema = match timeout(PATIENCE, migrations::migrate(&mut client)).await {
        Ok(migrated) => migrated.map_err(|error| match advice(&error) {
            Some(advice) => unfit(format!("{}: {advice}", describe(&error))),
            None => failed(describe(&error)),
        })?,
        Err(_) => return Err(failed("bringing the schema up to date took too long".into())),
    };
    if schema.serves > migrations::known() {
        let SchemaVersion { found, known, .. } = version(schema);
        return Err(OpenError::NewerDatabase { server: server.name(), found, known });
    }
    Ok(schema)
}

/// Whether two connections have one session, which a pooler gives to whoever has a transaction. Locks and settings of one
/// connection would be those of others.
async fn is_pooled(server: &Server, one: &Client) -> Result<bool, String> {
    let other = server.connect().await?;
    let session = async |client: &Client| {
        // Servers may give the same number each to one.
        let sql = "SELECT concat(pg_backend_pid(), ' ', pg_postmaster_start_time())";
        let row = client.query_one(sql, &[]).await;
        row.and_then(|row| row.try_get::<_, String>(0)).map_err(|error| describe(&error))
    };
    Ok(session(one).await? == session(&other).await?)
}

/// What the database is not, and what to do.
async fn lacking(client: &Client) -> Result<Option<String>, Error> {
    let sql = "SELECT current_setting('server_encoding'),
                      (SELECT extversion FROM pg_extension WHERE extname = 'vector')";
    let row = client.query_one(sql, &[]).await?;
    let (encoding, pgvector): (String, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    if encoding != "UTF8" {
        let make = "copy it into one that is UTF8 (CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0)";
        return Ok(Some(format!(
            "its texts are {encoding}, and searches by text fail or find the wrong: {make}"
        )));
    }
    let is_old = |version: &String| {
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        (numbers.next(), numbers.next()) < PGVECTOR
    };
    Ok(pgvector.filter(is_old).map(|found| {
        format!("its pgvector is {found}, and has to be 0.8 or newer: install that, then ALTER EXTENSION vector UPDATE")
    }))
}

/// What to do about an error of a migration that the server runs into as it was set up.
fn advice(error: &Error) -> Option<&'static str> {
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Some(
            "make deja's role the owner of the database, and as an administrator run CREATE EXTENSION vector in it",
        ),
        Some(&SqlState::INVALID_SCHEMA_NAME) => {
            Some("search_path of deja's role has to begin with a schema that is there, such as public")
        }
        // No file of this extension: the code differs by version.
        Some(&SqlState::FEATURE_NOT_SUPPORTED | &SqlState::UNDEFINED_FILE) => {
            Some("install pgvector 0.8 or newer on the server")
        }
        _ => None,
    }
}

fn version(schema: Schema) -> SchemaVersion {
    let number = |version: i32| u32::try_from(version).unwrap_or(0);
    SchemaVersion {
        backend: Backend::Postgres,
        found: number(schema.found),
        known: number(migrations::known()),
        is_served: schema.serves <= migrations::known(),
    }
}
