//! The port's implementation: a model behind a pool of threads.

use std::path::Path;

use async_trait::async_trait;
use deja_core::embedding::{EmbedError, Embedded, Embedder, EmbedderId};
use deja_core::id::ProjectId;

use crate::directory::LoadError;
use crate::model::Model;
use crate::pool::{Pool, PoolConfig};

/// Embeds in this process, on its own threads.
pub struct LocalEmbedder {
    id: EmbedderId,
    dimension: usize,
    window: u32,
    pool: Pool,
}

impl LocalEmbedder {
    /// The built-in all-MiniLM-L6-v2.
    pub fn builtin(config: PoolConfig) -> Result<Self, LoadError> {
        Self::new(&Model::builtin()?, config)
    }

    /// A sentence-transformers model; see [`Model::from_directory`] for what is supported.
    pub fn from_directory(directory: impl AsRef<Path>, config: PoolConfig) -> Result<Self, LoadError> {
        Self::new(&Model::from_directory(directory)?, config)
    }

    /// Starts the threads for `model`.
    pub fn new(model: &Model, config: PoolConfig) -> Result<Self, LoadError> {
        let shared = model.clone();
        let make = move || {
            let mut session = shared.session();
            move |text: &str| session.embed(text)
        };
        let pool = Pool::start(config, make).map_err(|error| LoadError::new("embedding threads", error))?;
        let window = u32::try_from(model.window()).unwrap_or(u32::MAX);
        Ok(Self { id: model.id().clone(), dimension: model.dimension(), window, pool })
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn window(&self) -> u32 {
        self.window
    }

    async fn embed(&self, text: &str) -> Result<Embedded, EmbedError> {
        self.pool.run(None, text).await
    }

    async fn embed_for(&self, project: ProjectId, text: &str) -> Result<Embedded, EmbedError> {
        self.pool.run(Some(project), text).await
    }
}
