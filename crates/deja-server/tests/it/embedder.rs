//! Another embedder: old entries get new vectors in the background and are never compared across models.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::util::provider::json_response;
use crate::util::server::listen;
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Gate, Tenant};

const OLD: &str = "How do I reset my password?";

/// Words that the server reads.
const WINDOW: usize = 64;

/// An `/embeddings` server for which all texts with the same first word are alike, whatever all-MiniLM-L6-v2
/// thinks. Texts that it is asked to embed again wait at `gate`. While it is `broken` it embeds nothing.
fn by_first_word(gate: Gate, broken: Arc<AtomicBool>) -> String {
    let address = listen(move |asked| {
        if broken.load(Ordering::SeqCst) {
            return json_response(500, &json!({"error": {"message": "out of memory"}}));
        }
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        let texts: Vec<&str> =
            body["input"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        if texts.iter().any(|text| text.split(' ').count() > WINDOW) {
            return json_response(400, &json!({"error": {"message": "input is too long"}}));
        }
        if texts.contains(&OLD) {
            gate.pass();
        }
        let rows: Vec<Value> = texts.iter().enumerate().map(|(index, text)| row(index, text)).collect();
        json_response(200, &json!({"data": rows}))
    });
    format!("http://{address}/v1")
}

fn row(index: usize, text: &str) -> Value {
    let word = text.split(' ').next().unwrap_or_default();
    let mut vector = [0.0; 16];
    vector[word.bytes().map(usize::from).sum::<usize>() % 16] = 1.0;
    json!({"index": index, "embedding": vector})
}

#[test]
fn entries_of_another_embedder_are_embedded_again_and_never_compared() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "moving", &[]);
        // What the new model finds alike is not what their words say.
        deja.cli(&["project", "set", &tenant.slug, "--guard", "off"]);
        tenant.ask_for(OLD);
        (tenant.slug.clone(), tenant.key.clone())
    };
    deja.stop();

    let gate = Gate::default();
    deja.set("DEJA_EMBEDDER", &by_first_word(gate.clone(), Arc::default()));
    deja.set("DEJA_EMBEDDER_MODEL", "first-word");
    deja.set("DEJA_EMBEDDER_WINDOW", &WINDOW.to_string());
    deja.restart();
    let tenant = Tenant { deja: &deja, slug, key };

    // Until its new vector is there, an old entry is found by its very prompt only.
    assert_eq!(tenant.ask_for(OLD)["debug"]["matched_by"], "exact");
    let other = tenant.ask_for("How tall is the Eiffel Tower?");
    assert_eq!(other["cache_hit"], false, "vectors of two models were compared: {other}");
    let gone = deja.cli(&["cache", "purge", "--project", &tenant.slug, "--model", "no-such-model", "--yes"]);
    assert_eq!(gone, "Deleted 0 entries.");

    // Then it is found as the new model sees it.
    gate.open();
    deja.until_logged("these entries are embedded", 1);
    let log = deja.log();
    assert!(log.contains("embedding entries that have no vector of this embedder"), "{log}");
    let hit = tenant.ask_for("How heavy is a blue whale?");
    assert_eq!((&hit["cache_hit"], &hit["similarity_score"]), (&json!(true), &json!(1.0)), "{hit}");
    assert_eq!(tenant.ask_for("Where do whales sleep?")["cache_hit"], false);
}

#[test]
fn while_the_embedding_server_is_broken_the_same_prompts_are_answered() {
    let (provider, broken) = (FakeProvider::start(), Arc::new(AtomicBool::new(false)));
    let gate = Gate::default();
    gate.open();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_EMBEDDER", by_first_word(gate, Arc::clone(&broken)))
        .env("DEJA_EMBEDDER_MODEL", "first-word")
        .env("DEJA_EMBEDDER_WINDOW", WINDOW.to_string())
        .start();
    let tenant = Tenant::create(&deja, "broken", &[]);
    tenant.ask_for(OLD);
    broken.store(true, Ordering::SeqCst);
    let ask = |prompt: &str| tenant.send(&json!({"prompt": prompt, "model": MODEL}));
    assert_eq!(ask(OLD).json()["cache_hit"], true);
    let refused = ask("How tall is the Eiffel Tower?");
    refused.detail(503);
    assert_eq!((refused.header("x-deja-error"), refused.number("retry-after")), (Some("unavailable"), 1));
    assert!(refused.header("x-ratelimit-remaining").is_some());
    // They come by the thousand: a line in five seconds, whatever the machine makes of these.
    let began = Instant::now();
    for n in 0..40 {
        assert_eq!(ask(&format!("How tall is tower {n}?")).status, 503);
    }
    let lines = deja
        .log()
        .lines()
        .filter(|line| line.contains("refused: ") || line.contains("request failed"))
        .count();
    assert!(lines as u64 <= 2 + began.elapsed().as_secs() / 5, "{lines} lines:\n{}", deja.log());
    // A replica that balancers leave out would answer nothing at all.
    assert_eq!(deja.get("/readyz").status, 200);
    let chat =
        json!({"model": MODEL, "messages": [{"role": "user", "content": "How tall is the Eiffel Tower?"}]});
    let passed = tenant.post_as(&tenant.key, "/v1/chat/completions", chat.to_string().as_bytes());
    assert_eq!((passed.status, passed.header("x-deja-cache")), (200, Some("miss")), "{}", passed.text());
    broken.store(false, Ordering::SeqCst);
    assert_eq!(ask("How tall is the Eiffel Tower?").status, 200);
}

#[test]
fn an_embedder_that_cannot_be_reached_is_one_clear_line() {
    // The key is the database's, where both directories share one.
    let deja = Deja::builder().env("DEJA_MASTER_KEY", "0f".repeat(32)).start();
    let mut command = deja.command(&["serve"]);
    let data = tempfile::tempdir().unwrap();
    let listen = "127.0.0.1:0";
    command.env("DEJA_EMBEDDER", "http://127.0.0.1:9/v1").env("DEJA_EMBEDDER_MODEL", "m");
    command.env("DEJA_EMBEDDER_WINDOW", "512").env("DEJA_DATA_DIR", data.path()).env("DEJA_LISTEN", listen);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    let line = error.lines().last().unwrap();
    assert!(line.starts_with("deja: ") && line.contains("embed"), "{error}");
    assert!(!error.contains("panicked"), "{error}");
}
