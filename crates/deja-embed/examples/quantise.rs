//! Turns a sentence-transformers directory into the weight image that is compiled into the binary.
//!
//! `cargo run --release -p deja-embed --example quantise -- DIRECTORY ID OUTPUT`; scripts/model.py runs it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, id, output] = arguments.as_slice() else {
        return Err("usage: quantise DIRECTORY ID OUTPUT".into());
    };
    std::fs::write(output, deja_embed::convert(directory, id)?)?;
    Ok(())
}
