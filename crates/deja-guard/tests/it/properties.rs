use std::time::Duration;

use deja_guard::{LOWEST_THRESHOLD, Prompt, Strictness, Verdict, judge};
use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};

/// Processor time that two huge texts may take: some seconds if it is linear (debug build), minutes or hours if it is quadratic.
const MOST: Duration = Duration::from_mins(1);

/// What this thread needs for `work`. A busy machine takes longer, but does not need more.
fn processor_time<T>(work: impl FnOnce() -> T) -> Duration {
    let spent = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
    };
    let begun = spent();
    let _result = work();
    spent().saturating_sub(begun)
}

fn judge_at_once(a: &str, b: &str) -> Verdict {
    judge(&Prompt::read(a), &Prompt::read(b), 0.99, 0.85, Strictness::Standard)
}

fn strictness() -> impl Strategy<Value = Strictness> {
    prop_oneof![Just(Strictness::Standard), Just(Strictness::Strict)]
}

/// What people and programs put between words, characters that cannot be seen among them.
fn blanks() -> impl Strategy<Value = String> {
    let blanks = vec![
        " ", "", "\n", "\r\n", "\t", "\u{a0}", "\u{202f}", "\u{3000}", "\u{2028}", "\u{85}", "\u{200b}",
        "\u{301}", ": ", ". ", "? ", ", ", "-", "'", "\u{2019}", "`", "\"", "\u{ff1a}", "\u{3002}", "(", ")",
        " = ", "/", "\u{2192}",
    ];
    prop::sample::select(blanks).prop_map(str::to_owned)
}

/// Words that something is looked for beside, with any blanks and marks between them.
fn marked() -> impl Strategy<Value = String> {
    let words = vec![
        "error", "Error", "ValueError", "x509", "mv", "git", "SELECT", "f(x)", "getUser", "$HOME", "5",
        "1,5", "½", "II", "n't", "é", "ß", "İ", "ſ", "кошка", "猫", "が", "을", "인지", "ไ", "quel", "wie",
        "nicht", "if", "then", "not", "Settings", "class", "- a", "1.", "|a|b|", "|-|-|", "```", "http://a",
        "km", "°C", "👍", "A", "b",
    ];
    let word = prop_oneof![4 => prop::sample::select(words).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec((blanks(), word, blanks()), 0..24).prop_map(|parts| {
        parts.into_iter().flat_map(|(before, word, behind)| [before, word, behind]).collect()
    })
}

/// Words the guard knows something about, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "how", "do", "i", "not", "without", "from", "to", "by", "Oslo", "Madrid", "1,500", "1.5k", "3/4",
        "12/25/2024", "7pm", "19:00", "half", "a", "litre", "enable", "turn", "off", "unlock", "all",
        "except", "first", "US", "II", "°C", "20", "kg", "was", "bought", "than", "bigger", "?", "nicht",
        "кошка", "猫", "れた", "10.000", "{", "=>", "'s", "can't", "the", "one", "two", "hundred", "second",
        "May",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_judged(a in any::<String>(), b in any::<String>(), cosine in any::<f32>(), threshold in any::<f32>(), strictness in strictness()) {
        let verdict = judge(&Prompt::read(&a), &Prompt::read(&b), cosine, threshold, strictness);
        prop_assert!((0.0..=1.0).contains(&verdict.score));
    }

    #[test]
    fn words_in_any_blanks_and_marks_are_judged(a in marked(), b in marked(), blank in blanks(), strictness in strictness()) {
        for b in [b, format!("{a}{blank}x"), format!("x{blank}{a}")] {
            let (a, b) = (Prompt::read(&a), Prompt::read(&b));
            let verdict = judge(&a, &b, 0.9, 0.85, strictness);
            prop_assert!((0.0..=1.0).contains(&verdict.score));
            prop_assert_eq!(verdict, judge(&b, &a, 0.9, 0.85, strictness));
        }
    }

    #[test]
    fn both_orders_give_the_same_verdict(a in words(), b in words(), strictness in strictness()) {
        let (a, b) = (Prompt::read(&a), Prompt::read(&b));
        prop_assert_eq!(judge(&a, &b, 0.9, 0.85, strictness), judge(&b, &a, 0.9, 0.85, strictness));
    }

    #[test]
    fn the_same_text_passes(text in prop_oneof![any::<String>(), words()], strictness in strictness()) {
        let lower = text.to_lowercase();
        prop_assert_eq!(judge(&Prompt::read(&text), &Prompt::read(&text), 1.0, 0.95, strictness).refused, None);
        if lower.to_uppercase().to_lowercase() == lower {
            prop_assert_eq!(judge(&Prompt::read(&lower), &Prompt::read(&format!("{lower}?")), 1.0, 0.95, strictness).refused, None);
        }
    }

    #[test]
    fn nothing_but_literals_is_refused_below_the_lowest_threshold(a in words(), b in words(), strictness in strictness()) {
        let verdict = judge(&Prompt::read(&a), &Prompt::read(&b), 0.9, LOWEST_THRESHOLD - 0.01, strictness);
        let literals = |text: &str| text.contains(['к', '猫', 'れ']);
        prop_assert!(verdict.refused.is_none() || literals(&a) || literals(&b));
    }

    #[test]
    fn a_higher_threshold_passes_no_more(a in words(), b in words(), thresholds in [0.75f32..1.0, 0.75f32..1.0], cosine in 0.75f32..1.0, strictness in strictness()) {
        let (a, b) = (Prompt::read(&a), Prompt::read(&b));
        let passes = |threshold| judge(&a, &b, cosine, threshold, strictness).refused.is_none();
        prop_assert!(passes(thresholds[0].min(thresholds[1])) || !passes(thresholds[0].max(thresholds[1])));
    }

    #[test]
    fn strict_passes_no_more_than_standard(a in words(), b in words(), threshold in 0.75f32..1.0) {
        let (a, b) = (Prompt::read(&a), Prompt::read(&b));
        let standard = judge(&a, &b, 0.9, threshold, Strictness::Standard);
        let strict = judge(&a, &b, 0.9, threshold, Strictness::Strict);
        prop_assert!(strict.refused.is_some() || standard.refused.is_none());
    }
}

