//! Prompts of one shape of which one part is another: what is done, to what, where, under what condition; and what is one way or
//! the other.

use crate::reasons::{all_passed, all_refused};

#[test]
fn had_and_lost_used_and_left() {
    all_refused(
        &[
            ("How much data have I used this month?", "How much data is left this month?"),
            ("How many points have I spent so far?", "How many points do I have left?"),
            ("I have lost my key. How do I get into the flat?", "I have a key. How do I get into the flat?"),
            ("I kept the warranty card. Is it free?", "I threw away the warranty card. Is it free?"),
            ("Is a ticket within Oslo cheap?", "Is a ticket from Oslo to Bergen cheap?"),
            (
                "What happens if I stopped watering the lawn?",
                "What happens once I have finished watering the lawn?",
            ),
            ("When do the clocks go forward?", "When do the clocks go back?"),
            ("Do I pay tax on a house I inherit?", "Do I pay tax on a house I give away?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How many points have I spent?", "How many of my points have I used?"),
            (
                "I lost my key. How do I get into the flat?",
                "I no longer have my key. How do I get into the flat?",
            ),
            ("Should I finish reading it or should I stop?", "Should I stop reading it or should I finish?"),
        ],
        0.92,
    );
}

#[test]
fn may_and_must_behind_what() {
    all_refused(
        &[
            ("What must I bring to the interview?", "What may I bring to the interview?"),
            ("Which forms can I submit for the grant?", "Which forms must I submit for the grant?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What do I have to bring to the interview?", "What must I bring to the interview?"),
            ("What can I eat before the surgery?", "What am I allowed to eat before the surgery?"),
            ("What can I do to renew my card?", "What do I have to do to renew my card?"),
        ],
        0.92,
    );
}

#[test]
fn another_deed_and_another_thing() {
    all_refused(
        &[
            ("How do I view my saved cards?", "How do I delete my saved cards?"),
            ("How do I find unused imports?", "How do I remove unused imports?"),
            ("How do I check my data usage for this month?", "How do I set a limit on my data usage?"),
            ("How do I wash a wool blanket?", "How do I sew a patch on a wool blanket?"),
            ("How do I sharpen a serrated knife?", "How do I sharpen a pair of scissors?"),
            ("How do I clean a wooden cutting board?", "How do I clean a car windscreen?"),
            ("Can I wash this jacket in the machine?", "Can I put this jacket in the dryer?"),
            ("How do bees make honey?", "How do beekeepers harvest honey?"),
            ("How old do I have to be to adopt a dog?", "How old does a dog have to be to be adopted?"),
            ("Do I get my money back if I change my mind?", "Do I get my money back if the zipper breaks?"),
            ("Can I exchange the tickets for a different date?", "Can I exchange the tickets for cash?"),
            ("How do I pronounce 'quay'?", "How do I spell 'quay'?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I clean a wooden cutting board?", "How do I clean a chopping board made of wood?"),
            ("How do I remove unused imports?", "How do I delete unused imports?"),
            ("How do I sew a patch on a blanket?", "How do I put a patch on a blanket?"),
            ("How do I top up my account?", "How do I add money to my account?"),
            ("How do I wash a pair of jeans?", "How do I wash jeans?"),
            ("How do I fix a flat tyre?", "How do I repair a flat tyre?"),
            ("Do I get my money back if I change my mind?", "Do I get a refund if I change my mind?"),
            ("Can I put this bowl in the microwave?", "Can I use this bowl in the microwave?"),
            ("How do I pronounce 'quay'?", "How is 'quay' pronounced?"),
        ],
        0.92,
    );
}

#[test]
fn one_of_two_alternatives_is_another() {
    all_refused(
        &[
            ("Is gas or electricity cheaper?", "Is gas or oil cheaper?"),
            ("Mac or Windows for video editing?", "Mac or Linux for video editing?"),
            ("Is a quilt or a blanket warmer?", "Is a quilt or a heater warmer?"),
        ],
        0.92,
    );
    all_passed(&[("Should I rent or buy?", "Should I rent or purchase?")], 0.92);
}

#[test]
fn another_thing_is_asked_for_or_was_done() {
    all_refused(
        &[
            ("Explain recursion in two sentences.", "Explain iteration in two sentences."),
            ("Define irony for kids", "Define sarcasm for kids"),
            ("Who trained the dog?", "Who fed the dog?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Explain recursion in two sentences.", "Please explain recursion in two sentences."),
            ("Summarize chapter 3 of the book", "Summarise the third chapter of the book"),
        ],
        0.92,
    );
}

#[test]
fn how_one_uses_it_and_how_one_gets_it() {
    all_refused(&[("How do I buy a voucher?", "How do I use a voucher?")], 0.92);
    all_passed(&[("How do I redeem a voucher?", "How do I use a voucher?")], 0.92);
}

#[test]
fn the_reason_of_the_condition() {
    all_refused(
        &[(
            "What happens if I miss my connecting flight because the first was late?",
            "What happens if I miss my connecting flight because I overslept?",
        )],
        0.92,
    );
}

#[test]
fn who_was_the_first() {
    all_passed(&[("who's the first emperor of Rome", "Who was the first emperor of Rome?")], 0.92);
    all_refused(&[("who is the emperor of Japan", "who was the emperor of Japan")], 0.92);
}

#[test]
fn whether_it_is_done_is_not_how_one_does_it() {
    all_refused(
        &[
            (
                "How do I check whether my laptop disk is encrypted?",
                "How do I encrypt the disk of my laptop?",
            ),
            ("How do I see which users are locked in Oracle?", "How do I lock users in Oracle?"),
            ("how can i tell if my card has been blocked", "how can i block my card"),
            ("How do I find out if my account was closed?", "How do I close my account?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I check that the file is closed?", "How do I see whether a file is closed?"),
            ("How do I check if my account is verified?", "How do I verify whether my account is verified?"),
            ("How do I check my locked account?", "How do I check which account of mine is locked?"),
        ],
        0.92,
    );
}
