//! What an export or import came to, for people and for scripts.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use deja_core::admin::transfer::Record;

/// Records by what they are.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) projects: u64,
    pub(super) providers: u64,
    pub(super) keys: u64,
    pub(super) entries: u64,
    pub(super) samples: u64,
}

impl Counts {
    pub(super) fn add(&mut self, record: &Record) {
        match record {
            Record::Project(_) => self.projects += 1,
            Record::Provider(_) => self.providers += 1,
            Record::Key(_) => self.keys += 1,
            Record::Entry(_) => self.entries += 1,
            Record::Sample(_) => self.samples += 1,
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.projects += other.projects;
        self.providers += other.providers;
        self.keys += other.keys;
        self.entries += other.entries;
        self.samples += other.samples;
    }

    fn told(self) -> String {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let more = [
            ("project", self.projects),
            ("provider", self.providers),
            ("key", self.keys),
            ("sample", self.samples),
        ];
        let more = more.iter().filter(|(_, count)| *count > 0);
        let more = more.map(|(what, count)| format!(", {count} {what}{}", plural(*count)));
        let entries = if self.entries == 1 { "entry" } else { "entries" };
        format!("{} {entries}{}", self.entries, more.collect::<String>())
    }
}

/// What went out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ExportSummary {
    pub(super) exported: Counts,
}

/// What came in.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ImportSummary {
    /// Stored now.
    pub(super) imported: Counts,
    /// There before, and left as it was.
    pub(super) already_there: Counts,
    /// Entries that are no longer served.
    pub(super) expired: u64,
    /// Samples whose entries are not there, or that are more than their projects keep.
    pub(super) left_out: u64,
    /// Records that could not be taken.
    pub(super) skipped: u64,
    /// Providers that lack the secret they had: project and name.
    pub(super) without_secret: Vec<[String; 2]>,
    /// Projects with new entries that are full now, and how many entries each keeps.
    pub(super) full: BTreeMap<String, u64>,
}

impl ImportSummary {
    pub(super) fn print(&self, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        if json {
            return as_json(self, out);
        }
        writeln!(out, "Imported {}.", self.imported.told())?;
        let there = self.already_there;
        if there.entries + there.projects + there.providers + there.keys + there.samples > 0 {
            writeln!(out, "Already there: {}.", there.told())?;
        }
        if self.expired > 0 {
            writeln!(out, "Expired, and left out: {} entries.", self.expired)?;
        }
        if self.left_out > 0 {
            writeln!(
                out,
                "Left out: {} samples, whose entries are not here or which are more than their project keeps.",
                self.left_out
            )?;
        }
        if self.skipped > 0 {
            writeln!(out, "Skipped: {}.", self.skipped)?;
        }
        for (project, most) in &self.full {
            writeln!(
                out,
                "The project {project} is full: it keeps {most} entries (max_entries), the last used ones."
            )?;
        }
        for [project, name] in &self.without_secret {
            writeln!(
                out,
                "The provider {name} of {project} needs its key again: remove it, and add it with the key."
            )?;
        }
        Ok(())
    }
}

/// What a record is to people.
pub(super) fn named(record: &Record) -> String {
    let what = match record {
        Record::Project(record) => return format!("the project '{}'", record.project),
        Record::Provider(record) => format!("the provider '{}'", record.name),
        Record::Key(record) => format!("the key {} {}", record.shown, record.name),
        Record::Entry(record) => format!("the entry {}", record.id),
        Record::Sample(record) => format!("the sample {}", record.id),
    };
    format!("{what} of '{}'", record.project())
}

/// What is left to tell of a record that was handed over.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) project: String,
    pub(super) counts: Counts,
    /// Project and name, if it is a provider that lacks the secret it had.
    pub(super) without_secret: Option<[String; 2]>,
}

impl From<&Record> for Told {
    fn from(record: &Record) -> Self {
        let mut counts = Counts::default();
        counts.add(record);
        let without_secret = match record {
            Record::Provider(provider) if provider.has_secret && provider.sealed.is_none() => {
                Some([provider.project.clone(), provider.name.clone()])
            }
            _ => None,
        };
        Self { project: record.project().to_owned(), counts, without_secret }
    }
}

impl ExportSummary {
    pub(super) fn print(&self, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        if json {
            return as_json(self, out);
        }
        Ok(writeln!(out, "Exported {}.", self.exported.told())?)
    }
}

fn as_json(value: &impl Serialize, out: &mut dyn Write) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    Ok(writeln!(out)?)
}
