//! Rewordings of everyday prompts that a rule has to know, each beside what the rule may not let pass.

use crate::reasons::{all_passed, all_refused};

#[test]
fn other_languages_know_codes_of_currencies_and_what_has_no_order() {
    all_passed(
        &[
            ("Kann ich 20 EUR überweisen?", "Kann ich EUR 20 überweisen?"),
            ("¿Puedo pagar USD 30 en la tienda?", "¿Puedo pagar 30 dólares en la tienda?"),
            ("Was ist die Summe von 3, 5 und 9?", "Was ist die Summe von 9, 3 und 5?"),
            ("¿Cuál es la suma de 7 y 4?", "¿Cuál es la suma de 4 y 7?"),
            (
                "Was ist der Unterschied zwischen Raps und Senf?",
                "Was ist der Unterschied zwischen Senf und Raps?",
            ),
            (
                "Warum kann ich mich nicht bei meinem Konto anmelden?",
                "Warum kann ich mich bei meinem Konto nicht anmelden?",
            ),
            ("Kann ich nicht mit Karte zahlen?", "Kann ich mit Karte nicht zahlen?"),
            ("Wie kann ich mein Passwort zurücksetzen?", "Hallo, wie setze ich mein Passwort zurück?"),
            ("Wo kann ich meine Rechnung finden?", "Wo finde ich meine Rechnung?"),
            ("Comment puis-je annuler ma commande ?", "Comment annuler ma commande ?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Kann ich EUR 20 überweisen?", "Kann ich USD 20 überweisen?"),
            ("Was ist die Differenz von 9 und 3?", "Was ist die Differenz von 3 und 9?"),
            ("Was ist die Summe von 9 und 3 minus 5?", "Was ist die Summe von 5 und 3 minus 9?"),
            ("Ist die Summe aus 9 und 3 durch 2 teilbar?", "Ist die Summe aus 2 und 3 durch 9 teilbar?"),
            (
                "Was ist der Unterschied zwischen Java und Python 3?",
                "Was ist der Unterschied zwischen Python und Java 3?",
            ),
            ("Wie melde ich mein Auto an?", "Wie kann ich mein Auto abmelden?"),
            ("Wie kann ich mein Konto löschen?", "Wie muss ich mein Konto löschen?"),
            ("Comment puis-je annuler ma commande ?", "Comment dois-je annuler ma commande ?"),
            ("Kann ich nicht bis Freitag zahlen?", "Kann ich bis Freitag nicht zahlen?"),
            ("Kann ich heute nicht zahlen?", "Kann ich nicht heute zahlen?"),
            ("Warum sind nicht alle mit Karte bezahlt?", "Warum sind alle mit Karte nicht bezahlt?"),
        ],
        0.97,
    );
}
