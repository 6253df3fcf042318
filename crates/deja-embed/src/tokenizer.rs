//! Text to token ids, by the model's own `tokenizer.json`.
//!
//! The work is bounded before it starts. Tokenising costs about 0.3 us a byte, so a megabyte would hold a
//! thread for a third of a second only to learn that it is too long.

use tokenizers::{PreTokenizerWrapper, Tokenizer as Inner};

/// Bytes per token of the window beyond which a text counts as too long unread.
///
/// Ordinary text has 4 to 5 bytes a token and the longest word of the vocabulary has 18. Only texts that are
/// mostly white space or words of more than 100 letters (one unknown token each) get there with few tokens.
/// Taking them for too long is safe: they are then matched by their exact text alone.
const MOST_BYTES_PER_TOKEN: usize = 128;

/// The outcome of tokenising.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// Ids, special tokens included.
    Ids(Vec<u32>),
    /// More than the window holds; `at_least` this many.
    TooLong { at_least: usize },
}

/// A tokenizer for one model.
pub(crate) struct Tokenizer {
    inner: Inner,
    window: usize,
    special: usize,
    splits_at_space: bool,
}

impl Tokenizer {
    /// Reads a `tokenizer.json` for a model with `vocabulary` words.
    pub(crate) fn new(json: &[u8], vocabulary: usize, window: usize) -> Result<Self, String> {
        let mut inner = Inner::from_bytes(json).map_err(|e| e.to_string())?;
        // Many files carry the settings of their training. A text is never cut here and never padded.
        inner.with_truncation(None).map_err(|e| e.to_string())?;
        inner.with_padding(None);
        let most = inner.get_vocab(true).into_values().max().unwrap_or(0) as usize;
        if most >= vocabulary {
            return Err(format!("token id {most} is outside the model's vocabulary of {vocabulary}"));
        }
        let special = inner.encode_fast("", true).map_err(|e| e.to_string())?.len();
        if special == 0 {
            return Err(
                "no special tokens are added; supported: tokenizers that add [CLS] and [SEP]".to_owned()
            );
        }
        let splits_at_space =
            matches!(inner.get_pre_tokenizer(), Some(PreTokenizerWrapper::BertPreTokenizer(_)));
        Ok(Self { inner, window, special, splits_at_space })
    }

    /// The ids of `text`.
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens, String> {
        // A token takes at least one byte, so short texts need no look ahead.
        if text.len() > self.window {
            if self.splits_at_space {
                let at_least = words(text) + self.special;
                if at_least > self.window {
                    return Ok(Tokens::TooLong { at_least });
                }
            }
            if text.len() > self.window * MOST_BYTES_PER_TOKEN {
                return Ok(Tokens::TooLong { at_least: self.window + 1 });
            }
        }
        let encoding = self.inner.encode_fast(text, true).map_err(|e| e.to_string())?;
        let ids = encoding.get_ids();
        Ok(if ids.len() > self.window {
            Tokens::TooLong { at_least: ids.len() }
        } else {
            Tokens::Ids(ids.to_vec())
        })
    }
}

/// A lower bound for the tokens of `text` under BERT's rules: runs between white space that hold an ASCII
/// letter or digit. Such a character is never dropped, and no token spans white space. Other control
/// characters do not count as white space here, because BERT's normaliser removes them.
fn words(text: &str) -> usize {
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    text.as_bytes().split(space).filter(|word| word.iter().any(u8::is_ascii_alphanumeric)).count()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn the_bound_counts_only_what_must_become_a_token() {
        assert_eq!(words(""), 0);
        assert_eq!(words(" \t\r\n "), 0);
        assert_eq!(words("one two\u{c}three \u{1} ... \u{200b}"), 2);
    }
}
