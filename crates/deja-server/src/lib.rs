//! The server of deja: the API, the command line, the settings and what joins the other crates. The binary
//! `deja` is [`cli::main`].

pub mod admin;
pub mod cli;
pub mod config;
pub mod demo;
pub mod lifecycle;
pub mod vault;
