//! An export as a sequence of pages: project by project, the head first, then the entries, oldest first.

use std::collections::VecDeque;

use deja_core::admin::AdminError;
use deja_core::admin::transfer::{Cursor, Head, Record};

use crate::admin::{CacheView, Command, Reply};
use crate::cli::args::Exported;
use crate::cli::reach::Reach;

/// A place in a project.
#[derive(Clone)]
enum At {
    Head,
    /// In the entries, behind this one if it is given.
    Entries(Option<Cursor>),
}

/// What is still to come.
pub(super) struct Pages {
    /// Projects, the current one first.
    slugs: VecDeque<String>,
    /// Where the export is in the current one.
    at: At,
    wanted: Exported,
    secrets: bool,
    /// The line that the export goes on behind, if it is one of a head.
    behind: Option<Record>,
}

impl Pages {
    /// All pages of the projects that are wanted, which must exist; behind `last` if an export goes on.
    pub(super) async fn new(
        reach: &mut Reach<'_>,
        wanted: Exported,
        secrets: bool,
        last: Option<Record>,
    ) -> anyhow::Result<Self> {
        let there = match reach.execute(Command::ProjectList).await? {
            Reply::Projects(list) => list.into_iter().map(|project| project.slug).collect::<Vec<_>>(),
            other => return Err(unexpected(&other)),
        };
        if let Some(missing) = wanted.projects.iter().find(|slug| !there.contains(slug)) {
            return Err(
                AdminError::NotFound(format!("there is no project '{}'", missing.escape_debug())).into()
            );
        }
        let mut slugs: VecDeque<String> = there
            .into_iter()
            .filter(|slug| wanted.projects.is_empty() || wanted.projects.contains(slug))
            .collect();
        let Some(last) = last else { return Ok(Self { slugs, at: At::Head, wanted, secrets, behind: None }) };
        slugs.retain(|slug| slug.as_str() >= last.project());
        let current = slugs.front().is_some_and(|slug| slug == last.project());
        Ok(match last.cursor().filter(|_| current) {
            Some(cursor) => Self { slugs, at: At::Entries(Some(cursor)), wanted, secrets, behind: None },
            None => Self { slugs, at: At::Head, wanted, secrets, behind: current.then_some(last) },
        })
    }

    /// How many entries there are, about.
    pub(super) async fn count(&self, reach: &mut Reach<'_>) -> anyhow::Result<u64> {
        let mut count = 0;
        for project in &self.slugs {
            match reach.execute(Command::CacheStats { project: project.clone() }).await? {
                Reply::Cache(CacheView { entries, .. }) => count += entries,
                other => return Err(unexpected(&other)),
            }
        }
        Ok(count)
    }

    /// The next page; `None` behind the last.
    pub(super) async fn next(&mut self, reach: &mut Reach<'_>) -> anyhow::Result<Option<Vec<Record>>> {
        while let Some(project) = self.slugs.front().cloned() {
            let At::Entries(after) = self.at.clone() else {
                let mut head = self.head(reach, project).await?;
                self.at = At::Entries(None);
                if let Some(last) = self.behind.take() {
                    leave_out(&mut head, &last);
                }
                if head.is_empty() {
                    continue;
                }
                return Ok(Some(head));
            };
            let page = records(reach, Command::ExportEntries { project, after }).await?;
            if let Some(cursor) = page.last().and_then(Record::cursor) {
                self.at = At::Entries(Some(cursor));
                return Ok(Some(page));
            }
            self.slugs.pop_front();
            self.at = At::Head;
        }
        Ok(None)
    }

    async fn head(&self, reach: &mut Reach<'_>, project: String) -> anyhow::Result<Vec<Record>> {
        let Exported { with_projects: settings, with_keys: keys, .. } = self.wanted;
        records(reach, Command::ExportHead(Head { project, settings, keys, secrets: self.secrets })).await
    }
}

/// Leaves out what is written already: all up to `last`. If that is not there any more, nothing is left out, and
/// an import finds some lines twice.
fn leave_out(head: &mut Vec<Record>, last: &Record) {
    let text = |record: &Record| serde_json::to_string(record).unwrap_or_default();
    let last = text(last);
    if let Some(at) = head.iter().position(|record| text(record) == last) {
        head.drain(..=at);
    }
}

async fn records(reach: &mut Reach<'_>, command: Command) -> anyhow::Result<Vec<Record>> {
    match reach.execute(command).await? {
        Reply::Records(records) => Ok(records),
        other => Err(unexpected(&other)),
    }
}

pub(super) fn unexpected(_reply: &Reply) -> anyhow::Error {
    anyhow::anyhow!("the running server answers something else: is it another version of deja?")
}
