//! How long a text a model reads, and how deja knows that it has read one to its end.
//!
//! A cut text has the vector of its beginning: two long prompts that begin alike would be one, a false hit at
//! similarity 1. Some servers refuse a text that is too long, some cut it, and some of these at another length than
//! their model's. Which of them a server is shows at the start, with two texts that differ only behind the window.

use deja_core::embedding::Embedding;
use deja_core::provider::{FailureClass, ProviderError};

use super::model::Reading;
use super::server::Server;

/// What tokenizers may add to a text.
const SPECIAL_TOKENS: usize = 8;

/// Vectors at least this near are of one text: the same one twice differs by a rounding error on some hardware.
const SAME: f32 = 0.9999;

/// The longest text in tokens that a model of OpenAI's or Google's reads, as published.
pub fn published_window(model: &str) -> Option<u32> {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    match name {
        "text-embedding-3-small" | "text-embedding-3-large" | "text-embedding-ada-002" => Some(8191),
        "gemini-embedding-001" => Some(2048),
        "gemini-embedding-2" | "gemini-embedding-2-preview" => Some(8192),
        _ => None,
    }
}

/// How deja knows that a text was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// The server refuses a text that is too long.
    Refusal,
    /// The server says how many tokens it read: from so many on, something may be missing.
    Count {
        /// The first number that proves nothing.
        limit: u32,
    },
    /// The server counts a text's tokens when it is asked to.
    Asking,
    /// None: only texts are sent that are short enough for any tokenizer.
    None,
}

/// The server's vectors for two texts that differ only behind the window are the same, and it does not say how much
/// it has read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts;

/// Whether `text` has no more than `tokens` tokens, whatever the tokenizer: each stands for a byte at least.
pub(super) fn surely_fits(text: &str, tokens: u32) -> bool {
    text.len() + SPECIAL_TOKENS <= tokens as usize
}

/// Whether an error may say that a text is too long. Servers have many words for that. They refuse a short text for other
/// reasons, so this is asked only about a text of more bytes than the window has tokens.
pub(super) fn refuses_length(error: &ProviderError) -> bool {
    matches!(error.class, FailureClass::ContextLength | FailureClass::InvalidRequest)
}

/// Finds the proof that `server` gives for a window of `window` tokens. It said that a `short` text has so many.
pub(super) async fn find_proof(server: &Server, window: u32, short: Option<u64>) -> Result<Proof, Cuts> {
    if let Some(count) = server.count("deja").await {
        return Ok(count.map_or_else(|error| unproven(&error), |_| Proof::Asking));
    }
    let mut readings = Vec::new();
    for text in beyond(window) {
        match server.read(&text).await {
            Ok(reading) => readings.push(reading),
            Err(error) if refuses_length(&error) => return Ok(Proof::Refusal),
            Err(error) => return Ok(unproven(&error)),
        }
    }
    let limit = readings.iter().filter_map(|reading| reading.tokens).min();
    // Who says as many of a short text counts nothing: some servers say 0 of every text.
    let limit = limit.filter(|limit| short.is_some_and(|short| short < *limit));
    let limit = limit.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX).min(window.saturating_add(1)));
    let [one, other] = readings.as_slice() else { return Ok(Proof::None) };
    match limit {
        // The texts differ in length. Equal counts are counts of what the cut left of them.
        Some(limit) if are_same(one, other) && one.tokens == other.tokens => Ok(Proof::Count { limit }),
        _ if are_same(one, other) => Err(Cuts),
        // The server reads beyond the window. How far is not known.
        Some(limit) => Ok(Proof::Count { limit }),
        None => Ok(Proof::None),
    }
}

fn unproven(error: &ProviderError) -> Proof {
    tracing::warn!(
        code = error.class.code(),
        "the embedding server did not show what it does with a text that is too long; only prompts with fewer bytes \
         than the window has tokens are embedded until the next start"
    );
    Proof::None
}

/// Two texts that begin alike with more words than the window has tokens, and differ behind that in words and length.
fn beyond(window: u32) -> [String; 2] {
    const WORDS: [&str; 8] = ["the", "time", "of", "day", "and", "a", "place", "in"];
    let window = window as usize;
    let alike = || WORDS.iter().cycle().take(window + 16).copied();
    let text = |word, times| alike().chain(std::iter::repeat_n(word, times)).collect::<Vec<_>>().join(" ");
    [text("river", window / 2 + 16), text("seven", window / 2 + 64)]
}

fn are_same(one: &Reading, other: &Reading) -> bool {
    match (Embedding::new(one.vector.clone()), Embedding::new(other.vector.clone())) {
        (Ok(one), Ok(other)) => one.similarity(&other).get() >= SAME,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_windows_are_known_by_the_exact_name() {
        assert_eq!(published_window("openai/text-embedding-3-small"), Some(8191));
        assert_eq!(published_window("models/gemini-embedding-001"), Some(2048));
        for model in ["nomic-embed-text", "text-embedding-4", "my-text-embedding-3-small", ""] {
            assert_eq!(published_window(model), None, "{model}");
        }
    }

    #[test]
    fn the_texts_of_the_probe_differ_only_beyond_the_window() {
        for window in [16, 512, 8191] {
            let texts = beyond(window);
            let words = texts.each_ref().map(|text| text.split(' ').collect::<Vec<_>>());
            let alike = words[0].iter().zip(&words[1]).take_while(|(one, other)| one == other).count();
            assert!(alike > window as usize, "{alike}");
            assert_ne!(words[0].len(), words[1].len());
        }
    }
}
