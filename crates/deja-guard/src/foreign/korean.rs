//! Korean: what verbs and nouns end with, and where question words stand.

mod asked;

use super::{Token, quoted};

/// Syllables begin here; each has one of 28 ends, behind one of 21 vowels.
const FIRST: u32 = 0xac00;
const ENDS: u32 = 28;
const VOWELS: u32 = 21;

/// What asks, and may stand anywhere.
const ADVERBS: [&str; 7] = ["왜", "언제", "어떻게", "어디서", "어디에서", "얼마나", "몇"];

/// Particles of whom it is done to, of who does it, and of what it is about: behind a syllable with an end, and behind another.
const OBJECT: [char; 2] = ['을', '를'];
const DOERS: [char; 2] = ['이', '가'];
const TOPIC: [char; 2] = ['은', '는'];

/// How questions end, behind the stem of a verb.
const QUESTIONS: [&str; 22] = [
    "는지요", "는지", "나요", "는가요", "는가", "습니까", "습니다", "을까요", "을까", "니까", "니다", "냐",
    "니", "네요", "세요", "시나요", "십니까", "어요", "아요", "여요", "지요", "죠",
];

/// What asks for a way to do it.
const WAYS: [&str; 8] =
    ["는 방법은", "는 방법을", "는 방법이", "는 방법", "는 법은", "는 법을", "는 법이", "는 법"];

/// What stands behind a noun in the list of roles: it suffers something, or does it.
const SUFFERS: char = '>';
const DOES: char = '<';
/// It is where or when something is, or what it is about.
const STANDS: char = '@';

/// Whether no noun does in one text what it suffers in the other. A particle may be left out, and "는" says neither.
pub(super) fn agree(a: &[String], b: &[String]) -> bool {
    let of = |list: &[String], role: char| -> Vec<String> {
        let mut nouns: Vec<String> =
            list.iter().filter_map(|noun| noun.strip_suffix(role)).map(str::to_owned).collect();
        nouns.sort_unstable();
        nouns
    };
    let (suffers, does) = ((of(a, SUFFERS), of(b, SUFFERS)), (of(a, DOES), of(b, DOES)));
    let same = |(x, y): &(Vec<String>, Vec<String>)| x.is_empty() || y.is_empty() || x == y;
    let meet = |x: &[String], y: &[String]| x.iter().any(|noun| y.contains(noun));
    let stands = (of(a, STANDS), of(b, STANDS));
    let acts = |x: &[String], y: (&[String], &[String])| meet(x, y.0) || meet(x, y.1);
    same(&suffers)
        && same(&does)
        && same(&stands)
        && !meet(&suffers.0, &does.1)
        && !meet(&does.0, &suffers.1)
        && !acts(&stands.0, (&suffers.1, &does.1))
        && !acts(&stands.1, (&suffers.0, &does.0))
}

/// Whether `role` is one of these.
pub(super) fn is_role(role: &str) -> bool {
    role.ends_with([SUFFERS, DOES, STANDS])
}

/// Whether both are the same letters: Korean is typed with blanks between words and without.
pub(super) fn joined(a: &[Token], b: &[Token]) -> bool {
    let letters = |words: &[Token]| words.iter().map(|word| word.text.as_str()).collect::<String>();
    let a = letters(a);
    a.chars().any(is_syllable) && a == letters(b)
}

/// The text in one way, and what nouns do or suffer.
pub(super) fn plain(text: &str) -> (String, Vec<String>) {
    let mut said = asked::plain(text);
    let mut how = false;
    if let Some(done) = asked::purpose(&said) {
        said = done;
        how = true;
    } else if let Some(done) = WAYS.iter().find_map(|way| said.strip_suffix(way)) {
        said = done.to_owned();
        how = true;
    }
    let all: Vec<&str> = said.split_whitespace().collect();
    let (mut words, mut roles) = (Vec::new(), Vec::new());
    for (at, word) in all.iter().enumerate() {
        let last = at + 1 == all.len();
        if let Some((quoted, role)) = quotation(word) {
            words.push(quoted.to_owned());
            roles.extend(role.map(|role| format!("{quoted}{role}")));
            continue;
        }
        if ADVERBS.contains(word) || !word.chars().all(is_syllable) {
            words.push((*word).to_owned());
            continue;
        }
        if last && all.len() > 1 {
            let asks = QUESTIONS.iter().any(|end| word.ends_with(end));
            let noun = without(word, TOPIC).or_else(|| without(word, DOERS)).filter(|_| !asks);
            words.push(noun.map_or_else(|| stem(word), |bare| word[..bare].to_owned()));
            continue;
        }
        let mut noun = (*word).to_owned();
        if let Some(bare) = without(&noun, OBJECT) {
            noun.truncate(bare);
            roles.push(format!("{noun}{SUFFERS}"));
        } else {
            let does = without(&noun, DOERS).is_some();
            // A noun may end like its particle: "고양이", "고양이가".
            for _ in 0..2 {
                if let Some(bare) = without(&noun, DOERS).or_else(|| without(&noun, TOPIC)) {
                    noun.truncate(bare);
                }
            }
            let place =
                noun.strip_suffix('에').filter(|bare| !does && bare.chars().count() > 1).map(str::len);
            if let Some(bare) = place {
                noun.truncate(bare);
                roles.push(format!("{noun}{STANDS}"));
            }
            if does {
                roles.push(format!("{noun}{DOES}"));
            }
            if let Some(bare) = noun.strip_suffix('의').filter(|bare| bare.chars().count() > 1).map(str::len)
            {
                noun.truncate(bare);
            }
        }
        words.push(noun);
    }
    // "어디가 몽골의 수도" is "몽골의 수도는 어디".
    if all.first() == Some(&"어디가") {
        words.rotate_left(1);
    }
    if let Some(at) = words.iter().position(|word| ADVERBS.contains(&word.as_str()))
        && words[at] != "몇"
        && words[at] != "얼마나"
    {
        let asked = words.remove(at);
        words.insert(0, asked);
    }
    if how && words.first().is_none_or(|first| first != "어떻게") {
        words.insert(0, "어떻게".to_owned());
    }
    (words.join(" "), roles)
}

