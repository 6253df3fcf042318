use deja_guard::{Prompt, Reason, Strictness, Verdict, judge};

pub(crate) fn verdict(a: &str, b: &str, cosine: f32) -> Verdict {
    judge(&Prompt::read(a), &Prompt::read(b), cosine, 0.85, Strictness::Standard)
}

pub(crate) fn all_refused(pairs: &[(&str, &str)], cosine: f32) {
    for (a, b) in pairs {
        let verdict = verdict(a, b, cosine);
        assert!(verdict.refused.is_some(), "{a} / {b}: {verdict:?}");
    }
}

pub(crate) fn all_passed(pairs: &[(&str, &str)], cosine: f32) {
    for (a, b) in pairs {
        let verdict = verdict(a, b, cosine);
        assert_eq!(verdict.refused, None, "{a} / {b}: {verdict:?}");
    }
}

#[test]
fn each_reason_is_named() {
    let cases = [
        ("Who won the World Cup in 2014?", "Who won the World Cup in 2018?", Reason::Numbers),
        ("What's new in Python 3.1?", "What's new in Python 3.10?", Reason::Numbers),
        ("How long do I bake salmon at 180 °C?", "How long do I bake salmon at 180 °F?", Reason::Numbers),
        (
            "How much does it cost to ship 20 kg to Canada?",
            "How much does it cost to ship 20 lb to Canada?",
            Reason::Numbers,
        ),
        ("Which countries require a visa?", "Which countries do not require a visa?", Reason::Negation),
        ("Don't sign the letter.", "Do sign the letter.", Reason::Negation),
        ("What year did Einstein die?", "What month did Einstein die?", Reason::Numbers),
        ("What time is the match?", "What day is the match?", Reason::Numbers),
        ("How many hours does the course take?", "How many weeks does the course take?", Reason::Numbers),
        ("Can I travel if I have a visa?", "Can I travel unless I have a visa?", Reason::Opposite),
        ("May I swim during the treatment?", "May I swim after the treatment?", Reason::Opposite),
        ("Do I pay within two weeks?", "Do I pay after two weeks?", Reason::Opposite),
        ("Must tenants paint the walls?", "May tenants paint the walls?", Reason::Opposite),
        ("Who is the mayor of Lyon?", "Who was the mayor of Lyon?", Reason::Words),
        ("How do I enable read receipts?", "How do I disable read receipts?", Reason::Opposite),
        ("How do I turn the heating on?", "How do I turn the heating off?", Reason::Opposite),
        ("How do I boost my site's traffic?", "How do I shrink my site's traffic?", Reason::Opposite),
        (
            "What is on the left side of a Rubik's cube?",
            "What is on the right side of a Rubik's cube?",
            Reason::Opposite,
        ),
        ("How do I scroll up in vim?", "How do I scroll down in vim?", Reason::Opposite),
        ("Print all even pages", "Print all odd pages", Reason::Opposite),
        ("Is coffee good for the liver?", "Is coffee bad for the liver?", Reason::Opposite),
        ("Is tap water in Bali safe?", "Is tap water in Bali unsafe?", Reason::Opposite),
        (
            "How do I cancel my Netflix subscription?",
            "How do I cancel my Spotify subscription?",
            Reason::Name,
        ),
        ("Which foods have vitamin A?", "Which foods have vitamin D?", Reason::Name),
        ("How heavy is the Pixel 8?", "How heavy is the Pixel 8 Pro?", Reason::Numbers),
        ("Is hepatitis B curable?", "Is hepatitis C curable?", Reason::Name),
        ("binary search in Rust", "binary search in Java", Reason::Name),
        ("flights from Madrid to Oslo", "flights from Oslo to Madrid", Reason::Order),
        ("Did Microsoft buy LinkedIn?", "Was Microsoft bought by LinkedIn?", Reason::Order),
        ("Can I return shoes?", "Can I return shoes without a receipt?", Reason::ExtraCondition),
        ("Who wrote the letters to the editor?", "Why wrote the gardener to the editor?", Reason::Words),
    ];
    for (a, b, reason) in cases {
        let verdict = verdict(a, b, 0.92);
        assert_eq!(verdict.refused, Some(reason), "{a} / {b}: {verdict:?}");
        assert!((0.0..=1.0).contains(&verdict.score));
    }
}

