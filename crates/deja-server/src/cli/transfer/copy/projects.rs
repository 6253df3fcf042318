//! What a repeated copy takes over of projects that were copied before: all that an operator of the source changed since.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use deja_core::admin::cache;
use deja_core::admin::transfer::{ProviderRecord, Record};
use deja_core::api_key::KeyHash;
use deja_core::audit::Change;
use deja_core::cache::{Entry, context};
use deja_core::clock::{Clock as _, SystemClock, Timestamp};
use deja_core::id::EntryId;
use deja_core::project::Project;
use deja_core::provider::ProviderConfig;
use deja_core::store::{EntryCursor, Store, StoreError, WholeEntry};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::changes::{Both, What, copied};

/// Entries that are compared at a time.
const PAGE: NonZeroUsize = NonZeroUsize::new(500).unwrap();
/// Entries that are deleted side by side, so that they share commits.
const SIDE_BY_SIDE: usize = 4;

/// What a copy of projects did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Projects of the target that the source deleted, which are suspended now.
    pub(super) suspended: Vec<String>,
    /// Slugs that belong to different projects in source and target.
    pub(super) others: Vec<String>,
    /// Slugs and names of providers that the target removed itself: they do not come again.
    pub(super) removed: HashSet<(String, String)>,
    /// Providers that are not as in the source, and why.
    pub(super) kept: Vec<String>,
}

impl Taken {
    /// Whether this record is not to come into the target.
    pub(super) fn keeps_out(&self, record: &Record) -> bool {
        let slug = record.project();
        let is_removed =
            |provider: &ProviderRecord| self.removed.contains(&(slug.to_owned(), provider.name.clone()));
        self.others.iter().any(|other| other == slug)
            || matches!(record, Record::Provider(provider) if is_removed(provider))
    }
}

/// Takes over what the source changed since an earlier copy, of `only` these projects if any are named. Before anything is copied,
/// so that nothing comes into a project that has the slug only.
pub(super) async fn take_over(
    source: &dyn Store,
    target: &dyn Store,
    both: &Both,
    only: &[String],
) -> anyhow::Result<Taken> {
    let (all, mut taken) = (source.projects().await?, Taken::default());
    for ours in wanted(target, only).await? {
        let slug = ours.slug.as_str();
        if let Some(theirs) = all.iter().find(|theirs| theirs.id == ours.id) {
            project(target, both, theirs, &ours).await?;
            keys(source, target, &ours).await?;
            providers(source, target, both, &ours, &mut taken).await?;
            continue;
        }
        if both.was_deleted(ours.id) && !ours.suspended {
            let change = copied("project.suspend", Some(ours.id), slug, "deleted in the source");
            target.update_project(&Project { suspended: true, ..ours.clone() }, &change).await?;
            taken.suspended.push(slug.to_owned());
        }
        if all.iter().any(|theirs| theirs.slug == ours.slug) {
            taken.others.push(slug.to_owned());
        }
    }
    Ok(taken)
}

/// The projects with these slugs; all, if there are none.
async fn wanted(store: &dyn Store, only: &[String]) -> anyhow::Result<Vec<Project>> {
    let mut projects = store.projects().await?;
    projects.retain(|project| only.is_empty() || only.iter().any(|slug| slug == project.slug.as_str()));
    Ok(projects)
}

async fn project(target: &dyn Store, both: &Both, theirs: &Project, ours: &Project) -> anyhow::Result<()> {
    let (id, slug) = (Some(ours.id), ours.slug.as_str());
    let mut wanted = ours.clone();
    if both.source_holds(What::Settings, id, "") {
        // What no change sets stays each store's own.
        let Project { suspended, created, purges, .. } = *ours;
        wanted = Project { suspended, created, purges, ..theirs.clone() };
        if wanted != *ours {
            target.update_project(&wanted, &copied("project.set", id, slug, "")).await?;
        }
    }
    if theirs.suspended != ours.suspended && both.source_holds(What::State, id, "") {
        let action = if theirs.suspended { "project.suspend" } else { "project.resume" };
        wanted.suspended = theirs.suspended;
        target.update_project(&wanted, &copied(action, id, slug, "")).await?;
    }
    Ok(())
}

/// Nothing of a key can be changed but that it is revoked, and that is for ever.
async fn keys(source: &dyn Store, target: &dyn Store, project: &Project) -> anyhow::Result<()> {
    let theirs = source.keys(project.id).await?.into_iter();
    let revoked: HashMap<KeyHash, Timestamp> =
        theirs.filter_map(|(key, _)| Some((key.hash, key.revoked?))).collect();
    for (key, _) in target.keys(project.id).await? {
        let Some(at) = revoked.get(&key.hash).filter(|_| key.revoked.is_none()) else { continue };
        let change = copied("key.revoke", Some(project.id), &format!("{} {}", key.shown, key.name), "");
        target.revoke_key(project.id, key.id, &Change { at: *at, ..change }).await?;
    }
    Ok(())
}

