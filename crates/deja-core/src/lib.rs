//! The inside of deja: nouns, rules, use cases and the ports they need.
//!
//! Reading order for a newcomer:
//!
//! 1. [`cache`]: what an entry is, what partitions entries ([`cache::Scope`]), when an entry may answer
//!    a prompt ([`cache::judge`]) and what may be stored at all ([`cache::policy`]).
//! 2. [`engine`]: the request path. It begins in `query.rs`, and goes on in `call.rs` where a provider is asked.
//! 3. [`store`]: the ports to storage, one trait per noun. [`embedding`] and [`provider`] are the ports to
//!    the embedding model and to the LLM providers.
//! 4. [`admin`]: the use cases of operators, one function each.
//! 5. [`project`], [`api_key`], [`rate_limit`], [`pricing`], [`analytics`], [`request_log`], [`quality`]: the other nouns and their
//!    rules.
//!    [`operator`] are the people of the console, [`audit`] is what they changed.
//!
//! This crate does no I/O of its own: time comes from a [`clock::Clock`], randomness from an
//! [`id::Entropy`], everything else through the ports.
#![warn(missing_docs)]

pub mod access_token;
pub mod admin;
pub mod analytics;
pub mod api_key;
pub mod audit;
mod block_in_place_if;
pub mod cache;
pub mod clock;
pub mod embed_queue;
pub mod embedding;
pub mod engine;
mod hex_secret;
pub mod id;
pub mod log_throttle;
pub mod member;
pub mod money;
pub mod operator;
mod parse_limit;
pub mod pricing;
pub mod project;
pub mod provider;
pub mod quality;
pub mod random;
pub mod rate_limit;
pub mod request_log;
mod same_answer;
pub mod second_factor;
pub mod shares;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod words;

pub use block_in_place_if::block_in_place_if;
pub use parse_limit::room_to_parse;
