//! Korean questions that are asked in more than one way: who did it, what differs, how to do it, and what to do about it.

use super::{ENDS, FIRST, VOWELS, is_syllable, without};

/// What asks for what to do, at the end.
const REMEDIES: [&str; 16] = [
    "어떻게 해야 하나요",
    "어떻게 해야 하죠",
    "어떻게 해야 해요",
    "어떻게 해야 할까요",
    "어떻게 해야 되나요",
    "어떻게 해야 돼요",
    "어떻게 해야 합니까",
    "어떻게 해야 해",
    "어떻게 해야 돼",
    "어떻게 하면 되나요",
    "어떻게 하면 돼요",
    "어떻게 하면 좋을까요",
    "어떻게 하나요",
    "어떻게 해요",
    "어떻게 하죠",
    "어떻게 해",
];

/// What stands before it: "to do it one has to", "I want to".
const PURPOSES: [&str; 6] = ["으려면", "려면", "으려고 하는데", "려고 하는데", "고 싶은데", "고 싶은데요"];

/// What ends what happened.
const HAPPENED: [&str; 14] = [
    "을 때는", "을 때", "을때", "을 경우에는", "을 경우", "는데요", "는데", "으면", "다면", "습니다", "어요",
    "아요", "을때는", "거든요",
];

/// The text with the question in its plain form.
pub(super) fn plain(text: &str) -> String {
    difference(text).or_else(|| who(text)).or_else(|| remedy(text)).unwrap_or_else(|| text.to_owned())
}

/// What is done, if the text asks how to do it: "제거하려면 어떻게 해야 하나요".
pub(super) fn purpose(text: &str) -> Option<String> {
    let before = REMEDIES.iter().find_map(|ask| text.strip_suffix(ask))?.trim_end_matches([' ', ',']);
    let done = PURPOSES.iter().find_map(|purpose| before.strip_suffix(purpose))?;
    (!done.is_empty()).then(|| done.to_owned())
}

/// "여권을 잃어버렸는데 어떻게 해야 하나요", "여권을 잃어버렸을 때 어떻게 해야 하나요".
fn remedy(text: &str) -> Option<String> {
    let before = REMEDIES.iter().find_map(|ask| text.strip_suffix(ask))?.trim_end_matches([' ', ',', '.']);
    if PURPOSES.iter().any(|purpose| before.ends_with(purpose)) {
        return None;
    }
    let happened = HAPPENED.iter().find_map(|end| before.strip_suffix(end))?;
    // Behind a past only: "비가 오면" is no more than a condition.
    let past = happened.chars().next_back().is_some_and(|last| is_syllable(last) && end(last) == 20);
    past.then(|| format!("대처 {happened}"))
}

/// "버터와 마가린의 차이" and "마가린과 버터의 차이".
fn difference(text: &str) -> Option<String> {
    let two = ["의 차이는", "의 차이가", "의 차이", "의 차이를", " 차이는", " 차이가", " 차이"]
        .iter()
        .find_map(|end| text.strip_suffix(end))?;
    let two = two.strip_suffix(" 사이").unwrap_or(two);
    let mut splits = two.match_indices(' ').filter_map(|(at, _)| {
        let first = &two[..at];
        let bare = without(first, ['과', '와'])
            .or_else(|| ["이랑", "랑", "하고"].iter().find_map(|and| first.strip_suffix(and)).map(str::len));
        let quoted = first.strip_suffix(['와', '과']).filter(|bare| bare.ends_with(super::quoted::is_letter));
        Some((bare.or(quoted.map(str::len))?, at + 1))
    });
    let (Some((end, begin)), None) = (splits.next(), splits.next()) else { return None };
    let mut two = [&two[..end], &two[begin..]];
    two.sort_unstable();
    (!two.contains(&"")).then(|| format!("차이 {} {}", two[0], two[1]))
}

/// "한글은 누가 만들었나요" and "한글을 만든 사람은 누구" are "누가 한글을 만드".
fn who(text: &str) -> Option<String> {
    let does = |word: &str| without(word, ['이', '가']).is_some();
    if let Some(made) = ["사람은 누구", "사람이 누구", "사람 누구", "분은 누구", "사람은 누구였나요"]
        .iter()
        .find_map(|end| text.strip_suffix(end))
    {
        let (what, verb) = made.trim_end().rsplit_once(' ')?;
        let last = verb.chars().next_back().filter(|last| is_syllable(*last) && end(*last) == 4)?;
        let bare = &verb[..verb.len() - last.len_utf8()];
        let stem = if last == '은' { bare.to_owned() } else { format!("{bare}{}", open(last)?) };
        return (!what.split(' ').any(does)).then(|| format!("누가 {what} {}", loose(&stem)));
    }
    let (before, verb) = text.rsplit_once(' ')?;
    let verb =
        ["나요", "습니까", "어요", "니", "어", "을까요"].iter().find_map(|end| verb.strip_suffix(end))?;
    let words: Vec<&str> = before.split(' ').filter(|word| *word != "누가").collect();
    let asked = before.split(' ').count() == words.len() + 1;
    (asked && !words.is_empty()).then_some(())?;
    Some(format!("누가 {} {}", words.join(" "), loose(&present(verb)?)))
}

/// The stem of a verb in the past: "만들었", "발명했", "그렸", "썼", "불렀".
fn present(verb: &str) -> Option<String> {
    let last = verb.chars().next_back().filter(|last| is_syllable(*last) && end(*last) == 20)?;
    let bare = &verb[..verb.len() - last.len_utf8()];
    if matches!(last, '었' | '았') {
        return Some(bare.to_owned());
    }
    let code = u32::from(last) - FIRST;
    let (first, vowel) = (code / ENDS / VOWELS, code / ENDS % VOWELS);
    // "불렀" is "부르".
    if let Some(before) = bare.chars().next_back().filter(|c| first == 5 && is_syllable(*c) && end(*c) == 8) {
        return Some(format!("{}{}르", &bare[..bare.len() - before.len_utf8()], open(before)?));
    }
    let vowel = match vowel {
        // ㅐ of "했", ㅕ, ㅓ, ㅝ, ㅘ
        1 => 0,
        6 => 20,
        4 => 18,
        14 => 13,
        9 => 8,
        other => other,
    };
    Some(format!("{bare}{}", char::from_u32(FIRST + (first * VOWELS + vowel) * ENDS)?))
}

/// The number of the consonant that ends a syllable, or 0.
fn end(syllable: char) -> u32 {
    (u32::from(syllable) - FIRST) % ENDS
}

/// The syllable without the consonant that ends it.
fn open(syllable: char) -> Option<char> {
    char::from_u32(u32::from(syllable) - end(syllable))
}

/// Without the "ㄹ" that a stem loses before some endings.
fn loose(stem: &str) -> String {
    let Some(last) = stem.chars().next_back().filter(|last| is_syllable(*last) && end(*last) == 8) else {
        return stem.to_owned();
    };
    format!("{}{}", &stem[..stem.len() - last.len_utf8()], open(last).unwrap_or(last))
}