/// The work is bounded: a prompt of a megabyte is read as far as the limits go, not word against word.
#[test]
fn huge_texts_take_no_quadratic_time() {
    let prose = ["word ", "猫", "1,", "if x == 1 { ", "a'", "nicht eins zwei "].map(|unit| (unit, 1_000_000));
    let code = [
        "`a` ", "`` ` ", "```\n", "`", "f(", "( [ {", "x = ", "x + y ", "a.b", "mv a b ", "SUMIF ",
        "$ a\n\n", "\tx\n", "- a\n", "|a|b|\n|-|-|\n", "Ab = 1\n", "a->b ", "Ab > Cd ", "- - ", "a{b:c}\n",
        "f('a') ", "/[", "/[\\\n", "):", "f(x):",
    ];
    let tables = ["|a|b|c|\n|-|-|-|\n", "|a:|b|\n|-|-|\n"].map(|unit| (unit, 200_000));
    for (unit, bytes) in prose.into_iter().chain(code.map(|unit| (unit, 100_000))).chain(tables) {
        let text = unit.repeat(bytes / unit.len());
        let taken = processor_time(|| judge_at_once(&text, &format!("{text}end")));
        assert!(taken < MOST, "{unit:?}: {taken:?}");
    }
}

/// Nor are they judged word against word or number against number: few pieces for the features, and a great many for what
/// compares them one by one.
#[test]
fn hostile_pairs_take_no_quadratic_time() {
    const BYTES: usize = 256 * 1024;
    let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
    let accent =
        |at: usize| format!("{}{}{}{}\u{e9}'", letter(at), letter(at / 26), letter(at / 676), letter(at));
    let number = |at: usize| format!("{at}.");
    for unit in [&accent as &dyn Fn(usize) -> String, &number] {
        let mut units: Vec<String> = (0..BYTES / unit(0).len()).map(unit).collect();
        let a = format!("What does the word mean and how do I use it in English: {}1", units.concat());
        units.reverse();
        let b = format!("What does this word mean and how do I use it in English: {}1", units.concat());
        let taken = processor_time(|| judge_at_once(&a, &b));
        assert!(taken < MOST, "{}: {taken:?}", unit(0));
    }
}

/// Nor are the words of a command looked for one by one among those of another one.
#[test]
fn hostile_commands_take_no_quadratic_time() {
    let words = (0..250_000).map(|at| at.to_string()).collect::<Vec<_>>();
    let turned = words.iter().rev().cloned().collect::<Vec<_>>();
    let [one, other] = [words, turned].map(|words| format!("mv {}", words.join(" ")));
    let taken = processor_time(|| assert!(judge_at_once(&one, &other).refused.is_some()));
    assert!(taken < MOST, "{taken:?}");
}

/// Nor are the texts that a prompt quotes looked for one by one in all of the other one: of a great many, nothing is proved.
#[test]
fn a_great_many_quoted_texts_are_not_looked_for() {
    for (count, passes) in [(40, true), (64, true), (65, false)] {
        let quoted = (0..count).map(|at| format!("\"٣{at}\"")).collect::<Vec<_>>().join(" ");
        let [one, other] = ["How do I translate", "How can I translate"]
            .map(|asked| Prompt::read(&format!("{asked} {quoted}")));
        let verdict = judge(&one, &other, 0.99, 0.85, Strictness::Standard);
        assert_eq!(verdict.refused.is_none(), passes, "{count} {verdict:?}");
    }
}

/// Nor is a text of another language, nor one long word: what it ends with is not looked for again and again.
#[test]
fn hostile_texts_of_other_languages_take_no_quadratic_time() {
    const BYTES: usize = 128 * 1024;
    let long = |unit: &str| unit.repeat(BYTES / unit.len());
    let texts = [
        format!("quel {} zwq", long("a")),
        long("呢"),
        format!("为什么{}", long("百分之一")),
        long("は何ですか"),
        format!("왜 {}", long("인지")),
        format!("wie {}", long("fünf und ")),
        format!("cuánto es {}", long("mil ")),
    ];
    for text in texts {
        let taken = processor_time(|| judge_at_once(&text, &format!("{text} x")));
        assert!(taken < MOST, "{}: {taken:?}", text.chars().take(9).collect::<String>());
    }
}
