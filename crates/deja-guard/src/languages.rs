//! What the proof knows of languages other than English: words that mark them, courtesy, negations, numbers in words, and how
//! words are inflected.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lexicon::stem;

/// Words that mark a language other than English, by language; few of them are English words.
const GERMAN: &str = "der die das und ist ich nicht ein eine wie wo wann warum mein meine mit für auf zu im beim von den dem des kann muss soll darf \
    wird wurde wer welche welcher welches gibt es man bei nach vom zum zur oder aber wenn noch schon sich sind hat habe \
    gegen wieviel wieso weshalb können könnte könnten kannst möchte brauche braucht hilft mir dir sie ihre meinen meinem einen einem einer viele \
    wetter rezept passwort konto handy paket bester bestes kosten preis wieviele stadt wen wem unser unsere einfach";
const SPANISH: &str = "el la los las un una unos que qué cómo como cuándo dónde quién cuál por para con de del en mi su es son puedo se lo al sin más \
    ha sido hay está \
    cuánto cuántos cuántas cuanto cuantos cuantas cuando donde cual quien tiene puede puedes \
    receta tiempo precio mejor mejores cuenta vuelo contraseña horario";
const FRENCH: &str = "le les des du est et je ne pas mon ma mes sur dans avec pour une quel quelle quels quelles comment quand où qui que faut peut sont au \
    aux ça été \
    un la en combien pourquoi puis peux cette \
    recette météo meteo prix meilleur meilleure billet compte horaires de";
const PORTUGUESE: &str = "o os as um uma não quem qual quais onde meu minha em no na nos nas do da dos das com é são pode como foi pela pelo \
    há que isso eu \
    para quanto quanta quantos quantas por você tem posso cadê ao esqueci faz \
    receita preço preco melhor senha conta previsão horário quando gostaria de nao voce";
const ITALIAN: &str = "il lo gli uno che chi cosa come quando dove perché mio mia di è sono posso con per sul nel della del \
    la un una quanto quanti quanta può puoi devo cos fare faccio ha quale questo questa \
    ricetta meteo prezzo miglior migliore migliori volo biglietto orari";
const DUTCH: &str = "het een van ik niet wat hoe waar wanneer mijn met voor op naar kan moet \
    hoeveel heeft hebben zijn kunt wordt waarom welke kost betekent welk geen zonder uit bij hoelang wonen zij deze onze maar ook \
    recept weer prijs beste wachtwoord openingstijden de en";

const POLISH: &str = "jest czy jak się jaki jaka jakie gdzie kiedy kto który która które czym można mogę muszę żeby oraz przez przy \
    ile dlaczego nie co pod dla czemu \
    przepis pogoda cena hasło bilet konto stolica";
const TURKISH: &str = "nasıl nedir nerede nereden hangi kaç mi mı mu mü bir ve için neden değil yok ile nereye \
    kadar zaman misin mısın miyim mıyım niye kac nasil \
    yaz cümle kelimesiyle kelimesi arasındaki arasında nelerdir oldu icat etti sence çevir demek kelime anlama gelir \
    tarifi fiyatı fiyati şifre sifre bileti nüfusu başkenti";

/// English function words that the lists of other languages share with it or that show English.
const ENGLISH: &str = "the of and to is are how what i my in on for with can do does or if not was be have has some any with they we there an it that this you your from at by when where why who which should";

/// Words of negation and quantity, by language.
const NEGATIONS: &str = "nicht kein keine keinen keinem keiner nie niemals nichts niemand ohne alle alles jeder jede jedes einige manche nur außer mehr weniger \
    un- no ni nunca jamás nada nadie ningún ninguno ninguna sin todos todas todo solo sólo excepto salvo algunos más menos \
    ne pas non jamais rien personne aucun aucune sans tous toutes tout seul seulement sauf quelques plus moins \
    não nem nunca nada ninguém nenhum nenhuma sem todos todas só apenas exceto alguns mais menos \
    non mai niente nessuno senza tutti solo tranne più meno niet geen nooit zonder alle alleen \
    nie bez nigdy nikt nic żaden wszystkie wszyscy tylko oprócz değil yok hiç sadece hariç bütün \
    not no never without none all only except any some every less more nao ningun jamas degil";

