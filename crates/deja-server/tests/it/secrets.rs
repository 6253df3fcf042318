//! What must never be written down: keys, provider secrets, prompts and answers in logs, metrics and traces; keys and
//! provider secrets in any file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::util::collector::Collector;
use crate::util::deja::{ANTHROPIC_KEY, GEMINI_KEY, OPENAI_KEY, free_port, new_database};
use crate::util::http::find;
use crate::util::provider::{Family, completion};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Reaction, Tenant, metrics};

const MASTER_KEY: &str = "6d61737465722d6b65792d6f662d6120746573742d6f6e6c792d333262797421";
const PROVIDER_SECRET: &str = "house-secret-77e1b0";

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

/// Words that stand in prompts, contexts and answers, and nowhere else.
const TEXTS: [&str; 6] = [
    "xanthophyll", "quokka-prompt", "narwhal-answer", "ocelot-context", "pangolin-error", "tapir-paraphrase",
];

/// Traffic of every kind that could leave a trace. Returns all keys.
fn traffic(deja: &Deja, provider: &FakeProvider) -> Vec<String> {
    let tenant = Tenant::create(deja, "secret", &[]);
    let revoked = tenant.new_key(&[]);
    deja.cli(&["key", "revoke", &revoked[..7]]);
    provider.on("ocelot-context", Reaction::Text("A narwhal-answer.".into()));
    for model in ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"] {
        for prompt in [
            "How do I cook a quokka-prompt?",
            "How do I cook a quokka-prompt?",
            "How can I cook a tapir-paraphrase?",
        ] {
            tenant.ask(&json!({"prompt": prompt, "model": model, "context": "ocelot-context", "include_debug": true}));
        }
    }
    // Providers quote prompts in errors.
    let quoting = json!({"error": {"message": "cannot answer: pangolin-error quokka-prompt", "code": "cannot pangolin-error", "type": "x"}});
    for (n, status) in [400, 401, 429, 500].into_iter().enumerate() {
        let tag = format!("xanthophyll {n}");
        provider.on(&tag, Reaction::Json(status, quoting.clone()));
        assert_eq!(tenant.send(&json!({"prompt": tag, "model": MODEL})).status, 500);
    }
    let mut cut = completion(Family::OpenAi, MODEL, "narwhal-answer, half of");
    cut["choices"][0]["finish_reason"] = json!("quokka-prompt");
    provider.on("xanthophyll cut", Reaction::Json(200, cut));
    tenant.ask(&json!({"prompt": "xanthophyll cut", "model": MODEL}));
    provider.on("xanthophyll garbage", Reaction::Json(200, json!({"narwhal-answer": "narwhal-answer"})));
    tenant.send(&json!({"prompt": "xanthophyll garbage", "model": MODEL})).detail(500);
    // What is refused.
    tenant.post(br#"{"prompt":"xanthophyll","model":"xanthophyll-quokka-prompt"}"#).detail(400);
    tenant.post(br#"{"prompt":"xanthophyll","model":7,"#).detail(400);
    tenant.post_as(&revoked, PATH, b"{}").detail(401);
    let unknown = "dj_0123456789abcdef0123456789abcdef";
    tenant.post_as(unknown, PATH, b"{}").detail(401);
    let path = format!("/v1/cache/query?key={}", tenant.key);
    tenant.post_as(&tenant.key, &path, b"{}").detail(400);
    // The formats of providers, with keys in every header.
    for (path, model, header) in [
        ("/v1/chat/completions", "gpt-4o-mini", "Authorization"),
        ("/v1/chat/completions?key=", "gpt-4o-mini", "x-api-key"),
        ("/v1/messages", "claude-haiku-4-5", "x-api-key"),
        ("/v1/responses", "gpt-4o-mini", "api-key"),
        ("/v1/nowhere", "gpt-4o-mini", "x-goog-api-key"),
    ] {
        let key =
            if header == "Authorization" { format!("Bearer {}", tenant.key) } else { tenant.key.clone() };
        let path = if path.ends_with('=') { format!("{path}{}", tenant.key) } else { path.to_owned() };
        for (n, stream) in [false, true, false].into_iter().enumerate() {
            let text = format!("How do I cook the quokka-prompt of xanthophyll {n}?");
            let turns = serde_json::json!([{"role": "user", "content": text}]);
            let body =
                json!({"model": model, "max_tokens": 9, "messages": turns, "input": turns, "stream": stream});
            let headers = [
                (header, key.as_str()),
                ("X-Deja-Context", "ocelot-context"),
                ("x-other", "tapir-paraphrase"),
            ];
            deja.request("POST", &path, &headers, body.to_string().as_bytes());
            let unread = [(header, "sk-of-their-own-tapir-paraphrase")];
            deja.request("POST", &path, &unread, b"{\"quokka-prompt\"");
        }
    }
    // A provider of the project's own, with a secret.
    let url = format!("{}/v1", provider.url());
    let mut command = deja.command(&tenant.provider_add(
        "house",
        &url,
        "house-model",
        &["--allow-private", "--secret-stdin"],
    ));
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), PROVIDER_SECRET.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    tenant.ask(&json!({"prompt": "xanthophyll", "model": "house-model", "context": "ocelot-context"}));
    vec![tenant.key.clone(), revoked, unknown.to_owned()]
}

