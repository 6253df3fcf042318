//! What a request costs before it is looked up: telling what makes it the same as another.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use deja_wire::{Asked, Endpoint, Options, identify};
use serde_json::json;

const OPTIONS: Options = Options {
    share_end_users: false,
    semantic_history: false,
    semantic_tools: false,
    semantic_json: false,
    responses_stateless: false,
    max_text_bytes: 131_072,
};

/// A question with instructions, 1 KB.
fn question() -> String {
    let instructions = "You answer questions about the shop in two sentences at most. ".repeat(13);
    json!({"model": "gpt-5-mini", "temperature": 0.7, "stream": true, "messages": [
        {"role": "system", "content": instructions}, {"role": "user", "content": "How do I return a pair of shoes?"}]})
    .to_string()
}

/// A conversation of an agent, 1 MB: a thousand turns of code with line feeds and quotes.
fn conversation() -> String {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        let code = format!("fn f{at}() -> &'static str {{\n    \"turn {at}\"\n}}\n").repeat(20);
        json!({"role": role, "content": code})
    };
    json!({"model": "gpt-5-mini", "messages": (0..1_000).map(turn).collect::<Vec<_>>()}).to_string()
}

/// 32 MiB that are hard to hold: numbers of one digit.
fn hostile() -> String {
    format!(r#"{{"model":"m","messages":[],"x":[1{}]}}"#, ",1".repeat(16 << 20))
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("identity");
    group.sample_size(10);
    for (name, body) in [("question", question()), ("conversation", conversation()), ("hostile", hostile())] {
        let asked =
            Asked { endpoint: Endpoint::Chat, model: None, body: body.as_bytes(), headers: &[], query: None };
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bench| bench.iter(|| identify(black_box(&asked), &OPTIONS)));
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
