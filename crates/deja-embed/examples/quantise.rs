//! Turns a model directory into the weights that are compiled into the binary.
//!
//! `cargo run --release -p deja-embed --example quantise -- DIRECTORY ID OUTPUT`; scripts/model.py runs it. With `--reader` it is
//! the directory that scripts/guard/reader.py writes.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, id, output, convert) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        [directory, id, output] => (directory, id, output, deja_embed::convert(directory, id)),
        [directory, id, output, "--reader"] => {
            (directory, id, output, deja_embed::convert_reader(directory, id))
        }
        _ => return Err("usage: quantise DIRECTORY ID OUTPUT [--reader]".into()),
    };
    let weights = convert.map_err(|error| format!("{directory}, {id}: {error}"))?;
    std::fs::write(output, weights)?;
    Ok(())
}
