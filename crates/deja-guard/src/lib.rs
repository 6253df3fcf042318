//! Judges whether the answer to one prompt may be served for another one that is near in meaning.
//!
//! The cosine of two vectors tells what two prompts are about, not whether they ask the same: "enable" lies beside
//! "disable", "at altitude 1" beside "at altitude 2". The guard looks at the words. [`Prompt::read`] brings a prompt into
//! one form: numbers with units, dates, question class, negations, content words with their roles. [`judge`] pairs the
//! words of two prompts, and where they align almost wholly, facts decide: another number, a negation, an opposite,
//! exchanged roles. Where they are reworded, trees over the same features do. Code must be the same letter by letter. Texts in
//! another language and texts beyond the window pass by proof only.
//!
//! Reading order for a newcomer:
//!
//! 1. `verdict.rs`: the decision, from two prompts that were read to the verdict. All other modules serve it.
//! 2. `prompt.rs`: what is read of one prompt. It calls the modules that bring a text into one form, `scan.rs` and `rewrite.rs`
//!    first, and then those that read one thing each.
//! 3. `align.rs` pairs the words of two prompts. `features.rs` collects what differs, each kind in a module of its own.
//! 4. `trees.rs` makes a score of the differences. `rules.rs` corrects it by facts.
//! 5. `foreign.rs`: the other way, by proof, for texts that the features do not know.
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

// The word lists.
mod lexicon;

// One form of a text.
mod framing;
mod key;
mod list;
mod powers;
mod quantity;
mod rewrite;
mod scan;
mod typography;

// What is read of one prompt.
mod answer;
mod asked;
mod cased;
mod code;
mod denial;
mod form;
mod literal;
mod persons;
mod prompt;
mod state;
mod voice;

// What differs between two prompts.
mod align;
mod apart;
mod beside;
mod changed;
mod exchange;
mod features;
mod order;
mod places;
mod point;
mod replaced;

// Texts that pass by proof only.
mod foreign;
mod languages;

// The decision.
mod rules;
mod trees;
mod verdict;

pub use prompt::Prompt;
pub use verdict::{LOWEST_THRESHOLD, Reason, Strictness, Verdict, judge};

/// The features of a pair by name: what the trees are trained on.
pub fn features(a: &Prompt, b: &Prompt, cosine: f32) -> Vec<(&'static str, f32)> {
    let (a, b) = if a.key <= b.key { (a, b) } else { (b, a) };
    let vector = features::Differences::of(a, b).vector(a, b, cosine);
    features::FEATURES.into_iter().zip(vector).collect()
}
