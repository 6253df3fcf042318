//! What is written another way and says the same: characters, menus, abbreviations.

use crate::reasons::{all_passed, all_refused};

#[test]
fn characters_that_look_another_way() {
    all_passed(
        &[
            ("How many calories are in １００ g of rice?", "How many calories are in 100 g of rice?"),
            ("How do I reset my pass\u{200b}word?", "How do I reset my password?"),
            ("How do I\u{a0}reset my\u{202f}router?", "How do I reset my router?"),
            ("Is a 9–5 job fine?", "Is a 9-5 job fine?"),
            ("It renewed — can I get a refund?", "It renewed - can I get a refund?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("How many calories are in １００ g of rice?", "How many calories are in 10 g of rice?"),
            ("What does `print(“a”)` do?", "What does `print(\"a\")` do?"),
        ],
        0.97,
    );
}

#[test]
fn words_that_add_nothing_and_short_names() {
    all_passed(
        &[
            ("Where is the Eiffel Tower?", "Where is the Eiffel Tower located?"),
            ("How do I create a virtual environment in Python?", "How to make a venv in Python?"),
        ],
        0.92,
    );
}

#[test]
fn the_way_through_a_menu() {
    let ways = [
        "Where is the switch in Settings > Account > Security?",
        "Where is the switch in Settings -> Account -> Security?",
        "Where is the switch in Settings->Account->Security?",
        "Where is the switch in Settings → Account → Security?",
        "Where is the switch in Settings, then Account, then Security?",
    ];
    for way in ways {
        all_passed(&[(way, ways[0])], 0.92);
    }
    all_passed(
        &[
            ("Where is Save in File > Export > PDF?", "Where is Save in File → Export → PDF?"),
            (
                "Where is the switch in settings > account > login?",
                "Where is the switch in Settings, Account, Login?",
            ),
            ("Where in settings > account is it?", "Where in settings -> account is it?"),
        ],
        0.92,
    );
    all_refused(
        &[
            (ways[0], "Where is the switch in Settings > Security > Account?"),
            (ways[1], "Where is the switch in Settings > Account > Privacy?"),
            ("Is Spain > Italy in area?", "Is Spain < Italy in area?"),
            ("Is Spain > Italy in area?", "Is Italy > Spain in area?"),
            ("where is it in settings > account", "where is it in account > settings"),
            ("is price > discount", "is discount > price"),
        ],
        0.97,
    );
}

#[test]
fn abbreviations_and_asides() {
    all_passed(
        &[
            ("Which plants, e.g. ferns, like shade?", "Which plants, for example ferns, like shade?"),
            ("What is SSO, i.e. one login for all?", "What is SSO, that is, one login for all?"),
            ("How many liters of water do I need?", "How much water do I need?"),
            ("Where are the API docs?", "Where is the API documentation?"),
            ("How do I set up auth with OAuth?", "How do I set up authentication with OAuth?"),
            ("What are the terms & conditions?", "What are the terms and conditions?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("How do I set up authentication?", "How do I set up authorization?"),
            ("How many liters of paint do I need?", "How many gallons of paint do I need?"),
        ],
        0.97,
    );
}
