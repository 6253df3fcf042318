//! An export as a sequence of pages: project by project, the head first, then the entries, oldest first, then samples.

use std::collections::{HashMap, HashSet, VecDeque};

use deja_core::admin::AdminError;
use deja_core::admin::transfer::{Cursor, Head, Record};
use deja_core::quality::SamplePlace;

use crate::cli::args::Exported;
use crate::cli::reach::Reach;
use crate::commands::{CacheView, Command, Reply};

/// A place in a project.
#[derive(Clone)]
enum At {
    Head,
    /// In the entries, behind this one if it is given.
    Entries(Option<Cursor>),
    /// In the samples, behind this place if it is given.
    Samples(Option<SamplePlace>),
}

/// What is still to come.
pub(super) struct Pages {
    /// Projects, the current one first.
    slugs: VecDeque<String>,
    /// Where the export is in the current one.
    at: At,
    wanted: Exported,
    secrets: bool,
    written: Written,
}

/// What an export that goes on has written already.
#[derive(Default)]
pub(super) struct Written {
    /// The last entry of each project.
    entries: HashMap<String, Cursor>,
    /// The lines of heads and samples: there are few, and a new line may come before lines that were written.
    others: HashSet<String>,
}

impl Written {
    pub(super) fn add(&mut self, record: &Record) -> anyhow::Result<()> {
        if let Some(cursor) = record.cursor() {
            self.entries.insert(record.project().to_owned(), cursor);
        } else {
            self.others.insert(text(record)?);
        }
        Ok(())
    }
}

fn text(record: &Record) -> anyhow::Result<String> {
    Ok(serde_json::to_string(record)?)
}

impl Pages {
    /// All pages of the projects that are wanted, which must exist; without what is `written` if an export goes on.
    pub(super) async fn new(
        reach: &mut Reach<'_>,
        wanted: Exported,
        secrets: bool,
        written: Option<Written>,
    ) -> anyhow::Result<Self> {
        let there = match reach.execute(Command::ProjectList).await? {
            Reply::Projects(list) => list.into_iter().map(|project| project.slug).collect::<Vec<_>>(),
            _ => return Err(unexpected()),
        };
        if let Some(missing) = wanted.projects.iter().find(|slug| !there.contains(slug)) {
            return Err(
                AdminError::NotFound(format!("there is no project '{}'", missing.escape_debug())).into()
            );
        }
        let slugs = there
            .into_iter()
            .filter(|slug| wanted.projects.is_empty() || wanted.projects.contains(slug))
            .collect();
        Ok(Self { slugs, at: At::Head, wanted, secrets, written: written.unwrap_or_default() })
    }

    /// How many entries there are, about.
    pub(super) async fn count(&self, reach: &mut Reach<'_>) -> anyhow::Result<u64> {
        let mut count = 0;
        for project in &self.slugs {
            match reach.execute(Command::CacheStats { project: project.clone() }).await? {
                Reply::Cache(CacheView { entries, .. }) => count += entries,
                _ => return Err(unexpected()),
            }
        }
        Ok(count)
    }

    /// The next page; `None` behind the last.
    pub(super) async fn next(&mut self, reach: &mut Reach<'_>) -> anyhow::Result<Option<Vec<Record>>> {
        while let Some(project) = self.slugs.front().cloned() {
            let page = match self.at.clone() {
                At::Head => {
                    self.at = At::Entries(self.written.entries.remove(&project));
                    self.head(reach, project).await?
                }
                At::Entries(after) => {
                    let page = records(reach, Command::ExportEntries { project, after }).await?;
                    self.at = page.last().map_or(At::Samples(None), |last| At::Entries(last.cursor()));
                    page
                }
                At::Samples(after) => {
                    let page = self.samples(reach, project, after).await?;
                    if let Some(last) = page.last().and_then(Record::place) {
                        self.at = At::Samples(Some(last));
                    } else {
                        self.slugs.pop_front();
                        self.at = At::Head;
                    }
                    self.not_written(page)?
                }
            };
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    async fn head(&self, reach: &mut Reach<'_>, project: String) -> anyhow::Result<Vec<Record>> {
        let Exported { with_projects: settings, with_keys: keys, .. } = self.wanted;
        let head = Head { project, settings, keys, secrets: self.secrets };
        self.not_written(records(reach, Command::ExportHead(head)).await?)
    }

    fn not_written(&self, records: Vec<Record>) -> anyhow::Result<Vec<Record>> {
        if self.written.others.is_empty() {
            return Ok(records);
        }
        let mut new = Vec::new();
        for record in records {
            if !self.written.others.contains(&text(&record)?) {
                new.push(record);
            }
        }
        Ok(new)
    }

    async fn samples(
        &self,
        reach: &mut Reach<'_>,
        project: String,
        after: Option<SamplePlace>,
    ) -> anyhow::Result<Vec<Record>> {
        if !self.wanted.with_samples {
            return Ok(Vec::new());
        }
        records(reach, Command::ExportSamples { project, after }).await
    }
}

async fn records(reach: &mut Reach<'_>, command: Command) -> anyhow::Result<Vec<Record>> {
    match reach.execute(command).await? {
        Reply::Records(records) => Ok(records),
        _ => Err(unexpected()),
    }
}

pub(in crate::cli) fn unexpected() -> anyhow::Error {
    anyhow::anyhow!("the running server answers something else: is it another version of deja?")
}
