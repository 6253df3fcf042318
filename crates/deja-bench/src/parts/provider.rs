//! An LLM provider with one answer, of 200 bytes. By default it answers at once; or token by token, with pauses as a model
//! has them. A plain answer takes as long as the stream of its tokens.
//!
//! Bare hyper on one thread, since what it costs is taken from the cores that deja is measured on.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use deja_core::random::split_mix;
use futures::{StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Collected, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use memchr::memmem;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::completion::{CREATED, Completion, ID};
use crate::process;

/// The model that the benchmarks ask. Any that deja routes to the OpenAI family would do.
pub(crate) const MODEL: &str = "gpt-4o-mini";
/// Arguments for a token each 20 ms; 15 to 35 of them, half a second on average.
pub(crate) const PACED: [&str; 5] = ["--pause-ms", "20", "--tokens", "15", "35"];

#[derive(Args)]
pub(crate) struct Provider {
    /// Pause between two tokens. The first one comes at once.
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// The fewest and the most tokens of an answer: each has a number of its own, so that streams do not keep step.
    #[arg(long, num_args = 2, default_values_t = [25, 25], value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Vec<u64>,
}

/// The text of every plain answer.
pub(crate) fn text() -> String {
    "This is the answer that the language model of the benchmark gives. ".repeat(3).trim_end().to_owned()
}

/// What it answers.
struct Script {
    plain: Bytes,
    models: Bytes,
    first: Bytes,
    token: Bytes,
    last: Bytes,
    /// As `last`, with the tokens that were used.
    last_with_usage: Bytes,
    pause: Duration,
    shortest: u64,
    longest: u64,
    answers: AtomicU64,
}

impl Script {
    fn new(provider: &Provider) -> Result<Self> {
        let plain = Completion::new(&text()).to_json()?;
        let usage = &serde_json::from_slice::<Value>(&plain)?["usage"];
        let first = chunk(
            &json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]),
            None,
        );
        let token =
            chunk(&json!([{"index": 0, "delta": {"content": " token"}, "finish_reason": null}]), None);
        let end = chunk(&json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]), None);
        let with_usage = chunk(&json!([]), Some(usage));
        Ok(Self {
            plain: plain.into(),
            models:
                json!({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "bench"}]})
                    .to_string()
                    .into(),
            first: format!("{first}{token}").into(),
            token: token.into(),
            last: format!("{end}data: [DONE]\n\n").into(),
            last_with_usage: format!("{end}{with_usage}data: [DONE]\n\n").into(),
            pause: Duration::from_millis(provider.pause_ms),
            shortest: provider.tokens[0],
            longest: provider.tokens[1].max(provider.tokens[0]),
            answers: AtomicU64::new(0),
        })
    }

    /// Tokens of the next answer.
    fn tokens(&self) -> u64 {
        let mut state = self.answers.fetch_add(1, Ordering::Relaxed);
        self.shortest + split_mix(&mut state) % (self.longest - self.shortest + 1)
    }

    async fn whole(&self) -> Bytes {
        let pauses = u32::try_from(self.tokens() - 1).unwrap_or(u32::MAX);
        if !self.pause.is_zero() {
            sleep(self.pause * pauses).await;
        }
        self.plain.clone()
    }

    /// The pieces of a stream: the first token, each of the others after a pause, and the end with the last.
    fn pieces(self: Arc<Self>, usage: bool) -> impl stream::Stream<Item = Bytes> + Send {
        let tokens = self.tokens();
        stream::unfold(0, move |sent| {
            let script = Arc::clone(&self);
            async move {
                if sent > 0 && sent < tokens && !script.pause.is_zero() {
                    sleep(script.pause).await;
                }
                let end = if usage { &script.last_with_usage } else { &script.last };
                let piece = match sent {
                    0 => &script.first,
                    sent if sent < tokens => &script.token,
                    sent if sent == tokens => end,
                    _ => return None,
                };
                Some((piece.clone(), sent + 1))
            }
        })
    }
}

/// An event of a stream.
fn chunk(choices: &Value, usage: Option<&Value>) -> String {
    let mut chunk = json!({"id": ID, "object": "chat.completion.chunk", "created": CREATED, "model": MODEL, "choices": choices});
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    format!("data: {chunk}\n\n")
}

/// Serves until the harness ends.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn serve(provider: &Provider) -> Result<()> {
    let script = Arc::new(Script::new(provider)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    tokio::select! {
        ended = accept(listener, script) => ended,
        ended = tokio::task::spawn_blocking(process::wait_for_harness) => Ok(ended?),
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>) -> Result<()> {
    let connections = TaskTracker::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let script = Arc::clone(&script);
        let service = service_fn(move |request| complete(request, Arc::clone(&script)));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            // A connection that breaks is deja's to report.
            let _ = connection.await;
        });
    }
}

async fn complete(
    request: Request<Incoming>,
    script: Arc<Script>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let asks_for_models = request.uri().path().ends_with("/models");
    // Read to its end, so that the connection can be used again; if that fails, it breaks by itself.
    let asked = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let says = |name: &str| {
        [format!("\"{name}\":true"), format!("\"{name}\": true")]
            .iter()
            .any(|text| memmem::find(&asked, text.as_bytes()).is_some())
    };
    let (body, kind) = if asks_for_models {
        (Full::new(script.models.clone()).boxed_unsync(), "application/json")
    } else if says("stream") {
        let frames = script.pieces(says("include_usage")).map(|piece| Ok(Frame::data(piece)));
        (StreamBody::new(frames).boxed_unsync(), "text/event-stream")
    } else {
        (Full::new(script.whole().await).boxed_unsync(), "application/json")
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