/// Removes and changes providers. Models are taken from all of them first, since one may have moved from one to another. Those that
/// cannot be as in the source are named; new ones come with all else.
async fn providers(
    source: &dyn Store,
    target: &dyn Store,
    both: &Both,
    project: &Project,
    taken: &mut Taken,
) -> anyhow::Result<()> {
    let (id, slug, theirs) = (project.id, project.slug.as_str(), source.providers(project.id).await?);
    let of = |name: &str| theirs.iter().find(|theirs| theirs.name == name);
    for ours in target.providers(id).await? {
        let name = &ours.name;
        // If another provider of this name has taken its place, it is gone too.
        let gone = of(name).is_none_or(|theirs| theirs.id != ours.id) && both.was_imported(id, name);
        if gone && both.was_removed(What::Provider, Some(id), name) {
            target.remove_provider(id, name, &copied("provider.remove", Some(id), name, "")).await?;
        }
    }
    for gives in [false, true] {
        for ours in target.providers(id).await? {
            let Some(theirs) = of(&ours.name).filter(|theirs| theirs.id == ours.id) else { continue };
            if !both.source_holds(What::Provider, Some(id), &ours.name) {
                continue;
            }
            let models = theirs.models.iter().filter(|model| gives || ours.models.contains(model));
            let wanted = ProviderConfig { models: models.cloned().collect(), ..theirs.clone() };
            if wanted == ours {
                continue;
            }
            if let Err(why) = set(target, &wanted).await? {
                let kept = format!("the provider '{}' of '{slug}': {why}", ours.name);
                taken.kept.retain(|other| *other != kept);
                taken.kept.push(kept);
            }
        }
    }
    let ours = target.providers(id).await?;
    for theirs in theirs.iter().filter(|theirs| !ours.iter().any(|ours| ours.name == theirs.name)) {
        if !both.source_holds(What::Provider, Some(id), &theirs.name) {
            taken.removed.insert((slug.to_owned(), theirs.name.clone()));
        }
    }
    Ok(())
}

/// Changes a provider, or says why it stays as it is.
async fn set(target: &dyn Store, provider: &ProviderConfig) -> anyhow::Result<Result<(), String>> {
    let ProviderConfig { name, base_url, models, allow_private, .. } = provider;
    if let Err(error) = deja_providers::check_url(base_url, *allow_private) {
        return Ok(Err(error.to_string()));
    }
    let how = format!("{} at {base_url} for {}", provider.kind, models.join(", "));
    let change = copied("provider.set", Some(provider.project), name, &how);
    match target.update_provider(provider, &change).await {
        Ok(_) => Ok(Ok(())),
        Err(StoreError::Conflict(why)) => Ok(Err(why)),
        Err(error) => Err(error.into()),
    }
}

/// Deletes entries that the source deleted, and says how many. Before others come, or they would hold these off.
pub(super) async fn forget_entries(
    source: &dyn Store,
    target: &dyn Store,
    both: &Both,
    only: &[String],
) -> anyhow::Result<u64> {
    let (all, mut deleted) = (source.projects().await?, 0);
    for ours in
        wanted(target, only).await?.iter().filter(|ours| all.iter().any(|theirs| theirs.id == ours.id))
    {
        deleted += forget_entries_of(source, target, both, ours).await?;
    }
    Ok(deleted)
}

async fn forget_entries_of(
    source: &dyn Store,
    target: &dyn Store,
    both: &Both,
    project: &Project,
) -> anyhow::Result<u64> {
    let mut gone = Vec::new();
    for entry in both.deleted_entries(project.id) {
        if target.entry(project.id, *entry).await?.is_some() {
            gone.push(*entry);
        }
    }
    let purges = both.purges(project.id);
    if let Some((last, _)) = purges.first() {
        // It is not known which entries were purged. They are entries that a purge may have met and that are gone now.
        let may_have_met = |whole: &WholeEntry| {
            let Entry { model, created, .. } = &whole.entry;
            let context = context(whole.context.as_deref(), &whole.parameters);
            purges.iter().any(|(at, how)| created <= at && cache::may_have_purged(how, model, context))
        };
        gone.extend(ids(target, project, *last, may_have_met).await?);
    }
    if gone.is_empty() {
        return Ok(0);
    }
    let there = ids(source, project, Timestamp::from_nanos(i64::MAX), |_| true).await?;
    let id = project.id;
    let delete = |entry: EntryId| async move {
        let change = copied("entry.delete", Some(id), &entry.to_string(), "");
        target.delete(id, entry, &change).await
    };
    let gone = gone.into_iter().filter(|entry| !there.contains(entry)).map(delete);
    let deleted: Vec<bool> = stream::iter(gone).buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
    Ok(deleted.into_iter().filter(|deleted| *deleted).count() as u64)
}

/// The entries of a project that were stored until then, as far as they are wanted.
async fn ids(
    store: &dyn Store,
    project: &Project,
    until: Timestamp,
    wanted: impl Fn(&WholeEntry) -> bool,
) -> anyhow::Result<HashSet<EntryId>> {
    let (mut ids, mut after, now) = (HashSet::new(), None::<EntryCursor>, SystemClock.now());
    loop {
        let page = store.export(project.id, after, now, PAGE).await?;
        let Some(last) = page.last() else { return Ok(ids) };
        after = Some(last.cursor());
        ids.extend(page.iter().filter(|whole| wanted(whole)).map(|whole| whole.entry.id));
        if after.is_some_and(|after| after.created > until) {
            return Ok(ids);
        }
    }
}
