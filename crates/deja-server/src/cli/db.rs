//! `deja db`: the schema of the database, whichever it is.

use std::io::Write;

use deja_store::{Backend, SchemaVersion};
use serde_json::json;

use super::args::DbTask;
use crate::config::Config;

pub(super) async fn run(task: DbTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let settings = config.store();
    let (schema, as_json) = match task {
        DbTask::Migrate => (deja_store::migrate(&settings).await?, false),
        DbTask::Status { form } => (deja_store::schema_version(&settings).await?, form.json),
    };
    let SchemaVersion { backend, found, known } = schema;
    let backend = match backend {
        Backend::Sqlite => "sqlite",
        Backend::Postgres => "postgres",
    };
    let state = match found {
        0 => "empty",
        found if found < known => "older",
        found if found > known => "newer",
        _ => "current",
    };
    if as_json {
        let status = json!({ "backend": backend, "schema": found, "known": known, "state": state });
        return Ok(writeln!(out, "{status}")?);
    }
    let advice = match state {
        "empty" => "it is empty: deja db migrate, or the first start, makes the tables",
        "older" => "deja db migrate, or the next start, brings it up to date",
        "newer" => "a newer deja made it, and it still serves this one",
        _ => "it is up to date",
    };
    Ok(writeln!(out, "{backend}: schema version {found}; this deja knows {known}; {advice}")?)
}