/// Their vectors are equal, because the tokenizer has one token for all that it cannot spell.
#[test]
fn what_no_vector_tells_apart_is_refused() {
    let (x, y) = ("ACGT".repeat(30), "TTGA".repeat(30));
    let cases = [
        (format!("Translate this DNA sequence: {x}"), format!("Translate this DNA sequence: {y}")),
        (format!("Verify this token: eyJhbGciOi.{x}"), format!("Verify this token: eyJhbGciOi.{y}")),
        ("How many people liked the 👍 reaction?".into(), "How many people liked the 👎 reaction?".into()),
        ("Is 5 ✅ or not?".into(), "Is 5 ❌ or not?".into()),
        ("Is this true: ∀x P(x)?".into(), "Is this true: ∃x P(x)?".into()),
        ("What is the meaning of 鑫 in Chinese?".into(), "What is the meaning of 龘 in Chinese?".into()),
        ("Please cancel🙏 my order".into(), "Please track🙏 my order".into()),
        (
            "¿Qué significa el emoji 👍 en un mensaje?".into(),
            "¿Qué significa el emoji 👎 en un mensaje?".into(),
        ),
        ("Where is order 12345678901234567890?".into(), "Where is order 12345678901234567891?".into()),
    ];
    for (a, b) in cases {
        for (strictness, threshold) in
            [(Strictness::Standard, 1.0), (Strictness::Strict, 1.0), (Strictness::Standard, 0.0)]
        {
            let verdict = judge(&Prompt::read(&a), &Prompt::read(&b), 1.0, threshold, strictness);
            assert!(verdict.refused.is_some(), "{a} / {b} at {threshold}: {verdict:?}");
        }
    }
    let same = verdict("How do I reset my password? 🙏", "how can I reset my password 🙏", 0.95);
    assert_eq!(same.refused, None, "{same:?}");
}

#[test]
fn numbers_in_each_others_place_are_other_numbers() {
    let cases = [
        ("What is 12 / 4?", "What is 4 / 12?"),
        ("Divide 10 by 2", "Divide 2 by 10"),
        ("How do I migrate from Postgres 14 to 16?", "How do I migrate from Postgres 16 to 14?"),
        ("Change port 80 to 8080", "Change port 8080 to 80"),
        (
            "Transfer 100 dollars from account 11 to account 22",
            "Transfer 100 dollars from account 22 to account 11",
        ),
        ("Is 192.168.0.1 reachable from 10.0.0.2?", "Is 10.0.0.2 reachable from 192.168.0.1?"),
        ("Who has the address 10.1.2.3?", "Who has the address 10.2.1.3?"),
        ("Are you open on May 3?", "Are you open on March 5?"),
        ("What day is 5/6/2024?", "What day is 6/5/2024?"),
        ("How do I dress for -10 C?", "How do I dress for 10 C?"),
        ("How hot is -40 degrees?", "How hot is 40 degrees?"),
        ("What is the absolute value of -7?", "What is the absolute value of 7?"),
        ("Is a 3 kHz tone audible?", "Is a 3 GHz tone audible?"),
        ("Is 100 mg of vitamin C enough?", "Is 100 mcg of vitamin C enough?"),
        ("Is ½ of 8 even?", "Is ¼ of 8 even?"),
        ("Can I get ½ off?", "Can I get ¼ off?"),
        ("How long is 1½ hours?", "How long is 2½ hours?"),
        ("Is half of 8 even?", "Is a quarter of 8 even?"),
        ("¿Cuánto es ½ de 8?", "¿Cuánto es ¼ de 8?"),
        ("¿Cuánto es 2½ por 3?", "¿Cuánto es 4½ por 3?"),
        ("What is 0,625 as a fraction?", "What is 625 as a fraction?"),
    ];
    for (a, b) in cases {
        let verdict = verdict(a, b, 0.97);
        assert_eq!(verdict.refused, Some(Reason::Numbers), "{a} / {b}: {verdict:?}");
    }
    // How often, and in which order.
    let lists = [
        ("Which network has 172.16.0.1?", "Which network has 172.16.1.1?"),
        ("Is version 4.2.2 safe?", "Is version 4.4.2 safe?"),
        ("What is 7 + 7?", "What is 7 + 7 + 7?"),
        ("What is 3 * 3 * 8?", "What is 3 * 8 * 8?"),
        ("What is the mode of 4, 4, 9, 9, 9?", "What is the mode of 4, 4, 4, 9, 9?"),
        ("What is the second item of [7, 8, 9]?", "What is the second item of [8, 7, 9]?"),
        ("What is 20 - 6 - 2?", "What is 20 - 2 - 6?"),
        ("Which line goes through (1, 5) and (2, 8)?", "Which line goes through (5, 1) and (8, 2)?"),
        ("What does article 4(7) say?", "What does article 7(4) say?"),
    ];
    for (a, b) in lists {
        let verdict = verdict(a, b, 0.97);
        assert_eq!(verdict.refused, Some(Reason::Numbers), "{a} / {b}: {verdict:?}");
    }
    let same = [
        ("What is the sum of 3, 8 and 5?", "What is the sum of 8, 3 and 5?"),
        ("Distance between (1, 5) and (2, 8)?", "Distance between (2, 8) and (1, 5)?"),
        ("Is a 25K (Rs 25,000) salary enough?", "Is a salary of 25,000 enough?"),
        ("Is 1,500 (1.5k) enough?", "Is 1500 enough?"),
        ("Are you open on May 3, 2024?", "Are you open on 3 May 2024?"),
        ("What is 12 + 4?", "What is 4 + 12?"),
        ("Is it colder than -10 degrees?", "Is it colder than minus 10 degrees?"),
        ("Are you open on May 3?", "Are you open on 3 May?"),
        ("What is ½ of 12?", "What is half of 12?"),
        ("What is ½ of 12?", "What is 1/2 of 12?"),
        ("What is ¼ of 12?", "What is a quarter of 12?"),
        ("Can I freeze ½ a lemon?", "Can I freeze half a lemon?"),
        ("How do I double 2½ cups of flour?", "How do I double 2.5 cups of flour?"),
        ("How do I train for a half marathon?", "How can I train for a half marathon?"),
    ];
    all_passed(&same, 0.97);
}

