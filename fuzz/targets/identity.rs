//! The first byte chooses endpoint and settings, the rest is a request's body. What makes two requests the same does not depend
//! on the blanks around it, and text is kept only of what is matched by meaning or shown to people.
#![no_main]

use deja_wire::{Asked, Endpoint, Mode, Options, identify};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else { return };
    let endpoint = match choice % 8 {
        0 | 1 => Endpoint::Chat,
        2 => Endpoint::Responses,
        3 => Endpoint::Messages,
        4 => Endpoint::Gemini { stream: choice & 8 != 0 },
        5 => Endpoint::CountTokens,
        6 => Endpoint::Embeddings,
        _ => Endpoint::Completions,
    };
    let options = Options {
        share_end_users: choice & 16 != 0,
        semantic_history: choice & 32 != 0,
        semantic_tools: choice & 64 != 0,
        semantic_json: choice & 128 != 0,
        responses_stateless: choice & 8 != 0,
        max_text_bytes: 4096,
    };
    let model = matches!(endpoint, Endpoint::Gemini { .. }).then_some("gemini-flash");
    let ask = |body| identify(&Asked { endpoint, model, body, headers: &[], query: None }, &options);
    let found = ask(body);
    let spaced = [b" \n".as_slice(), body, b"\t "].concat();
    // An error tells its line and column.
    assert_eq!(found.clone().ok(), ask(&spaced).ok());
    let Ok(identity) = found else { return };
    if identity.mode == Mode::Semantic {
        assert!(identity.text.len() <= options.max_text_bytes && identity.reasons.is_empty(), "{identity:?}");
        // A number may be larger than a value holds.
        assert!(serde_json::from_slice::<&RawValue>(body).is_ok());
    }
});
