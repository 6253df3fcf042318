//! The HTTP API: handlers beside their request and response types, and one table of errors.

pub mod error;
pub mod health;
pub mod openapi;
pub mod query;
