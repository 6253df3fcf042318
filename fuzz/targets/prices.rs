//! A table of prices from the network: it is read or refused, and what was read can be looked up.
#![no_main]

use deja_core::pricing::PriceTable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let Ok(table) = PriceTable::parse(file) else { return };
    assert!(!table.is_empty());
    let _refused = PriceTable::compiled_in().check_replacement(&table);
    for model in table.models() {
        let _price = table.find_model("openai", model);
    }
});