/// Courtesy, auxiliaries and other words that change no answer.
const IDLE: &str = "bitte denn doch eigentlich hat haben habe de a à al le les por la el los las \
    il plaît svp que ce qu o os as um uma do da no na foi lo gli per please \
    wurde wird worden werden von vom durch sido fue été par por pelo pela ha";

/// Words that are idle right behind one other word only: "por favor", but "a favor".
const IDLE_BEHIND: &[(&str, &str)] = &[
    ("por", "favor"),
    ("per", "favore"),
    ("per", "favor"),
    ("il", "te"),
    ("c", "est"),
    ("qu", "est"),
    ("où", "est"),
    ("من", "فضلك"),
];

/// Words that say nothing in one language: mal is badly in others.
const GERMAN_IDLE: &str = "mal";

/// Verbs behind "was" that make it German: in English it is a verb.
const BEHIND_WAS: &str = "geschah ist sind kostet kosten bedeutet macht heißt passiert";

/// Those of them that are idle in code too.
const COURTESY: &str = "bitte svp please";

/// Greetings and thanks: idle where a sentence begins, or a comma stands before them. Thanks also end a prompt.
const GREETINGS: &str = "hallo danke moin hola gracias bonjour merci olá oi obrigado obrigada ciao grazie hi hello thanks alstublieft alsjeblieft \
    пожалуйста здравствуйте привет спасибо lütfen merhaba teşekkürler proszę cześć dziękuję مرحبا شكرا कृपया नमस्ते धन्यवाद 안녕하세요 감사합니다";

const THANKS: &str = "danke gracias merci obrigado obrigada grazie thanks alstublieft alsjeblieft пожалуйста спасибо teşekkürler lütfen dziękuję proszę شكرا धन्यवाद 감사합니다";

/// Words of direction before a place or a party: whence, whither, by whom.
const FROM: &str = "de del da do dal dalla von vom";
const TO: &str = "a à al per";
const BY: &str = "von vom durch por par pelo pela da dal dalla";

/// Articles by gender: la papa is not el papa. "A" is one in Portuguese alone.
const MASCULINE: &str = "el al los le il lo gli o os um do";
const FEMININE: &str = "la las as uma";
const PORTUGUESE_FEMININE: &str = "a da na";

/// Beside who wins or loses they say what a case does.
const BESIDE_WINS: &str = "contra";

/// Forms of the passive.
const PASSIVE: &str = "wurde wird worden sido fue été foi";

/// Who, where the passive asks for the agent.
const WHO: &str = "wer wem quién quien qui quem chi wie 谁 誰";

/// Losing and winning: the same event told from either side.
const LOSES: &str = "verlor verloren verliert perdió perdieron perdu perdeu perderam perso 输 負 败 敗";
/// Those of them that say so of the present.
const NOW: &str = "verliert gewinnt";
const WINS: &str = "gewann gewonnen gewinnt ganó ganaron gagné ganhou ganharam vinto schlug besiegte venció battu bateu 赢 勝 胜";

/// Numbers in words and months, as the digit they stand for.
const NUMBERS: &str = "eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 zwölf=12 hundert=100 tausend=1000 \
    dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 doce=12 cien=100 mil=1000 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 \
    dix=10 douze=12 cent=100 mille=1000 dois=2 duas=2 três=3 quatro=4 sete=7 oito=8 nove=9 dez=10 doze=12 cem=100 \
    januar=1 februar=2 märz=3 april=4 mai=5 juni=6 juli=7 august=8 september=9 oktober=10 november=11 dezember=12 \
    enero=1 febrero=2 marzo=3 abril=4 mayo=5 junio=6 julio=7 agosto=8 septiembre=9 octubre=10 noviembre=11 diciembre=12 \
    janvier=1 février=2 mars=3 avril=4 juin=6 juillet=7 août=8 septembre=9 octobre=10 novembre=11 décembre=12 \
    janeiro=1 fevereiro=2 março=3 maio=5 junho=6 julho=7 setembro=9 outubro=10 novembro=11 dezembro=12";

