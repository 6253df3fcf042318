//! The server of deja: the API, the command line, the settings and what joins the other crates. The binary
//! `deja` is [`cli::main`].

pub mod config;
pub mod vault;
