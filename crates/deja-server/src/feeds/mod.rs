//! What feeds the cache from outside: the providers of each project, and prices.

pub mod prices;
pub mod providers;
