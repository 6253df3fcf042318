//! Traces: what a collector gets.

use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::json;

use crate::util::collector::{Collector, number, text, texts};
use crate::util::provider::{INPUT_TOKENS, OUTPUT_TOKENS};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Gate, Reaction, Response, Tenant, http};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn traced(provider: &FakeProvider, collector: &Collector) -> Deja {
    Deja::builder().provider(provider).env("DEJA_OTLP_ENDPOINT", collector.url()).start()
}

/// Asks within a trace of the caller's.
fn ask(tenant: &Tenant<'_>, path: &str, flags: &str, body: &serde_json::Value) -> u16 {
    try_ask(tenant, path, flags, body).unwrap().status
}

/// The same. The answer may break off.
fn try_ask(
    tenant: &Tenant<'_>,
    path: &str,
    flags: &str,
    body: &serde_json::Value,
) -> std::io::Result<Response> {
    let authorization = format!("Bearer {}", tenant.key);
    let traceparent = format!("00-{TRACE}-{CALLER}-{flags}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
        ("traceparent", traceparent.as_str()),
        ("tracestate", "vendor=quokka"),
    ];
    http::once(tenant.deja.address(), "POST", path, &headers, body.to_string().as_bytes())
}

/// The span of the only request of `spans` that ended so.
#[track_caller]
fn ended<'a>(spans: &'a [Span], route: &str, outcome: &str) -> &'a Span {
    let found: Vec<&Span> = spans
        .iter()
        .filter(|span| text(&span.attributes, "http.route").as_deref() == Some(route))
        .filter(|span| text(&span.attributes, "deja.outcome").as_deref() == Some(outcome))
        .collect();
    assert_eq!(found.len(), 1, "{route} {outcome}: {spans:#?}");
    assert_eq!(found[0].kind(), SpanKind::Server);
    found[0]
}

/// The spans below `parent`.
fn below<'a>(spans: &'a [Span], parent: &Span) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.parent_span_id == parent.span_id).collect()
}

#[test]
fn a_request_and_its_call_of_a_provider_are_spans_of_the_callers_trace() {
    let (provider, collector) = (FakeProvider::start(), Collector::start());
    let mut deja = traced(&provider, &collector);
    let slug = {
        let tenant = Tenant::create(&deja, "traced", &[]);
        let query = json!({"prompt": "What is a span?", "model": MODEL});
        assert_eq!(ask(&tenant, PATH, "01", &query), 200);
        assert_eq!(ask(&tenant, PATH, "01", &query), 200);
        let unknown = json!({"prompt": "What is a span?", "model": "wombat"});
        assert_eq!(ask(&tenant, PATH, "01", &unknown), 400);
        provider.on("a broken span", Reaction::Json(500, json!({"error": {"message": "no"}})));
        let broken = json!({"prompt": "What is a broken span?", "model": MODEL});
        assert_eq!(ask(&tenant, PATH, "01", &broken), 500);
        // Of a caller that does not record its own trace nothing is recorded here either.
        let unrecorded = json!({"prompt": "Which rivers flow north?", "model": MODEL});
        assert_eq!(ask(&tenant, PATH, "00", &unrecorded), 200);
        deja.get("/readyz");
        tenant.slug.clone()
    };
    assert!(deja.stop().success(), "{}", deja.log());

    let spans = collector.spans();
    assert!(collector.services().iter().all(|name| name == "deja"), "{:?}", collector.services());
    for span in &spans {
        assert_eq!(hex::encode(&span.trace_id), TRACE, "{span:#?}");
        assert!(span.end_time_unix_nano > span.start_time_unix_nano, "{span:#?}");
    }
    let miss = ended(&spans, PATH, "miss");
    assert_eq!(
        (miss.name.as_str(), hex::encode(&miss.parent_span_id)),
        ("POST /v1/cache/query", CALLER.to_owned())
    );
    let told = &miss.attributes;
    assert_eq!(text(told, "http.request.method").as_deref(), Some("POST"));
    assert_eq!(number(told, "http.response.status_code"), Some(200));
    assert_eq!(text(told, "gen_ai.request.model").as_deref(), Some(MODEL));
    assert_eq!(text(told, "deja.project").as_deref(), Some(slug.as_str()));

    let calls = below(&spans, miss);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    let call = calls[0];
    assert_eq!((call.name.as_str(), call.kind()), ("chat gpt-4o-mini", SpanKind::Client));
    let told = &call.attributes;
    for (name, wanted) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", MODEL),
        ("gen_ai.response.model", MODEL),
    ] {
        assert_eq!(text(told, name).as_deref(), Some(wanted), "{name}");
    }
    assert_eq!(number(told, "gen_ai.usage.input_tokens"), i64::try_from(INPUT_TOKENS).ok());
    assert_eq!(number(told, "gen_ai.usage.output_tokens"), i64::try_from(OUTPUT_TOKENS).ok());
    assert_eq!(number(told, "gen_ai.usage.cache_read.input_tokens"), None);
    assert_eq!(texts(told, "gen_ai.response.finish_reasons"), ["stop"]);
    // The provider's own spans are children of the call's.
    let sent = &provider.calls("What is a span?")[0];
    assert_eq!(
        sent.header("traceparent"),
        Some(format!("00-{TRACE}-{}-01", hex::encode(&call.span_id)).as_str())
    );
    assert_eq!(sent.header("tracestate"), None);
    let unrecorded = provider.calls("Which rivers flow north?");
    let unrecorded = unrecorded[0].header("traceparent").unwrap();
    assert!(unrecorded.starts_with(&format!("00-{TRACE}-")) && unrecorded.ends_with("-00"), "{unrecorded}");

    assert!(below(&spans, ended(&spans, PATH, "exact_hit")).is_empty());
    let refused = ended(&spans, PATH, "refused");
    assert_eq!(text(&refused.attributes, "gen_ai.request.model"), None);
    let failed = ended(&spans, PATH, "error");
    assert_eq!(failed.status.as_ref().unwrap().code(), StatusCode::Error);
    assert_eq!(text(&failed.attributes, "error.type").as_deref(), Some("provider_server_error"));
    let calls = below(&spans, failed);
    assert_eq!(text(&calls[0].attributes, "error.type").as_deref(), Some("provider_server_error"));
    assert_eq!(spans.len(), 6, "{spans:#?}");
}

