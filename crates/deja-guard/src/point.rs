//! What small words set apart where all else is the same: whose it is, how many or which, another one, a part of it, now or later.

use crate::align::{Alignment, Link, light, opposite};
use crate::lexicon::{class, lexicon, stem};
use crate::prompt::{Prompt, Word, question};
use crate::rules::LONG;
use crate::scan::{Piece, text, text_before};

/// Whose it is that a question is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    /// "What is my deductible?"
    Mine,
    /// "What is a deductible?"
    Any,
    /// "What is your name?"
    Yours,
    /// "How old am I?"
    Me,
    /// "How old are you?"
    You,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Causal {
    Cause,
    Effect,
}

/// When something is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    Now,
    Later,
}

#[derive(Clone, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Point {
    whose: Option<Whose>,
    /// What is counted, and the next word: "how many planets", "how many world cups".
    counted: Option<[String; 2]>,
    /// The one superlative: "the deepest lake".
    most: Option<String>,
    /// What is to be named: "which planets".
    named: Option<String>,
    /// "Another joke"
    again: bool,
    /// "Part of my order"
    part: bool,
    moment: Option<Moment>,
    /// Whether causes or effects are asked for.
    causal: Option<Causal>,
    /// What there is one of: "for one app".
    single: Option<String>,
    /// The measure that is asked for ("how fast"), empty behind a plain "how".
    measure: Option<&'static str>,
    /// An example is asked for.
    example: bool,
    /// A definition is asked for: "what is irony".
    defines: bool,
    /// What something means is asked: "what does EOF mean".
    means: bool,
    /// How to mend it is asked: "how do I fix EOF".
    mends: bool,
    /// "The average rate"
    usual: bool,
    /// What stage something is said to have reached: "shipped", "delivered".
    stage: Option<usize>,
}

impl Point {
    /// "How old"
    pub(crate) fn asks_age(&self) -> bool {
        self.measure == Some("old")
    }

    pub(crate) fn read(pieces: &[Piece]) -> Self {
        let text = |at: usize| text(pieces, at);
        let all = || 0..pieces.len();
        let one = |word: &str| {
            let mut found = all().filter(|at| text(*at) == word);
            found.next().filter(|_| found.next().is_none())
        };
        let says = |words: &[&str]| all().any(|at| words.contains(&text(at)));
        let plural = |at: usize| text(at).len() > 3 && text(at).ends_with('s');
        let many = one("many").filter(|at| text(at.wrapping_sub(1)) == "how");
        let counted = many.map(|at| [stem(text(at + 1)), stem(text(at + 2))]);
        let named = all().find_map(|at| {
            let behind = match text(at) {
                "which" | "what" => at + 1,
                "list" | "name" => {
                    (at + 1..pieces.len()).find(|at| !matches!(text(*at), "all" | "the" | "of"))?
                }
                _ => return None,
            };
            plural(behind).then(|| stem(text(behind)))
        });
        Self {
            whose: whose(pieces),
            counted,
            most: most(pieces),
            named,
            again: all().any(|at| {
                matches!(text(at), "another" | "different" | "again")
                    || text(at) == "more" && matches!(text(at.wrapping_sub(1)), "one" | "1")
            }),
            part: all().any(|at| part(pieces, at)),
            moment: moment(pieces),
            causal: causal(pieces),
            single: all().find(|at| single(pieces, *at)).map(|at| stem(text(at + 1))),
            measure: one("how")
                .or_else(|| one("where"))
                .and_then(|at| measure(text(at), text(at + 1), text(at + 2))),
            stage: stage(pieces),
            means: says(&["mean", "means", "meaning"]),
            mends: says(&["fix", "solve", "resolve", "repair", "remove", "clear", "prevent", "avoid"]),
            usual: says(&["usual", "average", "typical", "normal", "standard", "common"]),
            example: all().any(|at| matches!(text(at), "example" | "examples")),
            defines: match (text(0), text(1)) {
                ("define" | "definition" | "meaning", _) => true,
                ("what", "is" | "are") => text(2) != "the" && text(2) != "some",
                _ => pieces
                    .iter()
                    .any(|piece| matches!(piece.text.as_str(), "definition" | "mean" | "meaning")),
            },
        }
    }
}

