//! What passes by proof only: other languages, code and long texts.

use deja_guard::{Prompt, Reason, Strictness, judge};

use crate::reasons::{all_passed, verdict};

/// By standard and by strict.
fn all_refused<'a, S: AsRef<str> + 'a>(
    pairs: impl IntoIterator<Item = &'a (S, S)>,
    cosine: f32,
    threshold: f32,
) {
    for (a, b) in pairs {
        let (a, b) = (a.as_ref(), b.as_ref());
        for strictness in [Strictness::Standard, Strictness::Strict] {
            let verdict = judge(&Prompt::read(a), &Prompt::read(b), cosine, threshold, strictness);
            assert!(verdict.refused.is_some(), "{a} / {b}: {verdict:?}");
        }
    }
}

/// How one asks, and how it is spelt.
#[test]
fn questions_of_other_languages_have_one_form() {
    let passed = [
        ("Como faço para cancelar minha assinatura?", "Como posso cancelar a minha assinatura?"),
        ("Come faccio a disdire il mio abbonamento?", "Come posso disdire il mio abbonamento?"),
        ("¿Cómo hago para cambiar mi contraseña?", "¿Cómo cambio mi contraseña?"),
        ("Comment faire pour annuler ma commande ?", "Comment je peux annuler ma commande ?"),
        ("C'est quoi la capitale de l'Australie ?", "Quelle est la capitale de l'Australie ?"),
        ("Explique-moi la photosynthèse.", "Explique la photosynthèse."),
        ("Erkläre mir bitte die Photosynthese.", "Erkläre die Photosynthese."),
        ("Wieviel Einwohner hat Hamburg?", "Wie viele Einwohner hat Hamburg?"),
        ("Wie lösche ich eine E-Mail?", "Wie lösche ich eine Mail?"),
    ];
    all_passed(&passed, 0.95);
    let refused = [
        ("¿Cómo cambio mi contraseña?", "¿Cómo comparto mi contraseña?"),
        ("Como faço para cancelar minha assinatura?", "Como faço para renovar minha assinatura?"),
        ("C'est quoi la capitale de l'Australie ?", "Quelle est la monnaie de l'Australie ?"),
        ("Wie viele Einwohner hat Hamburg?", "Wie viele Brücken hat Hamburg?"),
    ];
    all_refused(&refused, 0.97, 0.85);
}

