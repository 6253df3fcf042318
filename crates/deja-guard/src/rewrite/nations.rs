//! What is of a country: "French motorways" are "motorways in France". A French lesson is elsewhere, and so is Polish food.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::lexicon::{class, lexicon};
use crate::rules::LONG;
use crate::scan::{Piece, text};

const NATIONS: [(&str, &str); 56] = [
    ("french", "france"),
    ("german", "germany"),
    ("italian", "italy"),
    ("spanish", "spain"),
    ("portuguese", "portugal"),
    ("polish", "poland"),
    ("dutch", "netherlands"),
    ("belgian", "belgium"),
    ("swiss", "switzerland"),
    ("austrian", "austria"),
    ("danish", "denmark"),
    ("swedish", "sweden"),
    ("norwegian", "norway"),
    ("finnish", "finland"),
    ("icelandic", "iceland"),
    ("irish", "ireland"),
    ("scottish", "scotland"),
    ("welsh", "wales"),
    ("british", "uk"),
    ("greek", "greece"),
    ("turkish", "turkey"),
    ("czech", "czechia"),
    ("slovak", "slovakia"),
    ("hungarian", "hungary"),
    ("romanian", "romania"),
    ("bulgarian", "bulgaria"),
    ("croatian", "croatia"),
    ("serbian", "serbia"),
    ("ukrainian", "ukraine"),
    ("russian", "russia"),
    ("american", "usa"),
    ("canadian", "canada"),
    ("mexican", "mexico"),
    ("brazilian", "brazil"),
    ("argentinian", "argentina"),
    ("chilean", "chile"),
    ("colombian", "colombia"),
    ("chinese", "china"),
    ("japanese", "japan"),
    ("korean", "korea"),
    ("indian", "india"),
    ("thai", "thailand"),
    ("vietnamese", "vietnam"),
    ("indonesian", "indonesia"),
    ("australian", "australia"),
    ("egyptian", "egypt"),
    ("moroccan", "morocco"),
    ("kenyan", "kenya"),
    ("pakistani", "pakistan"),
    ("iranian", "iran"),
    ("israeli", "israel"),
    ("nigerian", "nigeria"),
    ("peruvian", "peru"),
    ("cuban", "cuba"),
    ("malaysian", "malaysia"),
    ("filipino", "philippines"),
];

/// The country of each nation.
static LANDS: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| NATIONS.into_iter().collect());

/// The most words of "Spanish capital gains tax".
const THING: usize = 4;

/// Writes the country behind what belongs to it.
pub(super) fn say_country(pieces: &mut Vec<Piece>) {
    if pieces.len() > LONG || !pieces.iter().any(|piece| LANDS.contains_key(piece.text.as_str())) {
        return;
    }
    // In long texts, and beside another country, it may belong to something else.
    let named = |piece: &&Piece| {
        let word = piece.text.as_str();
        LANDS.contains_key(word) || NATIONS.iter().any(|(_, land)| *land == word)
    };
    if pieces.iter().filter(named).count() > 1 {
        return;
    }
    let found = (0..pieces.len()).find_map(|at| {
        let country = LANDS.get(text(pieces, at))?;
        // "French income tax"
        let small = class::FUNCTION | class::PREPOSITION | class::AUXILIARY;
        let content = |piece: &&Piece| !piece.broken && lexicon().class(&piece.text) & small == 0;
        let end = at + 1 + pieces[at + 1..].iter().take_while(content).count();
        let of_land = end <= at + THING && lexicon().class(text(pieces, end - 1)) & class::NATIONAL != 0;
        (of_land && end > at + 1).then_some((at, end, *country))
    });
    let Some((at, end, country)) = found else { return };
    let mut nation = pieces.remove(at);
    pieces[at].broken = nation.broken;
    country.clone_into(&mut nation.text);
    (nation.broken, nation.name) = (false, true);
    nation.asked = std::mem::take(&mut pieces[end - 2].asked);
    let within = Piece { text: "in".to_owned(), name: false, upper: false, asked: false, ..nation.clone() };
    pieces.splice(end - 1..end - 1, [within, nation]);
}
