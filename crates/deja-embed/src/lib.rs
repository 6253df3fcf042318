//! Turns prompts into vectors inside the process: tokenizer, int8 encoder and a bounded pool of threads.
//!
//! The built-in model is all-MiniLM-L6-v2, compiled into the binary. Another BERT-type model can be loaded
//! from a sentence-transformers directory. Nothing here touches the network.

mod directory;
mod embedder;
mod encoder;
mod image;
mod model;
mod pair;
mod pool;
mod quantise;
mod tokenizer;

pub use directory::LoadError;
pub use embedder::LocalEmbedder;
pub use encoder::Kernel;
pub use model::{Model, Session, convert, convert_reader};
pub use pair::PairReader;
pub use pool::PoolConfig;
