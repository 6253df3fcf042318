//! The console through its router: the real wiring over a real store, HTML asserted by selector.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "nothing here is public: `pub` means used by another module")]

mod analytics;
mod audit;
mod cache;
mod cross_site;
mod hostile;
mod keys;
mod members;
mod pages;
mod playground;
mod providers;
mod quality;
mod requests;
mod roles;
mod second_factor;
mod settings;
mod sign_in;
mod util;
mod wrong_answers;
