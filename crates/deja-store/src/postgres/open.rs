//! Opening: the URL, the schema, the pool.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::PostgresStore;
use super::claims::Notifications;
use super::connections::Connections;
use super::entries::Plans;
use super::fault::describe;
use super::graphs::Graphs;
use super::migrations::{self, Schema};
use super::server::Server;
use crate::{Backend, OpenError, PostgresSettings, SchemaVersion};

/// Longest wait for another replica that migrates.
const PATIENCE: Duration = Duration::from_mins(10);

impl PostgresStore {
    /// Opens the store; brings the schema up to date first.
    pub(crate) async fn open(settings: &PostgresSettings) -> Result<Self, OpenError> {
        let server = Server::parse(settings)?;
        migrated(&server).await?;
        let connections = Connections::new(server.clone(), settings)
            .map_err(|error| OpenError::Database { server: server.name(), reason: error.to_string() })?;
        Ok(Self {
            plans: Arc::new(Plans::new(settings.graph_from)),
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
    migrated(&Server::parse(settings)?).await.map(version)
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

async fn migrated(server: &Server) -> Result<Schema, OpenError> {
    let failed = |reason| OpenError::Database { server: server.name(), reason };
    let mut client = server.connect().await.map_err(failed)?;
    let encoding = client.query_one("SHOW server_encoding", &[]).await.and_then(|row| row.try_get(0));
    let encoding: String = encoding.map_err(|error| failed(describe(&error)))?;
    // One that deja has served for long is left as it is: its texts have to come out of it before.
    if encoding != "UTF8"
        && migrations::schema(&client).await.map_err(|error| failed(describe(&error)))?.found > 0
    {
        tracing::warn!(
            encoding,
            "the database is not UTF8: searches by text fail or find wrong entries; copy it into a database that is"
        );
    } else if encoding != "UTF8" {
        let make = "make another one (CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0)";
        return Err(failed(format!("the database holds texts as {encoding}, and not as UTF8: {make}")));
    }
    let schema = match timeout(PATIENCE, migrations::migrate(&mut client)).await {
        Ok(migrated) => migrated.map_err(|error| failed(describe(&error)))?,
        Err(_) => return Err(failed("bringing the schema up to date took too long".into())),
    };
    if schema.serves > migrations::known() {
        let SchemaVersion { found, known, .. } = version(schema);
        return Err(OpenError::NewerDatabase { server: server.name(), found, known });
    }
    Ok(schema)
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
