//! Single words that decide: by form, by a list, by where they stand.

use crate::reasons::{all_passed, all_refused, verdict};

#[test]
fn two_parties_of_a_deal_are_two() {
    all_refused(
        &[
            ("Which form must the lessor sign?", "Which form must the lessee sign?"),
            ("Who signs first, a payer?", "Who signs first, a payee?"),
            ("What do licensors owe?", "What do licensees owe?"),
            ("How does the interviewer prepare?", "How does the interviewee prepare?"),
            ("When does the insurer send a letter?", "When does the insured send a letter?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Which forms must a lessee sign?", "Which form does a lessee have to sign?"),
            ("What does a licensee owe?", "What does a licencee owe?"),
        ],
        0.95,
    );
}

/// The rest of the chat is the same, so that one word is little of it.
#[test]
fn the_reply_at_the_end_of_a_chat_is_judged_alone() {
    let chat = "Agent: What happened to the parcel?\nCustomer:";
    for (a, b) in [("It is broken", "It is missing"), ("Opened", "Unpaid"), ("Yes", "No"), ("2", "3")] {
        let verdict = verdict(&format!("{chat} {a}"), &format!("{chat} {b}"), 0.97);
        assert!(verdict.refused.is_some(), "{a} / {b}: {verdict:?}");
    }
    for (a, b) in [("It is broken", "it's broken!"), ("Yes", "Yes please"), ("Missing", "It is missing")] {
        let verdict = verdict(&format!("{chat} {a}"), &format!("{chat} {b}"), 0.97);
        assert_eq!(verdict.refused, None, "{a} / {b}: {verdict:?}");
    }
}

#[test]
fn words_that_stood_for_order_are_read_as_what_they_say() {
    all_refused(
        &[
            (
                "How do I replace a colon with a comma in Word?",
                "How do I replace a comma with a colon in Word?",
            ),
            ("How do I link an invoice to a contract?", "How do I link a contract to an invoice?"),
            ("Should I rinse and then peel carrots?", "Should I peel and then rinse carrots?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Can I rinse and peel carrots?", "Can I peel and rinse carrots?"),
            ("What is the link between sleep and weight?", "What is the link between weight and sleep?"),
        ],
        0.95,
    );
}

/// Words that say nothing by themselves, and decide where nothing else differs.
#[test]
fn small_words_are_contrasts() {
    all_refused(
        &[
            ("Is there a documentary about Hitchcock?", "Is there a documentary by Hitchcock?"),
            ("Is the pool closed after June?", "Is the pool closed until June?"),
            ("Must I pay before arrival?", "Must I pay on arrival?"),
            ("How do I copy photos into iCloud?", "How do I copy photos out of iCloud?"),
            ("Is the museum already open?", "Is the museum still open?"),
            ("Which trains are currently late?", "Which trains are usually late?"),
            ("How do I give a massage?", "How do I get a massage?"),
            ("How do I put a sample on the slide?", "How do I take a sample on the slide?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("How do I get a visa?", "How do I obtain a visa?"),
            ("How do I make a cake?", "How can I bake a cake?"),
            ("Is the museum still open?", "Is the museum open?"),
            ("Where can I get help with my taxes?", "Where can I find help with my taxes?"),
        ],
        0.95,
    );
}

#[test]
fn opposites_of_the_list_and_who_does_it_are_told_apart() {
    all_refused(
        &[
            ("How do I split a cell horizontally?", "How do I split a cell vertically?"),
            ("Can I cook it with dried basil?", "Can I cook it with fresh basil?"),
            ("How do I delete a column in Calc?", "How do I delete a row in Calc?"),
            ("Which vegan dishes are there?", "Which vegetarian dishes are there?"),
            ("How much is a round trip to Malta?", "How much is a one way trip to Malta?"),
            ("How much does a translation cost?", "How much does a translator cost?"),
            ("Who owns the invention?", "Who owns the inventor?"),
        ],
        0.95,
    );
}

/// Rules of one word that would refuse rewordings.
#[test]
fn everyday_rewordings_pass() {
    all_passed(
        &[
            ("How do I check my balance?", "How do I view my balance?"),
            ("How can I upgrade my plan?", "How can I upgrade my subscription?"),
            ("Do you ship internationally?", "Do you deliver abroad?"),
            ("How do I get rid of ants?", "How do I kill ants?"),
            ("What are your business hours?", "What are your opening hours?"),
            ("What's the status of my order?", "What's the state of my order?"),
            ("How do I clean a cast iron pan?", "How do I clean a cast iron skillet?"),
            ("What's the tallest mountain on earth?", "What's the highest mountain in the world?"),
            ("How do I take a screenshot on a Mac?", "How do I make a screenshot on a Mac?"),
            ("Where should I keep my passport?", "Where should I put my passport?"),
            ("Who painted The Night Watch?", "Who is the painter of The Night Watch?"),
            ("How do I mix 3 eggs with milk?", "How do I mix milk with 3 eggs?"),
            ("How far is (3,4) from the origin?", "How far is (3, 4) from the origin?"),
            ("kim possible cast", "cast of kim possible"),
            ("espresso macchiato", "macchiato espresso"),
            ("Are cats and owls seen here now and then?", "Are owls and cats seen here now and then?"),
            ("How many people attend Glastonbury?", "How many attendees does Glastonbury have?"),
        ],
        0.95,
    );
}

#[test]
fn another_thing_of_several_words_is_another_subject() {
    all_refused(
        &[
            ("Is Breaking Bad on Netflix?", "Is Better Call Saul on Netflix?"),
            ("do gift cards expire", "do points expire"),
            ("what does the check engine light mean", "what does the tire light mean"),
            ("Where is the ticket office?", "Where is the lost property office?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What is high blood pressure?", "What is hypertension?"),
            ("How long is the flight to Rome?", "How long is the plane trip to Rome?"),
        ],
        0.92,
    );
}

#[test]
fn near_words_of_one_craft_are_two() {
    all_refused(
        &[
            ("vlookup with an exact match", "vlookup with an approximate match"),
            ("how do i restart nginx", "how do i reload nginx"),
        ],
        0.92,
    );
}

#[test]
fn a_noun_behind_a_noun_is_another_thing() {
    all_refused(
        &[
            ("how do I clean a keyboard", "how do I clean a keyboard cover"),
            ("how much does a nurse earn", "how much does a nurse practitioner earn"),
            ("how many calories in an egg", "how many calories in egg whites"),
            ("is coconut healthy", "is coconut oil healthy"),
            ("what is a mortgage", "what is a mortgage broker"),
            ("how do i make almond milk at home", "how do i make almond milk ice cream at home"),
            ("how do i dry mint", "how do i dry mint tea stains"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("how do I renew my passport", "how do I renew my passport document"),
            ("my internet is slow", "my internet connection is slow"),
            ("how do I uninstall chrome", "how do I uninstall chrome browser"),
            (
                "how do I get a job with no experience",
                "how do I get a job with no experience after graduating",
            ),
            ("why is hot water heavier than cold", "why is hot water heavier than cold water"),
            ("what are some ways to become a good teacher", "how do I become a good teacher/tutor"),
            ("how do I kill a process on port 3000", "how to kill the process running on port 3000"),
        ],
        0.92,
    );
}
