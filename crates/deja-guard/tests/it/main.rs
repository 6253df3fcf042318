//! The guard through its public interface.

#![expect(clippy::expect_used, reason = "a test fails by panicking, its helpers too")]

mod abroad;
mod alike;
mod answers;
mod apart;
mod bare;
mod beside;
mod cased;
mod changed;
mod code;
mod denials;
mod exchange;
mod facing;
mod forms;
mod framing;
mod golden;
mod kinds;
mod korean;
mod layout;
mod lines;
mod marks;
mod measures;
mod messages;
mod moved;
mod numerals;
mod order;
mod pairs;
mod points;
mod proofs;
mod properties;
mod reasons;
mod replaced;
mod requests;
mod reworded;
mod rewordings;
mod texts;
mod typed;
mod verdict;
mod voices;
mod words;