const LANGUAGES: [&str; 8] = [GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, DUTCH, POLISH, TURKISH];
/// The codes of [`LANGUAGES`], and of Russian, which its letters show.
pub(crate) const LANGUAGE_CODES: [&str; 9] = ["de", "es", "fr", "pt", "it", "nl", "pl", "tr", "ru"];
pub(crate) const GERMAN_PLACE: usize = 0;
pub(crate) const SPANISH_PLACE: usize = 1;
pub(crate) const FRENCH_PLACE: usize = 2;
pub(crate) const PORTUGUESE_PLACE: usize = 3;
pub(crate) const ITALIAN_PLACE: usize = 4;
pub(crate) const DUTCH_PLACE: usize = 5;
pub(crate) const POLISH_PLACE: usize = 6;
pub(crate) const TURKISH_PLACE: usize = 7;

/// The lists above by word: one bit a list, the languages first.
static LISTS: LazyLock<FxHashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut words = FxHashMap::default();
    for (bit, list) in LANGUAGES
        .iter()
        .chain(&[
            ENGLISH, NEGATIONS, IDLE, PASSIVE, WHO, LOSES, WINS, COURTESY, GREETINGS, THANKS, FROM, TO, BY,
            MASCULINE, FEMININE, PORTUGUESE_FEMININE, BESIDE_WINS, NOW, GERMAN_IDLE, DETERMINERS, BEHIND_WAS,
        ])
        .enumerate()
    {
        for word in list.split_whitespace() {
            *words.entry(word).or_insert(0) |= 1 << bit;
        }
    }
    words
});
static VALUES: LazyLock<FxHashMap<&'static str, f64>> = LazyLock::new(|| {
    let pairs = NUMBERS.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(word, value)| Some((word, value.parse().ok()?))).collect()
});
pub(crate) const IS_MARK: u32 = (1 << LANGUAGES.len()) - 1;
pub(crate) const IS_ENGLISH: u32 = 1 << LANGUAGES.len();
pub(crate) const IS_NEGATION: u32 = IS_ENGLISH << 1;
pub(crate) const IS_IDLE: u32 = IS_ENGLISH << 2;
pub(crate) const IS_PASSIVE: u32 = IS_ENGLISH << 3;
pub(crate) const IS_WHO: u32 = IS_ENGLISH << 4;
pub(crate) const IS_LOSES: u32 = IS_ENGLISH << 5;
pub(crate) const IS_WINS: u32 = IS_ENGLISH << 6;
pub(crate) const IS_COURTESY: u32 = IS_ENGLISH << 7;
pub(crate) const IS_GREETING: u32 = IS_ENGLISH << 8;
pub(crate) const IS_THANKS: u32 = IS_ENGLISH << 9;
pub(crate) const IS_FROM: u32 = IS_ENGLISH << 10;
pub(crate) const IS_TO: u32 = IS_ENGLISH << 11;
pub(crate) const IS_BY: u32 = IS_ENGLISH << 12;
pub(crate) const IS_MASCULINE: u32 = IS_ENGLISH << 13;
pub(crate) const IS_FEMININE: u32 = IS_ENGLISH << 14;
pub(crate) const IS_PORTUGUESE_FEMININE: u32 = IS_ENGLISH << 15;
pub(crate) const IS_BESIDE_WINS: u32 = IS_ENGLISH << 16;
pub(crate) const IS_NOW: u32 = IS_ENGLISH << 17;
pub(crate) const IS_GERMAN_IDLE: u32 = IS_ENGLISH << 18;
pub(crate) const IS_DETERMINER: u32 = IS_ENGLISH << 19;
pub(crate) const IS_BEHIND_WAS: u32 = IS_ENGLISH << 20;

/// The lists of [`IS_MARK`] and so on that `word` is in.
pub(crate) fn lists(word: &str) -> u32 {
    LISTS.get(word).copied().unwrap_or(0)
}

pub(crate) fn listed(list: u32, word: &str) -> bool {
    lists(word) & list != 0
}

/// Whether `word` is idle behind `before`.
pub(crate) fn idle_behind(before: &str, word: &str) -> bool {
    IDLE_BEHIND.contains(&(before, word))
}