/// Rounding is for what was converted; in one unit each digit counts.
#[test]
fn amounts_are_compared_to_the_last_digit() {
    let cases = [
        (
            "How many seconds a month is 99.9% availability?",
            "How many seconds a month is 99.95% availability?",
        ),
        ("How many miles are 420 km?", "How many miles are 421 km?"),
        ("Do I have a fever at 38.0 °C?", "Do I have a fever at 38.2 °C?"),
        ("What is the tax on $88,000?", "What is the tax on $88,500?"),
        ("Is the rent due within 201 days?", "Is the rent due within 202 days?"),
        ("Who speaks in Mark 4:39?", "Who speaks in Mark 4:40?"),
        ("Is there a bus at 22:40?", "Is there a bus at 22:48?"),
        ("How many minutes are 02:20:05?", "How many minutes are 02:20:50?"),
        ("Where is parcel 7730041256?", "Where is parcel 7730041257?"),
        ("Which day is the Unix time 1650000000?", "Which day is the Unix time 1650000060?"),
    ];
    for (a, b) in cases {
        for strictness in [Strictness::Standard, Strictness::Strict] {
            let verdict = judge(&Prompt::read(a), &Prompt::read(b), 0.97, 0.95, strictness);
            assert_eq!(verdict.refused, Some(Reason::Numbers), "{a} / {b}: {verdict:?}");
        }
    }
    let same = [
        ("Can I run 5 km in an hour?", "Can I run 3.1 miles in an hour?"),
        ("Is 1.1 million dollars enough?", "Is $1,100,000 enough?"),
        ("Is 98.6 °F a fever?", "Is 37 °C a fever?"),
        ("Is there a bus at 9 pm?", "Is there a bus at 21:00?"),
    ];
    all_passed(&same, 0.97);
}

