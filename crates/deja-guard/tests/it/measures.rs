//! What a number is asked for or says: how many or of what worth, how often or when, by how much or to what, a share or its whole.

use crate::reasons::{all_passed, all_refused};

#[test]
fn how_often_is_not_when() {
    all_refused(
        &[
            ("Back it up every 15 minutes with cron", "Back it up at minute 15 with cron"),
            ("Run a job every 5 minutes with cron", "Run a job at minute 5 of every hour with cron"),
            ("remind me every 3 days", "remind me in 3 days"),
            ("Raise the price by 20 euros", "Raise the price to 20 euros"),
            ("Prices rose by 5 percent", "Prices rose to 5 percent"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I run a job every 5 minutes?", "How do I run a job each 5 minutes?"),
            ("Run the task every 10 minutes", "Run the task once every 10 minutes"),
            ("Pay every 3 months", "Pay in 3-month intervals"),
        ],
        0.92,
    );
}

#[test]
fn how_many_is_not_what_they_are_worth() {
    all_refused(
        &[
            ("What is the total invoice amount?", "What is the total number of invoices?"),
            ("Show the ticket price by month", "Show the number of tickets by month"),
            ("What is the number of the sales?", "What is the value of the sales?"),
        ],
        0.92,
    );
    all_passed(
        &[(
            "What is the total number of orders last month?",
            "How many orders were there last month in total?",
        )],
        0.92,
    );
}

#[test]
fn a_share_is_asked_for_or_given() {
    all_refused(
        &[
            ("what is 15% of 80", "15 is what percent of 80"),
            ("What percentage of 200 is 30?", "What is 30% of 200?"),
            ("What is the square of 16?", "What is the square root of 16?"),
            ("Add 10 to the total", "Take 10 off the total"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("what is 15% of 80", "15 percent of 80 is what?"),
            ("What percent of 50 is 20?", "20 is what percent of 50?"),
            ("What is the square root of 16?", "what's sqrt of 16?"),
            ("Is it ok to take 2 days off?", "Is it okay to take two days off?"),
        ],
        0.92,
    );
}

#[test]
fn the_number_and_the_address_of_somebody() {
    all_refused(
        &[
            ("What is the phone number of the clinic?", "What is the email address of the clinic?"),
            ("What is the phone number of the clinic?", "What is the address of the clinic?"),
            ("support phone number", "support email address"),
        ],
        0.92,
    );
    all_passed(&[("What is the email address of the clinic?", "What is the clinic's email?")], 0.92);
}

#[test]
fn one_of_two_that_both_name() {
    all_refused(
        &[
            (
                "Separate the seeds from the pulp and discard the seeds",
                "Separate the seeds from the pulp and discard the pulp",
            ),
            ("Do I need a lawyer?", "Do I want a lawyer?"),
            ("How do I redirect stdin?", "How do I redirect stdout?"),
            ("Does ginger cause nausea?", "Does ginger relieve nausea?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("I want to cancel my order", "I need to cancel my order"),
            ("What do people need, and what do they want?", "What do people want, and what do they need?"),
        ],
        0.92,
    );
}

#[test]
fn letters_and_digits_are_one_name() {
    all_refused(
        &[
            ("What is part 12ab?", "What is part 13ab?"),
            ("apartment 12a", "apartment 12b"),
            ("sku 00067gem", "sku 00076gem"),
            ("Where is order 4f3a67c9d2?", "Where is order 4f3a76c9d2?"),
            ("show me a1b2c3d4e5f6", "show me a1b2c3d4e6f5"),
            ("TAG00067gemX", "TAG00076gemX"),
            ("xj900a", "xj900b"),
        ],
        0.97,
    );
    all_refused(
        &[
            ("What is a 401k?", "What is a 403b?"),
            ("How do I roll over my 401k?", "How do I roll over my 403b?"),
            ("Where is seat 12b?", "Where is seat 12c?"),
            ("Where is seat 4b?", "Where is seat 4c?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I enable 2FA?", "How do I turn on 2fa?"),
            ("What is part 12ab?", "What does part 12ab do?"),
            ("What is 3D printing?", "Explain 3d printing"),
            ("convert 5kg to grams", "convert 5 kg to grams"),
            ("Is it open 24h?", "Is it open 24 hours?"),
            ("best 4k tv", "best 4K television"),
            ("How do I reset my iPhone 14?", "how do i reset my iphone14"),
            ("Is a salary of 100k good?", "Is a salary of 100,000 good?"),
        ],
        0.92,
    );
}

#[test]
fn parts_of_large_numbers_and_halves_behind() {
    all_passed(
        &[
            ("mortgage of a quarter million over 25 years", "mortgage of 250,000 over 25 years"),
            ("a quarter of a million dollars mortgage", "250k dollars mortgage"),
            ("half a million followers", "500,000 followers"),
            ("1.5 hours in minutes", "an hour and a half in minutes"),
            ("2.5 hours of sleep", "two and a half hours of sleep"),
            ("She was 5 1/2 months pregnant", "She was five and a half months pregnant"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("half a million followers", "a million followers"),
            ("an hour and a half in minutes", "an hour in minutes"),
            ("half a million followers", "quarter of a million followers"),
            ("what is 5 percent of 200", "what is 5 per mille of 200"),
        ],
        0.92,
    );
}

#[test]
fn an_age_is_no_time_that_it_takes() {
    all_refused(
        &[
            ("can i retire at 40", "can i retire in 40 days"),
            ("meet at 5", "meet in 5 minutes"),
            ("work at 14", "work for 14 days"),
        ],
        0.92,
    );
    all_passed(&[("can i retire at 60", "can i retire at age 60")], 0.92);
}

#[test]
fn a_decimal_mark_may_stand_without_its_zero() {
    all_refused(
        &[
            ("Is .05 mg of fentanyl safe?", "Is .5 mg of fentanyl safe?"),
            ("Is .5 mg of lorazepam safe?", "Is 5 mg of lorazepam safe?"),
            ("Is a p value of .05 significant?", "Is a p value of .005 significant?"),
            ("Is $.99 a good price?", "Is $99 a good price?"),
            ("Solve x = -.5", "Solve x = .5"),
            ("Ist ,5 mg Lorazepam sicher?", "Ist 5 mg Lorazepam sicher?"),
            ("¿Es seguro tomar .5 mg de lorazepam?", "¿Es seguro tomar 5 mg de lorazepam?"),
        ],
        0.98,
    );
    all_passed(
        &[
            ("Is .5 mg of lorazepam safe?", "Is 0.5 mg of lorazepam safe?"),
            ("Is a p value of .05 significant?", "Is a p value of 0.05 significant?"),
            ("Ist ,5 mg Lorazepam sicher?", "Ist 0,5 mg Lorazepam sicher?"),
            ("How do I open a .7z file?", "How can I open a 7z file?"),
            ("Which is larger, 2 ,3 or 4?", "Which is larger, 2, 3 or 4?"),
            ("What does the range 1..5 mean?", "what does the range 1..5 mean"),
        ],
        0.98,
    );
}

#[test]
fn each_number_of_an_address_counts() {
    all_refused(
        &[
            ("Route 1.2.3.4/32 via eth0", "Route 1.2.3.5/32 via eth0"),
            ("Block ip 10.0.0.0/8", "Block ip 11.0.0.0/8"),
            ("How many hosts are in 192.168.1.0/24?", "How many hosts are in 192.168.1.0/25?"),
            (
                "What is the broadcast address of 10.1.2.0/23?",
                "What is the broadcast address of 10.1.3.0/23?",
            ),
            ("Connect to 10.0.0.1:8080", "Connect to 10.0.0.2:8080"),
            ("Show build 1.2.3/45", "Show build 1.2.4/45"),
        ],
        0.98,
    );
    all_passed(
        &[
            ("How many hosts are in 192.168.1.0/24?", "How many hosts does 192.168.1.0/24 have?"),
            ("Is 1/4 more than 0.2?", "Is 0.25 more than 0.2?"),
        ],
        0.98,
    );
}

#[test]
fn numbers_are_the_same_to_the_last_digit() {
    all_refused(
        &[
            ("Summarize message 1503435956.000247", "Summarize message 1503435956.000248"),
            ("What happened at 1700000000.123456?", "What happened at 1700000000.456789?"),
            ("How much is 1,000,000,000.10 USD in EUR?", "How much is 1,000,000,000.40 USD in EUR?"),
            ("Where is GPS 48.858370481, 2.294481291?", "Where is GPS 48.858370482, 2.294481291?"),
            ("Is 12,345,678,901,234,567 prime?", "Is 12,345,678,901,234,568 prime?"),
            ("Open section 1.100", "Open section 1.1"),
            ("Is 1.000 euros a lot?", "Is 1 euro a lot?"),
            ("Where is zip code 02134?", "Where is zip code 2134?"),
            ("Is PIN 0042 safe?", "Is PIN 42 safe?"),
        ],
        0.98,
    );
    all_passed(
        &[
            ("Is 12,345,678,901,234,567 prime?", "Is 12345678901234567 prime?"),
            ("Is 1.1 thousand euros a lot?", "Is 1100 euros a lot?"),
            ("Is 2.5 kg of flour enough?", "Is 2.50 kg of flour enough?"),
            ("Do 3.7 million people live there?", "Do 3,700,000 people live there?"),
        ],
        0.98,
    );
}

#[test]
fn quotes_behind_numbers_are_feet_and_inches() {
    all_refused(
        &[
            ("Convert 5' to cm", "Convert 5\" to cm"),
            ("How big is a 12\" pizza?", "How big is a 12 cm pizza?"),
            ("Is 5'10\" tall?", "Is 5'11\" tall?"),
        ],
        0.98,
    );
    all_passed(
        &[
            ("Is 5'10\" tall?", "Is 5 feet 10 inches tall?"),
            ("How big is a 12″ pizza?", "How big is a 12 inch pizza?"),
            ("Who wrote \"Fahrenheit 451\"?", "Who wrote Fahrenheit 451?"),
            ("Who wrote “1984”?", "Who wrote 1984?"),
            ("Who wrote »1984«?", "Who wrote 1984?"),
            ("What were the 1990's like?", "What were the 1990s like?"),
        ],
        0.98,
    );
}

#[test]
fn a_version_before_its_release_is_another_one() {
    all_refused(
        &[
            ("Does version 1.2.3 work?", "Does version 1.2.3-rc2 work?"),
            ("Is Python 3.13 stable?", "Is Python 3.13rc2 stable?"),
            ("Is iOS 18 stable?", "Is iOS 18 beta stable?"),
        ],
        0.98,
    );
    all_passed(&[("Is iOS 18 beta stable?", "Is the iOS 18 beta stable?")], 0.98);
}

#[test]
fn the_most_is_said_in_several_ways() {
    all_passed(
        &[
            (
                "Write a slogan for my bakery in at most 9 words.",
                "Write a slogan for my bakery, max 9 words.",
            ),
            (
                "Write a slogan for my bakery, maximum 9 words.",
                "Write a slogan for my bakery, up to 9 words.",
            ),
            ("A slogan for my bakery of a maximum of 9 words", "A slogan for my bakery of at most 9 words"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Write a slogan for my bakery, max 9 words.", "Write a slogan for my bakery, max 5 words."),
            ("Write a slogan for my bakery, max 9 words.", "Write a slogan for my bakery, at least 9 words."),
        ],
        0.92,
    );
}
