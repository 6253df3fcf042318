//! Numbers in words of other languages, as digits.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::phrases::{Word, words};
use super::typed::bare_word;

/// By language, as in [`LANGUAGE_CODES`](crate::languages::LANGUAGE_CODES). What is written as one word in German, Dutch and Italian is read
/// from its parts.
const NUMERALS: [&str; 9] = [
    "zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 dreizehn=13 vierzehn=14 fünfzehn=15 \
     sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 siebzig=70 \
     achtzig=80 neunzig=90 hundert=100 tausend=1000",
    "dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 trece=13 catorce=14 quince=15 dieciséis=16 \
     diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintidós=22 veintitrés=23 veinticuatro=24 veinticinco=25 \
     veintiséis=26 veintisiete=27 veintiocho=28 veintinueve=29 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 \
     noventa=90 cien=100 ciento=100 doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 \
     ochocientos=800 novecientos=900 mil=1000",
    "deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 treize=13 quatorze=14 quinze=15 seize=16 \
     vingt=20 vingts=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 huitante=80 nonante=90 cent=100 cents=100 mille=1000",
    "dois=2 duas=2 três=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 treze=13 catorze=14 quatorze=14 quinze=15 \
     dezesseis=16 dezasseis=16 dezessete=17 dezassete=17 dezoito=18 dezenove=19 dezanove=19 vinte=20 trinta=30 quarenta=40 cinquenta=50 \
     sessenta=60 setenta=70 oitenta=80 noventa=90 cem=100 cento=100 duzentos=200 trezentos=300 quatrocentos=400 quinhentos=500 \
     seiscentos=600 setecentos=700 oitocentos=800 novecentos=900 mil=1000",
    "due=2 tre=3 quattro=4 cinque=5 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12 tredici=13 quattordici=14 quindici=15 sedici=16 \
     diciassette=17 diciotto=18 diciannove=19 venti=20 trenta=30 quaranta=40 cinquanta=50 sessanta=60 settanta=70 ottanta=80 \
     novanta=90 cento=100 mille=1000 mila=1000",
    "twee=2 drie=3 vier=4 vijf=5 zes=6 zeven=7 acht=8 negen=9 tien=10 elf=11 twaalf=12 dertien=13 veertien=14 vijftien=15 zestien=16 \
     zeventien=17 achttien=18 negentien=19 twintig=20 dertig=30 veertig=40 vijftig=50 zestig=60 zeventig=70 tachtig=80 negentig=90 \
     honderd=100 duizend=1000",
    "dwa=2 dwie=2 trzy=3 cztery=4 pięć=5 sześć=6 siedem=7 osiem=8 dziewięć=9 dziesięć=10 jedenaście=11 dwanaście=12 trzynaście=13 \
     czternaście=14 piętnaście=15 szesnaście=16 siedemnaście=17 osiemnaście=18 dziewiętnaście=19 dwadzieścia=20 trzydzieści=30 \
     czterdzieści=40 pięćdziesiąt=50 sześćdziesiąt=60 siedemdziesiąt=70 osiemdziesiąt=80 dziewięćdziesiąt=90 sto=100 dwieście=200 \
     trzysta=300 czterysta=400 pięćset=500 tysiąc=1000 tysięcy=1000 tysiące=1000",
    "iki=2 üç=3 dört=4 beş=5 altı=6 yedi=7 sekiz=8 dokuz=9 on=10 yirmi=20 otuz=30 kırk=40 elli=50 altmış=60 yetmiş=70 seksen=80 \
     doksan=90 yüz=100 bin=1000",
    "два=2 две=2 три=3 четыре=4 пять=5 шесть=6 семь=7 восемь=8 девять=9 десять=10 одиннадцать=11 двенадцать=12 тринадцать=13 \
     четырнадцать=14 пятнадцать=15 шестнадцать=16 семнадцать=17 восемнадцать=18 девятнадцать=19 двадцать=20 тридцать=30 сорок=40 \
     пятьдесят=50 шестьдесят=60 семьдесят=70 восемьдесят=80 девяносто=90 сто=100 двести=200 триста=300 четыреста=400 пятьсот=500 \
     тысяча=1000 тысячи=1000 тысяч=1000",
];

/// What stands between tens and units, or between hundreds and tens.
const AND: [&str; 9] = ["und", "y", "et", "e", "e", "en", "i", "", "и"];

