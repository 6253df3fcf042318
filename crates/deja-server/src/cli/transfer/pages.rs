//! An export as a sequence of pages: project by project, the head first, then the entries, oldest first, then samples.

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
    /// In the samples, behind the one of this number if it is given.
    Samples(Option<i64>),
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
        let (at, behind) = match &last {
            Record::Entry(_) if current => (At::Entries(last.cursor()), None),
            Record::Sample(sample) if current => (At::Samples(Some(sample.id)), None),
            _ => (At::Head, current.then_some(last)),
        };
        Ok(Self { slugs, at, wanted, secrets, behind })
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
            let page = match self.at.clone() {
                At::Head => {
                    self.at = At::Entries(None);
                    self.head(reach, project).await?
                }
                At::Entries(after) => {
                    let page = records(reach, Command::ExportEntries { project, after }).await?;
                    self.at = page.last().map_or(At::Samples(None), |last| At::Entries(last.cursor()));
                    page
                }
                At::Samples(after) => {
                    let page = self.samples(reach, project, after).await?;
                    if let Some(Record::Sample(last)) = page.last() {
                        self.at = At::Samples(Some(last.id));
                    } else {
                        self.slugs.pop_front();
                        self.at = At::Head;
                    }
                    page
                }
            };
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    async fn head(&mut self, reach: &mut Reach<'_>, project: String) -> anyhow::Result<Vec<Record>> {
        let Exported { with_projects: settings, with_keys: keys, .. } = self.wanted;
        let head = Head { project, settings, keys, secrets: self.secrets };
        let mut head = records(reach, Command::ExportHead(head)).await?;
        if let Some(last) = self.behind.take() {
            leave_out(&mut head, &last);
        }
        Ok(head)
    }

    async fn samples(
        &self,
        reach: &mut Reach<'_>,
        project: String,
        after: Option<i64>,
    ) -> anyhow::Result<Vec<Record>> {
        if !self.wanted.with_samples {
            return Ok(Vec::new());
        }
        records(reach, Command::ExportSamples { project, after }).await
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

pub(in crate::cli) fn unexpected(_reply: &Reply) -> anyhow::Error {
    anyhow::anyhow!("the running server answers something else: is it another version of deja?")
}
