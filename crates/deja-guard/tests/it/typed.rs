//! Questions in other languages as people type them: without accents, and with each way to ask how.

use crate::reasons::{all_passed, all_refused};

#[test]
fn accents_are_left_out_by_who_types() {
    all_passed(
        &[
            ("como puedo cancelar mi pedido", "¿Cómo puedo cancelar mi pedido?"),
            ("cual es la capital de peru", "¿Cuál es la capital de Perú?"),
            ("quelle heure est il a tokyo", "Quelle heure est-il à Tokyo ?"),
            ("wie kann ich mein konto loeschen", "Wie kann ich mein Konto löschen?"),
            ("Wie heisst die Hauptstadt von Peru?", "Wie heißt die Hauptstadt von Peru?"),
            ("qual a capital do peru", "Qual é a capital do Peru?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("compro una casa en Madrid", "compró una casa en Madrid"),
            ("¿cómo compro una entrada?", "¿cómo compró una entrada?"),
            ("ist es schon in Wien", "ist es schön in Wien"),
            ("mi papa tiene mal sabor", "mi papá tiene mal sabor"),
        ],
        0.92,
    );
}

#[test]
fn how_is_asked_in_many_ways() {
    all_passed(
        &[
            ("¿Cómo puedo cancelar mi suscripción?", "¿Cómo cancelo mi suscripción?"),
            ("¿Cómo hago para cambiar mi dirección?", "¿Cómo cambiar mi dirección?"),
            ("¿Cómo se hace una tortilla de patatas?", "cómo hacer una tortilla de patatas"),
            ("Quiero eliminar mi cuenta", "¿Cómo elimino mi cuenta?"),
            ("como faço para mudar meu endereço", "Como mudo meu endereço?"),
            ("Come posso cancellare il mio abbonamento?", "Come cancellare il mio abbonamento?"),
            ("Comment puis-je réinitialiser mon mot de passe ?", "Comment réinitialiser mon mot de passe ?"),
            ("comment faire des crêpes", "comment est-ce qu'on fait des crêpes ?"),
            ("Je voudrais supprimer mon compte", "Comment supprimer mon compte ?"),
            ("Ich möchte mein Konto löschen", "Wie lösche ich mein Konto?"),
            ("注文をキャンセルしたい", "注文をキャンセルする方法を教えてください"),
            ("我想取消我的订单", "怎么取消我的订单"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("¿Cómo puedo cancelar mi suscripción?", "¿Puedo cancelar mi suscripción?"),
            ("¿Cómo cancelo mi suscripción?", "¿Cómo activo mi suscripción?"),
            ("Quiero eliminar mi cuenta", "No quiero eliminar mi cuenta"),
            ("¿Cómo se llama mi abogado?", "¿Cómo llamo a mi abogado?"),
            ("Ich möchte mein Konto löschen", "Ich möchte kein Konto löschen"),
            ("我想取消我的订单", "我想修改我的订单"),
        ],
        0.92,
    );
}

#[test]
fn what_and_when_are_asked_in_many_ways() {
    all_passed(
        &[
            ("was ist die hauptstadt von australien", "Wie heißt die Hauptstadt von Australien?"),
            ("Quelle est la capitale du Pérou ?", "c'est quoi la capitale du pérou"),
            ("भारत की राजधानी क्या है", "भारत की राजधानी कौन सी है?"),
            ("Wann öffnet die Post am Samstag?", "Um wie viel Uhr öffnet die Post am Samstag?"),
            ("¿Cuándo abre el museo del Prado?", "¿A qué hora abre el museo del Prado?"),
            ("Onde está o meu pedido?", "cadê meu pedido"),
            ("Qu'est-ce que le taux de TVA ?", "C'est quoi le taux de TVA ?"),
            ("Combien coûte un billet pour Nice ?", "Quel est le prix d'un billet pour Nice ?"),
            ("Si pierdo mi vuelo, ¿qué hago?", "¿Qué hago si pierdo mi vuelo?"),
            (
                "Wenn mein Zug ausfällt, bekomme ich mein Geld zurück?",
                "Bekomme ich mein Geld zurück, wenn mein Zug ausfällt?",
            ),
            ("Welche Museen gibt es in Wien?", "Was für Museen gibt es in Wien?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("¿Qué hora es en Lima?", "¿Cuándo es en Lima?"),
            ("Wie viel Uhr ist es in Wien?", "Wann ist es in Wien?"),
            ("Wie heißt die Hauptstadt von Peru?", "Wie groß ist die Hauptstadt von Peru?"),
            ("Si pierdo mi vuelo, ¿qué hago?", "¿Qué pierdo si hago mi vuelo?"),
            ("quand ferme le musée d'Orsay", "À quelle heure ouvre le musée d'Orsay ?"),
        ],
        0.92,
    );
}
