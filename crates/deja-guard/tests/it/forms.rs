//! In which form an answer is asked for, how many things are meant, and who or what is named.

use crate::reasons::{all_passed, all_refused};

#[test]
fn an_answer_in_another_form_is_another_answer() {
    all_refused(
        &[
            ("Explain photosynthesis", "Explain photosynthesis step by step"),
            ("Explain photosynthesis", "Write a poem about photosynthesis"),
            ("Explain photosynthesis", "Explain photosynthesis briefly"),
            ("Explain photosynthesis briefly", "Explain photosynthesis in depth"),
            ("Explain photosynthesis", "Explain photosynthesis with a diagram"),
            ("Write a tweet about our shoes", "Write a blog article about our shoes"),
            ("Answer with yes or no: is a tomato a fruit?", "Explain your answer: is a tomato a fruit?"),
            ("What is recursion? Explain it in one sentence.", "What is recursion? Explain it."),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Explain recursion in one sentence", "In one sentence, explain recursion"),
            ("Explain how to change a tyre", "Explain how to change a tyre step by step"),
            ("Fix the grammar in this sentence: he go home", "Correct the grammar of: he go home"),
            ("Can you write me a haiku about the sea?", "Write a haiku about the sea"),
            ("What is the name of a short poem?", "What is a short poem called?"),
        ],
        0.92,
    );
}

#[test]
fn all_of_them_are_not_one_of_them() {
    all_refused(
        &[
            ("How do I block a contact?", "How do I block all contacts?"),
            ("How do I delete an email in Gmail?", "How do I delete every one of my emails in Gmail?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I delete all photos?", "How do I delete all of my photos?"),
            (
                "How long does it take to write a book?",
                "Books: how long does it take to write a complete book?",
            ),
        ],
        0.92,
    );
}

#[test]
fn names_that_face_each_other_are_two() {
    all_refused(
        &[
            ("What was the name of John Adams's wife?", "What was the name of Abraham Lincoln's wife?"),
            ("What is the capital of the United Kingdom?", "What is the capital of the Dominican Republic?"),
            ("How do I reset a Galaxy S21?", "What are the steps to reset my Pixel 7?"),
            ("Is tap water safe in London and Paris?", "Is tap water safe in London?"),
            ("Is tipping expected in restaurants or taxis?", "Is tipping expected in restaurants?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What is the height of Mt. Everest?", "What is the height of Mount Everest?"),
            ("When was Dr. King born?", "When was Doctor King born?"),
            ("How do I get around in LA?", "How do I get around in Los Angeles?"),
            ("What do London and Paris share?", "What do Paris and London share?"),
        ],
        0.92,
    );
}

#[test]
fn what_stands_behind_of_and_by_counts() {
    all_refused(
        &[
            ("What are the symptoms of lupus?", "What are the symptoms of lyme?"),
            ("Bulk density of chips", "Bulk density of grains"),
            ("Show sales by count", "Show sales by value"),
            (
                "Which reagent is used to convert ethanol to ethanoic acid?",
                "Which reagent is used to convert ethanoic acid to ethanol?",
            ),
            ("How many people died on the Titanic?", "How many people survived the Titanic?"),
            ("How do I sign up?", "How do I sign in?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What are the side effects of paracetamol?", "What are the side effects of acetaminophen?"),
            ("Show sales by month", "Show the sales by month"),
            ("How do I convert ethanol to acid?", "How do you convert ethanol to acid?"),
        ],
        0.92,
    );
}

/// What is written with other signs.
#[test]
fn schemes_parts_and_decorations() {
    all_refused(
        &[
            ("Is http://localhost open?", "Is https://localhost open?"),
            ("How was the show? 😀", "How was the show? 😢"),
            ("What does this mean? 🙃", "What does this mean?"),
            ("Reply to: how are you? 🙃", "Reply to: how are you?"),
            ("Can you guess the film? 🦁👑", "Can you guess the film?"),
            ("Which animal is loud? 🦁", "Which animal is loud?"),
            ("My order came 😢", "My order came"),
            ("What is a third of 90?", "What is a fifth of 90?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I make pancakes?", "How do I make pancakes? 🥞"),
            ("Where is my order? 😢😢", "Where is my order?"),
            ("Where is my order? 😢", "where is my order 😢"),
            ("¿Dónde está mi pedido? 😢", "¿Dónde está mi pedido?"),
            ("What is a third of 90?", "What is 1/3 of 90?"),
            ("What is one fifth of 90?", "What is a fifth of 90?"),
            ("Is https://localhost open?", "Is localhost open?"),
        ],
        0.92,
    );
}
