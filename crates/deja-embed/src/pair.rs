//! The reader of pairs: one pass of the encoder over two prompts, and one number for whether one answer serves both.
//!
//! A cross-encoder (Nogueira and Cho 2019, arXiv 1901.04085): both texts stand in one input, `[CLS] one [SEP] other [SEP]`, so each
//! word is read beside those of the other text. It has the tables and the first layer of the built-in model, five layers of its own
//! and a head. `scripts/guard/reader.py` trained them (docs/adr/0088-reader.md).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;

use deja_core::cache::ReadsPairs;

use crate::directory::LoadError;
use crate::encoder::{Encoder, Kernel, Scratch};
use crate::model::{Aligned, Model};
use crate::tokenizer::Tokens;

static WEIGHTS: &Aligned<[u8]> = &Aligned(*include_bytes!("../data/pair-reader.int8.bin"));

/// Reads pairs of prompts on the calling thread. It loads at the first pair, as most processes read none.
pub struct PairReader {
    loaded: OnceLock<Result<Loaded, LoadError>>,
    /// Working memory, kept between pairs: as many are read at once as there are cores, and the others wait.
    scratches: Vec<Mutex<Scratch>>,
    turn: AtomicUsize,
}

impl Default for PairReader {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        let scratches = std::iter::repeat_with(Mutex::default).take(cores).collect();
        Self { loaded: OnceLock::new(), scratches, turn: AtomicUsize::new(0) }
    }
}

impl PairReader {
    fn scratch(&self) -> Option<MutexGuard<'_, Scratch>> {
        let free = self.scratches.iter().find_map(|scratch| scratch.try_lock().ok());
        let wait = || {
            let turn = self.turn.fetch_add(1, Relaxed) % self.scratches.len().max(1);
            Some(self.scratches.get(turn)?.lock().unwrap_or_else(PoisonError::into_inner))
        };
        free.or_else(wait)
    }
}

struct Loaded {
    model: Model,
    encoder: Encoder,
}

impl Loaded {
    fn new() -> Result<Self, LoadError> {
        let model = Model::builtin()?;
        let image = model
            .with_layers(&WEIGHTS.0)
            .map_err(|problem| LoadError::new("built-in weights of the reader of pairs", problem))?;
        Ok(Self { model, encoder: Encoder::new(Arc::new(image), Kernel::best()) })
    }
}

impl ReadsPairs for PairReader {
    fn same(&self, one: &str, other: &str) -> Option<f32> {
        // Weights in the binary load: a test reads with them. If they did not, nothing would pass.
        let Ok(Loaded { model, encoder }) = self.loaded.get_or_init(Loaded::new) else {
            return Some(f32::NEG_INFINITY);
        };
        let ids = |text| match model.ids(text) {
            Ok(Tokens::Ids(ids)) => Some(ids),
            Ok(Tokens::TooLong { .. }) | Err(_) => None,
        };
        let (one, other) = (ids(one)?, ids(other)?);
        // In either order the same number comes out.
        let (first, second) = if one <= other { (one, other) } else { (other, one) };
        let pair = [&first[..], second.get(1..)?].concat();
        encoder.score(&pair, &mut *self.scratch()?)
    }
}