/// The superlative of a prompt that has one alone. "Most" and "least" are said of too much.
fn most(pieces: &[Piece]) -> Option<String> {
    let superlative = |word: &&str| {
        lexicon().class(word) & class::SUPERLATIVE != 0
            || word.len() > 5 && word.ends_with("est") && lexicon().knows(word)
    };
    let mut found = pieces.iter().map(|piece| piece.text.as_str()).filter(superlative);
    let one = found.next().filter(|_| found.next().is_none())?;
    (one.ends_with("est") && one != "least").then(|| one.to_owned())
}

/// Whose the subject of a question is that is about what or where something is.
fn whose(pieces: &[Piece]) -> Option<Whose> {
    let text = |at: usize| text(pieces, at);
    let verb = match (text(0), text(1)) {
        ("what" | "where" | "when" | "who", _) => 1,
        ("is" | "are" | "was" | "were", _) => 0,
        ("how", "much" | "long" | "high" | "big" | "old") => 2,
        _ => return None,
    };
    if lexicon().class(text(verb)) & class::AUXILIARY == 0 {
        return None;
    }
    match text(verb + 1) {
        "my" | "our" => Some(Whose::Mine),
        "a" | "an" if verb > 0 => Some(Whose::Any),
        "your" => Some(Whose::Yours),
        // "What are rights?"
        _ if pieces.len() == verb + 2 && text(0) == "what" => Some(Whose::Any),
        "i" if pieces.len() == verb + 2 => Some(Whose::Me),
        "you" if pieces.len() == verb + 2 => Some(Whose::You),
        _ => None,
    }
}

/// "Cancel part of my order", but not "Alaska is part of the US".
fn part(pieces: &[Piece], at: usize) -> bool {
    const SMALL: u64 = class::FUNCTION | class::AUXILIARY | class::POSSESSIVE;
    let text = |at: usize| text(pieces, at);
    if !matches!(text(at), "part" | "parts" | "portion") || text(at + 1) != "of" || at == 0 {
        return false;
    }
    let verb = lexicon().class(text(at - 1)) & SMALL == 0 || text(at - 1) == "for";
    let is = (0..at).rev().find(|at| lexicon().class(text(*at)) & class::PASSIVE != 0);
    let acts = is.is_none_or(|is| (is..at).any(|at| matches!(text(at), "to" | "i" | "we" | "you" | "for")));
    verb && acts
}

/// Causes or effects, if a prompt speaks of one of them alone.
fn causal(pieces: &[Piece]) -> Option<Causal> {
    let (mut cause, mut effect) = (false, false);
    for piece in pieces {
        match piece.text.as_str() {
            "cause" | "causes" | "caused" | "reason" | "reasons" | "why" | "origin" | "origins"
            | "triggers" => {
                cause = true;
            }
            "result" | "results" | "effect" | "effects" | "consequence" | "consequences" | "outcome"
            | "outcomes" | "impact" | "aftermath" => effect = true,
            _ => {}
        }
    }
    // "What happens if it rains", "what does rain do to a roof"
    let what = pieces.iter().position(|piece| piece.text == "what").unwrap_or(pieces.len());
    let does = matches!(text(pieces, what + 1), "do" | "does" | "did");
    let happens = |at: usize| matches!(text(pieces, at), "happens" | "happen");
    effect |= (what + 1..what + 4).any(happens)
        || does
            && (what + 2..pieces.len()).any(|at| text(pieces, at) == "do" && text(pieces, at + 1) == "to");
    (cause != effect).then_some(if cause { Causal::Cause } else { Causal::Effect })
}

