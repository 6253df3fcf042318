//! Rewordings that change the order, the kind of a word or the way a thing is named, each beside what may not pass.

use crate::reasons::{all_passed, all_refused};

#[test]
fn a_passive_moves_the_verb() {
    all_passed(
        &[
            (
                "How do I roll back a Helm release to revision 4?",
                "How can a Helm release be rolled back to revision 4?",
            ),
            (
                "How do I migrate a MySQL database to version 8?",
                "How can a MySQL database be migrated to version 8?",
            ),
            ("Which organs does hepatitis affect?", "What organs are affected by hepatitis?"),
            ("What countries does the Danube cross?", "Which countries are crossed by the Danube?"),
            ("Which taxes does a landlord pay?", "What taxes are paid by a landlord?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Which insects do bats eat?", "Which bats are eaten by insects?"),
            ("Which birds do cats hunt?", "Which cats are hunted by birds?"),
            (
                "How do I roll back a Helm release to revision 4?",
                "How can a Helm release be rolled back to revision 5?",
            ),
            ("How do I roll back a release?", "How do I run a release?"),
        ],
        0.95,
    );
}

#[test]
fn what_and_or_or_joins_changes_places_as_a_whole() {
    all_passed(
        &[
            ("Which is taller, the Eiffel Tower or Big Ben?", "What is higher, Big Ben or the Eiffel Tower?"),
            (
                "Who is better: Lionel Messi or Cristiano Ronaldo?",
                "Who is better: Cristiano Ronaldo or Lionel Messi?",
            ),
            (
                "Which is heavier, a kilogram of iron or a kilogram of feathers?",
                "What weighs more: 1 kg of feathers or 1 kg of iron?",
            ),
            ("Who is older, Messi or Ronaldo?", "Is Messi or Ronaldo older?"),
            (
                "Is Python case sensitive or case insensitive?",
                "Is Python case insensitive or case sensitive?",
            ),
            (
                "Should I use asyncio.gather() or asyncio.wait()?",
                "Should I use asyncio.wait() or asyncio.gather()?",
            ),
            (
                "What is the difference between RANK() and DENSE_RANK() in SQL?",
                "What is the difference between DENSE_RANK() and RANK() in SQL?",
            ),
        ],
        0.92,
    );
    all_refused(
        &[
            (
                "Which is heavier, 1 kg of iron or 2 kg of feathers?",
                "Which is heavier, 2 kg of iron or 1 kg of feathers?",
            ),
            ("Which is heavier, gold or lead?", "What weighs less, lead or gold?"),
            (
                "Which place is nicer, Peru or northern Chile?",
                "Which place is nicer, Chile or northern Peru?",
            ),
            (
                "Is it from North India and not from South India?",
                "Is it from South India and not from North India?",
            ),
            ("How do I replace RANK() with DENSE_RANK()?", "How do I replace DENSE_RANK() with RANK()?"),
            ("When is init() called before load()?", "When is load() called before init()?"),
        ],
        0.97,
    );
}

#[test]
fn places_and_forms_of_the_answer_may_move() {
    all_passed(
        &[
            (
                "Why does useEffect run twice in React 18 in development?",
                "What is the reason useEffect runs twice in development in React 18?",
            ),
            ("Summarise Macbeth in one sentence.", "Give me a one-sentence summary of Macbeth."),
            ("Describe Docker in one line.", "Give me a one-line description of Docker."),
            (
                "Summarise the French Revolution in three bullet points.",
                "Give me a three-bullet-point summary of the French Revolution.",
            ),
            (
                "How do I abort a git merge that has conflicts?",
                "There are conflicts in my git merge. How do I abort it?",
            ),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Is there a list in a tuple in Python?", "Is there a tuple in a list in Python?"),
            ("Summarise Macbeth in one sentence.", "Give me a one-paragraph summary of Macbeth."),
            ("Summarise Macbeth in one sentence.", "Give me a one-sentence analysis of Macbeth."),
            ("Why do cats purr at night?", "What is the reason dogs bark at night?"),
            (
                "There are conflicts in my git merge. How do I abort it?",
                "How do I continue a git merge that has conflicts?",
            ),
        ],
        0.95,
    );
}

#[test]
fn what_one_lacks_has_one_form() {
    all_passed(
        &[
            (
                "Can I return a pair of shoes without the original box?",
                "Is it possible to return shoes if I no longer have the original box?",
            ),
            (
                "Can I get a refund without the receipt?",
                "Can I get a refund if I don't have the receipt any more?",
            ),
            ("What are the symptoms of iron deficiency?", "Which symptoms does a lack of iron cause?"),
            ("What are signs of vitamin D deficiency?", "What are signs of a lack of vitamin D?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Can I get a refund without the receipt?", "Can I get a refund if I have the receipt?"),
            (
                "What are the symptoms of vitamin D deficiency?",
                "What are the symptoms of too much vitamin D?",
            ),
            ("What are the symptoms of iron deficiency?", "What are the symptoms of iodine deficiency?"),
        ],
        0.95,
    );
}

