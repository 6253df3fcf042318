//! As many vectors as one likes that lie like those of prompts: embeddings of 10,000 prompts, and points around
//! them.
//!
//! Vectors of random direction would not do: none is near another, so a search has nothing to look at twice.

use std::time::Duration;

use anyhow::{Context as _, Result};
use deja_core::embedding::{Embedded, Embedder as _, EmbedderId, Embedding};
use deja_core::random::split_mix;
use deja_embed::{LocalEmbedder, PoolConfig};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::prompts;

/// Length of the step from an embedding to a point around it, at most: a cosine of 0.55 to 1.
const WIDEST: f32 = 1.5;
/// The step from an embedding to a probe: a cosine of 0.96.
const PROBE: f32 = 0.3;

pub(crate) struct Vectors {
    pub(crate) embedder: EmbedderId,
    centres: Vec<Embedding>,
}

impl Vectors {
    /// Embeds the prompts of all entries.
    pub(crate) async fn new() -> Result<Self> {
        // Nothing is measured meanwhile, so a busy machine may take its time.
        let patient = PoolConfig { deadline: Duration::from_mins(1), ..PoolConfig::default() };
        let embedder = LocalEmbedder::builtin(patient)?;
        let prompts: Vec<String> = (0..prompts::ENTRIES).map(prompts::entry).collect();
        let centres = futures::stream::iter(&prompts)
            .map(|prompt| embedder.embed(prompt))
            .buffered(64)
            .map(|embedded| match embedded? {
                Embedded::Vector { embedding, .. } => anyhow::Ok(embedding),
                Embedded::TooLong { .. } => anyhow::bail!("a prompt is too long"),
            })
            .try_collect()
            .await?;
        Ok(Self { embedder: embedder.id().clone(), centres })
    }

    /// The vector of entry `number`. The same in every process.
    pub(crate) fn entry(&self, number: usize) -> Result<Embedding> {
        let mut state = number as u64;
        let step = WIDEST * unit(split_mix(&mut state));
        self.around(number % self.centres.len(), step, &mut state)
    }

    /// Probe `number`, which is none of the entries.
    pub(crate) fn probe(&self, number: usize) -> Result<Embedding> {
        let mut state = !(number as u64);
        let centre = split_mix(&mut state) as usize % self.centres.len();
        self.around(centre, PROBE, &mut state)
    }

    fn around(&self, centre: usize, step: f32, state: &mut u64) -> Result<Embedding> {
        let centre = self.centres.get(centre).context("no centre")?.as_slice();
        // Uniform in a cube of this size: a step of about that length, in no particular direction.
        let size = step * (12.0 / centre.len() as f32).sqrt();
        let moved: Vec<f32> = centre.iter().map(|c| c + size * (unit(split_mix(state)) - 0.5)).collect();
        Ok(Embedding::new(moved)?)
    }
}

/// 0 to 1.
fn unit(random: u64) -> f32 {
    (random >> 40) as f32 / (1_u64 << 24) as f32
}