/// Whether the word at `at` says that there is one of the next: no "how does one do it", no "that one".
fn single(pieces: &[Piece], at: usize) -> bool {
    const BEFORE: [&str; 8] = ["the", "no", "this", "that", "which", "any", "every", "each"];
    let before = text_before(pieces, at);
    matches!(text(pieces, at), "one" | "single")
        && !BEFORE.contains(&before)
        && lexicon().class(before) & class::AUXILIARY == 0
        && text(pieces, at + 1) != "of"
}

fn moment(pieces: &[Piece]) -> Option<Moment> {
    let text = |at: usize| text(pieces, at);
    let now = |at: usize| match text(at) {
        "immediately" | "instantly" | "instant" | "immediate" => true,
        "now" => at + 1 == pieces.len(),
        "away" => matches!(text(at.wrapping_sub(1)), "right" | "straight"),
        "once" => text(at.wrapping_sub(1)) == "at",
        _ => false,
    };
    let later = |at: usize| match text(at) {
        "later" => true,
        "end" | "renewal" | "expiry" => {
            (at.saturating_sub(2)..at).any(|at| matches!(text(at), "at" | "by" | "from" | "until"))
        }
        "next" => matches!(text(at + 1), "week" | "month" | "year" | "cycle" | "period" | "billing" | "day"),
        _ => false,
    };
    match ((0..pieces.len()).any(now), (0..pieces.len()).any(later)) {
        (true, false) => Some(Moment::Now),
        (false, true) => Some(Moment::Later),
        _ => None,
    }
}

/// The one stage of an order or of money that is spoken of.
fn stage(pieces: &[Piece]) -> Option<usize> {
    let mut said = None;
    for piece in pieces {
        let stage = match piece.text.as_str() {
            "paid" => 1,
            "shipped" | "dispatched" | "mailed" | "posted" => 2,
            "delivered" | "received" | "arrived" => 3,
            "returned" => 4,
            "refunded" | "reimbursed" => 5,
            _ => continue,
        };
        if said.is_some_and(|other| other != stage) {
            return None;
        }
        said = Some(stage);
    }
    said
}

/// What "how" or "where" and the words behind it ask for: a measure, the manner, the place. Who asks how or where they can do
/// something asks the same.
fn measure(asked: &str, next: &str, subject: &str) -> Option<&'static str> {
    let pronoun = matches!(subject, "i" | "we" | "you" | "one");
    let done = matches!(next, "do" | "does" | "did") && !pronoun;
    Some(match next {
        "is" | "are" | "was" | "were" if asked == "where" => "where",
        _ if asked == "where" => return done.then_some("where"),
        "fast" | "quick" => "fast",
        "big" | "large" => "big",
        "tall" | "high" => "high",
        "long" => "long",
        "far" => "far",
        "old" => "old",
        "deep" => "deep",
        "wide" => "wide",
        "heavy" => "heavy",
        "hot" | "cold" => "hot",
        "strong" => "strong",
        "loud" => "loud",
        "thick" => "thick",
        _ if done => "how",
        _ if lexicon().class(next) & class::AUXILIARY != 0 => "",
        _ => return None,
    })
}

/// Whether both are known, and two: "" is "how" or "where".
fn measured(x: Option<&str>, y: Option<&str>) -> bool {
    match (x, y) {
        (Some("how" | "where"), Some("")) | (Some(""), Some("how" | "where")) => false,
        (Some(x), Some(y)) => x != y,
        _ => false,
    }
}

