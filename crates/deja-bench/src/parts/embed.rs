//! The yardstick of hits by meaning and of misses: the embedder that deja has built in, and nothing around it.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use deja_core::embedding::{EmbedError, Embedded, Embedder as _};
use deja_embed::{LocalEmbedder, PoolConfig};
use futures::{StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};

use crate::process;

/// What to embed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) prompts: Vec<String>,
    /// Embedded first and not counted.
    pub(crate) warm_up: Vec<String>,
    /// Prompts asked for at the same time.
    pub(crate) concurrency: usize,
}

/// What it cost.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) per_second: f64,
    /// Processor time for each prompt, in microseconds.
    pub(crate) cpu_us: f64,
    /// Mean tokens of a prompt, special ones included.
    pub(crate) tokens: f64,
}

/// Embeds on the pool that deja has by default: a thread for each core.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(job: &Path) -> Result<()> {
    let job: Job = process::read_job(job)?;
    let embedder = LocalEmbedder::builtin(PoolConfig::default())?;
    embed(&embedder, &job.warm_up, job.concurrency).await?;
    let (cpu, started) = (process::own_cpu()?, Instant::now());
    let tokens = embed(&embedder, &job.prompts, job.concurrency).await?;
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), process::own_cpu()?.saturating_sub(cpu));
    let count = job.prompts.len() as f64;
    let outcome = Outcome {
        per_second: count / seconds,
        cpu_us: cpu.as_secs_f64() * 1e6 / count,
        tokens: tokens as f64 / count,
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

/// The tokens read.
async fn embed(embedder: &LocalEmbedder, prompts: &[String], concurrency: usize) -> Result<u64, EmbedError> {
    futures::stream::iter(prompts)
        .map(|prompt| embedder.embed(prompt))
        .buffer_unordered(concurrency.max(1))
        .try_fold(0, |sum, embedded| async move {
            match embedded {
                Embedded::Vector { tokens, .. } => Ok(sum + u64::from(tokens)),
                Embedded::TooLong { .. } => Err(EmbedError::Failed("a prompt is too long".to_owned())),
            }
        })
        .await
}
