//! In which form an answer is asked for: as a poem, in one sentence, briefly, step by step.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::lexicon::{class, lexicon};
use crate::prompt::question;
use crate::scan::{Piece, text};

/// Forms of several words.
const YES_OR_NO: &str = "yes or no";
const STEP_BY_STEP: &str = "step by step";

/// Words that ask for a form, a row for each. What most answers have says nothing: a list, an example, a message.
const FORMS: [&[&str]; 29] = [
    &["poem", "poems", "verse", "verses"],
    &["haiku", "haikus"],
    &["limerick", "limericks"],
    &["sonnet", "sonnets"],
    &["rap"],
    &["song", "songs", "lyrics"],
    &["story", "stories", "tale"],
    &["essay", "essays"],
    &["tweet", "tweets"],
    &["article", "articles", "blog"],
    &["speech", "speeches"],
    &["joke", "jokes"],
    &["riddle", "riddles"],
    &["quiz", "quizzes"],
    &["paragraph", "paragraphs"],
    &["sentence", "sentences"],
    &["table", "tables"],
    &["csv"],
    &["json"],
    &["xml"],
    &["yaml"],
    &["diagram", "diagrams", "flowchart"],
    &["analogy", "analogies", "metaphor", "metaphors"],
    &["dialogue", "dialog", "conversation"],
    &["slogan", "slogans"],
    &["brief", "briefly", "short", "concise", "concisely", "succinct", "succinctly"],
    &["detail", "detailed", "depth", "thorough", "thoroughly"],
    &[YES_OR_NO],
    &[STEP_BY_STEP],
];

/// The rows by word, one bit each.
static ROWS: LazyLock<FxHashMap<&str, u32>> = LazyLock::new(|| {
    let rows = FORMS.iter().enumerate();
    rows.flat_map(|(at, row)| row.iter().map(move |word| (*word, 1 << at))).collect()
});

/// What stands before a text that is there already.
const GIVEN: [&str; 11] =
    ["the", "this", "that", "these", "those", "my", "our", "your", "his", "her", "their"];

/// The form that a prompt asks for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// A sentence of it begins with a verb that asks for something.
    pub(crate) requests: bool,
    /// One bit a row of [`FORMS`].
    forms: u32,
}

impl Form {
    pub(crate) fn read(pieces: &[Piece]) -> Self {
        let text = |at: usize| text(pieces, at);
        let given = |at: usize| (at.saturating_sub(2)..at).any(|before| GIVEN.contains(&text(before)));
        let how = |piece: &Piece| question::named(&piece.text) == Some(question::HOW);
        let form = |at: usize| match (text(at), text(at + 1), text(at + 2)) {
            ("yes", "or", "no") => YES_OR_NO,
            // How something is done is told step by step anyhow.
            ("step", "by", "step") if !pieces.iter().any(how) => STEP_BY_STEP,
            (word, ..) => word,
        };
        let row = |at: usize| ROWS.get(form(at)).copied().filter(|_| !given(at));
        let forms = (0..pieces.len()).filter_map(row).fold(0, |forms, row| forms | row);
        let requests = pieces.chunk_by(|a, b| a.sentence == b.sentence).any(|sentence| {
            let courtesy = |piece: &&Piece| {
                lexicon().class(&piece.text) & class::NOISE != 0
                    || matches!(piece.text.as_str(), "can" | "could" | "would" | "will" | "you")
            };
            let verb = sentence.iter().find(|piece| !courtesy(piece));
            verb.is_some_and(|verb| lexicon().class(&verb.text) & class::COMMAND != 0)
        });
        Self { requests, forms }
    }

    /// Whether an answer in the form of one is none to the other. What a question has of a form is often its subject.
    pub(crate) fn differs(self, other: Self) -> bool {
        (self.requests || other.requests) && self.forms != other.forms
    }
}
