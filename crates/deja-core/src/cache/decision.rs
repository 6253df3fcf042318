//! Hit or miss: the one place where it is decided which candidate answers.
//!
//! A check that looks at more than the similarity (numbers, negation) belongs between "nearest" and "hit":
//! here, over the candidates, which come best first and with their text.

use crate::cache::Candidate;
use crate::embedding::Threshold;

/// The candidate that answers, if one does.
pub fn decide(candidates: Vec<Candidate>, threshold: Threshold) -> Option<Candidate> {
    candidates.into_iter().find(|candidate| threshold.reached_by(candidate.similarity))
}
