//! Who did it, and whether a question word stands for the one who does it or for the one it is done to.

use crate::reasons::{all_passed, all_refused};

#[test]
fn what_acts_and_what_it_acts_on() {
    all_refused(
        &[
            ("what eats frogs", "what do frogs eat"),
            ("which company bought instagram", "which company did instagram buy"),
            ("Which team beat Brazil in 2014?", "Which team did Brazil beat in 2014?"),
            ("what causes low iron", "what does low iron cause"),
            ("what does smoking lead to", "what leads to smoking"),
            ("what can stress cause", "what can cause stress"),
            ("what can treat bad allergies", "what can bad allergies treat"),
            ("which airline owns the lounge", "which lounge does the airline own"),
            ("Which countries did Napoleon conquer?", "Which countries defeated Napoleon?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("what do frogs eat", "what does a frog eat"),
            ("who did win the game", "who won the game"),
            ("Which documents must I submit?", "Which documents do I have to hand in?"),
            ("What happened on July 4, 1776?", "What happened on 4 July 1776?"),
            ("which teams have beaten brazil", "which teams beat brazil"),
            ("What did Napoleon invade?", "What was invaded by Napoleon?"),
            ("What can I cook with eggs, spinach and feta?", "What can I cook with feta, eggs and spinach?"),
            ("what python version do i need", "what version of python do i need"),
        ],
        0.92,
    );
}

#[test]
fn the_writer_did_it_or_somebody_else() {
    all_refused(
        &[
            ("my account was closed", "i closed my account"),
            ("my flight got cancelled by the airline", "I cancelled my flight"),
            ("someone deleted my files", "i deleted someones files"),
            ("my landlord cancelled the lease", "i cancelled the lease with my landlord"),
            ("they refused my claim, what now", "i refused their claim, what now"),
            ("can i see who viewed my profile", "can i see who i viewed"),
            ("i was reported for spam", "i reported spam"),
            ("the company fired him", "he fired the company"),
            ("why did she leave him", "why did he leave her"),
            ("Did my bank cancel the transfer?", "Did I cancel the transfer?"),
            ("she finally left him", "i finally left him"),
            ("i cut my hand", "he cut my hand"),
            ("i locked myself out", "they locked me out"),
            ("the invoice was paid by us", "they paid the invoice"),
            ("was the form signed by us", "we signed the form"),
            ("was i called by my doctor", "i called my doctor"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("i lost my card", "my card was lost"),
            ("they cancelled my flight", "my flight was cancelled"),
            ("when i open the app it crashes", "when the app is opened it crashes"),
            ("I damaged my car", "my car was damaged"),
            ("how do i read a csv in python", "python read csv"),
            ("What happens if you put ice in tea?", "What would happen if I put ice in tea?"),
            ("was the form signed by them", "they signed the form"),
            ("i have never been to rome, what do i see", "you have never been to rome, what do you see"),
            ("how do i get locked out", "how do you get locked out"),
            (
                "I have two dogs and a small flat, and I work from home. How often should I walk them?",
                "I've got two dogs and a small flat, and I work from home. How often should I walk them?",
            ),
            (
                "How long do I have to return something I bought online in the EU?",
                "In the EU, how long is the return period for something bought online?",
            ),
        ],
        0.92,
    );
}

#[test]
fn what_is_done_to_the_writer_is_said_in_two_voices() {
    all_passed(
        &[
            ("why was i charged twice", "why did you charge me twice"),
            ("why was i banned", "why did you ban me"),
            ("i have not been paid", "they have not paid me"),
            ("i was billed by you", "you billed me"),
            ("i was hit by a car", "a car hit me"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("why was i charged twice", "why did i charge you twice"),
            ("did you pay me", "did i pay you"),
            ("i was billed by you", "i billed you"),
        ],
        0.92,
    );
}

#[test]
fn who_does_it_in_a_clause() {
    all_refused(
        &[
            (
                "Does travel insurance pay if I cancel the trip?",
                "Does travel insurance pay if the airline cancels the trip?",
            ),
            (
                "Can people see when I view their LinkedIn profile?",
                "Can I see when people view my LinkedIn profile?",
            ),
            (
                "Do I get money back when I return a gift?",
                "Do I get money back when somebody returns a gift?",
            ),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What happens if you put ice in tea?", "What happens if I put ice in tea?"),
            ("What if I lose my boarding pass?", "What if somebody loses their boarding pass?"),
            ("Is it covered if I drop my phone?", "Is it covered if my phone drops?"),
        ],
        0.92,
    );
}

#[test]
fn the_same_person_borrows_or_lends() {
    all_refused(
        &[("How much can I borrow from a friend tax-free?", "How much can I lend to a friend tax-free?")],
        0.92,
    );
    all_passed(&[("Does Ann borrow money from Bob?", "Does Bob lend money to Ann?")], 0.92);
}

#[test]
fn a_pronoun_is_who_does_it_or_whom_it_is_done_to() {
    all_refused(
        &[
            ("can you sue a hospital", "can a hospital sue you"),
            ("what if a tick bites you", "what if you bite a tick"),
            ("how do bees find you", "how do you find bees"),
            ("how do I make him miss me", "how do I make me miss him"),
            ("how do I make her forgive me", "how do I make me forgive her"),
            ("my employer is suing me", "I am suing my employer"),
            ("how much tax if my parents give me 20000", "how much tax if I give my parents 20000"),
            ("will they tell me the result", "will I tell them the result"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("my employer is suing me", "I am being sued by my employer"),
            ("my dog bit me", "I was bitten by my dog"),
            ("my boss yelled at me", "I got yelled at by my boss"),
            ("can my landlord evict me in winter", "can I be evicted by my landlord in winter"),
            ("my client has not paid me", "I have not been paid by my client"),
            ("why did they charge me twice", "why was I charged twice"),
            ("please give me a list of nordic countries", "list the nordic countries"),
            ("is there a pharmacy near me", "is there a pharmacy nearby"),
        ],
        0.92,
    );
}
