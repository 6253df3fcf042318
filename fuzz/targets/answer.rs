//! The first byte chooses the format and whether the rest came as a stream. An answer that is recorded and renderable says the
//! same when it is given again, plain and streamed.
#![no_main]

use bytes::Bytes;
use deja_wire::{NewValues, Rendering, Wire, record, render, so_far};
use libfuzzer_sys::fuzz_target;

const FRESH: NewValues<'static> = NewValues {
    seed: [7; 16],
    created: 1_800_000_000,
    input_tokens: 7,
    output_tokens: 3,
    zero_usage: false,
    keeps_id: false,
    labelled: None,
};

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else { return };
    let wire = [Wire::Chat, Wire::Responses, Wire::Messages, Wire::Gemini][usize::from(choice % 4)];
    let body = Bytes::copy_from_slice(body);
    let streamed = choice & 4 != 0;
    let _partial = so_far(wire, streamed, &body);
    let Ok(recorded) = record(wire, streamed, &body) else { return };
    if !recorded.renderable {
        return;
    }
    for stream in [false, true] {
        let rendering = Rendering { stream, usage: true };
        let Ok(given) = render(wire, &recorded.body, &rendering, &FRESH) else { continue };
        let again = record(wire, stream, &given);
        let again = again.unwrap_or_else(|why| panic!("{why:?}: {}", String::from_utf8_lossy(&given)));
        let (one, other) = (&recorded.completion, &again.completion);
        assert_eq!((&one.text, one.finish), (&other.text, other.finish), "stream: {stream}");
    }
});
