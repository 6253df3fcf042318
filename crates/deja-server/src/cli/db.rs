//! `deja db`: the database as a whole, whichever it is.

use std::io::Write;

use deja_core::admin::AdminError;
use deja_store::{Backend, SchemaVersion};
use serde_json::json;

use super::args::DbTask;
use super::{reach, transfer};
use crate::config::Config;
use crate::lifecycle::Signals;

pub(super) async fn run(task: DbTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let settings = config.store();
    match task {
        DbTask::Migrate => told(deja_store::migrate(&settings).await?, false, out),
        DbTask::Status { form } => told(deja_store::schema_version(&settings).await?, form.json, out),
        DbTask::Copy(task) => transfer::copy(task, config, out).await,
        DbTask::Backup { file } => {
            if settings.postgres.is_some() {
                let text = "a backup of PostgreSQL is made with pg_dump: see docs/operations/backup.md";
                return Err(AdminError::Invalid(text.into()).into());
            }
            if file.exists() {
                let text = format!("the file {} is there already: choose another one", file.display());
                return Err(AdminError::Invalid(text).into());
            }
            reach::ensure_there(&settings).await?;
            let mut signals = Signals::catch()?;
            let bytes = tokio::select! {
                written = deja_store::backup(&settings.data_dir, &file) => written?,
                _ = signals.next() => anyhow::bail!("interrupted: no backup was written"),
            };
            let advice = "Keep the master key too, but elsewhere.";
            Ok(writeln!(out, "Wrote {} ({bytes} bytes). {advice}", file.display())?)
        }
    }
}

fn told(schema: SchemaVersion, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let SchemaVersion { backend, found, known, is_served } = schema;
    let backend = match backend {
        Backend::Sqlite => "sqlite",
        Backend::Postgres => "postgres",
    };
    let state = match found {
        0 => "empty",
        found if found < known => "older",
        _ if !is_served => "too_new",
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
        "too_new" => {
            "a newer deja made it, and it does not serve this one: run a newer deja, or restore a backup"
        }
        _ => "it is up to date",
    };
    Ok(writeln!(out, "{backend}: schema version {found}; this deja knows {known}; {advice}")?)
}
