//! What is left of a stream without its tokens does not depend on how it was cut into chunks, and is part of what came.
#![no_main]

use deja_wire::UsageFilter;
use libfuzzer_sys::fuzz_target;

fn filtered<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut filter = UsageFilter::default();
    let mut sent = Vec::new();
    for chunk in chunks {
        sent.extend_from_slice(&filter.push(chunk));
    }
    sent.extend_from_slice(&filter.end());
    sent
}

fuzz_target!(|input: &[u8]| {
    let Some((size, stream)) = input.split_first() else { return };
    // A long event is passed on before it is whole, and then it is not the one with the tokens: that depends on the chunks.
    if stream.len() > 16 * 1024 {
        return;
    }
    let whole = filtered(std::iter::once(stream));
    assert_eq!(whole, filtered(stream.chunks(usize::from(*size).max(1))));
    assert!(whole.len() <= stream.len());
});
