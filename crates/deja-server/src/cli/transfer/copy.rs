//! `deja db copy`: an export of everything, secrets as they are sealed, straight into another store.

use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use deja_core::admin::transfer::Open;
use deja_core::admin::{Acting, AdminError, keys, operators, projects};
use deja_core::audit::{Actor, Change};
use deja_core::clock::{Clock as _, SystemClock, Timestamp};
use deja_core::id::{ProjectId, SystemEntropy};
use deja_core::operator::{Email, Operator, Role};
use deja_core::project::Project;
use deja_core::provider::ProviderConfig;
use deja_core::store::{Store, StoreError};
use deja_store::{PostgresSettings, StoreSettings};

use super::import::{Bad, Sink};
use super::pages::Pages;
use super::progress;
use super::summary::{ImportSummary, named};
use crate::admin;
use crate::cli::args::{CopyTask, Exported};
use crate::cli::reach::{self, Reach};
use crate::config::Config;
use crate::feeds::prices::PriceFeed;
use crate::secrets::vault::{self, Vault};

/// Audit rows of a project among which its deletion is looked for. What comes behind it ended with it, and is little.
const LAST_ROWS: NonZeroUsize = NonZeroUsize::new(100).unwrap();
/// Those among which is looked for what was done last.
const MOST_ROWS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

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
    let Copied { summary, refused, restricted: Restricted { suspended, others, kept }, people } = copied?;
    summary.print(task.form.json, out)?;
    let People { copied, left } = people;
    if copied > 0 && !task.form.json {
        writeln!(out, "Operators: {copied}.")?;
    }
    if !suspended.is_empty() {
        let said = format!("Suspended, since the source deleted them: {}.", suspended.join(", "));
        if task.form.json { writeln!(std::io::stderr(), "{said}")? } else { writeln!(out, "{said}")? }
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

/// What comes of a copy.
struct Copied {
    summary: ImportSummary,
    /// Records that the target did not take, and why: the first of them.
    refused: Vec<String>,
    restricted: Restricted,
    people: People,
}

/// What came of taking away.
#[derive(Debug, Default, PartialEq, Eq)]
struct Restricted {
    /// Projects of the target that the source deleted, which are suspended now.
    suspended: Vec<String>,
    /// Slugs that are those of different projects in source and target.
    others: Vec<String>,
    /// Providers that kept other models than in the source, and why.
    kept: Vec<String>,
}

/// What came of copying people.
#[derive(Default)]
struct People {
    copied: u64,
    /// What the source has taken away from whom, and could not be taken away here.
    left: Vec<String>,
}

async fn copy_all(
    task: &CopyTask,
    config: &Config,
    (from, source): (&Place, &Arc<dyn Store>),
    (to, target): (&Place, &Arc<dyn Store>),
) -> anyhow::Result<Copied> {
    let key_dir = from.key_directory();
    let key = config.master_key.as_ref();
    let vault = Vault::load(key, key_dir, Arc::new(SystemEntropy), &**source).await.context("the source")?;
    if config.master_key.is_none() {
        share_key_file(key_dir, to.key_directory())?;
    }
    vault.verify(&**target).await.context("the target is sealed with another master key")?;

    let over = |store: &Arc<dyn Store>| {
        let prices = Arc::new(PriceFeed::open(None, &config.data_dir));
        admin::over(store.clone(), vault.clone(), prices, &config.public_url)
    };
    let mut reads = Reach::here(config, over(source));
    let mut writes = Reach::here(config, over(target));
    let projects = task.projects.clone();
    let everything = Exported { projects, with_projects: true, with_keys: true, with_samples: true };
    let mut pages = Pages::new(&mut reads, everything, true, None).await?;
    let target_admin = over(target);
    let by = target_admin.acting(Actor::Cli);
    // First, so that what is refused below keeps nothing of it.
    let restricted = restrict(&**source, &**target, &by, &task.projects).await?;
    let all = task.projects.is_empty();
    let people = if all { people(&**source, &**target, &by).await? } else { People::default() };
    let bar = progress(Some(pages.count(&mut reads).await?), false);
    let mut sink = Sink::new(Bad::Left, Open { keys: true, providers: true, ..Open::default() });
    while let Some(page) = pages.next(&mut reads).await? {
        bar.inc(page.len() as u64);
        for record in page {
            if !restricted.others.iter().any(|slug| slug == record.project()) {
                sink.put(named(&record), record);
            }
        }
        sink.hand_over(&mut writes).await?;
    }
    bar.finish_and_clear();
    sink.note_full(&mut writes).await?;
    if all {
        ranks(&**source, &**target).await?;
    }
    Ok(Copied { summary: sink.summary, refused: sink.left, restricted, people })
}

/// Takes away what the source has taken away since an earlier copy: keys, and requests of projects that were suspended or deleted.
/// Before anything is copied, so that nothing comes into a project that has the slug only.
async fn restrict(
    source: &dyn Store,
    target: &dyn Store,
    by: &Acting<'_>,
    only: &[String],
) -> anyhow::Result<Restricted> {
    let (all, mut done) = (source.projects().await?, Restricted::default());
    for ours in target.projects().await? {
        let slug = ours.slug.as_str();
        if !only.is_empty() && !only.iter().any(|wanted| wanted == slug) {
            continue;
        }
        let Some(theirs) = all.iter().find(|theirs| theirs.id == ours.id) else {
            if let Some(at) = deleted(source, ours.id).await?
                && !ours.suspended
                && !was_resumed(target, ours.id, at).await?
            {
                projects::suspend(by, slug, true).await?;
                done.suspended.push(slug.to_owned());
            }
            if all.iter().any(|theirs| theirs.slug == ours.slug) {
                done.others.push(slug.to_owned());
            }
            continue;
        };
        if theirs.suspended && !ours.suspended {
            projects::suspend(by, slug, true).await?;
        }
        let keys = source.keys(theirs.id).await?;
        let revoked: HashSet<_> =
            keys.iter().filter(|(key, _)| key.revoked.is_some()).map(|(key, _)| key.hash).collect();
        for (key, _) in target.keys(ours.id).await? {
            if key.revoked.is_none() && revoked.contains(&key.hash) {
                keys::revoke(by, &key.id.to_string(), Some(slug)).await?;
            }
        }
        done.kept.extend(models(source, target, &ours).await?);
    }
    Ok(done)
}

/// Has the providers of a project that were copied before answer for the models that they have in the source, and takes away that they
/// may stand in private networks. All are taken from first, since a model may have moved from one to another. Those are named that cannot
/// get theirs.
async fn models(source: &dyn Store, target: &dyn Store, project: &Project) -> anyhow::Result<Vec<String>> {
    let (theirs, mut kept) = (source.providers(project.id).await?, Vec::new());
    let set = async |provider: &ProviderConfig| {
        let change = Change::new(SystemClock.now(), Actor::Cli, "provider.set").within(project.id);
        let how = format!("models {}, copied", provider.models.join(", "));
        target.update_provider(provider, &change.of(&provider.name).how(how)).await
    };
    for gives in [false, true] {
        for ours in target.providers(project.id).await? {
            let Some(theirs) = theirs.iter().find(|theirs| theirs.id == ours.id) else { continue };
            let models = theirs.models.iter().filter(|model| gives || ours.models.contains(model));
            let (models, allow_private) =
                (models.cloned().collect(), ours.allow_private && theirs.allow_private);
            let wanted = ProviderConfig { models, allow_private, ..ours.clone() };
            if wanted == ours {
                continue;
            }
            match set(&wanted).await {
                Ok(_) => {}
                Err(StoreError::Conflict(why)) => {
                    kept.push(format!("the provider '{}' of '{}': {why}", ours.name, project.slug));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(kept)
}

/// When a project that is not in the source was deleted there. One that was made in the target is nobody's to take away.
async fn deleted(source: &dyn Store, project: ProjectId) -> anyhow::Result<Option<Timestamp>> {
    let rows = source.changes(Some(project), None, LAST_ROWS).await?;
    Ok(rows.iter().find(|row| row.change.action == "project.delete").map(|row| row.change.at))
}

/// Whether somebody resumed it in the target since: it was moved for good.
async fn was_resumed(target: &dyn Store, project: ProjectId, since: Timestamp) -> anyhow::Result<bool> {
    let resumed = last(target, Some(project), None, &["project.resume"]).await?;
    Ok(resumed.is_some_and(|at| at >= since))
}

/// When one of these was done last, of this subject if there is one.
async fn last(
    store: &dyn Store,
    within: Option<ProjectId>,
    subject: Option<&Email>,
    actions: &[&str],
) -> anyhow::Result<Option<Timestamp>> {
    let rows = store.changes(within, None, MOST_ROWS).await?;
    let is_it = |change: &Change| {
        actions.contains(&&*change.action) && subject.is_none_or(|subject| change.subject == subject.as_str())
    };
    Ok(rows.into_iter().map(|row| row.change).filter(is_it).map(|change| change.at).max())
}

/// The people of the console, with their passwords and second factors. Sessions, open links and access tokens stay behind. Of those who
/// are there already what the source has taken away since is taken away: the account, the role of an owner, signing in without a code, or
/// with an earlier password.
async fn people(source: &dyn Store, target: &dyn Store, by: &Acting<'_>) -> anyhow::Result<People> {
    let mut people = People::default();
    let theirs = source.operators().await?;
    for operator in &theirs {
        let change = |action| {
            let change = Change::new(SystemClock.now(), Actor::Cli, action);
            change.of(operator.email.as_str()).how("copied")
        };
        let id = if let Some(there) = target.operator(&operator.email).await? {
            let password = &operator.password;
            if there.id == operator.id
                && there.password != *password
                && is_newer(source, target, &there).await?
            {
                let change = change("operator.change-password");
                let changed = Operator { password: password.clone(), ..there.clone() };
                target.update_operator(&changed, &change).await?;
            }
            there.id
        } else {
            target.create_operator(operator, &change("operator.create")).await?;
            people.copied += 1;
            operator.id
        };
        let Some(factor) = source.second_factor(operator.id).await? else { continue };
        if target.second_factor(id).await?.is_some() {
            continue;
        }
        if id == operator.id {
            target.create_second_factor(id, &factor, None, &change("operator.second-factor")).await?;
        } else {
            // Its secret is sealed for the account of the source.
            let email = &operator.email;
            people
                .left
                .push(format!("{email} has another account in the target: turn its second factor on there"));
        }
    }
    // Once all are there: the last owner of the target may be one no more if the source has another.
    for operator in &theirs {
        let role = Some(Role::Member).filter(|member| operator.role == *member);
        let disabled = operator.disabled.map(|_| true);
        if let Err(error) = operators::set(by, operator.email.as_str(), role, disabled).await {
            people.left.push(format!("{}: {error}", operator.email));
        }
    }
    Ok(people)
}

/// Whether the operator's password was changed in the source after it was in the target.
async fn is_newer(source: &dyn Store, target: &dyn Store, operator: &Operator) -> anyhow::Result<bool> {
    const CHANGES: [&str; 2] = ["operator.change-password", "operator.reset-password"];
    let of = Some(&operator.email);
    Ok(last(source, None, of, &CHANGES).await? > last(target, None, of, &CHANGES).await?)
}

/// What these may do in each project, and no more than in the source where the target says it of them already. Who was removed from a
/// project there, after they came into it here, is removed.
async fn ranks(source: &dyn Store, target: &dyn Store) -> anyhow::Result<()> {
    let ours = target.projects().await?;
    for theirs in source.projects().await? {
        let Some(project) = ours.iter().find(|ours| ours.id == theirs.id) else { continue };
        let members = source.members(theirs.id).await?;
        for member in &members {
            let Some(operator) = target.operator(&member.email).await? else { continue };
            if target.rank(project.id, operator.id).await?.is_none_or(|rank| member.rank < rank) {
                let change = Change::new(SystemClock.now(), Actor::Cli, "member.set").within(project.id);
                let change = change.of(operator.email.as_str()).how(format!("{}, copied", member.rank));
                target.set_rank(project.id, operator.id, member.rank, &change).await?;
            }
        }
        for member in target.members(project.id).await? {
            if members.iter().any(|theirs| theirs.email == member.email) {
                continue;
            }
            let of = Some(&member.email);
            let removed = last(source, Some(project.id), of, &["member.remove"]).await?;
            if removed > last(target, Some(project.id), of, &["member.set"]).await? {
                let change = Change::new(SystemClock.now(), Actor::Cli, "member.remove").within(project.id);
                let change = change.of(member.email.as_str()).how("copied");
                target.remove_rank(project.id, member.operator, &change).await?;
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

#[cfg(test)]
mod tests;
