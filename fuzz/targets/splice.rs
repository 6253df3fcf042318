//! A body that is asked for its tokens has `include_usage`, and all other members as they were.
#![no_main]

use deja_wire::ask_for_usage;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    let Ok(Some(edited)) = ask_for_usage(body) else { return };
    assert_eq!(ask_for_usage(&edited), Ok(None), "{}", String::from_utf8_lossy(&edited));
    // A number may be larger than a value holds.
    let Ok(Value::Object(mut before)) = serde_json::from_slice(body) else { return };
    let Ok(Value::Object(mut after)) = serde_json::from_slice(&edited) else {
        panic!("{} became {}", String::from_utf8_lossy(body), String::from_utf8_lossy(&edited));
    };
    before.remove("stream_options");
    after.remove("stream_options");
    assert_eq!(before, after);
});
