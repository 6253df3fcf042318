//! Small words and verbs of other languages that may stand elsewhere, or be left out.

use crate::reasons::{all_passed, all_refused};

#[test]
fn how_one_can_is_how_one_does() {
    all_passed(
        &[
            ("wie kann ich Geld sparen", "wie spare ich Geld"),
            ("come si fa a pagare", "come pagare"),
            ("cómo puedo pagar", "cómo pagar"),
            ("hoe word ik rijk", "hoe wordt men rijk"),
            ("hoe zet ik het geluid uit", "hoe kan ik het geluid uitzetten"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("cómo oro", "cómo orar"),
            ("cómo comí arroz", "cómo comer arroz"),
            ("como posso pagar", "como pagar"),
            ("qué perros pueden comer arroz", "pueden qué perros comer arroz"),
        ],
        0.92,
    );
}

#[test]
fn to_whom_one_says_it_does_not_count_in_a_request() {
    all_passed(
        &[
            ("explique-moi ce mot : chat", "explique ce mot : chat"),
            ("erkläre mir \"Steuer\"", "erkläre \"Steuer\""),
            ("erkläre mir: Steuer", "erkläre: Steuer"),
        ],
        0.92,
    );
    all_refused(&[("gehört mir \"Haus\"?", "gehört \"Haus\"?")], 0.92);
}

#[test]
fn words_in_two_spellings() {
    all_passed(
        &[
            ("wie viel Eier esse ich", "wie viele Eier esse ich"),
            ("wie schreibe ich eine E-Mail", "wie schreibe ich eine Mail"),
        ],
        0.92,
    );
    all_refused(&[("wie lerne ich C#", "wie lerne ich C")], 0.92);
}

/// Thanks behind a mark say nothing, and without one they may be asked about.
#[test]
fn thanks_behind_a_mark() {
    all_passed(
        &[("как удалить аккаунт, спасибо", "как удалить аккаунт"), ("quiero ½ kilo", "quiero 0,5 kilo")],
        0.92,
    );
    all_refused(&[("как удалить аккаунт спасибо", "как удалить аккаунт")], 0.92);
}
