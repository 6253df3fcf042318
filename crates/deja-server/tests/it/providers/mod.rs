//! What goes to a provider, what comes back, and which of it is kept.

mod custom;
mod families;
mod storable;