#[test]
fn tokens_with_a_price_of_their_own_are_told_apart() {
    let (provider, collector) = (FakeProvider::start(), Collector::start());
    let mut deja = traced(&provider, &collector);
    {
        let usage = json!({"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 6},
            "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}});
        let answer = json!({"model": MODEL, "usage": usage, "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Both."}}]});
        provider.on("a dear span", Reaction::Json(200, answer));
        let tenant = Tenant::create(&deja, "dear", &[]);
        assert_eq!(
            ask(&tenant, PATH, "01", &json!({"prompt": "Who pays for a dear span?", "model": MODEL})),
            200
        );
    }
    assert!(deja.stop().success(), "{}", deja.log());

    let spans = collector.spans();
    let told = &below(&spans, ended(&spans, PATH, "miss"))[0].attributes;
    for (name, tokens) in [
        ("input_tokens", 40),
        ("cache_read.input_tokens", 30),
        ("cache_creation.input_tokens", 6),
        ("output_tokens", 9),
        ("reasoning.output_tokens", 5),
    ] {
        assert_eq!(number(told, &format!("gen_ai.usage.{name}")), Some(tokens), "{name}");
    }
}

#[test]
fn a_stream_is_a_span_until_its_last_byte() {
    const CHAT: &str = "/v1/chat/completions";
    let (provider, collector) = (FakeProvider::start(), Collector::start());
    let mut deja = traced(&provider, &collector);
    {
        let tenant = Tenant::create(&deja, "streamed", &[]);
        let turns = json!([{"role": "user", "content": "What is a stream?"}]);
        for stream in [true, false] {
            let body = json!({"model": MODEL, "messages": turns, "stream": stream});
            assert_eq!(ask(&tenant, CHAT, "01", &body), 200);
        }
        provider.on("too many", Reaction::Json(429, json!({"error": {"message": "slow down"}})));
        let turns = json!([{"role": "user", "content": "What is too many?"}]);
        assert_eq!(ask(&tenant, CHAT, "01", &json!({"model": MODEL, "messages": turns})), 429);
    }
    assert!(deja.stop().success(), "{}", deja.log());

    let spans = collector.spans();
    let miss = ended(&spans, CHAT, "miss");
    assert_eq!(text(&miss.attributes, "deja.cache").as_deref(), Some("miss"));
    let call = below(&spans, miss)[0];
    assert_eq!(number(&call.attributes, "http.response.status_code"), Some(200));
    assert_eq!(texts(&call.attributes, "gen_ai.response.finish_reasons"), ["stop"]);
    let sent = &provider.calls("What is a stream?")[0];
    assert_eq!(
        sent.header("traceparent"),
        Some(format!("00-{TRACE}-{}-01", hex::encode(&call.span_id)).as_str())
    );
    let hit = ended(&spans, CHAT, "exact_hit");
    assert_eq!(text(&hit.attributes, "deja.cache").as_deref(), Some("hit"));
    let declined = below(&spans, ended(&spans, CHAT, "error"))[0];
    assert_eq!(number(&declined.attributes, "http.response.status_code"), Some(429));
    assert_eq!(text(&declined.attributes, "error.type").as_deref(), Some("429"));
}