/// Whether small words say that two prompts of otherwise the same words ask for something else.
pub(crate) fn differs(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let heavy =
        |prompt: &Prompt, rest: &[usize]| rest.iter().filter(|at| !light(&prompt.words[**at])).count();
    let (left, right) = (heavy(a, &alignment.left), heavy(b, &alignment.right));
    let (same, one, each) = (left + right == 0, left + right <= 1, left <= 1 && right <= 1);
    let (p, q) = (&a.point, &b.point);
    let which = |x: &Point, y: &Point| {
        y.counted.is_none() && matches!((&x.counted, &y.named), (Some([x, _]), Some(y)) if x == y)
    };
    let illustrates = |x: &Point, y: &Point| x.example && !y.example && y.defines;
    let how = |x: &Prompt, y: &Prompt| {
        matches!(x.questions, question::SHOULD | question::MUST) && y.questions == question::HOW
    };
    let owned =
        |x: Option<Whose>, y: Option<Whose>| two(x, y) && [x, y] != [Some(Whose::Any), Some(Whose::Yours)];
    let whose = owned(p.whose, q.whose) && owned(q.whose, p.whose);
    // "Am" may be a time of day.
    let person = one
        && matches!(
            (p.whose, q.whose),
            (Some(Whose::Me), Some(Whose::You)) | (Some(Whose::You), Some(Whose::Me))
        );
    person
        || each && (explained(a, b) || explained(b, a))
        || one && (general(a, b) || general(b, a) || defined(a, b) || defined(b, a))
        || same
            && (whose
                || his(a, b)
                || his(b, a)
                || done_to(a, b)
                || done_to(b, a)
                || which(p, q)
                || which(q, p)
                || how(a, b)
                || how(b, a))
        || one && (illustrates(p, q) || illustrates(q, p) || p.part != q.part)
        || one && a.form.requests && b.form.requests && p.again != q.again
        || each && (measured(p.measure, q.measure) || two(p.stage, q.stage) || two(p.causal, q.causal))
        || right == 0 && (of_one(a, &alignment.left) || avoided(a, &alignment.left, &alignment.right))
        || left == 0 && (of_one(b, &alignment.right) || avoided(b, &alignment.right, &alignment.left))
        || two(p.moment, q.moment)
        || compared(a, b, alignment)
        || a.measures.is_empty() && b.measures.is_empty() && counts(p, q)
        || a.length.max(b.length) <= LONG && superlatives(p, q)
        || beside_opposite(a, &alignment.left, b, &alignment.right)
        || beside_opposite(b, &alignment.right, a, &alignment.left)
}

/// Whether one asks what a thing is, and the other when, where or how much the writer's is.
fn defined(x: &Prompt, y: &Prompt) -> bool {
    x.point.whose == Some(Whose::Any)
        && y.point.whose == Some(Whose::Mine)
        && y.questions & (question::WHEN | question::WHERE | question::HOWMUCH) != 0
}

/// Whether one asks what a message means, and the other how one gets rid of it.
fn explained(x: &Prompt, y: &Prompt) -> bool {
    x.point.means && !y.point.means && y.point.mends && y.questions == question::HOW
}

/// Whether one asks how it is as a rule, and the other how the writer's is.
fn general(x: &Prompt, y: &Prompt) -> bool {
    x.point.usual && !y.point.usual && !mine(x) && mine(y)
}

fn mine(prompt: &Prompt) -> bool {
    prompt.possessives.iter().any(|word| word == "my" || word == "our")
}

/// Whether each counts what the other one does not.
fn counts(p: &Point, q: &Point) -> bool {
    let (Some(x), Some(y)) = (&p.counted, &q.counted) else { return false };
    // "How many people attend", "how many attendees"
    let small =
        |word: &str| matches!(word, "" | "peopl" | "time") || lexicon().class(word) & class::FUNCTION != 0;
    let same = |x: &String, y: &String| !small(x) && lexicon().same_sense(x, y);
    !small(&x[0]) && !small(&y[0]) && !x.iter().any(|x| y.iter().any(|y| same(x, y)))
}

/// Whether each is about what is the most of its kind in another way: "the largest lake", "the deepest lake".
fn superlatives(p: &Point, q: &Point) -> bool {
    let (Some(x), Some(y)) = (&p.most, &q.most) else { return false };
    let base = |word: &'_ str| word.trim_end_matches("est").to_owned();
    !lexicon().same_sense(&stem(x), &stem(y)) && !lexicon().same_sense(&base(x), &base(y))
}

/// Whether both are known, and two.
fn two<T: PartialEq + Copy>(x: Option<T>, y: Option<T>) -> bool {
    x.is_some() && y.is_some() && x != y
}