/// Those of one word, in which the unit comes first: "fünfundzwanzig".
const GERMAN: usize = 0;
const FRENCH: usize = 2;
const ITALIAN: usize = 4;
const DUTCH: usize = 5;

static VALUES: LazyLock<[FxHashMap<String, u32>; 9]> = LazyLock::new(|| {
    NUMERALS.map(|list| {
        let pairs = list.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.filter_map(|(word, value)| Some((bare_word(word), value.parse().ok()?))).collect()
    })
});

/// The most words of a numeral.
const LONGEST: usize = 8;

/// `text` with digits for numerals.
pub(super) fn digits(text: &str, languages: &[usize]) -> String {
    let said = words(text);
    let is_in = |language: &usize| said.iter().any(|word| value(*language, &word.text).is_some());
    let Some(language) = languages.iter().copied().find(is_in) else { return text.to_owned() };
    // From the end: the longest numeral that ends there.
    let mut found = Vec::new();
    let mut end = said.len();
    while end > 0 {
        let read = |from: usize| read(text, &said[from..end], language).map(|value| (from, value));
        let numeral = (end.saturating_sub(LONGEST)..end).find_map(read);
        let begin = numeral.map_or(end - 1, |(from, _)| from);
        found.extend(numeral.map(|(from, value)| (said[from].begin, said[end - 1].end, value)));
        end = begin;
    }
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (begin, end, value) in found.into_iter().rev() {
        out.push_str(&text[copied..begin]);
        out.push_str(&value.to_string());
        copied = end;
    }
    out.push_str(&text[copied..]);
    out
}

/// The number that all of `said` is.
fn read(text: &str, said: &[Word], language: usize) -> Option<u32> {
    let joined = |two: &[Word]| text[two[0].end..two[1].begin].chars().all(|c| matches!(c, ' ' | '-'));
    if !said.windows(2).all(joined) {
        return None;
    }
    let (mut sum, mut below) = (0u32, value(language, &said[0].text)?);
    let mut and = false;
    for word in &said[1..] {
        if word.text == AND[language] && !and && (below >= 20 && below % 10 == 0) {
            and = true;
            continue;
        }
        let next = value(language, &word.text)?;
        below = match next {
            1000 if !and && sum == 0 => {
                sum = below * 1000;
                0
            }
            100 if !and && (2..10).contains(&below) => below * 100,
            20 if language == FRENCH && below == 4 && !and => 80,
            1..10 if below >= 20 && below % 10 == 0 => below + next,
            10..20 if language == FRENCH && matches!(below % 100, 60 | 80) => below + next,
            10..100 if below >= 100 && below % 100 == 0 || below == 0 => below + next,
            1..1000 if below == 0 && sum > 0 => next,
            _ => return None,
        };
        and = false;
    }
    (!and).then_some(sum + below)
}

/// The number that one word is.
fn value(language: usize, word: &str) -> Option<u32> {
    let values = &VALUES[language];
    if let Some(value) = values.get(word) {
        return Some(*value);
    }
    let tens =
        |word: &str| values.get(word).copied().filter(|tens| tens % 10 == 0 && (20..100).contains(tens));
    let unit = |word: &str| match word {
        "ein" | "een" | "un" | "uno" => Some(1),
        _ => values.get(word).copied().filter(|unit| *unit < 10),
    };
    match language {
        GERMAN | DUTCH => {
            let and = if language == GERMAN { "und" } else { "en" };
            let hundred = if language == GERMAN { "hundert" } else { "honderd" };
            if let Some((before, behind)) = word.split_once(hundred) {
                let hundreds = if before.is_empty() { 1 } else { unit(before)? };
                return Some(hundreds * 100 + if behind.is_empty() { 0 } else { value(language, behind)? });
            }
            // "Zwei", "zwan": an "und" may be part of the unit.
            word.match_indices(and)
                .find_map(|(at, _)| Some(unit(&word[..at])? + tens(&word[at + and.len()..])?))
        }
        ITALIAN => {
            let begins = |ten: &&String| tens(ten).is_some() && word.starts_with(&ten[..ten.len() - 1]);
            let ten = values.keys().find(begins)?;
            let rest =
                word.strip_prefix(ten.as_str()).or_else(|| word.strip_prefix(&ten[..ten.len() - 1]))?;
            Some(tens(ten)? + unit(rest).or((rest == "sei").then_some(6))?)
        }
        _ => None,
    }
}
