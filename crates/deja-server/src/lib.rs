//! The server of deja: the API, the command line, the settings and what joins the other crates. The binary
//! `deja` is [`cli::main`].

pub mod admin;
pub mod api;
pub mod app;
pub mod auth;
pub mod background;
pub mod cli;
pub mod config;
pub mod console;
pub mod demo;
pub mod lifecycle;
pub mod listener;
pub mod middleware;
mod moment;
pub mod prices;
pub mod routes;
pub mod telemetry;
pub mod upstreams;
pub mod vault;
