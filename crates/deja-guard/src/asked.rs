//! What the small words of a prompt say: when it is, whether it must be, who does it, what it is to become.

use crate::lexicon::{class, lexicon, stem};
use crate::prompt::question;
use crate::scan::{Piece, text, text_before};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    Past,
    Future,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Duty {
    May,
    Must,
}

/// Who does what a question asks about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// And whether the question begins with "do" or the like.
    Writer(bool),
    /// Whom the prompt is written to. Of what anybody needs or gets it is anybody.
    Reader,
    /// "Who calls me?"
    Who,
    /// By the stem of its first word, and whether it is the writer's: "my company".
    Other(String, bool),
}

#[derive(Clone, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Asked {
    pub(crate) time: Option<Time>,
    pub(crate) duty: Option<Duty>,
    pub(crate) subject: Option<Subject>,
    /// Says "I" or "we".
    pub(crate) writer: bool,
    /// Says "me" or "us".
    pub(crate) object: bool,
    /// Something is done to the subject, or it has or gets something: who does it does not show.
    pub(crate) undergoes: bool,
    /// What one gives the other gets.
    pub(crate) gives: bool,
    /// Asks how it came: "how did".
    pub(crate) came: bool,
    /// Asks what to do with the thing: "get", "use", "make".
    pub(crate) deals: bool,
    /// Says that the order of what it names counts: "in this order".
    pub(crate) ordered: bool,
    /// Asks for a share: "what percent of 80 is 12".
    pub(crate) share: bool,
    /// Asks for the whole: "12 is 15 % of what".
    pub(crate) whole: bool,
    /// Asks what somebody needs, or what they want. "I want to" and "I need to" ask the same.
    pub(crate) lacks: Option<&'static str>,
    /// What it asks to be too much: "is it too hard?"
    pub(crate) excess: Option<String>,
    /// The ends of axes that are wished for: the cold one by "too hot".
    pub(crate) wants: Vec<i8>,
}

const AUXILIARIES: [&str; 12] =
    ["do", "does", "did", "can", "may", "must", "should", "will", "would", "could", "has", "have"];
const DETERMINERS: [&str; 16] = [
    "the", "a", "an", "my", "our", "your", "his", "her", "their", "this", "that", "these", "those", "any",
    "every", "each",
];

impl Asked {
    pub(crate) fn read(pieces: &[Piece]) -> Self {
        let says = |words: &[&str]| pieces.iter().any(|piece| words.contains(&piece.text.as_str()));
        let is = |at: usize, words: &[&str]| {
            pieces.get(at).is_some_and(|piece: &Piece| words.contains(&piece.text.as_str()))
        };
        let has = |at: usize| is(at, &["has", "have", "had"]) && !is(at + 1, &["to"]);
        Self {
            time: time(pieces),
            duty: duty(pieces),
            subject: pieces.chunk_by(|a, b| a.sentence == b.sentence).find_map(subject),
            writer: says(&["i", "we"]),
            object: says(&["me", "us"]),
            undergoes: (0..pieces.len()).any(has)
                || says(&["there"])
                || pieces.iter().any(|piece| lexicon().class(&piece.text) & class::PASSIVE != 0),
            gives: says(&["give", "gives", "gave"]),
            came: (0..pieces.len()).any(|at| is(at, &["how"]) && is(at + 1, &["did"])),
            deals: says(&["get", "getting", "use", "using", "make", "making", "become"]),
            ordered: (1..pieces.len()).any(|at| {
                is(at, &["order", "sequence"]) && is(at - 1, &["this", "that", "following", "given", "exact"])
            }),
            share: (1..pieces.len())
                .any(|at| is(at, &["percent", "percentage"]) && is(at - 1, &["what", "which", "many"])),
            whole: (1..pieces.len()).any(|at| {
                is(at, &["what"])
                    && is(at - 1, &["of"])
                    && (at + 1 == pieces.len() || is(at + 1, &["number"]))
            }),
            lacks: lacks(pieces),
            excess: excess(pieces),
            wants: wants(pieces),
        }
    }
}