/// What stands around a question, and how one asks whether one can.
#[test]
fn frames_of_other_languages_say_nothing() {
    let passed = [
        ("Bitte erkläre mir, was Inflation ist.", "Was ist Inflation?"),
        ("Können Sie mir sagen, wann der nächste Zug fährt?", "Wann fährt der nächste Zug?"),
        ("Kannst du mir sagen, wie lange die Lieferung dauert?", "Wie lange dauert die Lieferung?"),
        ("Könnten Sie mir bitte sagen, wie viel der Versand kostet?", "Wie viel kostet der Versand?"),
        ("Was kostet der Versand?", "Wie viel kostet der Versand?"),
        ("Ist es möglich, das Abo zu kündigen?", "Kann ich das Abo kündigen?"),
        ("Wie kann ich mein Passwort ändern?", "Wie ändere ich mein Passwort?"),
        ("Où puis-je trouver ma facture ?", "Où est-ce que je peux trouver ma facture ?"),
        ("Bonjour, pouvez-vous me dire combien coûte la livraison ?", "Combien coûte la livraison ?"),
        ("Est-ce que je peux annuler ma commande ?", "Puis-je annuler ma commande ?"),
        ("Est-il possible d'annuler ma commande ?", "Puis-je annuler ma commande ?"),
        ("Quel est le prix de l'abonnement ?", "Combien coûte l'abonnement ?"),
        ("Comment est-ce que je peux supprimer mon compte ?", "Comment supprimer mon compte ?"),
        ("Comment faire pour changer mon mot de passe ?", "Comment changer mon mot de passe ?"),
        ("¿Es posible cancelar mi pedido?", "¿Puedo cancelar mi pedido?"),
        ("Explícame qué es la inflación.", "¿Qué es la inflación?"),
        ("¿Me puedes decir cuánto cuesta el envío?", "¿Cuánto cuesta el envío?"),
        ("¿Cuál es el precio del envío?", "¿Cuánto cuesta el envío?"),
        ("Como faço para alterar a minha senha?", "Como posso alterar a minha senha?"),
        ("É possível cancelar o pedido?", "Posso cancelar o pedido?"),
        ("Você pode me dizer qual é a capital do Canadá?", "Qual é a capital do Canadá?"),
        ("Qual é o preço do frete?", "Quanto custa o frete?"),
        ("Me explique o que é inflação.", "O que é inflação?"),
        ("Puoi dirmi quanto costa la spedizione?", "Quanto costa la spedizione?"),
        ("È possibile cambiare il nome utente?", "Posso cambiare il nome utente?"),
        ("返品できますか？", "返品は可能ですか？"),
        ("予約を変更できますか？", "予約を変更することはできますか？"),
        ("パスワードを変更するにはどうすればいいですか？", "パスワードを変更する方法を教えてください。"),
        ("我可以退货吗？", "能退货吗？"),
        ("怎么修改密码？", "如何修改密码？"),
        ("能不能换货？", "可以换货吗？"),
        ("मैं अपना पासवर्ड कैसे बदलूँ?", "मैं अपना पासवर्ड कैसे बदल सकता हूँ?"),
        ("मैं खाता कैसे खोलूँ?", "मैं खाता कैसे खोल सकती हूँ?"),
    ];
    all_passed(&passed, 0.92);
    let refused = [
        ("Bitte erkläre mir, was Inflation ist.", "Was ist Deflation?"),
        ("Können Sie mir sagen, wann der nächste Zug fährt?", "Wann fährt der letzte Zug?"),
        ("Können Sie mir sagen, wann der Zug fährt?", "Wo fährt der Zug?"),
        ("Ist es möglich, das Abo zu kündigen?", "Kann ich das Abo verlängern?"),
        ("Ist es möglich, das Abo nicht zu kündigen?", "Kann ich das Abo kündigen?"),
        ("Sag mir, wer den Hund beißt.", "Wen beißt der Hund?"),
        ("Sagen Sie mir, wann Anna Peter trifft.", "Wann trifft Peter Anna?"),
        ("Können Sie mir sagen, was das kostet?", "Was ist das?"),
        ("Was kostet der Versand?", "Was kostet die Rückgabe?"),
        ("Was ist das?", "Was war das?"),
        ("Est-ce que je peux annuler ma commande ?", "Est-ce que je dois annuler ma commande ?"),
        ("Puis-je annuler ma commande ?", "Puis-je modifier ma commande ?"),
        ("Est-il possible d'annuler ?", "Est-il impossible d'annuler ?"),
        ("Quel est le prix de l'abonnement ?", "Quel est le nom de l'abonnement ?"),
        ("¿Es posible cancelar mi pedido?", "¿Es posible cambiar mi pedido?"),
        ("¿Es posible cancelar mi pedido?", "¿No es posible cancelar mi pedido?"),
        ("Dime quién ama a Ana.", "¿A quién ama Ana?"),
        ("Explícame qué es la inflación.", "Explícame qué causa la inflación."),
        ("¿Cuánto cuesta el envío a Madrid?", "¿Cuánto cuesta el envío de Madrid?"),
        ("É possível cancelar o pedido?", "É obrigatório cancelar o pedido?"),
        ("Qual é o preço do frete?", "Qual é o prazo do frete?"),
        ("Me diga quando começa a aula.", "Quando termina a aula?"),
        ("返品できますか？", "返金できますか？"),
        ("予約を変更できますか？", "予約を変更しなければなりませんか？"),
        ("能退货吗？", "不能退货吗？"),
        ("我可以退货吗？", "他可以退货吗？"),
        ("如何修改密码？", "如何重置密码？"),
        ("मैं खाता कैसे खोलूँ?", "मैं खाता कैसे बंद करूँ?"),
        ("मैं खाता कैसे खोलूँ?", "मैं खाता क्यों खोलूँ?"),
        ("Was it Obama?", "Was ist Obama?"),
    ];
    all_refused(&refused, 0.92, 0.85);
}

