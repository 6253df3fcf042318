//! An LLM provider that answers every chat completion at once with the same 200 bytes.
//!
//! Bare hyper on one thread, since what it costs is taken from the cores that deja is measured on.

use std::convert::Infallible;

use anyhow::Result;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::process;

/// The model that the benchmarks ask. Any that deja routes to the OpenAI family would do.
pub(crate) const MODEL: &str = "gpt-4o-mini";

/// The text of every answer.
pub(crate) fn text() -> String {
    "This is the answer that the language model of the benchmark gives. ".repeat(3).trim_end().to_owned()
}

/// Serves until the harness ends.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn serve() -> Result<()> {
    let answer = Bytes::from(serde_json::to_vec(&serde_json::json!({
        "id": "chatcmpl-bench", "object": "chat.completion", "created": 1_700_000_000, "model": MODEL,
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "content": text(), "refusal": null},
        }],
        "usage": {"prompt_tokens": 24, "completion_tokens": 42, "total_tokens": 66},
    }))?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    tokio::select! {
        ended = accept(listener, answer) => ended,
        ended = tokio::task::spawn_blocking(process::wait_for_harness) => Ok(ended?),
    }
}

async fn accept(listener: TcpListener, answer: Bytes) -> Result<()> {
    let connections = TaskTracker::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        let service = service_fn(move |request| complete(request, answer.clone()));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            // A connection that breaks is deja's to report.
            let _ = connection.await;
        });
    }
}

async fn complete(request: Request<Incoming>, answer: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    // Read to its end, so that the connection can be used again; if that fails, it breaks by itself.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
