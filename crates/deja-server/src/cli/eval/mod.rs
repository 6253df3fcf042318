//! `deja eval`: how often the cache would be right on labelled pairs of prompts, by threshold and guard.

mod chart;
mod measure;
mod pairs;
mod report;

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use deja_core::cache::ReadsPairs;
use deja_core::embedding::{Embedder, Embedding};
use deja_core::project::Guard;
use deja_embed::PairReader;
use deja_guard::{Prompt, Strictness};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use self::measure::Compared;
use self::pairs::Pair;
use self::report::{Report, Row, Taken, digits};
use super::args::EvalTask;
use super::print;
use crate::config::Config;
use crate::wiring;

/// How long a text may take. No client waits for it: a machine that is busy makes it late, not wrong.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) async fn run(task: EvalTask, config: &Config, out: &mut dyn Write) -> anyhow::Result<()> {
    let pairs = pairs::read(&task.pairs)?;
    let mut config = config.clone();
    config.embedder.timeout = config.embedder.timeout.max(PATIENCE);
    let embedder = wiring::embedder(&config).await?;
    let began = Instant::now();
    let vectors = embed(&pairs, &*embedder, config.embedder.threads).await?;
    let embed_ms = began.elapsed().as_secs_f64() * 1e3 / vectors.len().max(1) as f64;
    let reader = task.guards.contains(&Guard::Thorough).then(PairReader::default);
    let compared: Vec<Compared> = pairs.iter().map(|pair| compare(pair, &vectors, reader.as_ref())).collect();
    let taken =
        Taken { embedder: embedder.id().to_string(), embed_ms, judge_us: judge_us(&pairs, &compared) };
    let kinds: Option<Vec<String>> = task.by_kind.then(|| pairs.into_iter().map(|pair| pair.kind).collect());
    let report = Report::of(&compared, kinds.as_deref(), &task.thresholds, &task.guards, taken);
    if let Some(path) = &task.svg {
        let picture = chart::svg(&report.rankings, &task.thresholds);
        fs::write(path, picture).with_context(|| path.display().to_string())?;
    }
    if task.form.json {
        print::as_json(&report, out)?;
    } else {
        report.print(out)?;
    }
    precise(&report.rows, task.min_precision)
}

/// The vector of each text; `None` for one that is too long.
async fn embed<'a>(
    pairs: &'a [Pair],
    embedder: &dyn Embedder,
    at_once: usize,
) -> anyhow::Result<HashMap<&'a str, Option<Embedding>>> {
    let mut texts: Vec<&str> = pairs.iter().flat_map(|pair| [pair.a.as_str(), pair.b.as_str()]).collect();
    texts.sort_unstable();
    texts.dedup();
    let vectors = stream::iter(texts)
        .map(|text| async move { anyhow::Ok((text, embedder.embed(text).await?.vector().cloned())) });
    vectors.buffer_unordered(at_once.max(1)).try_collect().await
}

fn compare(pair: &Pair, vectors: &HashMap<&str, Option<Embedding>>, reader: Option<&PairReader>) -> Compared {
    let vector = |text: &str| vectors.get(text).and_then(Option::as_ref);
    let similarity = vector(&pair.a).zip(vector(&pair.b)).map(|(a, b)| a.similarity(b));
    let logit = reader.and_then(|reader| reader.same(&pair.a, &pair.b));
    Compared { a: Prompt::read(&pair.a), b: Prompt::read(&pair.b), similarity, logit, right: pair.label }
}

/// Microseconds that a candidate takes, as in the cache: its prompt is read anew for each judgement.
fn judge_us(pairs: &[Pair], compared: &[Compared]) -> f64 {
    let began = Instant::now();
    for (pair, compared) in pairs.iter().zip(compared) {
        let candidate = Prompt::read(&pair.b);
        black_box(deja_guard::judge(&compared.a, &candidate, 0.9, 0.85, Strictness::Standard));
    }
    began.elapsed().as_secs_f64() * 1e6 / pairs.len().max(1) as f64
}

/// Fails for the first row that does not reach the precision. A row that serves nothing does not reach it either.
fn precise(rows: &[Row], least: Option<f64>) -> anyhow::Result<()> {
    for row in rows {
        let told = match row.precision {
            None => "served no pair, so it does not reach --min-precision".to_owned(),
            some => format!("has precision {}, below --min-precision", print::percent(some)),
        };
        ensure!(
            least.is_none_or(|least| row.precision.is_some_and(|precision| precision >= least)),
            "threshold {} with guard {} {told}",
            digits(row.threshold),
            row.guard
        );
    }
    Ok(())
}
