//! Golden figures of the pairs in `data`: a change of the word lists, the rules or the trees shows here.

use std::collections::BTreeMap;

use deja_guard::{Prompt, Strictness, judge};

#[derive(serde::Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: u8,
    cosine: f32,
}

/// Shares of the pairs at or above the threshold: right ones refused, wrong ones refused.
fn shares(pairs: &str, threshold: f32, strictness: Strictness) -> (f64, f64) {
    let mut counts: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
    for line in pairs.lines() {
        let pair: Pair = serde_json::from_str(line).expect("a line of pairs.jsonl is a pair");
        if pair.cosine < threshold {
            continue;
        }
        let verdict =
            judge(&Prompt::read(&pair.a), &Prompt::read(&pair.b), pair.cosine, threshold, strictness);
        let (all, refused) = counts.entry(pair.label).or_default();
        *all += 1;
        *refused += usize::from(verdict.refused.is_some());
    }
    let share = |label: u8| counts[&label].1 as f64 / counts[&label].0 as f64;
    (share(1), share(0))
}

/// At 0.85 at most so many right pairs may be lost, and at least so many wrong ones must be cut.
#[track_caller]
fn keep(what: &str, pairs: &str, strictness: Strictness, most_lost: f64, least_cut: f64) {
    let (lost, cut) = shares(pairs, 0.85, strictness);
    assert!(lost <= most_lost && cut >= least_cut, "{what}: lost {lost:.3}, cut {cut:.3}");
}

/// A change of the word lists, the rules or the trees may not cost what was reached.
#[test]
fn own_pairs_keep_their_figures() {
    let own = include_str!("../../data/pairs.jsonl");
    for threshold in [0.75, 0.85, 0.95] {
        let (lost, cut) = shares(own, threshold, Strictness::Standard);
        assert!(lost <= 0.07 && cut >= 0.88, "standard at {threshold}: lost {lost:.3}, cut {cut:.3}");
        let (lost, cut) = shares(own, threshold, Strictness::Strict);
        assert!(lost <= 0.20 && cut >= 0.92, "strict at {threshold}: lost {lost:.3}, cut {cut:.3}");
    }
}

/// A long text says the same in many words: a quantifier or an order somewhere in it proves nothing.
#[test]
fn long_questions_are_not_lost() {
    let long = include_str!("../../data/long.jsonl");
    for threshold in [0.75, 0.85] {
        let (lost, cut) = shares(long, threshold, Strictness::Standard);
        assert!(lost <= 0.05 && cut >= 0.6, "at {threshold}: lost {lost:.3}, cut {cut:.3}");
    }
}

/// Rewordings and near traps of support, shops, banks, travel, health, school and code, the cosine taken for 0.92. The even
/// lines were held out until the rules of `rewordings.rs` were written.
#[test]
fn everyday_pairs_keep_their_figures() {
    let everyday = include_str!("../../data/everyday.jsonl");
    keep("standard", everyday, Strictness::Standard, 0.04, 0.91);
    keep("strict", everyday, Strictness::Strict, 0.21, 0.93);
}

/// The same in another layout, what is denied in other words, and near traps of both, the cosine taken for 0.92. The even
/// lines were held out until the rules of `layout.rs` and `denials.rs` were written.
#[test]
fn other_layouts_keep_their_figures() {
    let layout = include_str!("../../data/layout.jsonl");
    keep("standard", layout, Strictness::Standard, 0.08, 0.93);
}

/// Pairs that share most of their words: another noun, verb, subject, time or condition, and rewordings of the same shape, the
/// cosine taken for 0.92. The even lines were held out until the rules of `kinds.rs` were written.
#[test]
fn near_pairs_keep_their_figures() {
    let near = include_str!("../../data/near.jsonl");
    keep("standard", near, Strictness::Standard, 0.07, 0.93);
    keep("strict", near, Strictness::Strict, 0.27, 0.97);
}

/// What is typed another way (code, menus, characters, abbreviations), and prompts about another group, place, verb, order or
/// version, the cosine taken for 0.92. The even ones of the first 122 lines were held out until the rules of `alike.rs` and
/// `apart.rs` were written.
#[test]
fn what_else_is_asked_keeps_its_figures() {
    let asked = include_str!("../../data/asked.jsonl");
    keep("standard", asked, Strictness::Standard, 0.05, 0.99);
}

