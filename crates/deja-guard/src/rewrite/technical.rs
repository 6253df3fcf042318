//! Verbs of software that say the same of some things: one adds an index and creates it, and saves a file as what it converts it to.

use crate::lexicon::{class, lexicon};
use crate::scan::{Piece, text};

/// Brings such verbs into one.
pub(super) fn say_technical(pieces: &mut [Piece]) {
    create(pieces);
    convert(pieces);
}

/// "Add a column", "insert a column": it is created where it belongs.
fn create(pieces: &mut [Piece]) {
    /// The most words of what is created.
    const THING: usize = 4;
    for at in 0..pieces.len() {
        let verb = matches!(
            text(pieces, at),
            "add" | "insert" | "create" | "set" | "define" | "adding" | "creating" | "inserting"
        );
        let one = matches!(text(pieces, at + 1), "a" | "an" | "new" | "another");
        let thing = |at: &usize| lexicon().class(text(pieces, *at)) & class::PREPOSITION == 0;
        let mut words = (at + 2..at + 2 + THING).take_while(thing);
        if verb && one && words.any(|at| lexicon().class(text(pieces, at)) & class::CREATED != 0) {
            "create".clone_into(&mut pieces[at].text);
        }
    }
}

/// "Save a document as PDF" is "convert it to PDF".
fn convert(pieces: &mut [Piece]) {
    const FORMATS: [&str; 18] = [
        "pdf", "pdfs", "csv", "json", "xml", "html", "jpg", "jpeg", "png", "gif", "svg", "webp", "mp3",
        "mp4", "wav", "epub", "docx", "xlsx",
    ];
    /// How far behind the verb the format stands.
    const NEAR: usize = 8;
    let found = (0..pieces.len()).find_map(|at| {
        if !matches!(text(pieces, at), "save" | "export" | "turn" | "change" | "transform") {
            return None;
        }
        let to = (at + 2..at + NEAR).find(|to| matches!(text(pieces, *to), "as" | "to" | "into"))?;
        let format = to + 1 + usize::from(matches!(text(pieces, to + 1), "a" | "an"));
        FORMATS.contains(&text(pieces, format)).then_some((at, to))
    });
    if let Some((at, to)) = found {
        "convert".clone_into(&mut pieces[at].text);
        "to".clone_into(&mut pieces[to].text);
    }
}