/// When it is: only what an auxiliary or a verb without one shows.
fn time(pieces: &[Piece]) -> Option<Time> {
    let text = |at: usize| text(pieces, at);
    let before = |at: usize| text_before(pieces, at);
    // "A will" is a document.
    let will = |at: usize| {
        matches!(text(at), "will" | "shall")
            && !(DETERMINERS.contains(&before(at)) || lexicon().class(before(at)) & class::PREPOSITION != 0)
    };
    let going = |at: usize| {
        text(at) == "going"
            && text(at + 1) == "to"
            && !DETERMINERS.contains(&text(at + 2))
            && pieces.get(at + 2).is_some_and(|piece| !piece.name)
    };
    let participle = |at: usize| {
        text(at) == "been" || is_past(text(at)) || lexicon().class(text(at)) & class::PARTICIPLE != 0
    };
    let perfect = |at: usize| {
        matches!(text(at), "has" | "have" | "had") && text(at + 1) != "to" && (at..at + 5).any(participle)
    };
    let who = matches!(text(0), "who" | "what" | "which");
    let helped = pieces.iter().any(|piece| lexicon().class(&piece.text) & class::AUXILIARY != 0);
    let future = (0..pieces.len()).any(|at| will(at) || going(at));
    let past = (0..pieces.len()).any(|at| {
        matches!(text(at), "was" | "were" | "did") || perfect(at) || !helped && who && is_past(text(at))
    });
    match (past, future) {
        (true, false) => Some(Time::Past),
        (false, true) => Some(Time::Future),
        _ => None,
    }
}

/// A form of the past, regular or not.
pub(crate) fn is_past(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed") || IRREGULAR.contains(&word)
}

/// Past forms that are no other word: not "left", "found", "felt".
const IRREGULAR: [&str; 49] = [
    "ate", "became", "began", "bought", "broke", "brought", "built", "came", "caught", "chose", "drew",
    "drank", "drove", "fed", "flew", "forgot", "fought", "gave", "got", "grew", "heard", "kept", "knew",
    "made", "paid", "ran", "rode", "sang", "sank", "sent", "slept", "sold", "spent", "spoke", "stole",
    "swam", "swore", "taught", "threw", "told", "took", "understood", "went", "woke", "won", "wore", "wrote",
    "forbade", "overthrew",
];

/// Whether one is free to do it, or bound: none if it says both. What one can do somewhere is no permission ("where can I park").
fn duty(pieces: &[Piece]) -> Option<Duty> {
    let text = |at: usize| text(pieces, at);
    let before = |at: usize| text_before(pieces, at);
    // "What can I do" asks how.
    let question = |at: usize| match before(at) {
        "what" | "which" => text(at + 2) == "do",
        before => question::named(before).is_some(),
    };
    // "I need to cancel" and "I must cancel" are requests.
    let told = |at: usize| {
        at == 0 && !matches!(text(0), "can" | "may" | "must")
            || matches!(before(at), "i" | "we") && (at < 2 || !AUXILIARIES.contains(&text(at - 2)))
    };
    let may = (0..pieces.len()).any(|at| match text(at) {
        "can" | "may" => {
            !question(at)
                && !told(at)
                && text(at + 1) != "you"
                && text(at + 1) != "not"
                && !pieces[at].name
                && !DETERMINERS.contains(&before(at))
                && lexicon().class(before(at)) & class::PREPOSITION == 0
        }
        "allowed" | "permitted" => true,
        _ => false,
    });
    let must = (0..pieces.len()).any(|at| match text(at) {
        "must" => !told(at),
        "required" | "obliged" | "mandatory" | "compulsory" => true,
        // "What do I have to do to cancel it" asks how.
        "have" | "has" | "need" | "needs" => text(at + 1) == "to" && text(at + 2) != "do" && !told(at),
        _ => false,
    });
    match (may, must) {
        (true, false) => Some(Duty::May),
        (false, true) => Some(Duty::Must),
        _ => None,
    }
}

