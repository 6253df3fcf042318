//! The numbers that two prompts do not have in common.

use crate::prompt::WORDS;
use crate::quantity::{Dimension, Quantity};

/// Numbers that only one side has, and how many both have.
pub(super) fn unmatched_numbers(a: &[Quantity], b: &[Quantity]) -> ([usize; 2], usize) {
    // A table in one word, "1.2.3" and so on: its order is compared, not each number with each.
    if a.len().max(b.len()) > WORDS {
        let same = a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y));
        return if same { ([0, 0], a.len()) } else { ([1, 1], 0) };
    }
    let mut rest: Vec<&Quantity> = b.iter().collect();
    let mut same = 0;
    let mut left = 0;
    // 4 + 4 + 4 is not 4 + 4, nor 10.0.1.1 what 10.0.0.1 is.
    let listed = |list: &[Quantity]| list.iter().any(|quantity| quantity.listed);
    let counts = listed(a) && listed(b);
    let mut repeated = false;
    for quantity in a {
        if let Some(at) = rest.iter().position(|other| quantity.same(other)) {
            rest.swap_remove(at);
            same += 1;
        } else if !quantity.optional {
            // Said twice on this side: "25K (Rs 25,000)".
            left += usize::from(!b.iter().any(|other| quantity.same(other)));
            repeated |= counts && quantity.listed;
        }
    }
    // "One ticket" against "two tickets".
    let ones = |list: &[Quantity]| list.iter().any(|q| q.optional && q.dimension == Dimension::Plain);
    left += usize::from(
        left == 0 && ones(a) && rest.iter().any(|q| !q.optional && q.dimension == Dimension::Plain),
    );
    // "In a day", "in a month"
    let spans = |q: &Quantity| q.optional && q.dimension != Dimension::Plain;
    let other = |q: &Quantity| {
        let unlike = |other: &&Quantity| spans(other) && other.dimension == q.dimension;
        spans(q) && !b.iter().any(|other| spans(other) && q.same(other)) && rest.iter().any(unlike)
    };
    let spans_differ = usize::from(a.iter().any(other));
    let right = rest.iter().filter(|q| !q.optional && !a.iter().any(|other| other.same(q))).count();
    repeated |= counts && rest.iter().any(|quantity| quantity.listed && !quantity.optional);
    ([left, right].map(|count| count + usize::from(repeated) + spans_differ), same)
}