#[test]
fn other_languages_pass_by_proof_only() {
    let passed = [
        ("¿Qué pasó en España el 23/2/1981?", "¿Qué pasó en España el 23 de febrero de 1981?"),
        (
            "combien rapportent 10 000 € à 3,5 % sur un an ?",
            "combien rapportent dix mille euros à 3,5 % sur un an ?",
        ),
        ("Bitte: Wie melde ich ein Gewerbe an?", "wie melde ich ein Gewerbe an"),
    ];
    all_passed(&passed, 0.95);
    let refused = [
        ("Wie melde ich ein Gewerbe an?", "Wie melde ich ein Gewerbe ab?", Reason::Words),
        ("novedades de PHP 7.4 para el servidor", "novedades de PHP 8.3 para el servidor", Reason::Numbers),
        ("フライトは何時ですか、大阪から東京", "フライトは何時ですか、東京から大阪", Reason::Order),
        (
            "welches Gemüse dürfen Kaninchen fressen",
            "welches Gemüse dürfen Kaninchen nicht fressen",
            Reason::Negation,
        ),
    ];
    for (a, b, reason) in refused {
        assert_eq!(verdict(a, b, 0.97).refused, Some(reason), "{a} / {b}");
    }
}

/// Their vectors are equal too: the tokenizer spells no digits of other scripts.
#[test]
fn digits_of_every_script_are_numbers() {
    let refused = [
        ("كم ساعة في ٤ أيام؟", "كم ساعة في ٦ أيام؟"),
        ("در سال ۱۳۵۷ چه شد؟", "در سال ۱۳۹۸ چه شد؟"),
        ("१९८३ का विश्व कप किसने जीता?", "२०११ का विश्व कप किसने जीता?"),
        ("ตั๋วราคา ๓๕๐ บาทไปไหน", "ตั๋วราคา ๘๕๐ บาทไปไหน"),
        ("３００円で何が買えますか？", "７００円で何が買えますか？"),
        ("手順③を説明してください", "手順⑥を説明してください"),
        ("Was kostet Tarif ② bei euch?", "Was kostet Tarif ③ bei euch?"),
        ("How many hours do ٤ days have?", "How many hours do ٦ days have?"),
        ("What does clause ③ say?", "What does clause ⑥ say?"),
        ("What is 7² in words?", "What is 7³ in words?"),
        ("What is x² called?", "What is x³ called?"),
    ];
    all_refused(&refused, 1.0, 1.0);
    let passed = [
        ("１２０円で何が買えますか？", "120円で何が買えますか？"),
        ("كم ساعة في ٤ أيام؟", "كم ساعة في 4 أيام؟"),
    ];
    all_passed(&passed, 0.95);
}