/// What is quoted, and what its particle says that it does or suffers.
fn quotation(word: &str) -> Option<(&str, Option<char>)> {
    const OTHERS: [&str; 13] =
        ["", "은", "는", "의", "이라는", "라는", "이란", "란", "이라고", "라고", "와", "과", "랑"];
    let quoted = word.trim_end_matches(|c| !quoted::is_letter(c));
    match &word[quoted.len()..] {
        _ if quoted.is_empty() => None,
        "을" | "를" => Some((quoted, Some(SUFFERS))),
        "이" | "가" => Some((quoted, Some(DOES))),
        particle => OTHERS.contains(&particle).then_some((quoted, None)),
    }
}

/// The length of `noun` without its particle.
fn without(noun: &str, [ended, open]: [char; 2]) -> Option<usize> {
    let (bare, particle) = noun
        .strip_suffix(ended)
        .map(|bare| (bare, true))
        .or_else(|| Some((noun.strip_suffix(open)?, false)))?;
    let last = bare.chars().next_back().filter(|c| is_syllable(*c))?;
    let ends = !(u32::from(last) - FIRST).is_multiple_of(ENDS);
    (ends == particle).then_some(bare.len())
}

pub(super) fn is_syllable(c: char) -> bool {
    (FIRST..=0xd7a3).contains(&u32::from(c))
}

/// The stem of the verb that ends a question: "바꾸나요", "바꿔요", "바꿉니까" and "바꿔" are "바꾸".
fn stem(verb: &str) -> String {
    let mut stem = verb.to_owned();
    if let Some(bare) =
        QUESTIONS.iter().find_map(|end| stem.strip_suffix(end)).filter(|bare| !bare.is_empty())
    {
        stem.truncate(bare.len());
        if verb.ends_with("니까") || verb.ends_with("니다") {
            stem = without_b(&stem);
        }
        return stem;
    }
    let bare = stem.strip_suffix('요').filter(|bare| !bare.is_empty()).unwrap_or(&stem).to_owned();
    if let Some(bare) = bare.strip_suffix(['어', '아']).filter(|bare| !bare.is_empty()) {
        return bare.to_owned();
    }
    contracted(&bare).unwrap_or(bare)
}

/// "바꿉" is "바꾸" before "니까".
fn without_b(stem: &str) -> String {
    const B: u32 = 17;
    let Some(last) = stem.chars().next_back().filter(|c| is_syllable(*c)) else { return stem.to_owned() };
    let code = u32::from(last) - FIRST;
    let bare = char::from_u32(u32::from(last) - B).filter(|_| code % ENDS == B).unwrap_or(last);
    format!("{}{bare}", &stem[..stem.len() - last.len_utf8()])
}

/// "바꿔" is "바꾸" and "어", "해" is "하" and "여".
fn contracted(verb: &str) -> Option<String> {
    let last = verb.chars().next_back().filter(|c| is_syllable(*c))?;
    let code = u32::from(last) - FIRST;
    if !code.is_multiple_of(ENDS) {
        return None;
    }
    let vowel = match code / ENDS % VOWELS {
        // ㅝ, ㅘ, ㅕ, ㅙ
        14 => 13,
        9 => 8,
        6 => 20,
        10 => 11,
        1 if last == '해' => 0,
        _ => return None,
    };
    let first = code / ENDS / VOWELS;
    let syllable = char::from_u32(FIRST + (first * VOWELS + vowel) * ENDS)?;
    Some(format!("{}{syllable}", &verb[..verb.len() - last.len_utf8()]))
}