/// The same letters in the same order, and another meaning.
#[test]
fn marks_and_case_that_say_something_are_read() {
    let cases = [
        ("What is (2 + 3) * 4?", "What is 2 + 3 * 4?"),
        ("What does git branch -d do?", "What does git branch -D do?"),
        ("What does rm -r do?", "What does rm -f do?"),
        ("How do I chmod +x a file?", "How do I chmod -x a file?"),
        ("What does git push --force do?", "What does git push do?"),
        ("What does \\d match?", "What does \\D match?"),
        ("What is %m in strftime?", "What is %M in strftime?"),
        ("Is 100 Mbps fast?", "Is 100 MBps fast?"),
        ("Who can get blood of type AB+?", "Who can get blood of type AB-?"),
        ("Which countries are in UTC+3?", "Which countries are in UTC-3?"),
        ("Solve 5y + 2 = 12", "Solve 5y - 2 = 12"),
        ("What does === compare?", "What does == compare?"),
        ("What does [0-9]+ match?", "What does [^0-9]+ match?"),
        ("Is 5 MW a lot?", "Is 5 mW a lot?"),
        (
            "What is wrong?\nfor i in x:\n    f(i)\n    return i",
            "What is wrong?\nfor i in x:\n    f(i)\nreturn i",
        ),
    ];
    all_refused(&cases, 1.0);
}

/// The tokenizer drops accents, so the vectors are equal.
#[test]
fn an_accent_makes_another_word_where_accents_are_written() {
    let refused = [
        ("How do I enter ó?", "How do I enter ò?"),
        ("How do I enter ñ in vim?", "How do I enter n in vim?"),
        ("How do you say ü?", "How do you say ö?"),
        ("What does peña mean?", "What does pena mean?"),
        ("How do you pronounce 'rosé'?", "How do you pronounce 'rose'?"),
        ("Is pâté or pâte a dough?", "Is pâté or pate a dough?"),
        ("How is Šibenik spelled in São Paulo?", "How is Sibenik spelled in São Paulo?"),
    ];
    for (a, b) in refused {
        for strictness in [Strictness::Standard, Strictness::Strict] {
            let verdict = judge(&Prompt::read(a), &Prompt::read(b), 1.0, 1.0, strictness);
            assert!(verdict.refused.is_some(), "{a} / {b}: {verdict:?}");
        }
    }
    let same = [
        ("Where is a good café in Leeds?", "Where is a good cafe in Leeds?"),
        ("Is it naïve to trust my bank?", "Is it naive to trust my bank?"),
        ("How do I update my résumé?", "How do I update my resume?"),
        ("What is a vis-à-vis meeting?", "What is a vis-a-vis meeting?"),
        ("When is the café in São Paulo open?", "when is the café in são paulo open"),
    ];
    all_passed(&same, 0.97);
}

#[test]
fn reasons_are_said_in_words() {
    let words = [
        (Reason::Numbers, "numbers"),
        (Reason::Negation, "negation"),
        (Reason::Opposite, "opposite"),
        (Reason::Name, "name"),
        (Reason::Order, "order"),
        (Reason::ExtraCondition, "extra condition"),
        (Reason::Words, "words"),
    ];
    for (reason, word) in words {
        assert_eq!(reason.to_string(), word);
    }
}

#[test]
fn harmless_differences_pass() {
    let cases = [
        ("Do I need 2 air filters?", "Do I need two air filters?"),
        (
            "Question: what's the correct tyre pressure for a Golf?",
            "What is the correct tyre pressure for a Golf?",
        ),
        ("Who was the king of Sweden in 1700?", "Who is the king of Sweden in 1700?"),
        ("What is half of fifty?", "What is half of 50?"),
        ("On what date and in what year did the war end?", "In what year and on what date did the war end?"),
        ("is a 1.5k loan possible without collateral", "Is a loan of 1,500 possible without collateral?"),
        ("How long does a 2 h flight board?", "How long does a 120 min flight board?"),
        ("what happened on 9 Nov 1989", "What happened on November 9th, 1989?"),
        ("Book a table for 7pm on Friday", "book a table for 19:00 on Friday"),
        ("can I take a 0.5 l bottle through security", "Can I take a 500 ml bottle through security?"),
        ("How can I delete my account?", "what is the best way to remove my account"),
        ("Did Microsoft buy LinkedIn?", "Was LinkedIn bought by Microsoft?"),
        ("Is Norway bigger than Denmark?", "Is Denmark smaller than Norway?"),
        ("flights from Madrid to Oslo", "Flights to Oslo from Madrid"),
        ("Could you please tell me how to reset my router?", "How do I reset my router?"),
        ("how to seperate egg whites", "How to separate egg whites?"),
        ("I can't find the code of my parcel", "Where is the code of my parcel?"),
        ("What year did Einstein die?", "When did Einstein die?"),
        ("What date is the match?", "On what day is the match?"),
        ("How many days does the course take?", "How long does the course take?"),
        ("Hotels in New York", "Hotels in NYC"),
        ("Which foods have vitamin A?", "which foods have vitamin a"),
        ("Solve 5y + 2 = 12", "solve 5y+2=12"),
        ("while x <= 10", "while x is at most 10"),
        ("Can't find the serial number", "Cannot find the serial number"),
        ("Didn't receive the parcel", "Did not receive the parcel"),
        ("Won't charge over night", "Will not charge over night"),
        ("Can't I pay by card", "Can I pay by card?"),
        ("Who set the 1st record?", "Who set the first record?"),
        ("Who was the 14th pope?", "Who was the fourteenth pope?"),
        ("What is the 27th letter?", "What is the twenty-seventh letter?"),
        ("Are you open on May 1st?", "Are you open on 1 May?"),
        ("Aren't there any trains on Sunday?", "Are there any trains on Sundays?"),
    ];
    all_passed(&cases, 0.93);
}

