//! The surfaces that existing applications speak to: what goes to the provider, what comes back, and that `{"detail"}` never
//! does.

mod models;
mod nowhere;