/// The same words, numbers and negations, each somewhere else.
#[test]
fn numbers_and_negations_have_their_places_in_other_languages() {
    let long =
        "The tenants wrote to the owner of the house about the roof, and nobody answered them for weeks. "
            .repeat(10);
    let refused = [
        ("Was ist 9 minus 5?", "Was ist 5 minus 9?"),
        ("Сколько будет 12 минус 7?", "Сколько будет 7 минус 12?"),
        ("¿Cayó en lunes el 2/5/2023?", "¿Cayó en lunes el 5/2/2023?"),
        ("9减4是多少？", "4减9是多少？"),
        ("二〇一三年发生了什么？", "二〇三一年发生了什么？"),
        ("三百五十块够吗？", "三百一十五块够吗？"),
        ("for (int i = 2; i < 7; i++) { f(i); }", "for (int i = 7; i < 2; i++) { f(i); }"),
        ("Welche Pilze sind essbar, aber nicht lecker?", "Welche Pilze sind nicht essbar, aber lecker?"),
        ("¿Puedo entrar si no pago y reservo?", "¿Puedo entrar si pago y no reservo?"),
        ("Qui peut venir mais pas rester ?", "Qui peut pas venir mais rester ?"),
        ("哪些鸟会走但不会飞？", "哪些鸟不会走但会飞？"),
    ];
    let texts = refused.map(|(a, b)| (a.to_owned(), b.to_owned()));
    let moved = (
        format!("{long}Heating is not included and water is included."),
        format!("{long}Heating is included and water is not included."),
    );
    all_refused(texts.iter().chain([&moved]), 0.99, 0.95);
    let passed = [
        ("二〇一三年发生了什么？", "2013年发生了什么？"),
        ("三百五十块够吗？", "350块够吗？"),
        ("两万三千元够吗", "23000元够吗？"),
        ("3千万円で何が買えますか", "30000000円で何が買えますか"),
        ("1.5万元能买什么？", "一万五千元能买什么？"),
        ("Kann ich bis 9 Uhr nicht fahren?", "kann ich bis neun Uhr nicht fahren"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn signs_currencies_and_decimals_count_in_other_languages() {
    let long =
        "The tenants wrote to the owner of the house about the roof, and nobody answered them for weeks. "
            .repeat(10);
    let refused = [
        ("¿Cuánto da 9 + 4?", "¿Cuánto da 9 - 4?"),
        ("¿Cuánto da 9 * 4?", "¿Cuánto da 9 / 4?"),
        ("Ist es bei -8 Grad glatt?", "Ist es bei 8 Grad glatt?"),
        ("Welche Zahlen sind > 6?", "Welche Zahlen sind < 6?"),
        ("7+4是多少？", "7-4是多少？"),
        ("7×4是多少？", "7÷4是多少？"),
        ("Wie viel Pfund sind 30 Euro?", "Wie viel Pfund sind 30 Dollar?"),
        ("Reichen 30 € für das Taxi?", "Reichen 30 $ für das Taxi?"),
        ("Reichen € 30 für das Taxi?", "Reichen $ 30 für das Taxi?"),
        ("Quanto valem R$ 30 hoje?", "Quanto valem $ 30 hoje?"),
        ("300元够吗？", "300円够吗？"),
        ("Schreibe 0,375 als Bruch", "Schreibe 375 als Bruch"),
        ("Was wiegt 0,250 kg von dem Mehl?", "Was wiegt 250 kg von dem Mehl?"),
        ("novedades de Python 3.1 para el curso", "novedades de Python 3.10 para el curso"),
        ("f(1, 2); g[1] = {}; // why", "f(1.2); g[1] = {}; // why"),
    ];
    let texts = refused.map(|(a, b)| (a.to_owned(), b.to_owned()));
    let ends = [
        ("The rent is 0.750 dollars.", "The rent is 750 dollars."),
        ("The rent changes by +8 percent.", "The rent changes by -8 percent."),
    ];
    let ends = ends.map(|(a, b)| (format!("{long}{a}"), format!("{long}{b}")));
    all_refused(texts.iter().chain(&ends), 0.99, 0.95);
    let passed = [
        ("¿Cuánto da 9 - 4?", "¿cuánto da 9 − 4?"),
        ("9×4是多少？", "9 * 4是多少"),
        ("30块够吗？", "30元够吗"),
        ("Reichen € 30 für das Taxi?", "Reichen 30 Euro für das Taxi?"),
        ("¿Cuánto son 30 dólares en pesos?", "¿Cuánto son $30 en pesos?"),
        ("¿Cuánto son US$ 30 en pesos?", "¿Cuánto son 30 US$ en pesos?"),
        ("Quanto são R$ 30 em euros?", "Quanto são 30 reais em euros?"),
        ("Was kostet ein Kredit über 12.500,00 €?", "was kostet ein Kredit über 12 500 Euro"),
        ("Wie lange reichen 2,50 € für mein Brot?", "Wie lange reichen 2,5 Euro für mein Brot?"),
        ("Was geschah am 07.04.1999 mit dem Dom?", "Was geschah am 7.4.1999 mit dem Dom?"),
        ("Ist die 4-Tage-Woche von COVID-19 betroffen?", "Ist die 4 Tage Woche von COVID 19 betroffen?"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn words_that_begin_alike_are_other_words() {
    let long =
        "The tenants wrote to the owner of the house about the roof, and nobody answered them for weeks. "
            .repeat(10);
    let refused = [
        ("Wie lange sind dreizehn Tage in Stunden?", "Wie lange sind dreißig Tage in Stunden?"),
        ("Wie viele Sekunden sind sechzehn Minuten?", "Wie viele Sekunden sind sechzig Minuten?"),
        ("Was verdient ein Lehrer in Bremen?", "Was verdient eine Lehrerin in Bremen?"),
        ("¿Qué le regalo a mi vecino por su boda?", "¿Qué le regalo a mi vecina por su boda?"),
        ("¿Qué le digo a mi abuelo?", "¿Qué le digo a mi abuela?"),
        ("Comment trouver la cousine de Paul ?", "Comment trouver le cousin de Paul ?"),
        ("Welche Sprache spricht man in Nigeria?", "Welche Sprache spricht man in Niger?"),
        ("Combien de zéros dans un milliard ?", "Combien de zéros dans un million ?"),
        ("Wie lerne ich C++ am besten?", "Wie lerne ich C am besten?"),
        ("char d[8]; strncpy(d, s, 8); x = {1};", "char d[8]; strncat(d, s, 8); x = {1};"),
        ("let x = {}; console.log(s.substr(2)); y = [];", "let x = {}; console.log(s.substring(2)); y = [];"),
        ("a = 1; b[0] = {}; print(a);", "o = 1; b[0] = {}; print(o);"),
    ];
    let texts = refused.map(|(a, b)| (a.to_owned(), b.to_owned()));
    let ends = [
        ("Rent is due on day thirteen.", "Rent is due on day thirty."),
        ("I pay for eight rooms.", "I pay for eighty rooms."),
        ("It is about the employer.", "It is about the employee."),
    ];
    let ends = ends.map(|(a, b)| (format!("{long}{a}"), format!("{long}{b}")));
    all_refused(texts.iter().chain(&ends), 0.99, 0.95);
    let passed = [
        ("Welche Versicherungen schützen kleine Betriebe?", "welche Versicherung schützt kleinen Betrieb"),
        ("Wo meldet man als Studenten einen Umzug an?", "Wo meldet man als Student einen Umzug an?"),
        ("¿Qué plantas crecen en la sombra?", "¿Qué planta crece en la sombra?"),
        ("Où trouver les documents pour une demande ?", "Où trouver le document pour une demande ?"),
        ("Como funcionam as tarifas com o banco?", "Como funciona a tarifa com o banco?"),
        ("Come funzionano contratti per la casa?", "Come funziona il contratto per la casa?"),
        ("¿Quién compuso este himno?", "¿Por quién fue compuesto este himno?"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn directions_agents_and_courtesy_count_in_other_languages() {
    let refused = [
        ("¿Cuánto tarda el tren de Bilbao a Burgos?", "¿Cuánto tarda el tren a Bilbao de Burgos?"),
        ("Quanto custa a viagem de Braga a Coimbra?", "Quanto custa a viagem a Braga de Coimbra?"),
        ("Quanto costa il volo da Torino a Bari?", "Quanto costa il volo a Torino da Bari?"),
        ("牛は馬より重いですか", "牛より馬は重いですか"),
        ("Wer hat Paul verklagt?", "Wer wurde von Paul verklagt?"),
        ("谁打败了日本队？", "谁被日本队打败了？"),
        ("ここで水を飲んでもいいですか", "ここで水を飲まなくてもいいですか"),
        ("¿Cómo se escribe hola en griego?", "¿Cómo se escribe gracias en griego?"),
        ("Wie sagt man danke auf Polnisch?", "Wie sagt man hallo auf Polnisch?"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        (
            "¿Cuánto tarda el tren de Bilbao a Burgos?",
            "Hola, ¿cuánto tarda el tren de Bilbao a Burgos? Gracias",
        ),
        ("Wie melde ich ein Gewerbe an, danke!", "Hallo, wie melde ich ein Gewerbe an?"),
        ("wie melde ich ein gewerbe an danke", "Wie melde ich ein Gewerbe an?"),
        ("谁打败了日本队？", "日本队被谁打败了？"),
        ("Qui a peint ce tableau ?", "Par qui ce tableau a été peint ?"),
        ("Quem escreveu este livro?", "Este livro foi escrito por quem?"),
        ("『坊っちゃん』を書いたのは誰？", "『坊っちゃん』は誰に書かれた？"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn code_and_long_texts_pass_by_proof_only() {
    let code = "fn main() { let x = [1, 2]; for i in x { if i < 2 { println!(\"{}\", i); } } }";
    assert_eq!(verdict(&format!("{code} // why"), &format!("{code}\n// why"), 0.99).refused, None);
    assert_eq!(verdict(code, &code.replace("i < 2", "i > 2"), 0.99).refused, Some(Reason::Words));
    let long = "The tenant asked for the deposit and the owner of the house refused to answer the letter. "
        .repeat(40);
    assert_eq!(verdict(&long, &format!("Hello, {long}"), 0.99).refused, None);
    let other = format!("{long}The tenant paid in cash.");
    assert_eq!(verdict(&long, &other, 0.99).refused, Some(Reason::Words));
}

#[test]
fn japanese_words_in_hiragana_count_and_polite_endings_do_not() {
    let refused = [
        ("夕食にさかなはどうですか", "夕食におにくはどうですか"),
        ("授業はいくつですか", "授業はなぜですか"),
        ("音をけす方法", "音をならす方法"),
        ("台風が来ます", "台風が来ました"),
        ("店長は誰ですか", "店長は誰でしたか"),
        ("店は朝から開きますか", "店は朝まで開きますか"),
        ("大阪だけ雪ですか", "大阪も雪ですか"),
        ("犬が母に怒られました", "犬が母に怒りました"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        ("切手はいくらですか", "切手はいくら？"),
        ("写真を印刷する方法は？", "写真を印刷する方法を教えてください"),
        ("明日の波は", "明日の波はどうですか"),
        ("三キロは何グラムですか", "3キロは何グラムですか"),
        ("中村が初めて山田に勝ったのはいつ？", "山田が初めて中村に負けたのはいつ？"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn chinese_numerals_end_in_tenths_and_small_words_count() {
    let refused = [
        ("四千二是多少欧元？", "四千零二是多少欧元？"),
        ("两万六够吗", "两万零六够吗"),
        ("他来了吗", "他来吗"),
        ("南京的大学有多少人？", "南京大学有多少人？"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        ("四千二是多少欧元？", "4200是多少欧元？"),
        ("两万六够吗", "26000够吗"),
        ("一百零二够吗", "102够吗"),
        ("我的妈妈多大？", "我妈妈多大？"),
        ("这首歌是谁写的", "这首歌是由谁写的？"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn tenses_names_and_determiners_are_no_inflection() {
    let refused = [
        ("Wer leitet die Schule in Ulm?", "Wer leitete die Schule in Ulm?"),
        ("Was kostet eine Fahrt nach Ulm?", "Was kostete eine Fahrt nach Ulm?"),
        ("Hoe hard werkt een smid?", "Hoe hard werkte een smid?"),
        ("Wer gewinnt das Rennen?", "Wer gewann das Rennen?"),
        ("Welcher Koch bezahlt die Firma?", "Welchen Koch bezahlt die Firma?"),
        ("Welche Frist setzt unser Amt?", "Welche Frist setzt unserem Amt?"),
        ("Wer war Karl Schwarz?", "Wer war Karl Schwarze?"),
        ("Wie alt ist Bayer?", "Wie alt ist Bayern?"),
        ("¿Debes firmar el contrato?", "¿Debe firmar el contrato?"),
        ("Quanto pesi? Mangi tanto?", "Quanto peso? Mangio tanto?"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        ("Wo finde ich die Rechnungen?", "Wo finde ich die Rechnung?"),
        ("¿Dónde compro las entradas?", "¿Dónde compro la entrada?"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn small_words_of_other_languages_say_something() {
    let refused = [
        ("¿A quién contrató Laura?", "¿Quién contrató a Laura?"),
        ("¿Empujó el niño al perro?", "¿Empujó al niño el perro?"),
        ("¿Qué pájaro caza al gato?", "¿Qué pájaro caza el gato?"),
        ("¿Quién habló a favor del aumento?", "¿Quién habló en contra del aumento?"),
        ("¿Quién protestó por el rey?", "¿Quién protestó contra el rey?"),
        ("¿Cuánto pesa el cometa?", "¿Cuánto pesa la cometa?"),
        ("Comment laver le voile ?", "Comment laver la voile ?"),
        ("Quanto vale o rádio?", "Quanto vale a rádio?"),
        ("A che ora parte il bus per Siena?", "A che ora parte il bus da Siena?"),
        ("Is de thee te heet voor een baby?", "Is de thee heet voor een baby?"),
        ("Où loger à Timor-Est ?", "Où loger à Timor ?"),
        ("¿Por qué como mal?", "¿Por qué como?"),
        ("¿Cuándo se despide Ana?", "¿Cuándo despide Ana?"),
        ("Was bringt 2 mal Joggen für die Fitness?", "Was bringt 2 Joggen für die Fitness?"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        ("¿Dónde está el cine, por favor?", "¿Dónde está el cine?"),
        ("Dov'è il cinema, per favore?", "Dov'è il cinema?"),
        ("Où est le cinéma, s'il te plaît ?", "Où est le cinéma ?"),
        ("Est-ce que le chat dort ?", "Le chat dort ?"),
        ("Zeig mir mal die Liste der Orte", "Zeig mir die Liste der Orte"),
        ("¿Cuándo perdió Borg contra McEnroe?", "¿Cuándo le ganó McEnroe a Borg?"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn parties_change_sides_only_if_they_change_places() {
    let refused = [
        ("¿Derrotó Esparta a Corinto?", "¿Fue Esparta derrotada por Corinto?"),
        ("Besuchte der Graf den König?", "Wurde der Graf von dem König besucht?"),
        ("Wer hat das Rennen in Spa gewonnen?", "Wer verlor das Rennen in Spa?"),
        ("Qui a gagné le match à Nice ?", "À Nice, qui a perdu le match ?"),
        ("Welche Klasse hat heute gewonnen?", "Welche Klasse verlor heute?"),
    ];
    all_refused(&refused, 0.99, 0.95);
    let passed = [
        ("¿Conquistó Esparta a Corinto?", "¿Fue Corinto conquistada por Esparta?"),
        ("Wie oft verlor Becker gegen Lendl?", "Wie oft gewann Lendl gegen Becker?"),
        ("Quem pintou a Primavera?", "A Primavera foi pintada por quem?"),
    ];
    all_passed(&passed, 0.95);
}

#[test]
fn marks_upon_letters_and_signs_between_letters_count_in_other_languages() {
    let refused = [
        ("¿Qué bebe tu papa\u{301}?", "¿Qué bebe tu papa?"),
        ("Qui a chante\u{301} hier soir ?", "Qui a chante hier soir ?"),
        ("फ़न क्या है?", "फन क्या है?"),
        ("Was gilt, wenn x < y ist?", "Was gilt, wenn x > y ist?"),
        ("Wie rechnet man x / y?", "Wie rechnet man x * y?"),
        ("如果 m < n，会怎样？", "如果 m > n，会怎样？"),
        ("¿Cuánto son A$70 en pesos?", "¿Cuánto son $70 en pesos?"),
        ("كم ٨٪ من ٣٠٠؟", "كم ٨ من ٣٠٠؟"),
        ("Traduce al griego: hola", "Traduce al griego: gracias"),
        ("¿Cómo se dice en griego, hola?", "¿Cómo se dice en griego, gracias?"),
    ];
    all_refused(&refused, 1.0, 0.95);
    let passed = [("كم ٨٪ من ٣٠٠؟", "كم 8% من 300؟"), ("كم ٢٫٥ كيلو؟", "كم 2.5 كيلو؟")];
    all_passed(&passed, 0.95);
}

#[test]
fn courtesy_of_many_languages_is_idle() {
    let passed = [
        ("Пожалуйста, где находится музей?", "Где находится музей?"),
        ("Здравствуйте, где находится музей?", "Где находится музей?"),
        ("Lütfen müze nerede?", "Müze nerede?"),
        ("Proszę, jak zmienić adres?", "Jak zmienić adres?"),
        ("من فضلك أين المتحف؟", "أين المتحف؟"),
        ("مرحبا، أين المتحف؟", "أين المتحف؟"),
        ("कृपया संग्रहालय कहाँ है?", "संग्रहालय कहाँ है?"),
        ("안녕하세요, 박물관은 어디에 있어요?", "박물관은 어디에 있어요?"),
        ("请问博物馆在哪里？", "博物馆在哪里？"),
        ("你好，博物馆在哪里？", "博物馆在哪里？"),
        ("Wanneer opent het museum, alstublieft?", "Wanneer opent het museum?"),
    ];
    all_passed(&passed, 0.95);
    all_refused(&[("翻译：你好", "翻译：谢谢")], 0.99, 0.95);
}

#[test]
fn short_prompts_of_unknown_words_are_not_english() {
    let refused = [
        ("Jak podłączyć to urządzenie?", "Jak odłączyć to urządzenie?"),
        ("Czy on śpi?", "Czy on nie śpi?"),
        ("Ayşe neden gelmedi?", "Ayşe neden geldi?"),
        ("Apakah susu sehat?", "Apakah susu manis?"),
    ];
    all_refused(&refused, 0.95, 0.85);
}

#[test]
fn a_greeting_that_is_asked_about_is_no_courtesy() {
    all_refused(
        &[
            ("你好", "谢谢"),
            ("谢谢用法语怎么说？", "你好用法语怎么说？"),
            ("Привет по-итальянски?", "Спасибо по-итальянски?"),
            ("Как сказать по-чешски спасибо?", "Как сказать по-чешски пожалуйста?"),
            ("Merhaba ne anlama gelir?", "Teşekkürler ne anlama gelir?"),
        ],
        0.99,
        0.95,
    );
}
