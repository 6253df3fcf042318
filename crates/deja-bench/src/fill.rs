//! Fills a data directory through the store itself: 100,000 entries in seconds, without embedding each.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use deja_core::audit::{Actor, Change};
use deja_core::cache::{Answer, Entry, Frame, Inserted, NewEntry, PromptHash, Scope};
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::id::{EntryId, ProjectId, SystemEntropy};
use deja_core::project::{Guard, Project, ProjectSettings, Slug, Tier};
use deja_core::rate_limit::Quota;
use deja_core::store::Store;
use deja_store::{PostgresSettings, StoreSettings};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::deja;
use crate::parts::provider;
use crate::prompts;
use crate::vectors::Vectors;

/// Inserts at the same time, so that they share their syncs to disk.
const AT_ONCE: usize = 64;
pub(crate) const SLUG: &str = "bench";
/// More than any figure fills.
const MOST_ENTRIES: u64 = 1 << 40;

/// The store in the database at `url`. It has no directory.
pub(crate) fn in_database(url: &str) -> StoreSettings {
    StoreSettings { postgres: Some(PostgresSettings::new(url)), ..StoreSettings::new("") }
}

/// Makes a store in `data` with a project and `entries` entries in one scope.
///
/// Their vectors carry the name of the built-in embedder, so that the server takes them as they are.
pub(crate) fn fill(data: &Path, entries: usize) -> Result<()> {
    fill_store(&StoreSettings::new(data), entries, Duration::MAX)
}

/// The same for any store, within this time.
pub(crate) fn fill_store(settings: &StoreSettings, entries: usize, patience: Duration) -> Result<()> {
    fill_scopes(settings, entries, patience, |project, _| scope_of(project))
}

/// The same with each entry in a scope of its own.
pub(crate) fn fill_own_scopes(data: &Path, entries: usize) -> Result<()> {
    fill_scopes(&StoreSettings::new(data), entries, Duration::MAX, |project, number| {
        let instructions = format!("You help user {number}.");
        Scope::new(project, Frame::query(Some(provider::MODEL), Some(&instructions)))
    })
}

#[tokio::main]
async fn fill_scopes(
    settings: &StoreSettings,
    entries: usize,
    patience: Duration,
    scope_of: impl Fn(ProjectId, usize) -> Scope,
) -> Result<()> {
    eprintln!("filling {entries} entries");
    let vectors = Vectors::new().await?;
    let store = deja_store::open(settings).await?;
    let project = project()?;
    store.create_project(&project, &Change::new(project.created, Actor::System, "bench")).await?;
    let began = Instant::now();
    let mut filled = 0_usize;
    futures::stream::iter((0..entries).map(|number| entry(number, scope_of(project.id, number), &vectors)))
        .map(|new| async { anyhow::Ok(store.insert(new?).await?) })
        .buffer_unordered(AT_ONCE)
        .try_for_each(|inserted| {
            filled += 1;
            let seconds = began.elapsed().as_secs_f64();
            if filled.is_multiple_of(10_000) {
                eprintln!("filled {filled} of {entries} entries after {seconds:.0} s");
            }
            std::future::ready((|| {
                anyhow::ensure!(matches!(inserted, Inserted::New), "a prompt came twice");
                anyhow::ensure!(
                    began.elapsed() < patience,
                    "only {filled} entries after {seconds:.0} s: take fewer"
                );
                Ok(())
            })())
        })
        .await?;
    anyhow::ensure!(store.count(project.id).await? == entries as u64, "entries are missing");
    Ok(store.close().await?)
}

/// The scope that [`fill`] filled.
pub(crate) async fn scope(store: &dyn Store) -> Result<Scope> {
    Ok(scope_of(store.project(SLUG).await?.context("the store was not filled")?.id))
}

fn scope_of(project: ProjectId) -> Scope {
    Scope::new(project, Frame::query(Some(provider::MODEL), None))
}

fn project() -> Result<Project> {
    let created = SystemClock.now();
    Ok(Project {
        id: ProjectId::generate(created, &SystemEntropy)?,
        slug: SLUG.parse::<Slug>()?,
        name: SLUG.to_owned(),
        tier: Tier::Enterprise,
        custom_quota: Some(Quota::new(deja::LIMIT, deja::LIMIT)?),
        suspended: false,
        settings: ProjectSettings {
            // The filled prompts carry numbers that what is asked lacks: the guard would refuse them, rightly.
            guard: Guard::Off,
            // With the default maximum the server would delete entries while it is measured.
            max_entries: MOST_ENTRIES,
            ..ProjectSettings::default()
        },
        created,
        purges: 0,
    })
}

/// The prompt of entry `number`.
pub(crate) fn prompt(number: usize) -> String {
    format!("{} {number}", prompts::entry(number % prompts::ENTRIES))
}

fn entry(number: usize, scope: Scope, vectors: &Vectors) -> Result<NewEntry> {
    let prompt = prompt(number);
    let created = SystemClock.now();
    Ok(NewEntry {
        scope,
        prompt_hash: PromptHash::of(&prompt),
        entry: Entry {
            id: EntryId::generate(created, &SystemEntropy)?,
            prompt,
            model: provider::MODEL.to_owned(),
            answer: Answer {
                text: provider::text(),
                provider: "openai".to_owned(),
                served_model: Some(provider::MODEL.to_owned()),
                input_tokens: 24,
                output_tokens: 42,
                tokens_estimated: false,
                record: None,
            },
            created,
            expires: None,
        },
        vectors: vec![(vectors.embedder.clone(), vectors.entry(number)?)],
        now: created,
        replaces: false,
        purges: None,
    })
}
