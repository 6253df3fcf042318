//! Texts that the tokenizer cannot tell apart: their vectors are equal, so the guard has to.

use std::collections::HashMap;

use deja_embed::Model;
use deja_guard::{Prompt, Strictness, judge};

/// The token of a word that the tokenizer cannot spell.
const UNKNOWN: u32 = 100;

#[test]
fn characters_with_one_token_for_all_are_told_apart_by_the_guard() {
    let session = Model::builtin().unwrap().session();
    let mut met: HashMap<Vec<u32>, char> = HashMap::new();
    let mut told = 0;
    // Each character of the planes that have some, at an odd step in those of seldom ones.
    let all = ('\u{80}'..='\u{33ff}').chain(('\u{3400}'..='\u{2ffff}').step_by(17));
    for c in all {
        for (before, after) in [("What is the meaning of ", " in a text?"), ("Please cancel", " it")] {
            let text = |c: char| format!("{before}{c}{after}");
            let ids = session.tokenize(&text(c)).unwrap().unwrap();
            if !ids.contains(&UNKNOWN) {
                continue;
            }
            let Some(other) = met.insert(ids, c) else { continue };
            let (asked, stored) = (Prompt::read(&text(c)), Prompt::read(&text(other)));
            if asked.same_text(&stored) {
                continue;
            }
            let verdict = judge(&asked, &stored, 1.0, 1.0, Strictness::Standard);
            assert!(verdict.refused.is_some(), "{c:?} ({:x}) and {other:?} ({:x})", c as u32, other as u32);
            told += 1;
        }
    }
    assert!(told > 5_000, "{told} pairs");
}