#[test]
fn no_secret_and_no_text_is_ever_written_down() {
    let provider = FakeProvider::start();
    let (metrics_port, collector) = (free_port(), Collector::start());
    let mut deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_LOG", "trace")
        .env("DEJA_MASTER_KEY", MASTER_KEY)
        .env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{metrics_port}"))
        .env("DEJA_OTLP_ENDPOINT", collector.url())
        .start();
    let keys = traffic(&deja, &provider);
    let metrics = metrics(metrics_port);
    assert!(deja.stop().success());

    let (log, secrets) = (deja.log(), secrets(&keys));
    assert!(log.len() > 2000, "the log was really at trace: {log}");
    assert_says_none("log", &log, &secrets);
    assert_says_none("metrics", &metrics, &secrets);

    let traces = collector.bytes();
    assert!(collector.spans().len() > 20, "traces were really sent");
    for word in secrets.iter().chain(&TEXTS) {
        assert!(find(&traces, word.as_bytes()).is_none(), "{word:?} is in the traces");
    }

    let all: Vec<(PathBuf, Vec<u8>)> =
        files(deja.data()).into_iter().map(|f| (f.clone(), fs::read(f).unwrap())).collect();
    assert!(
        all.iter().any(|(_, bytes)| find(bytes, b"narwhal-answer").is_some()),
        "answers are kept, so this test sees files as they are"
    );
    let master: Vec<u8> =
        (0..32).map(|n| u8::from_str_radix(&MASTER_KEY[2 * n..2 * n + 2], 16).unwrap()).collect();
    for (file, bytes) in &all {
        for secret in &secrets {
            assert!(find(bytes, secret.as_bytes()).is_none(), "{secret:?} is in {}", file.display());
        }
        assert!(find(bytes, &master).is_none(), "the master key is in {}", file.display());
    }
}

#[test]
fn what_is_sent_to_postgresql_is_not_logged() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder_on(&new_database(), &provider).env("DEJA_LOG", "trace").start();
    let keys = traffic(&deja, &provider);
    assert!(deja.stop().success());
    let (log, secrets) = (deja.log(), secrets(&keys));
    assert!(log.len() > 2000, "the log was really at trace: {log}");
    assert_says_none("log", &log, &secrets);
    for word in secrets.iter().chain(&TEXTS) {
        // As Rust writes bytes.
        let bytes = format!("{:?}", word.as_bytes());
        let bytes = bytes.trim_matches(['[', ']']);
        assert!(!log.contains(bytes), "{word:?} is in the log as bytes");
    }
}

/// What is secret besides `keys`.
fn secrets(keys: &[String]) -> Vec<&str> {
    let mut secrets = vec![OPENAI_KEY, ANTHROPIC_KEY, GEMINI_KEY, MASTER_KEY, PROVIDER_SECRET];
    secrets.extend(keys.iter().map(String::as_str));
    // The seven characters that listings show are no secret; what comes after them is.
    secrets.extend(keys.iter().map(|key| &key[7..]));
    secrets
}

/// Asserts that neither a secret nor a text of requests is in what a server wrote at a place.
#[track_caller]
fn assert_says_none(place: &str, text: &str, secrets: &[&str]) {
    for word in secrets.iter().chain(&TEXTS) {
        if let Some(line) = text.lines().find(|line| line.contains(word)) {
            panic!("{word:?} is in the {place}: {line}");
        }
    }
}

#[test]
fn the_master_key_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_DATABASE_URL", "").start();
    let mode = fs::metadata(deja.data().join("master.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}
