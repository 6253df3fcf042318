//! `deja demo`: the real server over a temporary data directory, with a sandbox provider that answers at once.

use std::io::Write;
use std::time::Instant;

use axum::routing::post;
use axum::{Json, Router};
use deja_core::admin::keys::{self, KeyWish};
use deja_core::admin::operators;
use deja_core::admin::projects::{self, NewProject};
use deja_core::audit::Actor;
use deja_core::embedding::Threshold;
use deja_core::engine::{Query, Source};
use deja_core::project::Tier;
use deja_providers::TokenCounter;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::config::{Account, Config, Credentials, EmbedderSource};
use crate::lifecycle::{Server, Signals};

const MODEL: &str = "gpt-4o-mini";
const PROMPTS: [&str; 12] = [
    "How do I reset my password?",
    "How can I reset my password?",
    "How do I reset my password?",
    "What is the capital of France?",
    "What's the capital of France?",
    "What is the capital city of France?",
    "How long does shipping take?",
    "How long does the shipping take?",
    "Can I cancel my subscription at any time?",
    "Could I cancel my subscription at any time?",
    "What is the boiling point of water?",
    "Write a haiku about autumn.",
];

/// Runs sample queries, and then serves unless `exit_after`.
pub(super) async fn run(mut config: Config, exit_after: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    crate::telemetry::init_log("warn", config.log_format)?;
    // Before there is anything to remove.
    let mut signals = Signals::catch()?;
    let directory = tempfile::tempdir()?;
    config.data_dir = directory.path().to_path_buf();
    config.database = None;
    config.prices_url = None;
    // The real server of these settings keeps its metrics, collector, address and embedder to itself.
    (config.metrics_listen, config.traces_url, config.public_url_is_set) = (None, None, false);
    config.embedder.source = EmbedderSource::Builtin;
    if exit_after {
        config.listen.set_port(0);
    }
    let sandbox = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/v1", sandbox.local_addr()?);
    // A try costs nothing: no account of the environment is asked.
    let openai = Account { api_key: Some("sandbox".into()), base_url: Some(base.parse()?) };
    config.credentials = Credentials { openai, ..Credentials::default() };
    let router = Router::new().route("/v1/chat/completions", post(sandbox_answer));
    let server = Server::start(config).await?;
    server.also_serve(sandbox, router);
    let shown = tokio::select! {
        shown = show(&server, exit_after, out) => shown,
        _ = signals.next() => Ok(()),
    };
    server.stop(&mut signals).await?;
    shown
}

/// Prints sample queries and, unless it is to exit, what to try, and waits then.
async fn show(server: &Server, exit_after: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let key = prepare(server).await?;
    print_queries(server, &key, out).await?;
    if exit_after {
        return Ok(());
    }
    writeln!(out, "{}", to_try(&server.address.to_string(), &key))?;
    if let Some(operators::Setup::Link(link, _)) = operators::set_up(&server.wired.admin).await? {
        writeln!(out, "Console:  {}", link.url.expose())?;
    }
    writeln!(out, "Ctrl-C ends the demo and removes its data.")?;
    std::future::pending().await
}

/// What to try with the server at `address`: the first as it is, the second with `pip install openai`.
fn to_try(address: &str, key: &str) -> String {
    format!(
        r#"
Try it:
curl http://{address}/v1/cache/query -H 'Authorization: Bearer {key}' \
  -H 'Content-Type: application/json' \
  -d '{{"prompt": "How could I reset my password?", "model": "{MODEL}", "include_debug": true}}'

An OpenAI client, streamed; the second question is a hit (pip install openai):
python3 - <<'END'
from openai import OpenAI
client = OpenAI(base_url="http://{address}/v1", api_key="{key}")
for question in ["How do I reset my password?", "How can I reset my password?"]:
    messages = [{{"role": "user", "content": question}}]
    stream = client.chat.completions.create(model="{MODEL}", messages=messages, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    print(stream.response.headers["x-deja-cache"], text)
END

API page: http://{address}/docs"#
    )
}

async fn prepare(server: &Server) -> anyhow::Result<String> {
    let by = server.wired.admin.acting(Actor::Cli);
    let new = NewProject { name: "demo".into(), tier: Tier::Free, per_minute: None, burst: None };
    let project = projects::create(&by, new).await?;
    let wish = KeyWish { name: "demo".into(), ..KeyWish::default() };
    let made = keys::create(&by, project.slug.as_str(), wish).await?;
    Ok(made.plain.reveal().to_owned())
}

async fn print_queries(server: &Server, key: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let key = deja_core::api_key::PlainKey::parse(key)
        .ok_or_else(|| anyhow::anyhow!("the key has no key's form"))?;
    let caller = server.wired.store.key_by_hash(&key.hash()).await?;
    let caller = caller.ok_or_else(|| anyhow::anyhow!("the key is not known"))?;
    // A server loads it in the background; here the first hit shows what it saved.
    tokio::task::spawn_blocking(|| TokenCounter::warm(MODEL)).await?;
    let (mut hits, mut total) = (0, 0.0);
    writeln!(out, "{:<44} {:<9} {:>10} {:>9} {:>12}", "prompt", "result", "similarity", "ms", "saved USD")?;
    for prompt in PROMPTS {
        let query = Query {
            prompt: prompt.into(),
            model: MODEL.into(),
            threshold: Threshold::DEFAULT,
            context: None,
            request: None,
            wire: None,
            room: None,
        };
        let began = Instant::now();
        let reply = server.wired.app.engine().query(&caller, query).await?;
        let result = match reply.source {
            Source::Provider(_) => "miss",
            _ => "hit",
        };
        let similarity = reply.similarity().map_or("-".into(), |s| format!("{:.3}", s.get()));
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let saved = reply.saved().as_dollars();
        writeln!(out, "{prompt:<44} {result:<9} {similarity:>10} {ms:>9.2} {saved:>12.7}")?;
        hits += u32::from(reply.is_hit());
        total += saved;
    }
    writeln!(out, "{hits} of {} answers came from the cache and saved ${total:.7}", PROMPTS.len())?;
    Ok(())
}

async fn sandbox_answer(Json(request): Json<Value>) -> Json<Value> {
    let prompt = request["messages"]
        .as_array()
        .and_then(|m| m.last())
        .map_or("", |m| m["content"].as_str().unwrap_or(""));
    // As slow as a fast model, so that the table shows what a hit is worth.
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    let text = format!("(sandbox) A model would now answer: {prompt}");
    let (asked, answered) = (prompt.len().div_ceil(4) + 7, text.len().div_ceil(4));
    Json(json!({
        "id": "sandbox", "object": "chat.completion", "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_tokens_are_those_of_question_and_answer() {
        let request = json!({"messages": [{"role": "user", "content": "How do I reset my password?"}]});
        let usage = &sandbox_answer(Json(request)).await["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap();
        assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    }
}
