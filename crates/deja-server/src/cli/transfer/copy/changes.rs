//! Who changed something last, source or target: that is the one that holds after a copy.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use deja_core::audit::{Actor, AuditFilter, Change};
use deja_core::clock::{Clock as _, SystemClock, Timestamp};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::Store;

/// Audit rows that are read at a time.
const PAGE: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// How the details of a copy's own changes begin. No other details begin so.
const COPIED: &str = "copied from another store";
/// The detail of a provider that an import or a copy added.
const IMPORTED: &str = "imported";

/// What can be changed on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// Name, tier, limits, settings and prices of a project.
    Settings,
    /// Whether it is suspended.
    State,
    Provider,
    Rank,
    /// An operator's role, and whether they are disabled.
    Operator,
    Password,
    SecondFactor,
}

impl What {
    fn of(action: &str) -> Option<Self> {
        Some(match action {
            "project.set" | "price.set" | "price.unset" => Self::Settings,
            "project.suspend" | "project.resume" => Self::State,
            "provider.add" | "provider.set" | "provider.remove" => Self::Provider,
            "member.set" | "member.remove" => Self::Rank,
            "operator.set" => Self::Operator,
            "operator.change-password" | "operator.reset-password" => Self::Password,
            "operator.second-factor" => Self::SecondFactor,
            _ => return None,
        })
    }
}

/// The audit row of something that a copy changes.
pub(super) fn copied(action: &'static str, project: Option<ProjectId>, of: &str, how: &str) -> Change {
    let change = Change::new(SystemClock.now(), Actor::Cli, action).of(of);
    let change = change.how(if how.is_empty() { COPIED.to_owned() } else { format!("{COPIED}: {how}") });
    Change { project, ..change }
}

/// What an audit log says of the last changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By project, and by the name of a provider or the address of an operator.
    last: HashMap<(What, Option<ProjectId>, String), Timestamp>,
    /// By project and provider: whether it came with an import or a copy.
    imported: HashMap<(Option<ProjectId>, String), bool>,
    /// Projects that were deleted, and when.
    deleted: HashMap<ProjectId, Timestamp>,
    /// Entries that were deleted one by one.
    entries: HashMap<ProjectId, Vec<EntryId>>,
    /// When entries of a project were purged, and which, the last purge first.
    purged: HashMap<ProjectId, Vec<(Timestamp, String)>>,
}

impl Changes {
    async fn read(store: &dyn Store, with_copies: bool) -> anyhow::Result<Self> {
        let (mut changes, mut before) = (Self::default(), None);
        loop {
            let rows = store.changes(&AuditFilter::default(), before, PAGE).await?;
            let Some(oldest) = rows.last() else { return Ok(changes) };
            before = Some(oldest.number);
            for row in rows {
                changes.add(row.change, with_copies);
            }
        }
    }

    /// Adds a change that is older than those added before.
    fn add(&mut self, change: Change, with_copies: bool) {
        let Change { at, project, subject, detail, .. } = change;
        let is_added = change.action == "provider.add";
        let by_copy = detail.starts_with(COPIED) || is_added && detail == IMPORTED;
        if is_added {
            self.imported.entry((project, subject.clone())).or_insert(by_copy);
        }
        if by_copy && !with_copies {
            return;
        }
        if let Some(what) = What::of(&change.action) {
            let of_project = matches!(what, What::Settings | What::State);
            let subject = if of_project { String::new() } else { subject };
            self.last.entry((what, project, subject)).or_insert(at);
            return;
        }
        let Some(project) = project else { return };
        match &*change.action {
            "project.delete" => {
                self.deleted.insert(project, at);
            }
            "cache.purge" => self.purged.entry(project).or_default().push((at, detail)),
            "entry.delete" => self.entries.entry(project).or_default().extend(subject.parse::<EntryId>()),
            _ => {}
        }
    }

    fn last(&self, what: What, project: Option<ProjectId>, of: &str) -> Option<Timestamp> {
        self.last.get(&(what, project, of.to_owned())).copied()
    }
}

/// Both sides of a copy.
pub(super) struct Both {
    theirs: Changes,
    /// Without the changes that copies made here.
    ours: Changes,
}

impl Both {
    pub(super) async fn read(source: &dyn Store, target: &dyn Store) -> anyhow::Result<Self> {
        Ok(Self { theirs: Changes::read(source, true).await?, ours: Changes::read(target, false).await? })
    }

    /// Whether what the source has holds: the target did not change it itself since.
    pub(super) fn source_holds(&self, what: What, project: Option<ProjectId>, of: &str) -> bool {
        self.theirs.last(what, project, of) >= self.ours.last(what, project, of)
    }

    /// Whether something that is not in the source was there, and was taken away there since.
    pub(super) fn was_removed(&self, what: What, project: Option<ProjectId>, of: &str) -> bool {
        self.theirs.last(what, project, of).is_some() && self.source_holds(what, project, of)
    }

    /// Whether the target's provider of this name came from elsewhere.
    pub(super) fn was_imported(&self, project: ProjectId, name: &str) -> bool {
        self.ours.imported.get(&(Some(project), name.to_owned())).copied().unwrap_or(true)
    }

    /// Whether the source deleted this project, and the target has not resumed it since: then it was moved for good.
    pub(super) fn was_deleted(&self, project: ProjectId) -> bool {
        let deleted = self.theirs.deleted.get(&project).copied();
        deleted.is_some() && deleted >= self.ours.last(What::State, Some(project), "")
    }

    /// The entries that the source deleted one by one. Some may have been brought back.
    pub(super) fn deleted_entries(&self, project: ProjectId) -> &[EntryId] {
        self.theirs.entries.get(&project).map_or(&[], Vec::as_slice)
    }

    /// When the source purged entries of the project, and which, the last purge first.
    pub(super) fn purges(&self, project: ProjectId) -> &[(Timestamp, String)] {
        self.theirs.purged.get(&project).map_or(&[], Vec::as_slice)
    }
}