/// The word, if it makes another one idle.
pub(crate) fn makes_idle(word: &str) -> &'static str {
    IDLE_BEHIND.iter().map(|(before, _)| *before).find(|before| *before == word).unwrap_or("")
}

/// The number that `word` stands for.
pub(crate) fn number(word: &str) -> Option<f64> {
    VALUES.get(word).copied()
}

/// Endings by which a word may differ and stay the same word, by language: sets, of which two endings of one word are.
/// None tells a woman from a man, or fifteen from fifty; [`is_past`] tells the past from the present.
const ENDINGS: [&[&[&str]]; LANGUAGES.len()] = [
    &[&["", "e", "en", "n", "s", "es", "em", "t", "st", "et", "est"], &["e", "er", "es", "en", "em"]],
    &[&["", "s", "es"], &["", "n"], &["", "r"]],
    &[&["", "s", "x"], &["", "nt"], &["", "r", "z"]],
    &[&["", "s", "es"], &["", "m"], &["", "r"]],
    &[&["o", "i"], &["a", "e"], &["e", "i"], &["", "no"], &["", "re"]],
    &[&["", "s", "en", "n", "e", "t"]],
    &[],
    &[],
];

/// Those of German nouns. What has a capital letter elsewhere is a name.
const GERMAN_NOUNS: &[&[&str]] = &[&["", "e", "en", "n", "s", "es", "nen"]];

/// Letters of the longest of them.
const LONGEST_ENDING: usize = 3;

/// German words whose endings alone tell who does it from whom it is done to.
const DETERMINERS: &str = "welcher welche welches welchen welchem dieser diese dieses diesen diesem jeder jede jedes jeden jedem jener jene jenen jenem \
    unser unsere unseres unseren unserem unserer euer eure eures euren eurem eurer meiner meines meinen meinem deiner deines deinen deinem \
    seiner seines seinen seinem ihrer ihres ihren ihrem keiner keines keinen keinem einer eines einen einem mancher manchen manchem";

/// What a noun stands behind: there its ending is the plural or a case. Elsewhere it may be a verb's person, or part of a name.
const BEFORE_NOUNS: &str = "der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner dein deine sein seine ihr ihre \
    kein keine keinen unser unsere vom zum zur im am beim als aus mit von für ohne viele alle welche welcher welches welchen diese dieser dieses \
    el la los las un una unos unas mi mis su sus tu tus este esta estos estas qué cuántos cuántas de del en con para por sin \
    o a os as um uma uns umas meu meus minha minhas seu seus sua suas do da dos das no na nos nas com sem que qual quais quantos quantas \
    il lo i gli le uno mio miei mia mie questo questi quale quali quanti quante di dei delle degli per tutti più";

static NOUNS: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| BEFORE_NOUNS.split_whitespace().collect());

/// Whether what follows `before` is a noun: an article, an adjective, a preposition.
pub(crate) fn precedes_noun(before: &str) -> bool {
    let ending = ["e", "en", "er", "es", "em"].iter().any(|end| before.ends_with(end));
    NOUNS.contains(before) || ending && before.len() > 4 || before.ends_with('s')
}

/// The fewest letters that two forms of a word have in common.
const STEM: usize = 5;

/// Letters that one language of [`LANGUAGES`] has.
const LETTERS: [(&[char], usize); 4] = [
    (&['ł', 'ż', 'ś', 'ź', 'ć', 'ą', 'ę', 'ń'], POLISH_PLACE),
    (&['ş', 'ğ', 'ı'], TURKISH_PLACE),
    (&['ã', 'õ'], PORTUGUESE_PLACE),
    (&['ñ'], SPANISH_PLACE),
];

/// The languages of a text, and how a word of it may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Grammar {
    /// Code: not at all.
    #[default]
    None,
    English,
    /// How many words mark each of [`LANGUAGES`].
    Marked([u8; LANGUAGES.len()]),
}