/// Whom a question names behind its auxiliary.
fn subject(sentence: &[Piece]) -> Option<Subject> {
    /// What anybody does: "do you need a visa".
    const ANYBODY: [&str; 17] = [
        "need", "do", "get", "know", "think", "want", "mind", "recommend", "suggest", "happen", "say",
        "become", "lose", "feel", "qualify", "see", "mean",
    ];
    let text = |at: usize| text(sentence, at);
    let who = text(0) == "who";
    let asked = question::named(text(0)).is_some();
    if !asked && !AUXILIARIES.contains(&text(0)) {
        return None;
    }
    let auxiliary = (0..sentence.len()).find(|at| AUXILIARIES.contains(&text(*at)));
    let Some(at) = auxiliary.map(|at| at + 1).filter(|at| *at < sentence.len()) else {
        return who.then_some(Subject::Who);
    };
    // "Where do you park" asks where one parks.
    let acts = at == 1 && matches!(text(0), "do" | "did" | "will" | "have");
    match text(at) {
        "i" | "we" => return Some(Subject::Writer(acts)),
        "you" => {
            let anybody = ANYBODY.contains(&text(at + 1)) || text(at + 1) == "have" && text(at + 2) == "to";
            let writer = sentence.iter().any(|piece| matches!(piece.text.as_str(), "i" | "we"));
            return (acts && !anybody && !writer).then_some(Subject::Reader);
        }
        _ => {}
    }
    let determined = DETERMINERS.contains(&text(at)) || sentence[at].name;
    if who && !determined {
        return Some(Subject::Who);
    }
    if matches!(text(0), "what" | "which") && !determined {
        return None;
    }
    let noun = (at..sentence.len()).find(|at| !DETERMINERS.contains(&text(*at)))?;
    Some(Subject::Other(stem(text(noun)), matches!(text(at), "my" | "our")))
}

/// What follows "do I", "does my dog": none if both.
fn lacks(pieces: &[Piece]) -> Option<&'static str> {
    let is = |at: usize, word: &str| pieces.get(at).is_some_and(|piece: &Piece| piece.text == word);
    let does = |at: usize| ["do", "does", "did"].iter().any(|word| is(at, word));
    let asks = |verb: &str| (0..pieces.len()).any(|at| does(at) && (at + 2..at + 4).any(|at| is(at, verb)));
    match (asks("need"), asks("want")) {
        (true, false) => Some("need"),
        (false, true) => Some("want"),
        _ => None,
    }
}

fn excess(pieces: &[Piece]) -> Option<String> {
    pieces.chunk_by(|a, b| a.sentence == b.sentence).find_map(|sentence| {
        let asks = matches!(sentence[0].text.as_str(), "is" | "are" | "was" | "am");
        let two = sentence.windows(2).find(|two| two[0].text == "too" && !two[1].broken)?;
        asks.then(|| stem(&two[1].text))
    })
}

/// Who finds it too hot wants it colder, and who makes it hotter the contrary.
fn wants(pieces: &[Piece]) -> Vec<i8> {
    let mut wants = Vec::new();
    if pieces.iter().any(|piece| piece.text == "or") {
        return wants;
    }
    for (at, piece) in pieces.iter().enumerate() {
        let before = text_before(pieces, at);
        let compared = pieces.get(at + 1).is_some_and(|next| next.text == "than");
        match before {
            "too" | "less" => wants.extend(ends(&piece.text).iter().map(|end| -end)),
            _ if compared => {}
            "more" => wants.extend(ends(&piece.text)),
            _ => {
                let base = piece.text.strip_suffix("er").filter(|base| base.is_ascii()).unwrap_or_default();
                // "Hotter", but "smaller".
                let doubled = matches!(base.as_bytes(), [.., x, y] if x == y && *y != b'l');
                wants.extend(ends(&base[..base.len() - usize::from(doubled)]));
            }
        }
    }
    wants
}

