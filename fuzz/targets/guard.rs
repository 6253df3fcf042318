//! Two prompts, parted by a byte that is no text. The verdict is the same in either order, and the same prompt always passes.
#![no_main]

use deja_guard::{Prompt, Strictness, features, judge};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(at) = input.iter().position(|byte| *byte == 0xff) else { return };
    let (one, other) = (String::from_utf8_lossy(&input[..at]), String::from_utf8_lossy(&input[at + 1..]));
    let (one, other) = (Prompt::read(&one), Prompt::read(&other));
    for strictness in [Strictness::Standard, Strictness::Strict] {
        let verdict = judge(&one, &other, 0.9, 0.85, strictness);
        let turned = judge(&other, &one, 0.9, 0.85, strictness);
        assert_eq!((verdict.refused, verdict.score), (turned.refused, turned.score));
        assert!(judge(&one, &one, 1.0, 0.95, strictness).refused.is_none());
    }
    assert!(features(&one, &other, 0.9).iter().all(|(_, value)| value.is_finite()));
});
