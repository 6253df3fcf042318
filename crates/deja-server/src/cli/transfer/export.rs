//! `deja export`: pages become lines.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;

use super::pages::{Pages, Written};
use super::summary::ExportSummary;
use super::{progress, resume};
use crate::cli::args::ExportTask;
use crate::cli::reach::Reach;
use crate::cli::{Interrupted, unless_stopped};
use crate::config::Config;
use crate::lifecycle::Signals;
use deja_core::admin::AdminError;
use deja_core::admin::transfer::line;

pub(in crate::cli) async fn export(
    task: ExportTask,
    config: &Config,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // As with import, and with most tools: - is the standard stream.
    let file = task.file.as_deref().filter(|path| *path != Path::new("-"));
    if task.resume && file.is_none() {
        let advice = "--resume goes on with a file, not with standard output: name one";
        return Err(AdminError::Invalid(advice.into()).into());
    }
    let (mut reach, mut summary) = (Reach::new(config)?, ExportSummary::default());
    let exported = match file {
        Some(path) => {
            let exported = to_file(&task, path, &mut reach, &mut summary).await;
            exported.with_context(|| path.display().to_string())
        }
        None => write(&task, None, &mut reach, out, &mut summary).await,
    };
    reach.close().await?;
    if file.is_none() {
        exported?;
        // Standard output has the entries, all of them.
        let _nowhere_to_say_it = summary.print(task.form.json, &mut io::stderr());
        return Ok(());
    }
    if exported.as_ref().err().is_none_or(anyhow::Error::is::<Interrupted>) {
        summary.print(task.form.json, out)?;
    }
    exported
}

async fn to_file(
    task: &ExportTask,
    path: &Path,
    reach: &mut Reach<'_>,
    summary: &mut ExportSummary,
) -> anyhow::Result<()> {
    // Before there is a file.
    let mut signals = Signals::catch()?;
    let mut file = open(path, task.resume)?;
    let written = if task.resume { Some(resume::go_on(&mut file)?) } else { None };
    let mut buffered = BufWriter::new(&mut file);
    let left = "if the file is there, --resume goes on with its whole lines";
    let exported =
        unless_stopped(&mut signals, left, write(task, written, reach, &mut buffered, summary)).await;
    buffered.flush()?;
    drop(buffered);
    // An empty file would only ask for --resume.
    if exported.is_err() && !task.resume && file.metadata()?.len() == 0 {
        std::fs::remove_file(path)?;
    }
    file.sync_all()?;
    exported
}

/// The file, for its owner only: answers are private, and key hashes besides.
fn open(path: &Path, resume: bool) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).create(true).truncate(false).create_new(!resume);
    options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists if path.is_dir() => io::Error::from(ErrorKind::IsADirectory).into(),
        ErrorKind::AlreadyExists => {
            let advice = "the file is there already: add --resume to go on with it, or choose another one";
            AdminError::Invalid(advice.into()).into()
        }
        _ => anyhow::Error::from(error),
    })
}

async fn write(
    task: &ExportTask,
    written: Option<Written>,
    reach: &mut Reach<'_>,
    out: &mut (impl Write + ?Sized),
    summary: &mut ExportSummary,
) -> anyhow::Result<()> {
    let mut pages = Pages::new(reach, task.what.clone(), false, written).await?;
    let bar = progress(Some(pages.count(reach).await?), false);
    while let Some(page) = pages.next(reach).await? {
        let mut lines = Vec::new();
        for record in &page {
            line::write(record, &mut lines)?;
            summary.exported.add(record);
        }
        // A page at once: what a reader of standard output has is whole lines, whatever happens then.
        out.write_all(&lines)?;
        out.flush()?;
        bar.inc(page.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}