/// What users of a product with a model ask: support, code, translations, law, health, e-mails, data, roles, comparisons, dates,
/// names and other languages, the cosine taken for 0.92. The lines from 106 on were held out.
#[test]
fn what_users_write_keeps_its_figures() {
    let users = include_str!("../../data/users.jsonl");
    keep("standard", users, Strictness::Standard, 0.12, 0.91);
}

/// Another hundred wrong pairs over other subjects (cooking, sport, tax, shells, formulas, directions, who did it), and habits of
/// typing, the cosine taken for 0.92. The lines from 84 on were held out.
#[test]
fn habits_keep_their_figures() {
    let habits = include_str!("../../data/habits.jsonl");
    keep("standard", habits, Strictness::Standard, 0.05, 0.93);
}

/// What an examiner would write: prompts of many kinds, each with rewordings and near prompts that ask something else, the cosine
/// taken for 0.92. The lines from 414 on were held out.
#[test]
fn prompts_of_many_kinds_keep_their_figures() {
    let prompts = include_str!("../../data/prompts.jsonl");
    keep("standard", prompts, Strictness::Standard, 0.10, 0.88);
}

/// What people type, in small letters and without marks, in English and in eight other languages, the cosine taken for 0.92. The
/// lines from 302 on were held out.
#[test]
fn what_is_typed_keeps_its_figures() {
    let typed = include_str!("../../data/typed.jsonl");
    keep("standard", typed, Strictness::Standard, 0.08, 0.95);
}

/// The same in eight other languages: what is reworded passes by proof only. The lines from 32 on were held out until the rules of
/// `abroad.rs` were written.
#[test]
fn other_languages_keep_their_figures() {
    let languages = include_str!("../../data/languages.jsonl");
    keep("standard", languages, Strictness::Standard, 0.03, 1.0);
}

/// Near prompts and rewordings in twelve languages, the cosine taken for 0.92. The odd lines were tuned on.
#[test]
fn pairs_from_abroad_keep_their_figures() {
    let abroad = include_str!("../../data/abroad.jsonl");
    keep("standard", abroad, Strictness::Standard, 0.17, 1.0);
}

/// Ways to ask the same in twelve languages, and near prompts: the first 234 lines were written before the rules that they ask for,
/// the other 282 behind them, and a few rules were made after each.
#[test]
fn worldwide_pairs_keep_their_figures() {
    let worldwide = include_str!("../../data/worldwide.jsonl");
    keep("standard", worldwide, Strictness::Standard, 0.09, 0.99);
}

/// Near prompts and rewordings of everyday questions, written without a look at the guard, the cosine taken for 0.92. Three rules
/// of words and places were made after them.
#[test]
fn mixed_pairs_keep_their_figures() {
    let mixed = include_str!("../../data/mixed.jsonl");
    keep("standard", mixed, Strictness::Standard, 0.08, 0.83);
}

/// Stories of 25 to 60 words, reworded or changed in a few words. The first 78 lines were written before the rules of `beside.rs`,
/// and the rest after them.
#[test]
fn stories_keep_their_figures() {
    let stories = include_str!("../../data/stories.jsonl");
    keep("standard", stories, Strictness::Standard, 0.18, 0.99);
}

/// An instruction or a question and a text, the cosine taken for 0.92. The first 70 lines were written before the rule for what is
/// asked of the same text, and the rest after it.
#[test]
fn tasks_keep_their_figures() {
    let tasks = include_str!("../../data/tasks.jsonl");
    keep("standard", tasks, Strictness::Standard, 0.10, 0.92);
}

/// Near traps and rewordings of twenty subjects, written before the guard was read; the even lines were held out.
#[test]
fn probes_keep_their_figures() {
    let probes = include_str!("../../data/probes.jsonl");
    keep("standard", probes, Strictness::Standard, 0.04, 0.90);
}

/// What developers ask: code, commands, messages, settings, formulas, and technical questions without code, the cosine taken for
/// 0.92. The even lines were held out.
#[test]
fn technical_prompts_keep_their_figures() {
    let technical = include_str!("../../data/technical.jsonl");
    keep("standard", technical, Strictness::Standard, 0.08, 0.97);
}