/// They are counted as spent, and the collector's sums are what was bought.
#[test]
fn an_answer_that_broke_off_has_the_tokens_that_it_cost() {
    const CHAT: &str = "/v1/chat/completions";
    let (provider, collector) = (FakeProvider::start(), Collector::start());
    let mut deja = traced(&provider, &collector);
    let chunk = |delta: &str, usage: &str| {
        let choice = format!(r#"{{"index":0,"delta":{{"content":"{delta}"}}}}"#);
        format!("data: {{\"model\":\"{MODEL}-2026\",\"choices\":[{choice}]{usage}}}\n\n")
    };
    let cut = |chunk: String| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n";
        Reaction::Bytes([head, &chunk].concat().into_bytes())
    };
    let told =
        r#","usage":{"prompt_tokens":40,"prompt_tokens_details":{"cached_tokens":30},"completion_tokens":9}"#;
    provider.on("told tokens", cut(chunk("Half", told)));
    provider.on("untold tokens", cut(chunk("Half", "")));
    {
        let tenant = Tenant::create(&deja, "broken", &[]);
        for asked in ["Who has told tokens?", "Who has untold tokens?"] {
            let turns = json!([{"role": "user", "content": asked}]);
            let body = json!({"model": MODEL, "messages": turns, "stream": true});
            assert!(try_ask(&tenant, CHAT, "01", &body).is_err());
        }
    }
    assert!(deja.stop().success(), "{}", deja.log());

    let spans = collector.spans();
    let calls: Vec<&Span> = spans.iter().filter(|span| span.kind() == SpanKind::Client).collect();
    assert_eq!(calls.len(), 2, "{spans:#?}");
    let number_of = |call: &Span, name: &str| number(&call.attributes, &format!("gen_ai.usage.{name}"));
    for call in &calls {
        let told = &call.attributes;
        assert_eq!(text(told, "error.type").as_deref(), Some("provider_stream_interrupted"), "{call:#?}");
        assert_eq!(text(told, "gen_ai.response.model"), Some(format!("{MODEL}-2026")));
    }
    let (told, untold): (Vec<&Span>, Vec<&Span>) =
        calls.into_iter().partition(|call| number_of(call, "cache_read.input_tokens").is_some());
    let tokens = |call: &Span| [number_of(call, "input_tokens"), number_of(call, "output_tokens")];
    assert_eq!(tokens(told[0]), [Some(40), Some(9)]);
    let counted = tokens(untold[0]);
    assert!(
        counted.iter().all(|tokens| tokens.is_some_and(|tokens| (1..40).contains(&tokens))),
        "{counted:?}"
    );
}

#[test]
fn what_became_of_a_request_stands_in_its_span_though_its_client_had_gone() {
    let (provider, collector, gate) = (FakeProvider::start(), Collector::start(), Gate::default());
    let mut deja = traced(&provider, &collector);
    provider.on("a hang-up", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("No answer.".into()))));
    {
        let tenant = Tenant::create(&deja, "hung-up", &[]);
        let client = tenant.begin(&json!({"prompt": "What is a hang-up?", "model": MODEL}));
        provider.wait_for_calls("a hang-up", 1);
        drop(client);
    }
    // Time for deja to notice. If it needs more, the test shows less and does not fail.
    std::thread::sleep(Duration::from_millis(300));
    gate.open();
    assert!(deja.stop().success(), "{}", deja.log());

    let spans = collector.spans();
    let miss = ended(&spans, PATH, "miss");
    assert_eq!(below(&spans, miss).len(), 1, "{spans:#?}");
}

#[test]
fn a_collector_that_takes_nothing_costs_a_line_in_the_log() {
    let (provider, collector) = (FakeProvider::start(), Collector::answering("400 Bad Request"));
    let mut deja = Deja::builder()
        .provider(&provider)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_BSP_SCHEDULE_DELAY", "10")
        .start();
    {
        let tenant = Tenant::create(&deja, "unheard", &[]);
        for round in 1..=4 {
            tenant.ask_for("Does anybody hear this?");
            collector.wait_for_calls(round);
        }
    }
    assert!(deja.stop().success(), "{}", deja.log());
    let log = deja.log();
    assert_eq!(log.matches("the collector takes no spans").count(), 1, "{log}");
    assert!(log.contains("it answered with status 400"), "{log}");
}

#[test]
fn without_a_collector_a_callers_trace_goes_on_at_the_provider() {
    let world = crate::util::World::shared();
    let tenant = world.tenant("untraced");
    let turns = json!([{"role": "user", "content": "Who hears an untraced call?"}]);
    assert_eq!(ask(&tenant, "/v1/chat/completions", "01", &json!({"model": MODEL, "messages": turns})), 200);
    let sent = &world.provider.calls("Who hears an untraced call?")[0];
    assert_eq!(sent.header("traceparent"), Some(format!("00-{TRACE}-{CALLER}-01").as_str()));
}
