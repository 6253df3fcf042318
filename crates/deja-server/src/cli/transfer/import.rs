//! `deja import`: lines become batches.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::{mem, thread};

use anyhow::Context as _;
use indicatif::ProgressBar;
use tokio::sync::mpsc::{Receiver, channel};

use super::pages::unexpected;
use super::summary::{ImportSummary, Told};
use super::{index, lines, progress};
use crate::cli::args::ImportTask;
use crate::cli::reach::Reach;
use crate::cli::{Interrupted, unless_stopped};
use crate::commands::{Command, Reply};
use crate::config::Config;
use crate::lifecycle::Signals;
use deja_core::admin::transfer::{Batch, Imported, Open, Record, line};

/// Records and bytes after which a batch is handed over.
const BATCH: usize = 500;
const BATCH_BYTES: u64 = 2 << 20;
/// How many records that cannot be taken are told of one by one.
const TOLD: u64 = 10;

pub(in crate::cli) async fn import(
    task: ImportTask,
    config: &Config,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (from, bar): (Box<dyn BufRead + Send>, ProgressBar) = match file(&task) {
        Some(path) => {
            let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
            let (length, file) = opened.with_context(|| path.display().to_string())?;
            (Box::new(BufReader::with_capacity(1 << 20, file)), progress(Some(length), true))
        }
        None => (Box::new(BufReader::new(io::stdin())), progress(None, false)),
    };
    let mut reach = Reach::new(config)?;
    let bad = if task.skip_bad { Bad::Skipped } else { Bad::Ends };
    let open = Open { keys: task.with_keys, providers: task.with_projects, ..Open::default() };
    let mut sink = Sink::new(bad, open);
    let mut signals = Signals::catch()?;
    let work = async {
        read(&task, batches_of(from), &bar, &mut reach, &mut sink).await?;
        bar.finish_and_clear();
        if let Some(store) = reach.store() {
            index(store).await;
        }
        Ok(())
    };
    let left = "what came in stays; import again, and what is there already is passed over";
    let done = unless_stopped(&mut signals, left, work).await;
    bar.finish_and_clear();
    reach.close().await?;
    if done.as_ref().err().is_none_or(anyhow::Error::is::<Interrupted>) {
        sink.summary.print(task.form.json, out)?;
    }
    done
}

/// A line that was read.
struct Line {
    bytes: u64,
    /// `None` if it is empty.
    record: Option<Result<Record, String>>,
}

/// The file to read; without one, standard input.
fn file(task: &ImportTask) -> Option<&Path> {
    task.file.as_deref().filter(|path| *path != Path::new("-"))
}

/// Reads lines on a thread of its own: standard input may be silent for long, and a signal must end the wait. While a
/// batch is stored, one waits and another is read.
fn batches_of(mut from: impl BufRead + Send + 'static) -> Receiver<io::Result<Vec<Line>>> {
    let (put, batches) = channel(1);
    thread::spawn(move || {
        let mut buffer = Vec::new();
        while let Some(batch) = next_batch(&mut from, &mut buffer).transpose() {
            let is_last = batch.is_err();
            if put.blocking_send(batch).is_err() || is_last {
                break;
            }
        }
    });
    batches
}

/// The next lines, as many as are handed over at once. A bad line ends them: it is told of at once.
fn next_batch(from: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Option<Vec<Line>>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Some(line) = next_line(from, buffer)? else { break };
        bytes += line.bytes;
        let is_bad = matches!(line.record, Some(Err(_)));
        batch.push(line);
        if is_bad {
            break;
        }
    }
    Ok((!batch.is_empty()).then_some(batch))
}

fn next_line(from: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Option<Line>> {
    let Some(read) = lines::read(from, buffer)? else { return Ok(None) };
    let record = match read.text {
        Some([]) => None,
        Some(text) => Some(line::parse(text)),
        None => Some(Err("it is too long".to_owned())),
    };
    Ok(Some(Line { bytes: read.bytes, record }))
}

async fn read(
    task: &ImportTask,
    mut batches: Receiver<io::Result<Vec<Line>>>,
    bar: &ProgressBar,
    reach: &mut Reach<'_>,
    sink: &mut Sink,
) -> anyhow::Result<()> {
    let (mut number, mut bytes) = (0, 0);
    let mut missing = task.projects.clone();
    while let Some(batch) = batches.recv().await {
        let unreadable = || {
            let name = file(task).map_or_else(|| "standard input".into(), |path| path.display().to_string());
            format!("{name} cannot be read")
        };
        for line in batch.with_context(unreadable)? {
            number += 1;
            bar.inc(if bar.length().is_some() { line.bytes } else { 1 });
            match line.record {
                None => continue,
                Some(Ok(record)) => {
                    missing.retain(|slug| slug != record.project());
                    if task.projects.is_empty() || task.projects.iter().any(|slug| slug == record.project()) {
                        bytes += line.bytes;
                        sink.put(place(number), record);
                    }
                }
                Some(Err(reason)) => {
                    // The lines before come in first: whoever is told of this line goes on there.
                    sink.hand_over(reach).await?;
                    sink.bad(&place(number), &reason)?;
                }
            }
            if sink.len() >= BATCH || bytes >= BATCH_BYTES {
                sink.hand_over(reach).await?;
                bytes = 0;
            }
        }
    }
    sink.hand_over(reach).await?;
    sink.note_full(reach).await?;
    anyhow::ensure!(missing.is_empty(), "no line is of the project {}", missing.join(", "));
    Ok(())
}

fn place(number: u64) -> String {
    format!("line {number}")
}

/// What becomes of an import at a record that cannot be taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    Ends,
    /// It goes on, and says so at once.
    Skipped,
    /// It goes on, and what was refused is told at the end.
    Left,
}

