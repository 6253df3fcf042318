//! Counts the tokens of a text before anybody is asked.
//!
//! OpenAI's vocabularies are public and compiled in (tiktoken-rs). Everyone else's count is an estimate from the
//! number of characters. Measured on one core: loading `o200k_base` takes 130 ms and 45 MB, `cl100k_base` 40 ms
//! and 24 MB; so each is loaded when a model first needs it, beside the request, whose count is an estimate then.

use std::sync::{Once, OnceLock};

use deja_core::provider::TokenCount;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

/// Texts of more bytes are estimated. A run of one letter takes 0.13 µs a byte to count, so that this is 10 ms at
/// most; and the vocabulary's regular expression overflows its stack on runs of blanks that are much longer.
pub const MAX_COUNTED_BYTES: usize = 64 * 1024;

/// What OpenAI's chat format adds to each message: 3 tokens and 1 for the role (OpenAI Cookbook, "How to count tokens
/// with tiktoken").
const MESSAGE_TOKENS: u64 = 4;
/// What OpenAI's chat format adds once, for the beginning of the reply.
const REPLY_TOKENS: u64 = 3;

/// Counts tokens. Holds nothing: the vocabularies are shared by the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenCounter;

impl TokenCounter {
    /// Loads the vocabulary of a model here and now: no count is an estimate because the vocabulary is not there yet.
    pub fn warm(model: &str) {
        if let Some(encoding) = encoding(model) {
            let vocabulary = encoding.vocabulary();
            vocabulary.loaded.get_or_init(vocabulary.load);
        }
    }
}

impl deja_core::provider::TokenCounter for TokenCounter {
    fn text(&self, model: &str, text: &str) -> TokenCount {
        let encoding = encoding(model).filter(|_| text.len() <= MAX_COUNTED_BYTES);
        match encoding.and_then(|encoding| Some((encoding, encoding.vocabulary().get()?))) {
            Some((encoding, vocabulary)) => {
                let tokens = vocabulary.count_ordinary(text) as u64;
                TokenCount { tokens, estimated: encoding == Encoding::Unpublished }
            }
            None => TokenCount { tokens: estimate(text), estimated: true },
        }
    }

    fn input(&self, model: &str, messages: &[TokenCount]) -> TokenCount {
        let texts: u64 = messages.iter().map(|message| message.tokens).sum();
        let chat =
            if encoding(model).is_some() { messages.len() as u64 * MESSAGE_TOKENS + REPLY_TOKENS } else { 0 };
        TokenCount { tokens: texts + chat, estimated: messages.iter().any(|message| message.estimated) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    O200k,
    Cl100k,
    /// OpenAI's models from GPT-6 on: no vocabulary is published, the last one is near.
    Unpublished,
}

impl Encoding {
    fn vocabulary(self) -> &'static Vocabulary {
        static O200K: Vocabulary = Vocabulary::new(o200k_base_singleton);
        static CL100K: Vocabulary = Vocabulary::new(cl100k_base_singleton);
        match self {
            Self::O200k | Self::Unpublished => &O200K,
            Self::Cl100k => &CL100K,
        }
    }
}

/// A vocabulary of the process.
struct Vocabulary {
    load: fn() -> &'static CoreBPE,
    loaded: OnceLock<&'static CoreBPE>,
    asked: Once,
}

impl Vocabulary {
    const fn new(load: fn() -> &'static CoreBPE) -> Self {
        Self { load, loaded: OnceLock::new(), asked: Once::new() }
    }

    /// The vocabulary; `None` while it loads, which the first who asks begins.
    fn get(&'static self) -> Option<&'static CoreBPE> {
        self.asked.call_once(|| {
            let load = || {
                self.loaded.get_or_init(self.load);
            };
            let loading = std::thread::Builder::new().name("vocabulary".to_owned()).spawn(load);
            if let Err(error) = loading {
                tracing::warn!(%error, "no thread to load a vocabulary: tokens are estimated until the next start");
            }
        });
        self.loaded.get().copied()
    }
}

/// The encoding of an OpenAI model, a routing prefix (`openai/`) or `ft:` aside; `None` for others.
fn encoding(model: &str) -> Option<Encoding> {
    let bare = model.rsplit_once('/').map_or(model, |(_, bare)| bare);
    let bare = bare.strip_prefix("ft:").unwrap_or(bare);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| bare.starts_with(prefix));
    // The order matters: `gpt-4o` before `gpt-4`.
    let o_series = starts(&["o1", "o3", "o4"]) && !bare[2..].starts_with(char::is_alphanumeric);
    let o200k = ["gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "codex-mini", "gpt-oss-"];
    if o_series || starts(&o200k) {
        Some(Encoding::O200k)
    } else if matches!(bare, "gpt-4" | "gpt-3.5") || starts(&["gpt-4-", "gpt-4:", "gpt-3.5-", "gpt-35-"]) {
        Some(Encoding::Cl100k)
    } else if crate::family::family(bare) == Some(crate::family::Family::OpenAi) {
        Some(Encoding::Unpublished)
    } else {
        None
    }
}

/// About 4 characters a token, 1.5 in Chinese, Japanese and Korean.
pub(crate) fn estimate(text: &str) -> u64 {
    let (mut dense, mut sparse) = (0u64, 0u64);
    for c in text.chars() {
        if is_cjk(c) { dense += 1 } else { sparse += 1 }
    }
    // dense / 1.5 + sparse / 4
    (dense * 8 + sparse * 3).div_ceil(12)
}

const fn is_cjk(c: char) -> bool {
    matches!(c as u32, 0x1100..=0x11ff | 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0xff00..=0xffef | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn nobody_waits_for_a_vocabulary() {
        static MAY_LOAD: Mutex<()> = Mutex::new(());
        static SLOW: Vocabulary = Vocabulary::new(|| {
            let _wait = MAY_LOAD.lock();
            cl100k_base_singleton()
        });
        let not_yet = MAY_LOAD.lock();
        assert!(SLOW.get().is_none() && SLOW.get().is_none());
        drop(not_yet);
        let deadline = Instant::now() + Duration::from_mins(1);
        while SLOW.get().is_none() {
            assert!(Instant::now() < deadline, "it is loaded in the background");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn encodings_follow_the_table() {
        for model in
            ["gpt-4o-mini", "gpt-5.6-sol", "o1", "o3-mini", "ft:gpt-4o:x", "openai/gpt-4o", "gpt-oss-20b"]
        {
            assert_eq!(encoding(model), Some(Encoding::O200k), "{model}");
        }
        for model in ["gpt-4", "gpt-4-0314", "gpt-4-turbo", "gpt-3.5-turbo-0125", "ft:gpt-3.5-turbo:a"] {
            assert_eq!(encoding(model), Some(Encoding::Cl100k), "{model}");
        }
        assert_eq!(encoding("gpt-6.2-sol"), Some(Encoding::Unpublished));
        for model in ["claude-haiku-4-5", "gemini-2.5-flash", "llama3.2", "o1ive", ""] {
            assert_eq!(encoding(model), None, "{model}");
        }
    }

    #[test]
    fn estimates_round_up() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("a"), 1);
        assert_eq!(estimate("abcde"), 2);
        assert_eq!(estimate("漢字漢"), 2);
    }
}
