//! The published interface, clause by clause.

mod auth;
mod debug;
mod document;
mod errors;
mod limits;
mod request;
mod response;
mod segments;
mod threshold;