/// Collects records and hands them over in batches.
pub(super) struct Sink {
    records: Vec<Record>,
    /// Where each comes from, and what is to be told of it.
    told: Vec<(String, Told)>,
    /// Projects that entries were stored in.
    filled: BTreeSet<String>,
    first: bool,
    bad: Bad,
    open: Open,
    /// The first records that were refused, and why.
    pub(super) left: Vec<String>,
    pub(super) summary: ImportSummary,
}

impl Sink {
    pub(super) fn new(bad: Bad, open: Open) -> Self {
        Self {
            records: Vec::new(),
            told: Vec::new(),
            filled: BTreeSet::new(),
            first: true,
            bad,
            open,
            left: Vec::new(),
            summary: ImportSummary::default(),
        }
    }

    pub(super) fn put(&mut self, place: String, record: Record) {
        self.told.push((place, Told::from(&record)));
        self.records.push(record);
    }

    fn len(&self) -> usize {
        self.records.len()
    }

    /// Has the records stored.
    pub(super) async fn hand_over(&mut self, reach: &mut Reach<'_>) -> anyhow::Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let (records, told) = (mem::take(&mut self.records), mem::take(&mut self.told));
        let (skip_bad, first) = (self.bad != Bad::Ends, mem::take(&mut self.first));
        let batch = Batch { records, skip_bad, first, open: self.open.clone() };
        let Reply::Imported(imported) = reach.execute(Command::Import(batch)).await? else {
            return Err(unexpected());
        };
        for ((place, told), imported) in told.iter().zip(&imported) {
            match imported {
                Imported::Stored => {
                    self.summary.imported.merge(told.counts);
                    self.summary.without_secret.extend(told.without_secret.clone());
                    if told.counts.projects > 0 {
                        self.open.made.insert(told.project.clone());
                    }
                    if told.counts.entries > 0 {
                        self.filled.insert(told.project.clone());
                    }
                }
                Imported::There => self.summary.already_there.merge(told.counts),
                Imported::WithoutSecret => {
                    self.summary.already_there.merge(told.counts);
                    self.summary.without_secret.extend(told.without_secret.clone());
                }
                Imported::Expired => self.summary.expired += 1,
                Imported::LeftOut => self.summary.left_out += 1,
                Imported::Bad(reason) => self.bad(place, reason)?,
            }
        }
        Ok(())
    }

    /// Finds out which projects are full: what came in may be gone already.
    pub(super) async fn note_full(&mut self, reach: &mut Reach<'_>) -> anyhow::Result<()> {
        for project in mem::take(&mut self.filled) {
            match reach.execute(Command::CacheStats { project: project.clone() }).await? {
                Reply::Cache(cache) if cache.entries >= cache.max_entries => {
                    self.summary.full.insert(project, cache.max_entries);
                }
                Reply::Cache(_) => {}
                _ => return Err(unexpected()),
            }
        }
        Ok(())
    }

    /// A record that cannot be taken.
    fn bad(&mut self, place: &str, reason: &str) -> anyhow::Result<()> {
        if self.bad == Bad::Ends {
            anyhow::bail!(
                "{place}: {reason}; the lines before it are imported, those behind it are not: correct it \
                 and import again, or leave such lines out with --skip-bad"
            );
        }
        self.summary.skipped += 1;
        // Only the first ones are told of. The summary counts all.
        if self.summary.skipped > TOLD {
            return Ok(());
        }
        if self.bad == Bad::Left {
            self.left.push(format!("{place}: {reason}"));
        } else {
            let _nowhere_to_say_it = writeln!(io::stderr(), "{place} is skipped: {reason}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    /// Equal lines without an end. Counts what is read.
    struct Lines {
        line: Vec<u8>,
        read: Arc<AtomicUsize>,
    }

    impl Read for Lines {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let from = self.read.load(Ordering::Relaxed) % self.line.len();
            let read = (&self.line[from..]).read(into)?;
            self.read.fetch_add(read, Ordering::Relaxed);
            Ok(read)
        }
    }

    /// Bytes that are read while nobody asks for them.
    fn read_ahead(length: usize, at_least: usize) -> usize {
        let read = Arc::new(AtomicUsize::new(0));
        let line = [vec![b' '; length - 1], vec![b'\n']].concat();
        let _batches = batches_of(BufReader::new(Lines { line, read: read.clone() }));
        let begun = Instant::now();
        while read.load(Ordering::Relaxed) < at_least && begun.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(10));
        }
        // What is read beyond is read by now.
        thread::sleep(Duration::from_millis(100));
        read.load(Ordering::Relaxed)
    }

    #[test]
    fn two_batches_are_read_ahead_and_no_more() {
        const BUFFER: usize = 8 << 10;
        let short = 100;
        let ahead = 2 * BATCH * short;
        let read = read_ahead(short, ahead);
        assert!((ahead..=ahead + BUFFER).contains(&read), "{read} bytes");
        // Few long lines are as many bytes.
        let long = 1 << 20;
        let ahead = 2 * usize::try_from(BATCH_BYTES).unwrap();
        let read = read_ahead(long, ahead);
        assert!((ahead..=ahead + BUFFER).contains(&read), "{read} bytes");
    }
}
