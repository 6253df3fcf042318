//! One test binary: the encoder against f32 reference vectors, kernels, pool, directories, arbitrary text, what the tokenizer cannot spell.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, its helpers too")]

mod directory;
mod golden;
mod pair;
mod pool;
mod text;
mod unread;

use deja_core::embedding::{Embedded, Embedding};
use deja_embed::Session;

/// The vector of a text that must fit the window.
fn vector(session: &mut Session, text: &str) -> Embedding {
    match session.embed(text).unwrap() {
        Embedded::Vector { embedding, .. } => embedding,
        Embedded::TooLong { tokens, window } => panic!("{tokens} tokens do not fit {window}"),
    }
}

/// Cosine in f64.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
