//! The HTTP API: handlers beside their request and response types, and one table of errors.

pub mod admin;
pub(crate) mod body;
pub mod error;
pub mod feedback;
pub mod health;
pub mod openapi;
pub mod query;
pub mod wire;
