//! What kind of answer is asked for: a time and a number of people are two, whatever words the prompts share.

use crate::reasons::{all_passed, all_refused};

#[test]
fn another_kind_of_answer_is_asked_for() {
    all_refused(
        &[
            ("When did the Titanic sink?", "How many people died on the Titanic?"),
            ("Which fertiliser do I need for roses?", "How much fertiliser do I need for roses?"),
            ("Which birds migrate in autumn?", "Why do birds migrate in autumn?"),
            ("What is the penalty for late filing?", "How do I file late?"),
            ("Where is the SIM slot on the tablet?", "Does the tablet have a SIM slot?"),
            (
                "How do I write a letter of complaint to an airline?",
                "Write a letter of complaint to an airline.",
            ),
            ("What's the rent for a studio in Porto?", "Where can I rent a studio in Porto?"),
            ("Why do onions make you cry?", "How do I cut onions without crying?"),
            ("Which courses does your school offer?", "Does your school offer courses?"),
        ],
        0.92,
    );
}

#[test]
fn what_is_shared_and_what_is_not() {
    all_refused(
        &[
            (
                "What is the difference between a turtle and a tortoise?",
                "What do turtles and tortoises have in common?",
            ),
            (
                "How are alligators different from crocodiles?",
                "In what ways are alligators and crocodiles alike?",
            ),
            ("Who can edit my documents?", "Whose documents can I edit?"),
            ("What is the first step in buying a house?", "What are the steps in buying a house?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("What do lemons and limes have in common?", "How are lemons and limes similar?"),
            ("What is the difference between jam and marmalade?", "How do jam and marmalade differ?"),
            ("Who owns the copyright of my thesis?", "Whose is the copyright of my thesis?"),
        ],
        0.92,
    );
}

#[test]
fn the_same_kind_of_answer_is_asked_for_in_other_words() {
    all_passed(
        &[
            ("What is the reason for the delay of my train?", "Why is my train delayed?"),
            ("When was the Colosseum built?", "In what year was the Colosseum constructed?"),
            ("When do I have to hand in the thesis?", "What is the deadline for the thesis?"),
            ("What does a replacement key cost?", "How much is a replacement key?"),
            ("Where is your head office?", "In which city is your head office?"),
            ("Which composer wrote The Four Seasons?", "Who composed The Four Seasons?"),
            ("How do I export my contacts?", "Which button exports my contacts?"),
            ("How do I export my contacts?", "Is there a way to export my contacts?"),
            ("Is it possible to change the seat after booking?", "How do I change the seat after booking?"),
            ("Is there a fee for cash withdrawals?", "How much do you charge for cash withdrawals?"),
            ("Which is healthier, butter or margarine?", "Is butter or margarine healthier?"),
            ("Can a dead battery be recharged?", "Is there a way to recharge a dead battery?"),
            ("What discount do pensioners get?", "How much of a discount do pensioners get?"),
            ("Where can I change my email?", "How do I change my email?"),
        ],
        0.92,
    );
}

#[test]
fn titles_name_what_they_ask_for() {
    all_refused(
        &[
            ("best time to visit iceland", "best way to visit iceland"),
            ("opening hours of the zoo", "directions to the zoo"),
            ("causes of back pain", "exercises for back pain"),
            ("number of moons of saturn", "names of the moons of saturn"),
            ("What does a notary do?", "How do I become a notary?"),
            ("Do you have gluten-free pizza?", "What is in the gluten-free pizza?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("price of a stamp to france", "How much is a stamp to France?"),
            ("best time to visit iceland", "When should I visit Iceland?"),
            ("opening hours of the zoo", "When is the zoo open?"),
            ("causes of back pain", "Why do people get back pain?"),
            ("birthplace of chopin", "Where was Chopin born?"),
            ("Give me a recipe for pancakes.", "How do I make pancakes?"),
        ],
        0.92,
    );
}

#[test]
fn whether_one_may_is_not_how() {
    all_refused(
        &[
            ("Am I allowed to expense a taxi to the airport?", "How do I expense a taxi to the airport?"),
            ("Is it legal to burn garden waste?", "How do I burn garden waste?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Can I expense a taxi to the airport?", "How do I expense a taxi to the airport?"),
            ("Am I allowed to expense a taxi?", "Can I expense a taxi?"),
        ],
        0.92,
    );
}
