//! The cache's own nouns and rules: entries, scopes, the judgement of hits, what may be stored.

pub mod judge;
pub mod policy;

mod entry;
mod frame;
mod label;
mod readings;
mod scope;

pub use entry::{Answer, Candidate, Entry, EntryDetail, Inserted, NewEntry};
pub use frame::{CONTEXT, Frame, Kind, Parameters, context};
pub use judge::{Hit, Judge, Judged, Reason, Refusal, Verdict};
pub use label::{Answered, Label, LabelSource, Labelled, Met, ShortLabel, WrongAnswer};
pub use readings::{Readings, ReadsPairs};
pub use scope::{PairHash, PromptHash, Scope, ScopeKey};
