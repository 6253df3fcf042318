//! The cache's own nouns and rules: entries, scopes, the judgement of hits, what may be stored.

pub mod judge;
pub mod policy;

mod entry;
mod frame;
mod scope;

pub use entry::{Answer, Candidate, Entry, EntryDetail, Inserted, NewEntry, WrongAnswer};
pub use frame::{Frame, Kind};
pub use judge::{Hit, Judge, Judged, Reason, Refusal, Verdict};
pub use scope::{PromptHash, Scope, ScopeKey};