#[test]
fn limits_of_a_measure_have_one_form() {
    all_passed(
        &[
            (
                "What is the minimum age to rent a car in Italy?",
                "How old do you have to be, at least, to hire a car in Italy?",
            ),
            ("What is the maximum weight for cabin bags?", "How heavy may cabin bags be at most?"),
            ("What is the minimum age to vote?", "At what age can you vote?"),
            ("What is the capital gains tax in Spain?", "What is the Spanish capital gains tax?"),
            (
                "What is the speed limit on motorways in France?",
                "How fast are you allowed to drive on French motorways?",
            ),
        ],
        0.92,
    );
    all_refused(
        &[
            ("What is the maximum age to adopt?", "How old do you have to be to adopt?"),
            ("What is the maximum weight for cabin bags?", "How big may cabin bags be at most?"),
            ("What is the speed limit in France?", "How fast may one drive in Spain?"),
            ("What are the motorways in France?", "What are the German motorways?"),
        ],
        0.95,
    );
}

#[test]
fn arithmetic_in_words_is_that_in_signs() {
    all_passed(
        &[
            ("What is the derivative of x^3?", "Differentiate x cubed."),
            ("Factor x^2 - 9.", "Factorise x squared minus 9."),
            ("What is 2^10?", "What is 2 to the power of 10?"),
            ("What is the cube of 4?", "What is 4^3?"),
            ("What is 144 divided by 12?", "Divide 144 by 12."),
            ("What's 25 minus 17?", "Subtract 17 from 25."),
            ("How do I lose 5 kg in 12 months?", "How do I lose 5 kg in a year?"),
            ("What happened over the last decade?", "What happened over the last ten years?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Differentiate x squared.", "What is the derivative of x cubed?"),
            ("Divide 144 by 12.", "Divide 12 by 144."),
            ("Subtract 17 from 25.", "Subtract 25 from 17."),
            ("What is the cube of 4?", "What is the square of 4?"),
            ("How do I earn $500 within a month?", "How do I earn $500 in a day?"),
            ("Which countries does Russia border?", "Which countries were invaded by Russia?"),
            ("How much can I save in a month?", "How much can I save in a week?"),
            ("How much does a gallon of milk weigh?", "How much does a litre of milk weigh?"),
        ],
        0.97,
    );
}

#[test]
fn words_of_software_have_one_form() {
    all_passed(
        &[
            (
                "How do I add an index on the email column of the users table?",
                "How to create an index on the email column of the users table?",
            ),
            (
                "How can I delete a remote git branch called feature/login?",
                "How can I remove a remote git branch named feature/login?",
            ),
            (
                "How do I undo the last migration in Django?",
                "How can I roll back the last migration in Django?",
            ),
            ("How do I convert a Word document to PDF?", "save .docx as pdf how"),
            ("How do I open a .xlsx file on a Mac?", "How do I open an Excel file on a Mac?"),
            ("How do I read a .csv file in R?", "How do I read a CSV file in R?"),
            ("How do I extract a zip file on Linux?", "How do I unzip a zip file on Linux?"),
            ("How do I execute a shell script from Python?", "How do I run a shell script from Python?"),
            ("What is the past participle of 'to swim'?", "past participle of swim"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("How do I add an index on the email column?", "How do I drop an index on the email column?"),
            ("How do I add a column in pandas?", "How do I create a table in pandas?"),
            ("How do I roll back a database migration?", "How do I run a database migration?"),
            ("How do I convert a .docx to PDF?", "How do I convert a .pptx to PDF?"),
            ("How do I convert a Word document to PDF?", "How do I convert a PDF to a Word document?"),
            ("What is the past participle of 'to swim'?", "past tense of swim"),
            ("What does typeof null return?", "What does typeof undefined return?"),
        ],
        0.95,
    );
}

#[test]
fn code_of_several_words_is_one_piece() {
    all_passed(
        &[
            ("What does the cron expression 0 5 * * * mean?", "Explain the cron expression 0 5 * * *."),
            ("What does int* p mean in C?", "What does int *p mean in C?"),
            ("What does const char *s mean?", "What does char const *s mean?"),
            ("What are short & long term effects?", "What are long & short term effects?"),
            (
                "What does this print?\n\nprint([x for x in y])",
                "What does this print?\n\n```python\nprint([x for x in y])\n```",
            ),
            ("What is wrong?\n\nfor (;;) f(x)", "What is wrong?\n\n```js\nfor (;;) f(x)\n```"),
        ],
        0.92,
    );
    all_refused(
        &[
            (
                "What does the cron expression 0 5 * * * mean?",
                "What does the cron expression 5 0 * * * mean?",
            ),
            ("When does \"0 9 * * mon-fri\" run?", "When does \"0 9 * * mon,fri\" run?"),
            ("What does const int *p mean in C?", "What does int * const p mean in C?"),
            ("What does char **argv mean in C?", "What does char *argv mean in C?"),
            ("What does [a-z] match?", "What does [A-Z] match?"),
            ("What does 2>&1 do?", "What does 1>&2 do?"),
            ("What does UNION do in SQL?", "What does UNION ALL do in SQL?"),
            ("Which rows have age > 30 and city = 'Rome'?", "Which rows have age > 30 or city = 'Rome'?"),
            (
                "What does this print?\n\nprint(max(a))",
                "What does this print?\n\n```python\nprint(min(a))\n```",
            ),
            ("What is wrong?\n\nfor (;;) f(x)", "What is wrong?\n\n```js\nfor (;;) f(y)\n```"),
        ],
        0.97,
    );
}
