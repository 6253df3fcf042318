//! The server of deja: the API, the command line, the settings and what joins the other crates. The binary
//! `deja` is [`cli::main`].

pub mod api;
pub mod auth;
pub mod cli;
pub mod commands;
pub mod config;
pub mod console;
mod descriptors;
pub mod edge;
pub mod feeds;
mod format;
pub mod jobs;
pub mod lifecycle;
pub mod listener;
pub mod readiness;
pub mod request_id;
pub mod routes;
pub mod secrets;
pub mod state;
pub mod telemetry;
pub mod traces;
pub mod wiring;
