//! Goes through the pieces of a prompt and sorts them: quantities, question words, negations, function words, content words.

use super::{DEGREES, Governor, Prompt, Word, question, sentence_bit};
use crate::apart::Slot;
use crate::exchange::Said;
use crate::lexicon::{class, lexicon, stem};
use crate::order::joins;
use crate::places;
use crate::quantity;
use crate::scan::{Kind, Piece};

/// What the pieces before say of the next one.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Walk<'a> {
    pieces: &'a [Piece],
    at: usize,
    governor: Governor,
    /// The last function word, empty behind a content word.
    lead: String,
    negated: bool,
    /// A verb is next: behind "how do I", "should I", "I".
    acts: bool,
    /// The last sentence of which a word was read.
    begun: Option<u8>,
    /// What is coordinated may change places with its number. "The ratio of 3 cats and 5 dogs" says something by its order.
    moves: bool,
    all_noise: bool,
}

impl Prompt {
    pub(super) fn walk(&mut self, pieces: &[Piece]) {
        let mut walk = Walk {
            pieces,
            at: 0,
            governor: Governor::None,
            lead: String::new(),
            negated: false,
            acts: false,
            begun: None,
            moves: !pieces.iter().any(|piece| {
                matches!(piece.text.as_str(), "ratio" | "odds" | "proportion" | "respectively" | "exactly")
            }),
            all_noise: pieces.iter().all(|p| lexicon().class(&p.text) & class::NOISE != 0),
        };
        while let Some(piece) = pieces.get(walk.at) {
            if piece.broken {
                walk.governor = Governor::None;
            }
            if piece.broken && !piece.cell
                || matches!(piece.text.as_str(), "and" | "or" | "but" | "while" | "whereas")
            {
                self.said.push(Said::Break);
            }
            if self.quantity(&mut walk) {
                continue;
            }
            walk.at += 1;
            // Letters stuck to a number that is none of a unit: a name with it, as "2fa" and "12b". "5y+2" adds to it.
            let stuck = pieces.get(walk.at).filter(|next| next.glued && piece.kind == Kind::Number);
            let joined = stuck.map(|next| Piece {
                text: format!("{}{}", piece.text, next.text.trim_end_matches('+')),
                kind: Kind::Code,
                ..piece.clone()
            });
            walk.at += usize::from(joined.is_some());
            let piece = joined.as_ref().unwrap_or(piece);
            let class = lexicon().class(&piece.text);
            if self.marker(piece, class, &mut walk) {
                continue;
            }
            if class & class::CONTRAST != 0 {
                self.contrasts.push(stem(&piece.text));
            }
            if class & class::NOISE != 0 && !walk.all_noise && !piece.upper {
                continue;
            }
            let begins = walk.begun.replace(piece.sentence) != Some(piece.sentence);
            if class & class::NEGATION != 0 && self.negation(piece, class, &mut walk) {
                continue;
            }
            self.note(&piece.text, class);
            if let Some(next) = Governor::of(&piece.text) {
                walk.governor = next;
            } else if class & class::AUXILIARY != 0 {
                walk.governor = Governor::None;
            }
            if !(self.degree(piece, class, &walk) || self.function(piece, class, &mut walk)) {
                self.content(piece, class, begins, &mut walk);
            }
        }
    }

    /// Reads the quantities that begin here, if some do.
    fn quantity(&mut self, walk: &mut Walk) -> bool {
        let found = self.quantities.len();
        let used = quantity::read(walk.pieces, walk.at, &mut self.quantities);
        if used == 0 {
            self.quantities.truncate(found);
            return false;
        }
        if found < self.quantities.len() {
            // "Three cats and five dogs": the number is part of what is coordinated. "500 and 1000 euros" are two numbers.
            let coordinated = joins(&walk.lead) && matches!(self.said[..], [.., Said::Word(_), Said::Break]);
            if !(walk.moves && coordinated) {
                walk.lead.clear();
            }
            self.said.extend((found..self.quantities.len()).map(|at| Said::Number(at as u16)));
            places::note(&mut self.quantities, found, walk.pieces, walk.at..walk.at + used);
        }
        walk.at += used;
        true
    }