/// Questions that share their words and ask for another kind of answer, and the same question in other forms, the cosine taken for
/// 0.92. The first 93 lines were written before the rules of `answers.rs`, the next 68 after them; of the last 72 some rules came after
/// them.
#[test]
fn kinds_of_answer_keep_their_figures() {
    let answers = include_str!("../../data/answers.jsonl");
    keep("standard", answers, Strictness::Standard, 0.09, 0.86);
}

/// Prompts of one shape of which one part is another, and rewordings of the same shape, the cosine taken for 0.92. The first 90
/// lines were written before the rules of `changed.rs`, and the rest after them.
#[test]
fn changed_parts_keep_their_figures() {
    let changed = include_str!("../../data/changed.jsonl");
    keep("standard", changed, Strictness::Standard, 0.12, 0.92);
}

/// Rewordings of other order, kinds of words and names, and near traps of the same shape, with and without code, the cosine taken
/// for 0.92. The even ones of the first 250 lines were held out until most rules of `reworded.rs` were written, and the last 80 lines were written then.
#[test]
fn reworded_pairs_keep_their_figures() {
    let reworded = include_str!("../../data/reworded.jsonl");
    keep("standard", reworded, Strictness::Standard, 0.03, 0.85);
}

/// Pairs of English, of code and of twelve other languages, whose author had never seen the guard or other pairs, the cosine taken
/// for 0.92. A coin held half of them out: no rule was tuned on `blind_held.jsonl`.
#[test]
fn blind_pairs_keep_their_figures() {
    keep("tuned on", include_str!("../../data/blind.jsonl"), Strictness::Standard, 0.04, 0.97);
    keep("held out", include_str!("../../data/blind_held.jsonl"), Strictness::Standard, 0.25, 0.89);
}

/// Prompts of which one or two words are replaced, and rewordings, whose authors had never seen the guard or other pairs, the cosine
/// taken for 0.92. Some synonyms were added after the first set was judged. Nobody who works on the guard has read more than four pairs
/// of the second one.
#[test]
fn swapped_words_keep_their_figures() {
    keep("tuned on", include_str!("../../data/swapped.jsonl"), Strictness::Standard, 0.12, 0.97);
    keep("held out", include_str!("../../data/swapped_held.jsonl"), Strictness::Standard, 0.27, 0.96);
}

/// Who does it and to whom it is done, as pronouns tell, the cosine taken for 0.92. Its last 48 pairs were written after the rules for
/// the first 89.
#[test]
fn pairs_of_persons_keep_their_figures() {
    keep("tuned on", include_str!("../../data/persons.jsonl"), Strictness::Standard, 0.14, 0.98);
}

/// A noun behind a noun, which is another thing or the same one, the cosine taken for 0.92. Its last 44 pairs were written after the
/// rule for the first 66; some of its words that change nothing were added then.
#[test]
fn pairs_of_compounds_keep_their_figures() {
    keep("tuned on", include_str!("../../data/compounds.jsonl"), Strictness::Standard, 0.25, 0.84);
}

/// Near prompts and rewordings of everyday needs by three authors who had never seen the guard or other pairs, the cosine taken for
/// 0.92. Rules were made for the first set. Nobody who works on the guard has read the second one.
#[test]
fn fresh_pairs_keep_their_figures() {
    keep("tuned on", include_str!("../../data/fresh.jsonl"), Strictness::Standard, 0.12, 0.83);
    keep("held out", include_str!("../../data/fresh_held.jsonl"), Strictness::Standard, 0.12, 0.83);
}

/// Near prompts and rewordings of what users ask a help desk, a model and the web, by two authors who had never seen the guard or
/// other pairs, the cosine taken for 0.92. Rules were made for the first set. Nobody who works on the guard has read the second one.
#[test]
fn inquiries_keep_their_figures() {
    keep("tuned on", include_str!("../../data/inquiries.jsonl"), Strictness::Standard, 0.09, 0.85);
    keep("held out", include_str!("../../data/inquiries_held.jsonl"), Strictness::Standard, 0.12, 0.82);
}
