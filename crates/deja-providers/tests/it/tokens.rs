//! Token counts that are known, and texts that must not take long.

use std::time::{Duration, Instant};

use deja_core::provider::TokenCounter as _;
use deja_providers::TokenCounter;
use deja_providers::tokens::MAX_COUNTED_BYTES;

/// Both vocabularies.
fn warm() {
    TokenCounter::warm("gpt-4o");
    TokenCounter::warm("gpt-4");
}

#[test]
fn known_counts() {
    warm();
    let count = |model, text| TokenCounter.text(model, text);
    for (model, text, tokens) in [
        ("gpt-4", "hello world", 2),
        ("gpt-4", "tiktoken is great!", 6),
        ("gpt-4", "antidisestablishmentarianism", 6),
        ("gpt-4", "2 + 2 = 4", 7),
        ("gpt-4o", "hello world", 2),
        ("gpt-4o", "tiktoken is great!", 6),
        ("gpt-4o", "2 + 2 = 4", 7),
        ("gpt-4o", "", 0),
    ] {
        let found = count(model, text);
        assert_eq!((found.tokens, found.estimated), (tokens, false), "{model} {text:?}");
    }
    assert_eq!(count("gpt-6.2-sol", "hello world").tokens, 2);
    assert!(count("gpt-6.2-sol", "hello world").estimated);
    let claude = count("claude-opus-5", "hello world");
    assert_eq!((claude.tokens, claude.estimated), (3, true));
    // A special token of the vocabulary is plain text in a prompt.
    assert!(count("gpt-4o", "<|endoftext|>").tokens > 1);
}

#[test]
fn a_prompt_has_the_tokens_of_the_chat_around_it() {
    warm();
    let input = |model, texts: &[&str]| {
        let counts: Vec<_> = texts.iter().map(|text| TokenCounter.text(model, text)).collect();
        TokenCounter.input(model, &counts).tokens
    };
    assert_eq!(input("gpt-4o", &["hello world"]), 2 + 4 + 3);
    assert_eq!(input("gpt-4o", &["tiktoken is great!", "hello world"]), (6 + 4) + (2 + 4) + 3);
    assert_eq!(input("gemini-2.5-flash", &["hello world"]), 3);
    assert_eq!(input("gemini-2.5-flash", &["hello world", "hello world"]), 6);
}

#[test]
fn no_text_takes_long() {
    warm();
    let units = "aA !1é漢ǅﷺ/\n\0'\u{301}\u{200b}\u{3000}".chars().map(String::from);
    let several = [
        "aB", "👩‍👩‍👧", " \n", "\r\n", "!\n", "  a", "A's", "A漢", "ǅʰ漢", "A\u{301}", "qzxjvkwq",
        "The quick fox. ",
    ];
    for unit in units.chain(several.map(str::to_owned)) {
        for bytes in [MAX_COUNTED_BYTES - 64, MAX_COUNTED_BYTES + 64, 1 << 20] {
            let text = unit.repeat(bytes / unit.len());
            for model in ["gpt-4o", "gpt-4", "claude-opus-5"] {
                let start = Instant::now();
                let count = TokenCounter.text(model, &text);
                // Generous: this build is not optimised and the machine is shared.
                assert!(start.elapsed() < Duration::from_secs(2), "{unit:?} {bytes} {:?}", start.elapsed());
                assert!(count.tokens > 0);
                assert_eq!(count.estimated, text.len() > MAX_COUNTED_BYTES || model.starts_with("claude"));
            }
        }
    }
}