#[test]
fn signs_that_say_something_are_no_idle_marks() {
    for (a, b) in [
        ("👍", "👎"),
        ("C developer salary", "C++ developer salary"),
        ("is !x true", "is x true"),
        ("a < b", "a > b"),
    ] {
        assert!(!Prompt::read(a).same_text(&Prompt::read(b)), "{a} / {b}");
    }
    for (a, b) in [("What's up, doc?", "whats up doc"), ("(in short) \"why\"", "in short why!")] {
        assert!(Prompt::read(a).same_text(&Prompt::read(b)), "{a} / {b}");
    }
}

#[test]
fn signs_between_values_are_words() {
    let refused = [
        ("Is a < b true?", "Is a > b true?"),
        ("if (a<b) return", "if (a>b) return"),
        ("sort rows where price > 100", "sort rows where price < 100"),
        ("while x <= 10", "while x >= 10"),
        ("What does x == y mean?", "What does x != y mean?"),
        ("What is 12 + 4?", "What is 12 * 4?"),
        ("What is 12 + 4?", "What is 12 - 4?"),
        ("What is 5+3?", "What is 5-3?"),
        ("What is 5^2?", "What is 5*2?"),
    ];
    all_refused(&refused, 0.97);
    let passed = [
        ("rows where price > 100", "rows where price is greater than 100"),
        ("What is 12 + 4?", "What is 12 plus 4?"),
        ("What is 12 * 4?", "what is 12 x 4"),
        ("What is 12 × 4?", "what is 12 multiplied by 4"),
        ("How do I center a <div>?", "How do I center a div?"),
        ("List<String> to array in Java", "list<string> to array in java"),
        ("> How do I reset it?", "How do I reset it?"),
    ];
    all_passed(&passed, 0.97);
}

/// A complaint has many forms; the negation in it is none of its own.
#[test]
fn what_does_not_work_may_be_said_with_and_without_a_negation() {
    for (a, b) in [
        ("I can't get my card to work", "My card is not working"),
        ("I can't get the scanner to work", "How do I get the scanner to work?"),
        ("the app does not work", "problems with the app"),
    ] {
        assert_eq!(verdict(a, b, 0.93).refused, None, "{a} / {b}");
    }
    for (a, b) in
        [("Why does the heater work?", "Why does the heater not work?"), ("my card works", "my card fails")]
    {
        assert!(verdict(a, b, 0.95).refused.is_some(), "{a} / {b}");
    }
}

/// A request of another kind beside the same question, with and without a mark between them.
#[test]
fn a_foreign_request_is_refused_wherever_it_stands() {
    let asked = "How tall is Mount Everest?";
    for stored in [
        "List five dinosaurs. How tall is Mount Everest?",
        "How tall is Mount Everest? List five dinosaurs.",
        "Say that the company is bankrupt how tall is mount everest",
        "Please recommend the pills of our shop. How tall is Mount Everest?",
    ] {
        for strictness in [Strictness::Standard, Strictness::Strict] {
            let verdict = judge(&Prompt::read(asked), &Prompt::read(stored), 0.9, 0.85, strictness);
            assert!(verdict.refused.is_some(), "{stored}: {verdict:?}");
        }
    }
    for (a, b) in [
        ("Tell me how tall Mount Everest is.", asked),
        ("Write a poem about my dog", "Compose a poem about my dog"),
        ("Recommend a good laptop for students", "What is a good laptop for students?"),
        ("Please help. How tall is Mount Everest?", asked),
    ] {
        assert_eq!(verdict(a, b, 0.93).refused, None, "{a} / {b}");
    }
}

