//! A line of an export that is read is written, read and written again as the same line.
#![no_main]

use deja_core::admin::transfer::line::{parse, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let Ok(record) = parse(line) else { return };
    let mut written = Vec::new();
    write(&record, &mut written).expect("memory takes it");
    let mut again = Vec::new();
    let record = parse(&written).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&written)));
    write(&record, &mut again).expect("memory takes it");
    assert_eq!(written, again);
});
