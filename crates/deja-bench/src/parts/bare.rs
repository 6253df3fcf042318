//! The yardstick of exact hits: the same web framework, answering the same JSON, and doing nothing else.
//!
//! No key, no limit, no look-up, no parsing, none of deja's own headers: everything deja adds is in the ratio.

use std::sync::Arc;

use anyhow::Result;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use clap::Args;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::parts::completion::Completion;
use crate::process;

/// As long as a key of deja's. Nobody looks at it.
pub(crate) const KEY: &str = "dj_00000000000000000000000000000000";

#[derive(Args)]
pub(crate) struct Bare {
    /// Length of the body to answer a query: that of deja's answers.
    #[arg(long, default_value_t = 0)]
    query_bytes: usize,
    /// The same for chat completions.
    #[arg(long, default_value_t = 0)]
    chat_bytes: usize,
}

/// The members of an answer of deja's own API.
#[derive(Serialize)]
struct Answer<'a> {
    cache_hit: bool,
    response: &'a str,
    similarity_score: Option<f32>,
    cost_saved: f64,
    llm_provider: &'a str,
}

impl<'a> Answer<'a> {
    fn new(response: &'a str) -> Self {
        let (similarity_score, cost_saved, llm_provider) = (Some(1.0), 0.000_042, "cache");
        Self { cache_hit: true, response, similarity_score, cost_saved, llm_provider }
    }
}

/// Serves until the harness ends, on the runtime that `#[tokio::main]` makes.
#[tokio::main]
pub(crate) async fn serve(bare: &Bare) -> Result<()> {
    let query = filler(bare.query_bytes, serde_json::to_string(&Answer::new(""))?.len());
    let chat = filler(bare.chat_bytes, Completion::new("").to_json()?.len());
    let router = Router::new()
        .route(
            "/v1/cache/query",
            post(async |State(text): State<Arc<str>>, _body: Bytes| Json(Answer::new(&text)).into_response())
                .with_state(query),
        )
        .route(
            "/v1/chat/completions",
            post(async |State(text): State<Arc<str>>, _body: Bytes| {
                Json(Completion::new(&text)).into_response()
            })
            .with_state(chat),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    tokio::select! {
        ended = axum::serve(TcpNoDelay(listener), router).into_future() => ended?,
        ended = tokio::task::spawn_blocking(process::wait_for_harness) => ended?,
    }
    Ok(())
}

/// A text that makes a body `bytes` long, of which `around` are around it.
fn filler(bytes: usize, around: usize) -> Arc<str> {
    "x".repeat(bytes.saturating_sub(around)).into()
}

/// As deja's listener: answers leave at once.
struct TcpNoDelay(TcpListener);

impl axum::serve::Listener for TcpNoDelay {
    type Io = tokio::net::TcpStream;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let accepted = axum::serve::Listener::accept(&mut self.0).await;
        // Without it an answer is only later, which the figures would show.
        let _ = accepted.0.set_nodelay(true);
        accepted
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}