    /// Notes what a piece asks; whether it is a marker that says nothing else.
    fn marker(&mut self, piece: &Piece, class: u64, walk: &mut Walk) -> bool {
        let word = piece.text.as_str();
        if let Some(asked) = question::named(word) {
            self.ask(asked);
            if word.starts_with('@') {
                let modal = question::CAN | question::MUST | question::SHOULD;
                walk.acts = asked & (question::HOW | modal) != 0;
                self.measures.extend(word.split_once('.').map(|(_, unit)| unit.to_owned()));
                // "Can I", "should we": the phrase holds the subject.
                self.subjects += u16::from(asked & modal != 0);
                return true;
            }
        } else if self.question == 0 && walk.at == 1 && class & class::AUXILIARY != 0 {
            self.ask(question::YES);
        }
        false
    }

    /// Counts a negation; whether it is no word of quantity, too.
    fn negation(&mut self, piece: &Piece, class: u64, walk: &mut Walk) -> bool {
        // "Aren't there any ...?" asks what "Are there any ...?" asks.
        let asks = piece.contracted && walk.at == 2 && self.question == question::YES;
        if !(asks && asks_against(walk.pieces)) {
            self.negations += 1;
            walk.negated = true;
        }
        let negates = class & class::NONE == 0;
        if negates && piece.text == "without" {
            walk.governor = Governor::Without;
        }
        negates
    }

    /// Notes a word of degree, if it is one.
    fn degree(&mut self, piece: &Piece, class: u64, walk: &Walk) -> bool {
        let word = piece.text.as_str();
        let limit = match word {
            "under" | "below" => Some("less_than"),
            "over" | "above" => Some("more_than"),
            _ => None,
        };
        // "Over the last 10 years"
        let span = |p: &Piece| matches!(p.text.as_str(), "last" | "past" | "next" | "coming");
        let number = || {
            let mut next = walk.pieces[walk.at..].iter().take(3);
            !next.clone().take(2).any(span) && next.any(|p| p.kind == Kind::Number)
        };
        let degree = limit
            .filter(|_| number())
            .or_else(|| (class & class::LIMIT != 0 || DEGREES.contains(&word)).then_some(word));
        self.degrees.extend(degree.map(str::to_owned));
        degree.is_some()
    }

    /// Notes a function word, if it is one.
    fn function(&mut self, piece: &Piece, class: u64, walk: &mut Walk) -> bool {
        const QUANTIFIERS: u64 = class::ALL | class::SOME | class::NONE | class::ONLY | class::EXCEPT;
        let word = piece.text.as_str();
        // "Column A", "vitamin D": a letter that is a name is no article.
        let letter = piece.name && word.len() == 1;
        let named = piece.upper || letter || piece.kind == Kind::Code;
        if (class & class::FUNCTION == 0 || named) && class & (QUANTIFIERS | class::COORDINATOR) == 0 {
            return false;
        }
        if !matches!(word, "a" | "an" | "the") {
            walk.lead.clear();
            walk.lead.push_str(word);
        }
        self.function.push(word.to_owned());
        walk.acts = matches!(word, "i" | "we" | "you");
        true
    }

    fn ask(&mut self, question: u16) {
        if self.question == 0 || self.question == question::DO {
            self.question = question;
        }
        self.questions |= question;
    }