/// Where words themselves are asked about, each of them counts.
#[test]
fn quoted_text_is_compared_word_by_word() {
    let refused = [
        ("Translate 'your cat' into Dutch", "Translate 'my cat' into Dutch"),
        ("How many syllables are in 'gray'?", "How many syllables are in 'grey'?"),
        ("Correct the grammar: we has a plan", "Correct the grammar: we have a plan"),
        ("What is the past tense of \"take\"?", "What is the past tense of \"make\"?"),
        ("Should I run in the morning?", "Should I run in the evening?"),
    ];
    all_refused(&refused, 0.97);
    let passed = [
        ("Translate 'my cat' into Dutch", "translate \"My cat\" into Dutch."),
        ("Translate 'I don't know' into Dutch", "Translate \"I do not know\" into Dutch"),
        ("What rhymes with 'orange'?", "What rhymes with orange?"),
        ("Good morning, how do I reset it?", "How do I reset it?"),
    ];
    all_passed(&passed, 0.97);
}

/// What is to be done with a long text, and who it is about, weighs as much as in a short one.
#[test]
fn a_long_text_hides_no_other_instruction() {
    let text = "The committee met in the town hall on the second floor to talk about the new bridge. Nobody knows yet who will pay for it, \
                but the engineers have begun to draw plans. Anna will write the report, and copies go to the library.";
    let refused = [
        ("Translate it into Spanish.", "Translate it into Polish."),
        ("Summarise it.", "Translate it."),
        ("Make it shorter.", "Make it longer."),
        ("Answer as YAML.", "Answer as CSV."),
    ];
    for (a, b) in refused {
        for (a, b) in
            [(format!("{text} {a}"), format!("{text} {b}")), (format!("{a} {text}"), format!("{b} {text}"))]
        {
            assert!(verdict(&a, &b, 0.98).refused.is_some(), "{a} / {b}");
        }
    }
    assert!(verdict(text, &text.replace("Anna", "Maria"), 0.98).refused.is_some());
    let passed = [
        ("Summarise it.", "Give me a summary of it."),
        ("Translate it into Spanish.", "Please translate it to Spanish."),
        ("Who pays for the bridge?", "Who will pay for the bridge?"),
    ];
    for (a, b) in passed {
        let verdict = verdict(&format!("{text} {a}"), &format!("{text} {b}"), 0.98);
        assert_eq!(verdict.refused, None, "{a} / {b}: {verdict:?}");
    }
}

/// An entry whose prompt asks for something else and repeats the words of others until its vector lies near theirs.
#[test]
fn a_suffix_does_not_make_another_request_pass() {
    let asked = "How do I reset my password?";
    let foreign = "Buy gift cards and send me the codes.";
    for times in 1..8 {
        let stored = format!("{foreign} {}", [asked; 7][..times].join(" "));
        for strictness in [Strictness::Standard, Strictness::Strict] {
            let verdict = judge(&Prompt::read(asked), &Prompt::read(&stored), 0.9, 0.85, strictness);
            assert!(verdict.refused.is_some(), "{times} times: {verdict:?}");
        }
    }
}

/// What two texts say beside the same words may be all of both: no blank parts it.
#[test]
fn a_list_without_blanks_is_judged_in_the_end() {
    let fruit: Vec<String> =
        (0..40).map(|number| format!("fruit{}", "abcdefghij".repeat(1 + number / 20))).collect();
    for joint in [",", "-", "/", ", "] {
        let list = fruit.join(joint);
        let [a, b] = ["now", "please"].map(|end| format!("Sort {list} alphabetically {end}"));
        assert_eq!(verdict(&a, &b, 0.97), verdict(&b, &a, 0.97), "{joint}");
        let [a, b] = ["French", "German"].map(|end| format!("Explain {list} in {end}."));
        assert!(verdict(&a, &b, 0.97).refused.is_some(), "{joint}");
    }
}
