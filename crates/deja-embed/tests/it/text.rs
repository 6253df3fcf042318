//! Any text: no panic, unit length, the same vector each time.

use deja_core::embedding::Embedded;
use deja_embed::{Model, Session};
use proptest::prelude::*;

fn check(session: &mut Session, text: &str) {
    match session.embed(text).unwrap() {
        Embedded::Vector { embedding, tokens } => {
            assert!((2..=256).contains(&tokens));
            let norm: f64 = embedding.as_slice().iter().map(|v| f64::from(*v).powi(2)).sum();
            assert!((norm - 1.0).abs() < 1e-5);
            let Embedded::Vector { embedding: again, .. } = session.embed(text).unwrap() else { panic!() };
            assert_eq!(embedding, again);
        }
        Embedded::TooLong { tokens, window } => assert!(window == 256 && tokens > 256),
    }
}

#[test]
fn arbitrary_text() {
    let model = Model::builtin().unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    runner
        .run(&prop_oneof!["\\PC{0,80}", any::<String>(), "[\\x00-\\x20]{0,40}", "[a-z ]{0,2000}"], |text| {
            check(&mut model.session(), &text);
            Ok(())
        })
        .unwrap();
}

#[test]
fn text_without_tokens_has_a_vector() {
    let mut session = Model::builtin().unwrap().session();
    for text in ["", " ", "\n\t", "\0", "\u{1}\u{2}\u{7f}", "\u{200b}", "\u{fffd}"] {
        check(&mut session, text);
    }
}

/// The shortcut for long texts must never call a text too long that fits.
#[test]
fn the_look_ahead_is_a_lower_bound() {
    let model = Model::builtin().unwrap();
    let session = model.session();
    for text in [
        "a ".repeat(254),
        "a\u{c}".repeat(600),
        "a\u{85}b ".repeat(127),
        "\u{1} ".repeat(3000),
        "é ".repeat(254),
    ] {
        assert!(session.tokenize(&text).unwrap().is_some(), "{:?}", &text[..12]);
    }
}

/// Nor does it take long to learn how many tokens a text has that is as long as any that is tokenised.
#[test]
fn no_text_takes_long() {
    const BYTES: usize = 256 * 128;
    let model = Model::builtin().unwrap();
    let session = model.session();
    let units = "aA \n\t\0!1[éßİяﷺﬃ漢가اไ👍\u{301}\u{200b}\u{ad}\u{fffd}\u{a0}\u{3000}\u{10ffff}"
        .chars()
        .map(String::from);
    let several = [". ", "a.", "-a", "e\u{301}", "क्", "👩\u{200d}", "[CLS]", "[SEP] ", "##", "$漢", "a漢"];
    for unit in units.chain(several.map(str::to_owned)) {
        for text in [unit.repeat(BYTES / unit.len()), format!("{}a", unit.repeat((BYTES - 1) / unit.len()))] {
            let began = std::time::Instant::now();
            session.tokenize(&text).unwrap();
            assert!(began.elapsed() < std::time::Duration::from_secs(5), "{unit:?} {:?}", began.elapsed());
        }
    }
}
