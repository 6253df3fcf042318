//! Values and names in each other's place: "Tom is 30 and Anna is 40", "Anna is 30 and Tom is 40".
//!
//! A prompt is a list of clauses, and each of them a bag of words and numbers. Clauses that moved whole are the same clauses.
//! Two that differ in one value each, the one having what the other lost, say something else.

use crate::align::{Alignment, light};
use crate::lexicon::{class, lexicon};
use crate::places::digest;
use crate::prompt::{Prompt, Word};
use crate::quantity::{Quantity, unit};
use crate::rules::LONG;

/// Numbers beyond which a prompt is a table.
const MOST_NUMBERS: usize = 64;
/// Clauses that differ beyond which a text is another one.
const MOST_CLAUSES: usize = 8;

/// What stands where in a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// By its place among the words.
    Word(u16),
    /// By its place among the quantities.
    Number(u16),
    /// The end of a clause.
    Break,
}

/// What was exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exchange {
    Numbers,
    Words,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    /// By the first word of the first prompt with its stem.
    Word(usize),
    Number(usize),
}

/// What two prompts of the same words exchange between clauses, or between a number and a word.
pub(crate) fn exchange(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Option<Exchange> {
    let heavy = |prompt: &Prompt, rest: &[usize]| rest.iter().any(|at| !light(&prompt.words[*at]));
    let numbers = a.quantities.len().max(b.quantities.len());
    if heavy(a, &alignment.left) || heavy(b, &alignment.right) || numbers > MOST_NUMBERS {
        return None;
    }
    let pairs = || alignment.pairs.iter().map(|(i, j, _)| (*i, *j));
    // What is mixed or compared has no order.
    let symmetric = [a, b].iter().any(|p| p.words.iter().any(|w| w.is(class::SYMMETRIC)));
    if !symmetric && (led(a, b, pairs()) || led(b, a, pairs().map(|(i, j)| (j, i)))) {
        return Some(Exchange::Numbers);
    }
    let (x, y) = clauses(a, b, alignment)?;
    if x == y {
        return None;
    }
    between(&x, &y, a, b).or_else(|| if symmetric { None } else { within(&x.concat(), &y.concat(), a, b) })
}

/// What stands in each other's place where all else stands where it stood: "copy A to B", "copy B to A"; "a test that failed
/// passes", "a test that passed fails". What is coordinated has no order.
fn within(x: &[Token], y: &[Token], a: &Prompt, b: &Prompt) -> Option<Exchange> {
    let stays = |(word, other): (&Word, &Word)| word.place == other.place;
    let same_frame = a.words.len() == b.words.len() && a.words.iter().zip(&b.words).all(stays);
    if x.len() != y.len() || a.coordinated || a.unordered || !same_frame || a.function != b.function {
        return None;
    }
    let mut differ = (0..x.len()).filter(|at| x[*at] != y[*at]);
    let (Some(one), Some(other), None) = (differ.next(), differ.next(), differ.next()) else { return None };
    let between = match (x[one], x[other]) {
        (Token::Word(first), Token::Word(second)) => a.words[first].place.abs_diff(a.words[second].place) > 1,
        _ => other > one + 1,
    };
    let numbers = [x[one], x[other]].map(|token| matches!(token, Token::Number(_)));
    (x[one] == y[other]
        && x[other] == y[one]
        && between
        && numbers[0] == numbers[1]
        && !alike(x[one], x[other], a))
    .then_some(if numbers[0] { Exchange::Numbers } else { Exchange::Words })
}

/// Whether two words of `a` say much the same.
fn alike(x: Token, y: Token, a: &Prompt) -> bool {
    let (Token::Word(x), Token::Word(y)) = (x, y) else { return false };
    lexicon().same_sense(&a.words[x].stem, &a.words[y].stem)
}

/// Whether a number has the preposition in `b` that a shared word has in `a`: "replace 0 with NaN", "replace NaN with 0".
fn led(a: &Prompt, b: &Prompt, mut pairs: impl Iterator<Item = (usize, usize)>) -> bool {
    let than = digest("than", "");
    let compared = |prompt: &Prompt, other: &Prompt| {
        prompt
            .quantities
            .iter()
            .any(|q| q.lead == than && other.quantities.iter().any(|r| r.same(q) && r.lead != than))
    };
    pairs.any(|(i, j)| {
        let lead = a.words[i].lead.as_str();
        // "Is an IRA better than a 401k?", "Is a 401k better than an IRA?"
        if lead == "than" && b.words[j].lead != "than" && compared(b, a) {
            return true;
        }
        let Some(above) =
            j.checked_sub(1).map(|above| &b.words[above]).filter(|_| b.words[j].lead.is_empty())
        else {
            return false;
        };
        let (given, taken) = (digest(lead, ""), digest(&above.text, ""));
        let trades = |q: &Quantity| b.quantities.iter().any(|r| r.lead == given && q.same(r));
        lexicon().class(lead) & class::PREPOSITION != 0
            && a.quantities.iter().any(|q| q.lead == taken && trades(q))
    })
}

type Clauses = Vec<Vec<Token>>;

/// The clauses of both, in tokens that are equal where both say the same; none if a number has no like.
fn clauses(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Option<(Clauses, Clauses)> {
    let stems: Vec<u32> = a.words.iter().map(|word| digest(&word.stem, "")).collect();
    let mut left = vec![None; a.words.len()];
    let mut right = vec![None; b.words.len()];
    for (i, j, _) in &alignment.pairs {
        left[*i] = stems.iter().position(|stem| *stem == stems[*i]).map(Token::Word);
        right[*j] = left[*i];
    }
    let first = |prompt: &Prompt, at: usize| {
        a.quantities.iter().position(|other| other.same(&prompt.quantities[at])).map(Token::Number)
    };
    let list = |prompt: &Prompt, words: &[Option<Token>]| -> Option<Clauses> {
        let mut list = Clauses::new();
        for part in prompt.said.split(|said| *said == Said::Break) {
            let mut clause = Vec::with_capacity(part.len());
            for said in part {
                match *said {
                    Said::Word(at) => clause.extend(words[usize::from(at)]),
                    Said::Number(at) => clause.push(first(prompt, usize::from(at))?),
                    Said::Break => {}
                }
            }
            if !clause.is_empty() {
                list.push(clause);
            }
        }
        Some(list)
    };
    Some((list(a, &left)?, list(b, &right)?))
}

/// What the clauses that only one side has exchanged with each other.
fn between(x: &Clauses, y: &Clauses, a: &Prompt, b: &Prompt) -> Option<Exchange> {
    let bags = |clauses: &Clauses| -> Clauses {
        let sorted = |clause: &Vec<Token>| {
            let mut bag = clause.clone();
            bag.sort_unstable();
            bag
        };
        clauses.iter().map(sorted).collect()
    };
    let (own, others) = (bags(x), bags(y));
    let mut rest: Vec<usize> = (0..y.len()).collect();
    let mut alone = Vec::new();
    for (at, bag) in own.iter().enumerate() {
        match rest.iter().position(|other| others[*other] == *bag) {
            Some(found) => drop(rest.remove(found)),
            None => alone.push(at),
        }
    }
    if alone.len() != rest.len() || !(2..=MOST_CLAUSES).contains(&alone.len()) {
        return None;
    }
    // What each clause lost and has instead.
    let mut changes = Vec::with_capacity(alone.len());
    for at in alone {
        let change = |other: &usize| replaced(&own[at], &others[*other]).map(|(lost, has)| (at, lost, has));
        let (found, change) = rest.iter().enumerate().find_map(|(i, other)| Some((i, change(other)?)))?;
        rest.remove(found);
        changes.push(change);
    }
    let any_order = (a.unordered || b.unordered) && a.length.max(b.length) <= LONG;
    let counts = |(at, lost, has): &(usize, Token, Token)| {
        let is_number = matches!(lost, Token::Number(_));
        if is_number && any_order || is_number != matches!(has, Token::Number(_)) {
            return None;
        }
        let (to, ..) = changes.iter().find(|(_, lost, _)| lost == has)?;
        let exchange = if is_number { Exchange::Numbers } else { Exchange::Words };
        (!alike(*lost, *has, a) && !side_by_side(x, (*at, *lost), (*to, *has))).then_some(exchange)
    };
    changes.iter().find_map(counts)
}

/// The one token that a bag has instead of another one, the rest being the same.
fn replaced(bag: &[Token], other: &[Token]) -> Option<(Token, Token)> {
    if bag.len() != other.len() || bag.len() < 2 {
        return None;
    }
    let same = bag.iter().zip(other).take_while(|(x, y)| x == y).count();
    let behind = bag[same..].iter().rev().zip(other[same..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (x, y) = (&bag[same..bag.len() - behind], &other[same..other.len() - behind]);
    // The bags are sorted: one token went from one end to the other.
    match (
        x.len(),
        x.get(1..) == y.get(..y.len().saturating_sub(1)),
        x.get(..x.len().saturating_sub(1)) == y.get(1..),
    ) {
        (0, ..) => None,
        (_, true, _) => Some((x[0], y[y.len() - 1])),
        (_, _, true) => Some((x[x.len() - 1], y[0])),
        _ => None,
    }
}

/// Whether two tokens are what parallel phrases of a list differ in: "green tea and black tea", "cats, dogs and birds".
fn side_by_side(clauses: &Clauses, one: (usize, Token), other: (usize, Token)) -> bool {
    let ((first, p), (second, q)) = if one.0 < other.0 { (one, other) } else { (other, one) };
    let (c, d) = (&clauses[first], &clauses[second]);
    let (Some(i), Some(j)) =
        (c.iter().rposition(|token| *token == p), d.iter().position(|token| *token == q))
    else {
        return false;
    };
    let (before, behind) = (&d[..j], &c[i + 1..]);
    let phrase = |clause: &Vec<Token>| {
        clause.len() == before.len() + 1 + behind.len()
            && clause.starts_with(before)
            && clause.ends_with(behind)
    };
    c[..i].ends_with(before)
        && d[j + 1..].starts_with(behind)
        && clauses[first + 1..second.max(first + 1)].iter().all(phrase)
}

/// Whether a word is the sign or code before an amount that the `other` one writes without: "$10" is a word and a number,
/// "10 dollars" a number.
pub(crate) fn priced(prompt: &Prompt, at: usize, other: &Prompt) -> bool {
    let word = prompt.words[at].text.as_str();
    let before_amount = |prompt: &Prompt, said: &[Said]| match *said {
        [Said::Word(at), Said::Number(number)] if prompt.words[usize::from(at)].text == word => {
            let dimension = prompt.quantities[usize::from(number)].dimension;
            unit(word).filter(|(_, own, _)| *own == dimension).map(|_| usize::from(at))
        }
        _ => None,
    };
    let signs = |prompt: &Prompt| {
        prompt.said.windows(2).filter_map(|said| before_amount(prompt, said)).collect::<Vec<_>>()
    };
    matches!(word, "dollar" | "euro" | "pound" | "yen" | "rupee")
        && signs(prompt).contains(&at)
        && signs(other).is_empty()
}
