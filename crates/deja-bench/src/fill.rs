//! Fills a data directory through the store itself: 100,000 entries in seconds, without embedding them.

use std::path::Path;

use anyhow::Result;
use deja_core::cache::{Answer, Entry, Inserted, NewEntry, PromptHash, Scope};
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId, SystemEntropy};
use deja_core::project::{Project, ProjectSettings, Slug, Tier};
use deja_embed::Model;
use deja_store::StoreSettings;
use futures::{StreamExt as _, TryStreamExt as _};

use crate::parts::provider;
use crate::prompts;

/// Inserts at the same time, so that they share their syncs to disk.
const AT_ONCE: usize = 64;

/// Makes a store in `data` with a project `bench` and `entries` entries in one scope.
///
/// The vectors point anywhere, but carry the name of the built-in embedder and are as wide as its own, so that
/// the server takes them as they are.
#[tokio::main]
pub(crate) async fn fill(data: &Path, entries: usize) -> Result<()> {
    let model = Model::builtin()?;
    let (embedder, dimension) = (model.id(), model.dimension());
    let store = deja_store::open(&StoreSettings::new(data)).await?;
    let project = project()?;
    store.create_project(&project).await?;
    let scope = Scope::new(project.id, Some(provider::MODEL), None);
    let inserts = (0..entries).map(|number| entry(number, &scope, embedder, dimension));
    futures::stream::iter(inserts)
        .map(|new| async { anyhow::Ok(store.insert(new?).await?) })
        .buffer_unordered(AT_ONCE)
        .try_for_each(|inserted| async move {
            anyhow::ensure!(matches!(inserted, Inserted::New), "a prompt came twice");
            Ok(())
        })
        .await?;
    anyhow::ensure!(store.count(project.id).await? == entries as u64, "entries are missing");
    Ok(store.close().await?)
}

fn project() -> Result<Project> {
    let created = SystemClock.now();
    Ok(Project {
        id: ProjectId::generate(created, &SystemEntropy)?,
        slug: "bench".parse::<Slug>()?,
        name: "bench".to_owned(),
        tier: Tier::Enterprise,
        custom_quota: None,
        suspended: false,
        settings: ProjectSettings::default(),
        created,
    })
}

fn entry(number: usize, scope: &Scope, embedder: &EmbedderId, dimension: usize) -> Result<NewEntry> {
    let mut state = number as u64;
    let mut component = || prompts::random(&mut state) as i32 as f32;
    let vector: Vec<f32> = (0..dimension).map(|_| component()).collect();
    let prompt = format!("{} {number}", prompts::unlike(number));
    let created = SystemClock.now();
    Ok(NewEntry {
        scope: scope.clone(),
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
            },
            created,
            expires: None,
        },
        vector: Some((embedder.clone(), Embedding::new(vector)?)),
        max_entries: u64::MAX,
    })
}
