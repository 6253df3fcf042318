//! What small words set apart where all else is the same.

use crate::reasons::{all_passed, all_refused};

#[test]
fn mine_and_any() {
    all_refused(
        &[
            ("what is my deductible", "what is a deductible"),
            ("where is my refund", "what is a refund"),
            ("when is my bill due", "when is a bill due"),
            ("is your data safe", "is my data safe"),
            ("what are my rights", "what are rights"),
            ("where am i", "where are you"),
            ("his birthday", "her birthday"),
            ("how old is your cat", "how old is my cat"),
            ("how much is my rent", "how much is a rent"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("what is a deductible", "what is meant by deductible"),
            ("how do i renew my passport", "how do i renew a passport"),
            ("what is my balance", "what's my balance?"),
            ("is a visa needed", "is my visa needed"),
            ("what about my refund", "what about a refund"),
            ("the dog was found by him", "he found the dog"),
            ("When will you ship my order?", "When will my order be shipped?"),
            ("How much does the transfer cost?", "What does the transfer cost?"),
            (
                "I am travelling to Spain next week with my two kids. Do they need passports?",
                "Do my two kids need passports? I'm traveling to Spain with them next week.",
            ),
            ("What is your definition of reality?", "What is a definition of reality?"),
        ],
        0.92,
    );
}

#[test]
fn how_many_and_which() {
    all_refused(
        &[
            ("how many countries border france", "which countries border france"),
            ("how many languages does she speak", "what languages does she speak"),
            ("how many teams are in the nfl", "list the teams in the nfl"),
        ],
        0.92,
    );
    all_passed(&[("how many bones are in the body", "what is the number of bones in the body")], 0.92);
}

#[test]
fn how_far_and_how() {
    all_refused(
        &[
            ("how fast do planes fly", "how do planes fly"),
            ("How heavy is a blue whale?", "How long is a blue whale?"),
            ("where do bees sleep", "how do bees sleep"),
            ("How do I invest in bonds?", "Should I invest in bonds?"),
            ("do i have to cook chicken", "how do i cook chicken"),
            ("where is mount fuji", "how high is mount fuji"),
            ("how is glass made", "how thick is glass"),
            ("how thick is it", "how far is it"),
            ("how strong is it", "how big is it"),
            ("how loud is it", "how hot is it"),
            ("how deep is it", "how old is it"),
            ("how deep is lake baikal", "how big is lake baikal"),
            ("how old is rome", "how big is rome"),
            ("how loud are whales", "how strong are whales"),
            ("how do you open it", "how big is it"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How big is Venus?", "How large is Venus?"),
            ("how cold is it in june", "how hot is it in june"),
            ("How do I change my PIN?", "Where do I change my PIN?"),
            ("How tall and how wide was the tower?", "How wide and how tall was the tower?"),
        ],
        0.92,
    );
}

#[test]
fn another_one_a_part_and_an_example() {
    all_refused(
        &[
            ("tell me a joke", "tell me another joke"),
            ("recommend a movie", "recommend one more movie"),
            ("refund part of my order", "refund my order"),
            ("can i cancel part of an order", "can i cancel all of an order"),
            ("give me an example of irony", "what is irony"),
            ("define osmosis", "give an example of osmosis"),
            ("pros and cons of renting", "pros of renting"),
            ("turn off location for one app", "turn off location"),
            ("select every other row", "select every row"),
            ("can you pay for part of it", "can you pay for it"),
            ("fat and thin cats", "thin cats"),
            ("pros or cons of tea", "cons of tea"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("tell me a joke", "please tell me a joke"),
            ("is alaska part of the us", "is alaska a part of the us"),
            ("what part of the brain controls speech", "which part of the brain controls speech"),
            ("What is a noun? Give an example.", "What is a noun? Give me an example."),
            ("pros and cons of renting", "cons and pros of renting"),
            ("How does one become a pilot?", "How do I become a pilot?"),
            ("every other day", "every second day"),
            ("how do i order more paper", "how do i order paper"),
        ],
        0.92,
    );
}

#[test]
fn now_or_later_and_how_far_it_has_come() {
    all_refused(
        &[
            ("how do i cancel at the end of the billing period", "how do i cancel immediately"),
            ("is the refund instant", "is the refund at the end of the month"),
            ("has my order shipped", "has my order been delivered"),
            ("my order was shipped last week", "my order was delivered last week"),
            ("has it been returned", "has it been refunded"),
            ("was my money refunded", "was my money paid"),
            ("pay now", "pay next month"),
            ("how do i pay later", "how do i pay now"),
            ("can i leave right away", "can i leave next week"),
            ("is it free at once", "is it free later"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("cancel my plan now", "cancel my plan immediately"),
            ("has my order been dispatched", "has my order been shipped"),
            ("has it been paid and shipped", "has it been shipped and paid"),
            ("do you ship to norway", "do you deliver to norway"),
        ],
        0.92,
    );
}

#[test]
fn what_is_compared_is_compared_by_its_words() {
    all_refused(
        &[
            ("difference between affect and effect", "difference between affect and impact"),
            ("sofa vs couch", "sofa vs settee"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("difference between begin and start", "begin vs start difference"),
            ("compare prices of couches and beds", "prices of sofas and beds"),
            ("Is Tokyo bigger than New York?", "Is Tokyo larger than New York?"),
        ],
        0.92,
    );
}

#[test]
fn causes_and_effects_and_what_is_avoided() {
    all_refused(
        &[
            ("result of the war of 1812", "reason for the war of 1812"),
            ("avoid paying tax", "paying tax"),
            (
                "Why did my account get suspended for late payment?",
                "What happens while my account is suspended for late payment?",
            ),
            ("What triggers inflation in an economy?", "What does inflation do to an economy?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("what are the causes of the war", "what were the reasons for the war"),
            ("What happens if I miss a payment?", "What are the consequences of missing a payment?"),
            ("Why do earthquakes happen?", "What causes earthquakes?"),
        ],
        0.92,
    );
}

#[test]
fn what_is_counted() {
    all_refused(
        &[
            ("How many goals did Pele score in World Cups?", "How many World Cups did Pele win?"),
            ("how many cards am i allowed", "how many top-ups am i allowed to do"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How many people attend Glastonbury?", "How many attendees does Glastonbury have?"),
            ("how many kids can join", "how many children can join"),
            ("how many kilometers are in 26.2 miles", "how many km in 26.2 miles"),
        ],
        0.92,
    );
}

#[test]
fn the_most_of_its_kind() {
    all_refused(
        &[
            ("What is the largest lake in Africa by area?", "What is the deepest lake in Africa?"),
            ("what is the cheapest dye for cotton fabrics", "what is the best dye for cotton fabric"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What is the biggest lake in Africa?", "What is the largest lake in Africa?"),
            ("What is the greatest compliment you ever got?", "What is the best compliment you ever got?"),
        ],
        0.92,
    );
}

#[test]
fn what_it_is_or_means_and_what_to_do_about_mine() {
    all_refused(
        &[
            ("What is a performance review?", "When is my next performance review?"),
            ("How do I fix \"CORS policy blocked\"?", "What does \"CORS policy blocked\" mean?"),
            ("What is the interest rate on my car loan?", "What is the usual interest rate on a car loan?"),
            ("What should I do if a dog bites me?", "What should I do if my dog bites someone?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("what is the usual interest rate on my loan", "what's the usual interest rate on a loan?"),
            ("what should i do if a dog bites me", "a dog bites me, what should i do"),
        ],
        0.92,
    );
}
