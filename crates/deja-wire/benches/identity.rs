//! What a request costs before it is looked up: telling what makes it the same as another.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use deja_wire::{Asked, Endpoint, Options, identify};
use serde_json::{Value, json};

const OPTIONS: Options = Options {
    share_end_users: false,
    semantic_history: false,
    semantic_tools: false,
    semantic_json: false,
    responses_stateless: false,
    max_text_bytes: 131_072,
};

const INSTRUCTIONS: &str = "You answer questions about the shop in two sentences at most. ";
const WIRES: [(&str, Endpoint); 4] = [
    ("chat", Endpoint::Chat),
    ("responses", Endpoint::Responses),
    ("messages", Endpoint::Messages),
    ("gemini", Endpoint::Gemini { stream: false }),
];

/// A question with instructions, 1 KB.
fn question(endpoint: Endpoint) -> String {
    let instructions = INSTRUCTIONS.repeat(13);
    let asked = "How do I return a pair of shoes?";
    let body = match endpoint {
        Endpoint::Responses => json!({"model": "gpt-5-mini", "temperature": 0.7, "stream": true,
            "instructions": instructions, "input": asked}),
        Endpoint::Messages => json!({"model": "claude-sonnet-4-6", "max_tokens": 512, "stream": true,
            "system": instructions, "messages": [{"role": "user", "content": asked}]}),
        Endpoint::Gemini { .. } => json!({"generationConfig": {"temperature": 0.7},
            "systemInstruction": {"parts": [{"text": instructions}]},
            "contents": [{"role": "user", "parts": [{"text": asked}]}]}),
        _ => json!({"model": "gpt-5-mini", "temperature": 0.7, "stream": true, "messages": [
            {"role": "system", "content": instructions}, {"role": "user", "content": asked}]}),
    };
    body.to_string()
}

/// A conversation of an agent, 1 MB: a thousand turns of code with line feeds and quotes.
fn conversation(endpoint: Endpoint) -> String {
    let turn = |at: usize| {
        let code = format!("fn f{at}() -> &'static str {{\n    \"turn {at}\"\n}}\n").repeat(20);
        let is_user = at.is_multiple_of(2);
        match endpoint {
            Endpoint::Gemini { .. } => {
                json!({"role": if is_user { "user" } else { "model" }, "parts": [{"text": code}]})
            }
            _ => json!({"role": if is_user { "user" } else { "assistant" }, "content": code}),
        }
    };
    let turns: Vec<Value> = (0..1_000).map(turn).collect();
    let body = match endpoint {
        Endpoint::Responses => json!({"model": "gpt-5-mini", "input": turns}),
        Endpoint::Messages => json!({"model": "claude-sonnet-4-6", "max_tokens": 512, "messages": turns}),
        Endpoint::Gemini { .. } => json!({"contents": turns}),
        _ => json!({"model": "gpt-5-mini", "messages": turns}),
    };
    body.to_string()
}

/// 32 MiB that are hard to hold: numbers of one digit.
fn hostile() -> String {
    format!(r#"{{"model":"m","messages":[],"x":[1{}]}}"#, ",1".repeat(16 << 20))
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("identity");
    group.sample_size(10);
    let mut measure = |name: &str, endpoint, body: String| {
        let model = matches!(endpoint, Endpoint::Gemini { .. }).then_some("gemini-2.5-flash");
        let asked = Asked { endpoint, model, body: body.as_bytes(), headers: &[], query: None };
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bench| bench.iter(|| identify(black_box(&asked), &OPTIONS)));
    };
    for (wire, endpoint) in WIRES {
        measure(&format!("{wire}, question"), endpoint, question(endpoint));
        measure(&format!("{wire}, conversation"), endpoint, conversation(endpoint));
    }
    measure("hostile", Endpoint::Chat, hostile());
}

criterion_group!(benches, bench);
criterion_main!(benches);