/// "His birthday", "her birthday": in long prompts somebody else may be meant.
fn his(a: &Prompt, b: &Prompt) -> bool {
    let says = |prompt: &Prompt, word: &str| prompt.possessives.iter().any(|other| other == word);
    let short = a.length.max(b.length) <= LONG && a.passive == b.passive;
    short && says(a, "his") && says(b, "her") && !says(a, "her") && !says(b, "his")
}

/// "He fired the company", "the company fired him"; "a dog bites me", "my dog bites someone".
fn done_to(a: &Prompt, b: &Prompt) -> bool {
    /// In longer prompts the pronouns of several sentences stand for one.
    const SHORT: usize = 12;
    let says = |prompt: &Prompt, word: &str| prompt.function.iter().any(|other| other == word);
    let turns = |(does, undergoes): (&str, &str)| {
        says(a, does) && !says(a, undergoes) && says(b, undergoes) && !says(b, does)
    };
    let active = !a.passive && !b.passive && a.length.max(b.length) <= SHORT;
    let someone = |prompt: &Prompt| says(prompt, "someone") || says(prompt, "somebody");
    let me = |prompt: &Prompt| says(prompt, "me") || says(prompt, "us");
    let bites = |x: &Prompt, y: &Prompt| me(x) && !someone(x) && !mine(x) && someone(y) && !me(y) && mine(y);
    active && ([("he", "him"), ("they", "them")].into_iter().any(turns) || bites(a, b))
}

/// Whether one prompt is about one thing of a kind that the other does not speak of: "turn off location for one app".
fn of_one(prompt: &Prompt, alone: &[usize]) -> bool {
    let Some(noun) = &prompt.point.single else { return false };
    let said = alone.iter().map(|at| &prompt.words[*at]);
    said.clone().any(|word| word.stem == *noun) && said.filter(|word| !light(word)).count() <= 1
}

/// Whether one is about not doing what the other is about: "avoid paying tax".
fn avoided(prompt: &Prompt, alone: &[usize], others: &[usize]) -> bool {
    let ([at], []) = (alone, others) else { return false };
    let avoids = matches!(prompt.words[*at].stem.as_str(), "avoid" | "prevent" | "stop" | "quit" | "resist");
    avoids && prompt.words.get(at + 1).is_some_and(|next| next.text.ends_with("ing"))
}

/// Whether what is compared is another word, be it a synonym: "affect and effect", "affect and impact".
fn compared(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let compares = |prompt: &Prompt| {
        let word = |word: &Word| word.text.starts_with("differen") || word.text.starts_with("compar");
        prompt.words.iter().any(word)
            || prompt.function.iter().any(|word| matches!(word.as_str(), "vs" | "versus"))
    };
    let joins = |lead: &str| matches!(lead, "and" | "or" | "vs" | "versus" | "between" | "from");
    let joined = |prompt: &Prompt, at: usize| {
        joins(&prompt.words[at].lead) || prompt.words.get(at + 1).is_some_and(|next| joins(&next.lead))
    };
    compares(a)
        && compares(b)
        && alignment.pairs.iter().any(|(i, j, link)| {
            matches!(link, Link::Synonym | Link::Related)
                && joined(a, *i)
                && joined(b, *j)
                && !a.words[*i].is(class::SYMMETRIC)
        })
}

/// Whether one has both ends of what the other has one of: "pros and cons", "pros".
fn beside_opposite(x: &Prompt, alone: &[usize], y: &Prompt, others: &[usize]) -> bool {
    let ([at], []) = (alone, others) else { return false };
    let contrary = |x: &Word, y: &Word| {
        let ends = lexicon().axes(&y.stem);
        opposite(x, y) || lexicon().axes(&x.stem).iter().any(|end| ends.contains(&-end))
    };
    let joins = |word: &Word| matches!(word.lead.as_str(), "and" | "or");
    let word = &x.words[*at];
    let other = if joins(word) { at.checked_sub(1) } else { Some(at + 1) };
    let other = other.and_then(|other| x.words.get(other)).filter(|other| joins(word) || joins(other));
    !y.coordinated && other.is_some_and(|other| contrary(word, other))
}