impl Grammar {
    /// By the words that mark a language: each with the lists that it is in.
    pub(crate) fn of<'a>(words: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut counts = [0u8; LANGUAGES.len()];
        for (word, lists) in words {
            if let Some((_, language)) = LETTERS.iter().find(|(letters, _)| word.contains(*letters)) {
                counts[*language] += 1;
            }
            if lists & IS_MARK == 0 {
                continue;
            }
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += u8::from(lists & 1 << bit != 0);
            }
        }
        Self::Marked(counts)
    }

    /// Whether most of the words that mark a language are of `language`, its place among [`LANGUAGES`].
    pub(crate) fn is(self, language: usize) -> bool {
        let Self::Marked(counts) = self else { return false };
        counts[language] > 0 && counts.iter().all(|count| *count <= counts[language])
    }

    /// Whether a text, `text`, may be of `language`, a place in [`LANGUAGE_CODES`]: no other language has more words in it.
    pub(crate) fn may_be(self, language: usize, text: &str) -> bool {
        let Self::Marked(counts) = self else { return false };
        let cyrillic = text.chars().any(|c| ('а'..='ё').contains(&c));
        match counts.get(language) {
            Some(count) => !cyrillic && counts.iter().all(|other| other <= count),
            None => cyrillic,
        }
    }

    /// Whether each shows a language that the other one does not show most.
    pub(crate) fn is_other(self, other: Self) -> bool {
        let places = 0..LANGUAGES.len();
        let shows = |one: Self| places.clone().any(|language| one.is(language));
        shows(self)
            && shows(other)
            && places.clone().all(|language| !(self.is(language) && other.is(language)))
    }

    /// Whether it may be of `language`, and a word of it shows that.
    pub(crate) fn shows(self, language: usize, text: &str) -> bool {
        let Self::Marked(counts) = self else { return false };
        self.may_be(language, text) && counts.get(language).is_none_or(|count| *count > 0)
    }

    /// Whether both are one word in two forms. `capital`: one of them has a capital letter, and begins no sentence.
    /// `noun`: one of them stands where nouns do.
    pub(crate) fn inflects(self, other: Self, x: &str, y: &str, capital: bool, noun: bool) -> bool {
        let common: usize =
            x.chars().zip(y.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        match (self, other) {
            (Self::English, Self::English) => common >= 3 && !capital && stem(x) == stem(y),
            (Self::Marked(a), Self::Marked(b)) => {
                let counts: [u8; LANGUAGES.len()] = std::array::from_fn(|at| a[at].saturating_add(b[at]));
                let most = counts.into_iter().max().filter(|most| *most > 0);
                let likely = (0..counts.len()).filter(|at| Some(counts[*at]) == most);
                if listed(IS_DETERMINER, x) || listed(IS_DETERMINER, y) {
                    return false;
                }
                let mut sets = likely.flat_map(|language| match (capital, language) {
                    (false, SPANISH_PLACE | PORTUGUESE_PLACE | ITALIAN_PLACE) if !noun => {
                        &ENDINGS[language][1..]
                    }
                    (false, GERMAN_PLACE | DUTCH_PLACE) if is_past(x, y) => &[],
                    (false, _) => ENDINGS[language],
                    (true, GERMAN_PLACE) if noun => GERMAN_NOUNS,
                    (true, _) => &[],
                });
                let ends = || {
                    let ends = common.saturating_sub(LONGEST_ENDING)..=common;
                    ends.filter(|at| x.is_char_boundary(*at) && x[..*at].chars().nth(STEM - 1).is_some())
                };
                sets.any(|set| ends().any(|at| set.contains(&&x[at..]) && set.contains(&&y[at..])))
            }
            _ => false,
        }
    }
}

/// Whether one of them may be the simple past of the other in German or Dutch: kostet, kostete.
fn is_past(x: &str, y: &str) -> bool {
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    long.strip_prefix(short)
        .is_some_and(|end| short.ends_with(['t', 'd']) && matches!(end, "e" | "en" | "est" | "et"))
}

/// Whether both may be a verb in two voices: a common stem and endings of four letters at most.
pub(crate) fn conjugates(x: &str, y: &str) -> bool {
    let common = x.chars().zip(y.chars()).take_while(|(a, b)| a == b).count();
    common >= STEM - 1 && x.chars().count().max(y.chars().count()) - common <= 4
}
