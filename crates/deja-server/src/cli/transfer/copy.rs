//! `deja db copy`: an export of everything, secrets as they are sealed, straight into another store.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use deja_core::admin::AdminError;
use deja_core::audit::{Actor, Change};
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_store::{PostgresSettings, StoreSettings};

use super::import::Sink;
use super::pages::Pages;
use super::progress;
use crate::admin;
use crate::cli::args::{CopyTask, Exported};
use crate::cli::reach::{self, Reach};
use crate::config::Config;
use crate::feeds::prices::PriceFeed;
use crate::secrets::vault::{self, Vault};

pub(in crate::cli) async fn copy(task: CopyTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let (from, to) = (Place::of(&task.from, config)?, Place::of(&task.to, config)?);
    from.must_exist()?;
    let source = deja_store::open(&from.0).await.context("the source")?;
    let target = match deja_store::open(&to.0).await {
        Ok(target) => target,
        Err(error) => {
            source.close().await?;
            return Err(error).context("the target");
        }
    };
    let copied = copy_all(&task, config, (&from, &source), (&to, &target)).await;
    source.close().await?;
    target.close().await?;
    let (summary, operators) = copied?;
    summary.print(task.form.json, out)?;
    if operators > 0 && !task.form.json {
        writeln!(out, "Operators: {operators}.")?;
    }
    Ok(())
}

/// What comes of a copy: the summary and the number of operators.
type Copied = (super::summary::ImportSummary, u64);

async fn copy_all(
    task: &CopyTask,
    config: &Config,
    (from, source): (&Place, &Arc<dyn Store>),
    (to, target): (&Place, &Arc<dyn Store>),
) -> anyhow::Result<Copied> {
    let key_dir = from.key_directory();
    let load = || Vault::load(config.master_key.as_ref(), key_dir, Arc::new(SystemEntropy));
    load()?.verify(&**source).await.context("the source")?;
    if config.master_key.is_none() {
        share_key_file(key_dir, to.key_directory())?;
    }
    load()?.verify(&**target).await.context("the target is sealed with another master key")?;

    let over = |store: &Arc<dyn Store>| {
        let prices = Arc::new(PriceFeed::open(None, &config.data_dir));
        Ok::<_, anyhow::Error>(admin::over(store.clone(), load()?, prices, &config.public_url))
    };
    let mut reads = Reach::here(config, over(source)?);
    let mut writes = Reach::here(config, over(target)?);
    let projects = task.projects.clone();
    let everything = Exported { projects, with_projects: true, with_keys: true, with_samples: true };
    let mut pages = Pages::new(&mut reads, everything, true, None).await?;
    let bar = progress(Some(pages.count(&mut reads).await?), false);
    let mut sink = Sink::new(false);
    let mut number = 0;
    while let Some(page) = pages.next(&mut reads).await? {
        bar.inc(page.len() as u64);
        for record in page {
            number += 1;
            sink.put(number, record);
        }
        sink.hand_over(&mut writes).await?;
    }
    bar.finish_and_clear();
    sink.note_full(&mut writes).await?;
    if !task.projects.is_empty() {
        return Ok((sink.summary, 0));
    }
    let operators = operators(&**source, &**target).await?;
    ranks(&**source, &**target).await?;
    Ok((sink.summary, operators))
}

/// The people of the console, with their passwords and second factors. Sessions, open links and access tokens stay behind.
async fn operators(source: &dyn Store, target: &dyn Store) -> anyhow::Result<u64> {
    let mut copied = 0;
    for operator in source.operators().await? {
        if target.operator(&operator.email).await?.is_none() {
            let change = |action| {
                let change = Change::new(SystemClock.now(), Actor::Cli, action);
                change.of(operator.email.as_str()).how("copied")
            };
            target.create_operator(&operator, &change("operator.create")).await?;
            if let Some(factor) = source.second_factor(operator.id).await? {
                let change = change("operator.second-factor");
                target.create_second_factor(operator.id, &factor, None, &change).await?;
            }
            copied += 1;
        }
    }
    Ok(copied)
}

/// What these may do in each project, unless the target says it of them already.
async fn ranks(source: &dyn Store, target: &dyn Store) -> anyhow::Result<()> {
    for theirs in source.projects().await? {
        let Some(project) = target.project(theirs.slug.as_str()).await? else { continue };
        for member in source.members(theirs.id).await? {
            let Some(operator) = target.operator(&member.email).await? else { continue };
            if target.rank(project.id, operator.id).await?.is_none() {
                let change = Change::new(SystemClock.now(), Actor::Cli, "member.set").within(project.id);
                let change = change.of(operator.email.as_str()).how(format!("{}, copied", member.rank));
                target.set_rank(project.id, operator.id, member.rank, &change).await?;
            }
        }
    }
    Ok(())
}

/// A key file goes along, unless there is one: the copy could not open its secrets otherwise.
fn share_key_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    let (from, to) = (vault::key_file(from), vault::key_file(to));
    if to.exists() {
        return Ok(());
    }
    let directory = to.parent().context("the key file has no directory")?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut aside = tempfile::NamedTempFile::new_in(directory)?;
    std::io::copy(&mut std::fs::File::open(&from)?, &mut aside)?;
    aside.as_file().sync_all()?;
    match aside.persist_noclobber(&to) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(error.error.into()),
        _ => Ok(()),
    }
}

/// A store by what was written on the command line.
struct Place(StoreSettings);

impl Place {
    fn of(text: &str, config: &Config) -> anyhow::Result<Self> {
        let mut settings = reach::settings(config);
        match text {
            "sqlite" => settings.postgres = None,
            "postgres" if settings.postgres.is_some() => {}
            "postgres" => {
                let unset = "postgres means the setting database_url (DEJA_DATABASE_URL), which is empty";
                return Err(AdminError::Invalid(unset.into()).into());
            }
            url if ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) => {
                let known = settings.postgres.take().unwrap_or_else(|| PostgresSettings::new(url));
                settings.postgres = Some(PostgresSettings { url: url.into(), ..known });
            }
            directory => {
                settings.postgres = None;
                settings.data_dir = directory.into();
            }
        }
        Ok(Self(settings))
    }

    /// A directory with a mistake in its name must not become an empty store.
    fn must_exist(&self) -> anyhow::Result<()> {
        if self.0.postgres.is_none() && !self.0.data_dir.join("deja.db").is_file() {
            let text = format!("there is no database in {}", self.0.data_dir.display());
            return Err(AdminError::Invalid(text).into());
        }
        Ok(())
    }

    /// Where the file with its master key lies: for PostgreSQL, in the data directory of the settings.
    fn key_directory(&self) -> &Path {
        &self.0.data_dir
    }
}
