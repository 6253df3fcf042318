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

/// A test for each row: of each set in `data`, at 0.85, at most the first share of the right pairs may be lost, and at least the
/// second of the wrong ones cut. `docs/topics/accuracy.md` says what the sets are, and which of their lines were held out.
macro_rules! figures {
    ($($test:ident: $($set:ident $strictness:ident $most_lost:literal $least_cut:literal),+;)+) => {$(
        #[test]
        fn $test() {
            $(
                let set = include_str!(concat!("../../data/", stringify!($set), ".jsonl"));
                let (lost, cut) = shares(set, 0.85, Strictness::$strictness);
                let what = stringify!($set $strictness);
                assert!(lost <= $most_lost && cut >= $least_cut, "{what}: lost {lost:.3}, cut {cut:.3}");
            )+
        }
    )+};
}
figures! {
    everyday_pairs_keep_their_figures: everyday Standard 0.04 0.91, everyday Strict 0.21 0.93;
    other_layouts_keep_their_figures: layout Standard 0.08 0.93;
    near_pairs_keep_their_figures: near Standard 0.07 0.93, near Strict 0.27 0.97;
    what_else_is_asked_keeps_its_figures: asked Standard 0.05 0.99;
    what_users_write_keeps_its_figures: users Standard 0.12 0.91;
    habits_keep_their_figures: habits Standard 0.05 0.93;
    prompts_of_many_kinds_keep_their_figures: prompts Standard 0.10 0.88;
    what_is_typed_keeps_its_figures: typed Standard 0.08 0.95;
    other_languages_keep_their_figures: languages Standard 0.03 1.0;
    pairs_from_abroad_keep_their_figures: abroad Standard 0.17 1.0;
    worldwide_pairs_keep_their_figures: worldwide Standard 0.09 0.99;
    mixed_pairs_keep_their_figures: mixed Standard 0.08 0.83;
    stories_keep_their_figures: stories Standard 0.18 0.99;
    tasks_keep_their_figures: tasks Standard 0.10 0.92;
    probes_keep_their_figures: probes Standard 0.04 0.90;
    technical_prompts_keep_their_figures: technical Standard 0.08 0.97;
    kinds_of_answer_keep_their_figures: answers Standard 0.09 0.86;
    changed_parts_keep_their_figures: changed Standard 0.12 0.92;
    reworded_pairs_keep_their_figures: reworded Standard 0.03 0.85;
    blind_pairs_keep_their_figures: blind Standard 0.04 0.97, blind_held Standard 0.25 0.89;
    swapped_words_keep_their_figures: swapped Standard 0.12 0.97, swapped_held Standard 0.27 0.96;
    pairs_of_persons_keep_their_figures: persons Standard 0.14 0.98;
    pairs_of_compounds_keep_their_figures: compounds Standard 0.25 0.84;
    fresh_pairs_keep_their_figures: fresh Standard 0.12 0.83, fresh_held Standard 0.12 0.83;
    inquiries_keep_their_figures: inquiries Standard 0.09 0.85, inquiries_held Standard 0.12 0.82;
    situations_keep_their_figures: situations Standard 0.41 0.95, situations_held Standard 0.37 0.89;
    requests_keep_their_figures: requests Standard 0.24 0.80, requests_held Standard 0.14 0.75;
}