    fn note(&mut self, word: &str, class: u64) {
        const QUANTIFIERS: u64 = class::ALL
            | class::SOME
            | class::NONE
            | class::MOST
            | class::ONLY
            | class::EXCEPT
            | class::FIRST
            | class::LAST
            | class::AVERAGE;
        if word != "but" {
            self.quantifiers |= class & QUANTIFIERS;
        }
        if class & class::POSSESSIVE != 0 {
            self.possessives.push(word.to_owned());
        }
        self.subjects += u16::from(class & class::SUBJECT != 0);
        self.objects += u16::from(class & class::OBJECT != 0);
        self.unordered |= class & class::UNORDERED != 0;
        self.past |= class & class::PAST != 0;
        self.future |= class & class::FUTURE != 0;
        self.hypothetical |= matches!(word, "would" | "if" | "might" | "suppose" | "ever" | "imagine");
        self.coordinated |= matches!(word, "and" | "or" | "vs" | "versus" | "between" | "nor");
    }

    fn content(&mut self, piece: &Piece, class: u64, begins: bool, walk: &mut Walk) {
        let lexicon = lexicon();
        let negated = std::mem::take(&mut walk.negated) && self.negations > 0;
        let mut text = piece.text.clone();
        let mut negates = lexicon.negates(&stem(&text)).map(str::to_owned);
        if negated && let Some(base) = negates.take() {
            // "Not impossible" is "possible".
            text = base;
            self.negations -= 1;
        }
        let place = self.words.len() as u16 + self.function.len() as u16;
        let between = self.words.last().map_or(place, |word| place - word.place - 1);
        let between = &self.function[self.function.len() - usize::from(between)..];
        let unit = quantity::unit(&text).map(|(name, ..)| name);
        if let Some(name) = unit {
            // "In minutes" and "how many minutes" is what the answer is to be in, "in second gear" is not.
            let into = |word: &String| matches!(word.as_str(), "in" | "to" | "into");
            let counted = walk.at > 1 && walk.pieces[walk.at - 2].text == "@howmany";
            if counted || between.last().is_some_and(into) && text != "second" {
                self.measures.push(name.to_owned());
            }
            name.clone_into(&mut text);
        }
        // "A 100-word summary" is no word.
        let counted = matches!(self.said.last(), Some(Said::Number(_)));
        let article = between.last().is_some_and(|word| matches!(word.as_str(), "a" | "an"));
        self.said.push(Said::Word(self.words.len() as u16));
        self.words.push(Word {
            stem: stem(&text),
            class,
            weight: if piece.kind == Kind::Code { 1.15 } else { lexicon.weight(&text) },
            name: piece.name,
            code: piece.kind == Kind::Code,
            known: lexicon.knows(&text),
            asks: self.asking & sentence_bit(piece) != 0,
            sentence: piece.sentence,
            begins,
            single: article && !counted,
            governor: walk.governor,
            place,
            slot: match between.last() {
                _ if walk.acts => Some(Slot::Done),
                // "To" stands before verbs, too, and a name is none.
                Some(before) if before == "to" && piece.name => Some(Slot::Governed),
                _ => Slot::behind(between),
            },
            lead: std::mem::take(&mut walk.lead),
            negated,
            negates,
            text,
        });
        walk.acts = false;
    }
}

/// Whether a prompt that begins with a contracted negation asks: a subject follows ("can't I pay by card"), or it has a
/// question mark. "Don't mention it" asks nothing, with a mark or without; so does "Can't connect".
fn asks_against(pieces: &[Piece]) -> bool {
    let subject = pieces.get(2).is_some_and(|piece| {
        piece.name || lexicon().class(&piece.text) & (class::SUBJECT | class::POSSESSIVE) != 0 || {
            matches!(
                piece.text.as_str(),
                "you"
                    | "he"
                    | "she"
                    | "it"
                    | "they"
                    | "this"
                    | "that"
                    | "these"
                    | "those"
                    | "there"
                    | "the"
                    | "a"
                    | "an"
                    | "any"
                    | "some"
                    | "all"
                    | "every"
                    | "one"
                    | "someone"
                    | "anyone"
                    | "everyone"
            )
        }
    });
    subject
        || pieces[0].text != "do" && {
            let mut sentence = pieces.iter().take_while(|piece| piece.sentence == pieces[0].sentence);
            sentence.any(|piece| piece.asked)
        }
}
