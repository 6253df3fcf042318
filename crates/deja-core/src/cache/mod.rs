//! The cache's own nouns and rules: entries, scopes, the hit-or-miss decision, what may be stored.

pub mod decision;
pub mod policy;

mod entry;
mod scope;

pub use entry::{Answer, Candidate, Entry, EntryDetail, Inserted, NewEntry, WrongAnswer};
pub use scope::{PromptHash, Scope, ScopeKey};