fn ends(word: &str) -> &'static [i8] {
    lexicon().axes(&stem(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::scan;

    fn asked(text: &str) -> Asked {
        Asked::read(&scan(text, 100))
    }

    #[test]
    fn past_and_future_are_what_verbs_say() {
        use Time::{Future, Past};
        for (text, time) in [
            ("When did the shop open?", Some(Past)),
            ("When will the shop open?", Some(Future)),
            ("When does the shop open?", None),
            ("Did he say that it will rain?", None),
            ("Will it rain?", Some(Future)),
            ("How do I draft a will?", None),
            ("May I leave at will?", None),
            ("Is it going to rain?", Some(Future)),
            ("So is it going to rain?", Some(Future)),
            ("Is it going well today?", None),
            ("Do I want to eat?", None),
            ("So are you going to the gala?", None),
            ("Is he going to Rome?", None),
            ("Has my parcel been sent?", Some(Past)),
            ("Has it been late?", Some(Past)),
            ("The parcel has arrived", Some(Past)),
            ("Has my old parcel arrived?", Some(Past)),
            ("Has my old red parcel arrived?", None),
            ("Do I have to get paid?", None),
            ("Do I have a visa?", None),
            ("Who won the race?", Some(Past)),
            ("What changed in Rome?", Some(Past)),
            ("The man won the race", None),
            ("Who is wanted here?", None),
        ] {
            assert_eq!(asked(text).time, time, "{text}");
        }
        for (word, past) in
            [("played", true), ("went", true), ("used", false), ("exceed", false), ("plays", false)]
        {
            assert_eq!(is_past(word), past, "{word}");
        }
    }

    #[test]
    fn what_one_may_and_what_one_must() {
        use Duty::{May, Must};
        for (text, duty) in [
            ("Can the tenant repaint?", Some(May)),
            ("May tenants repaint?", Some(May)),
            ("Where can tenants park?", None),
            ("The tenant can repaint", Some(May)),
            ("The tenant can not repaint", None),
            ("Can you repaint it?", None),
            ("I can repaint it", None),
            ("So I can repaint it", None),
            ("Is the band Can good?", None),
            ("Is a can recyclable?", None),
            ("Are beans from can good?", None),
            ("Is the tenant allowed to repaint?", Some(May)),
            ("Must the tenant repaint?", Some(Must)),
            ("I must repaint it", None),
            ("Is a permit mandatory?", Some(Must)),
            ("Does the tenant have to repaint?", Some(Must)),
            ("Do I have to repaint?", Some(Must)),
            ("Does the tenant need a brush?", None),
            ("What do I have to do to repaint?", None),
            ("Need to repaint", None),
            ("Can the tenant repaint, or must the owner?", None),
        ] {
            assert_eq!(asked(text).duty, duty, "{text}");
        }
    }

    #[test]
    fn who_does_it_stands_behind_the_auxiliary() {
        use Subject::{Reader, Who, Writer};
        let other = |noun: &str, mine| Some(Subject::Other(noun.to_owned(), mine));
        for (text, subject) in [
            ("Do I pay tax?", Some(Writer(true))),
            ("Can I pay tax?", Some(Writer(false))),
            ("When do I pay tax?", Some(Writer(false))),
            ("Do you charge tax?", Some(Reader)),
            ("Do you like to pay?", Some(Reader)),
            ("Do you have a lounge?", Some(Reader)),
            ("Do you have to pay?", None),
            ("Do you need a visa?", None),
            ("Do you charge tax if I pay?", None),
            ("Can you charge tax?", None),
            ("Where do you park?", None),
            ("Who calls me?", Some(Who)),
            ("Who can?", Some(Who)),
            ("Who can call me?", Some(Who)),
            ("Who does my boss call?", other("boss", true)),
            ("What can happen?", None),
            ("What does the tenant pay?", other("tenant", false)),
            ("What does Rome pay?", other("rome", false)),
            ("Does our landlord pay?", other("landlord", true)),
            ("The tenant can pay", None),
            ("I rent. Can the owner enter?", other("owner", false)),
        ] {
            assert_eq!(asked(text).subject, subject, "{text}");
        }
    }

    #[test]
    fn small_words_of_who_has_it_done() {
        for (text, undergoes) in [
            ("Do I pay?", false),
            ("Do I have to pay?", false),
            ("Do I have a visa?", true),
            ("Am I insured?", true),
            ("Does there exist a visa?", true),
        ] {
            assert_eq!(asked(text).undergoes, undergoes, "{text}");
        }
        for (text, came) in
            [("How did I earn it?", true), ("How do I earn it?", false), ("Did I ask how?", false)]
        {
            assert_eq!(asked(text).came, came, "{text}");
        }
        for (text, excess) in [
            ("It is late. Is it too hard?", Some("hard")),
            ("It is too hard", None),
            ("Is it hard too, please?", None),
        ] {
            assert_eq!(asked(text).excess.as_deref(), excess, "{text}");
        }
    }

    #[test]
    fn who_finds_it_too_hot_wants_it_colder() {
        let against = |word: &str| ends(word).iter().map(|end| -end).collect::<Vec<_>>();
        assert!(!ends("hot").is_empty() && !ends("small").is_empty() && !ends("warm").is_empty());
        for (text, wants) in [
            ("It is too hot", against("hot")),
            ("Make it less hot", against("hot")),
            ("Make it more hot", ends("hot").to_vec()),
            ("Make it hotter", ends("hot").to_vec()),
            ("Make it warmer", ends("warm").to_vec()),
            ("Make it smaller", ends("small").to_vec()),
            ("It is hot", vec![]),
            ("Is it hotter than before?", vec![]),
            ("Is it more hot than cold?", vec![]),
            ("Is it too hot or too small?", vec![]),
            ("\u{4000}er \u{e9}er", vec![]),
        ] {
            assert_eq!(asked(text).wants, wants, "{text}");
        }
    }
}
