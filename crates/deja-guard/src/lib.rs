//! Judges whether the answer to one prompt may be served for another one that is near in meaning.
//!
//! The cosine of two vectors tells what two prompts are about, not whether they ask the same: "enable" lies beside
//! "disable", "at altitude 1" beside "at altitude 2". The guard looks at the words. [`Prompt::read`] brings a prompt into
//! one form: numbers with units, dates, question class, negations, content words with their roles. [`judge`] pairs the
//! words of two prompts, and where they align almost wholly, facts decide: another number, a negation, an opposite,
//! exchanged roles. Where they are reworded, trees over the same features do. Code must be the same letter by letter. Texts in
//! another language and texts beyond the window pass by proof only.
//!
//! The guard can only refuse. It does no I/O and keeps nothing. `docs/adr/0050-guard.md` has the decision,
//! `docs/topics/accuracy.md` the figures.
//!
//! ```
//! use deja_guard::{Prompt, Reason, Strictness, judge};
//!
//! let asked = Prompt::read("How do I enable 2FA on GitHub?");
//! let candidate = Prompt::read("How do I disable 2FA on GitHub?");
//! let verdict = judge(&asked, &candidate, 0.95, 0.85, Strictness::Standard);
//! assert_eq!(verdict.refused, Some(Reason::Opposite));
//! ```

mod align;
mod answer;
mod apart;
mod asked;
mod beside;
mod cased;
mod changed;
mod code;
mod denial;
mod exchange;
mod features;
mod foreign;
mod form;
mod framing;
mod key;
mod languages;
mod lexicon;
mod list;
mod literal;
mod order;
mod persons;
mod places;
mod point;
mod powers;
mod prompt;
mod quantity;
mod replaced;
mod rewrite;
mod rules;
mod scan;
mod state;
mod trees;
mod typography;
mod verdict;
mod voice;

pub use prompt::Prompt;
pub use verdict::{LOWEST_THRESHOLD, Reason, Strictness, Verdict, judge};

/// The features of a pair by name: what the trees are trained on.
pub fn features(a: &Prompt, b: &Prompt, cosine: f32) -> Vec<(&'static str, f32)> {
    let (a, b) = if a.key <= b.key { (a, b) } else { (b, a) };
    let vector = features::Differences::of(a, b).vector(a, b, cosine);
    features::FEATURES.into_iter().zip(vector).collect()
}
