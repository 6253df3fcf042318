//! `deja db copy`: an export of everything, secrets as they are sealed, straight into another store.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use deja_core::admin::AdminError;
use deja_core::admin::transfer::Open;
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_store::{OpenError, PostgresSettings, StoreSettings};

use super::import::{Bad, Sink};
use super::pages::Pages;
use super::summary::named;
use super::{index, progress};
use crate::cli::args::{CopyTask, Exported};
use crate::cli::reach::{self, Reach};
use crate::cli::{Interrupted, unless_stopped};
use crate::config::Config;
use crate::feeds::prices::PriceFeed;
use crate::lifecycle::Signals;
use crate::secrets::vault::{self, Vault, VaultError};
use crate::wiring;

mod changes;
mod people;
mod projects;
#[cfg(test)]
mod tests;

use changes::Both;
use people::People;
use projects::Taken;

const OTHER_KEY: &str = "the target has another master key than the source: copy into an empty store, or use deja export and \
                         deja import";

pub(in crate::cli) async fn copy(task: CopyTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let (from, to) = (Place::of(&task.from, config), Place::of(&task.to, config));
    let (from, to) = (from.context(Side::Source)?, to.context(Side::Target)?);
    from.must_exist().context(Side::Source)?;
    if from.is_the_same_as(&to)? {
        return Err(AdminError::Invalid("the source and the target are the same store".into()).into());
    }
    let source = deja_store::open(&from.0).await.context(Side::Source)?;
    let target = match deja_store::open(&to.0).await {
        Ok(target) => target,
        Err(error) => {
            source.close().await?;
            return Err(error).context(Side::Target);
        }
    };
    let mut signals = Signals::catch()?;
    let mut sink = Sink::new(Bad::Left, Open { keys: true, providers: true, ..Open::default() });
    let left = "what came in stays; copy again to go on";
    let work = copy_all(&task, config, (&from, &source), (&to, &target), &mut sink);
    let copied = unless_stopped(&mut signals, left, work).await;
    source.close().await?;
    target.close().await?;
    let Sink { summary, left: refused, .. } = sink;
    if copied.as_ref().err().is_none_or(anyhow::Error::is::<Interrupted>) {
        summary.print(task.form.json, out)?;
    }
    let Copied { taken, forgotten, people } = copied?;
    let (People { copied, left }, Taken { suspended, others, kept, .. }) = (people, taken);
    if copied > 0 && !task.form.json {
        writeln!(out, "Operators: {copied}.")?;
    }
    let mut say = |said: String| {
        if task.form.json { writeln!(std::io::stderr(), "{said}") } else { writeln!(out, "{said}") }
    };
    if forgotten > 0 {
        say(format!("Deleted, since the source deleted them: {forgotten} entries."))?;
    }
    if !suspended.is_empty() {
        say(format!("Suspended, since the source deleted them: {}.", suspended.join(", ")))?;
    }
    let another =
        |slug| format!("'{slug}' in the target is another project: delete it there, and copy again");
    let more = summary.skipped.saturating_sub(refused.len() as u64);
    let more = (more > 0).then(|| format!("and {more} more"));
    let left: Vec<_> =
        others.iter().map(another).chain(kept).chain(left).chain(refused).chain(more).collect();
    anyhow::ensure!(left.is_empty(), "the copy is done, but for this: {}", left.join("; "));
    Ok(())
}

/// One of the two stores of a copy.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum Side {
    Source,
    Target,
}

impl Side {
    /// What names it on the command line.
    pub(in crate::cli) fn option(self) -> &'static str {
        match self {
            Self::Source => "--from",
            Self::Target => "--to",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "the source",
            Self::Target => "the target",
        })
    }
}

/// What comes of a copy.
struct Copied {
    taken: Taken,
    /// Entries that the source deleted since an earlier copy.
    forgotten: u64,
    people: People,
}

async fn copy_all(
    task: &CopyTask,
    config: &Config,
    (from, source): (&Place, &Arc<dyn Store>),
    (to, target): (&Place, &Arc<dyn Store>),
    sink: &mut Sink,
) -> anyhow::Result<Copied> {
    let key = config.master_key.as_ref();
    let vault = Vault::load(key, &from.0, Arc::new(SystemEntropy), &**source, crate::cli::say)
        .await
        .context(Side::Source)?;
    let verify = async || {
        vault.verify(&**target).await.map_err(|error| match error {
            VaultError::WrongKey => AdminError::Invalid(OTHER_KEY.into()).into(),
            error => anyhow::Error::from(error).context(Side::Target),
        })
    };
    // A store that has a key of its own gets no other one beside it.
    if target.key_check().await.context(Side::Target)?.is_some() {
        verify().await?;
    }
    if config.master_key.is_none() {
        share_key_file(from.key_directory(), to.key_directory())?;
    }
    verify().await?;

    let over = |store: &Arc<dyn Store>| {
        let prices = Arc::new(PriceFeed::open(None, &config.data_dir));
        wiring::admin(store.clone(), vault.clone(), prices, &config.public_url)
    };
    let mut reads = Reach::here(config, over(source));
    let mut writes = Reach::here(config, over(target));
    let only = &task.projects;
    let everything =
        Exported { projects: only.clone(), with_projects: true, with_keys: true, with_samples: true };
    let mut pages = Pages::new(&mut reads, everything, true, None).await?;
    let both = Both::read(&**source, &**target).await?;
    let all = only.is_empty();
    let (taken, people) = {
        let alone = target.lock_changes().await?;
        let target = alone.as_deref().unwrap_or(&**target);
        // First, so that what is refused below keeps nothing of it.
        let taken = projects::take_over(&**source, target, &both, only).await?;
        let people = if all { people::people(&**source, target, &both).await? } else { People::default() };
        (taken, people)
    };
    let forgotten = projects::forget_entries(&**source, &**target, &both, only).await?;
    let bar = progress(Some(pages.count(&mut reads).await?), false);
    while let Some(page) = pages.next(&mut reads).await? {
        bar.inc(page.len() as u64);
        for record in page {
            if !taken.keeps_out(&record) {
                sink.put(named(&record), record);
            }
        }
        sink.hand_over(&mut writes).await?;
    }
    bar.finish_and_clear();
    sink.note_full(&mut writes).await?;
    if all {
        let alone = target.lock_changes().await?;
        people::ranks(&**source, alone.as_deref().unwrap_or(&**target), &both).await?;
    }
    index(&**target).await;
    Ok(Copied { taken, forgotten, people })
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
        settings.database()?;
        Ok(Self(settings))
    }

    /// A directory with a mistake in its name must not become an empty store.
    fn must_exist(&self) -> anyhow::Result<()> {
        if self.0.postgres.is_some() {
            return Ok(());
        }
        let path = self.0.data_dir.join("deja.db");
        match path.try_exists() {
            Ok(true) => Ok(()),
            Ok(false) => anyhow::bail!("there is no database in {}", self.0.data_dir.display()),
            Err(reason) => Err(OpenError::DataDir { path, reason }.into()),
        }
    }

    fn is_the_same_as(&self, other: &Self) -> Result<bool, OpenError> {
        let directory = |place: &Self| place.0.data_dir.canonicalize().ok();
        Ok(match (self.0.database()?, other.0.database()?) {
            (None, None) => directory(self) == directory(other),
            (one, another) => one == another,
        })
    }

    /// Where the file with its master key lies: for PostgreSQL, in the data directory of the settings.
    fn key_directory(&self) -> &Path {
        &self.0.data_dir
    }
}
