//! The tokens of a request and what they cost, told or counted.

use std::sync::Arc;

use bytes::Bytes;
use deja_core::engine::{Relay, Source};
use deja_core::money::NanoUsd;
use deja_core::provider::{Endpoint, FailureClass};
use deja_wire::Mode;
use futures::StreamExt as _;

use super::{as_stream, chunk, done, relay, streamed, text};
use crate::util::{Bench, chat_completion, failure, plain};

/// A request that is passed on. Its prompt is not known.
fn unread(endpoint: Endpoint) -> Relay {
    let mut relay = relay("reset|1");
    (relay.identity.mode, relay.forward.endpoint) = (Mode::Bypass, endpoint);
    relay.identity.text.clear();
    relay
}

#[tokio::test]
async fn tokens_of_a_plain_answer_beyond_the_limit_of_records_are_estimated_by_its_length() {
    let bench = Bench::new().await;
    // 16,384 words in 65,536 bytes.
    let body = "one ".repeat(50_000);
    let passing = body.clone();
    *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &passing)));
    assert_eq!(text(bench.live(relay("reset|1")).await).await, body);
    bench.until("it is counted", |bench| bench.heard().len() == 1).await;
    bench.engine.flush_counts().await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.input_tokens, totals.output_tokens), (3, 50_000));
}

#[tokio::test]
async fn thoughts_and_calls_of_tools_are_counted_where_nobody_tells_the_tokens() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let live = bench.live(streamed("reset|1")).await;
    let delta = |delta: &str| {
        let chunk = format!(r#"data: {{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
        feed.unbounded_send(Ok((chunk + "\n\n").into())).unwrap();
    };
    delta(r#"{"reasoning_content":"three words are "}"#);
    delta(r#"{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"x\": 1}"}}]}"#);
    for piece in [chunk(" done", "tool_calls"), done()] {
        feed.unbounded_send(Ok(piece)).unwrap();
    }
    drop(feed);
    text(live).await;
    bench.until("it is counted", |bench| bench.heard().len() == 1).await;
    bench.engine.flush_counts().await.unwrap();
    assert_eq!(bench.totals().await.output_tokens, 6);
}

#[tokio::test]
async fn what_a_provider_takes_for_its_prompt_cache_is_spent_in_a_wire_format_too() {
    let bench = Bench::new().await;
    let cached = r#""prompt_tokens_details":{"cached_tokens":5},"prompt_tokens""#;
    let body = chat_completion("cheap", "Yes.", "stop").replace(r#""prompt_tokens""#, cached);
    *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &body)));
    text(bench.live(relay("reset|1")).await).await;
    let hit = bench.hit(relay("reset|1")).await;
    assert_eq!(hit.saved(), NanoUsd::from_nanos(7 * 1000 + 3 * 2000), "the list price");
    bench.engine.flush_counts().await.unwrap();
    assert_eq!(bench.totals().await.spent, NanoUsd::from_nanos(2 * 1000 + 5 * 100 + 3 * 2000));
}

#[tokio::test]
async fn a_hit_by_meaning_saves_what_its_turns_and_tools_would_have_cost_too() {
    let bench = Bench::new().await;
    let body =
        chat_completion("cheap", "Yes.", "stop").replace(r#""prompt_tokens":7"#, r#""prompt_tokens":1000"#);
    *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &body)));
    text(bench.live(relay("reset my password|1")).await).await;
    // Two words more than the stored question.
    let hit = bench.hit(relay("reset my password|2 at once")).await;
    assert!(matches!(hit.source, Source::Semantic(_)));
    assert_eq!((hit.cost.input_tokens, hit.cost.output_tokens, hit.cost.estimated), (1002, 3, true));
    assert_eq!(hit.saved(), NanoUsd::from_nanos(1002 * 1000 + 3 * 2000));
}

#[tokio::test]
async fn turns_and_tools_are_counted_where_nobody_tells_the_tokens() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let mut asked = streamed("reset my password|1");
    asked.forward.body = Bytes::from_static(
        br#"{"model": "cheap", "messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"},
            {"role": "user", "content": "reset my password|1"}], "tools": [{"type": "function"}]}"#,
    );
    let live = bench.live(asked).await;
    for piece in [chunk("Yes.", "stop"), done()] {
        feed.unbounded_send(Ok(piece)).unwrap();
    }
    drop(feed);
    text(live).await;
    // By the counter of these tests: two, three of the question, three of turns, one of tools.
    let same = bench.hit(relay("reset my password|1")).await;
    assert_eq!((same.cost.input_tokens, same.cost.estimated), (9, true));
    let similar = bench.hit(relay("reset my password|2 at once")).await;
    assert_eq!((similar.cost.input_tokens, similar.cost.estimated), (11, true));
}

#[tokio::test]
async fn older_completions_are_counted_where_nobody_tells_the_tokens_as_far_as_they_came() {
    let bench = Bench::new().await;
    let piece = |text: &str, finish: &str| {
        let choice = format!(r#"{{"index":0,"text":"{text}","finish_reason":{finish}}}"#);
        Ok(Bytes::from(format!("data: {{\"object\":\"text_completion\",\"choices\":[{choice}]}}\n\n")))
    };
    let whole = vec![piece("One two", "null"), piece(" three", "\"stop\""), Ok(done())];
    let broken = vec![piece("One two", "null"), Err(failure(FailureClass::StreamInterrupted))];
    for pieces in [whole, broken] {
        let (feed, _) = bench.streams();
        let live = bench.live(as_stream(unread(Endpoint::Completions))).await;
        for piece in pieces {
            feed.unbounded_send(piece).unwrap();
        }
        drop(feed);
        let _: Vec<_> = live.collect().await;
    }
    let body =
        r#"{"choices":[{"index":0,"text":"One two","finish_reason":"stop"},{"index":1,"text":" three"}]}"#;
    *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, body)));
    assert_eq!(text(bench.live(unread(Endpoint::Completions)).await).await, body);
    bench.until("all are counted", |bench| bench.heard().len() == 3).await;
    bench.engine.flush_counts().await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.passed, totals.errors), (2, 1));
    assert_eq!((totals.input_tokens, totals.output_tokens), (3 * 3, 3 + 2 + 3));
}

#[tokio::test]
async fn what_embeddings_cost_is_counted() {
    let bench = Bench::new().await;
    let long = format!("[{}0]", "0.125, ".repeat(40 * 1024));
    let usage = r#""usage": {"prompt_tokens": 70, "total_tokens": 70}"#;
    // Of one that tells no tokens those that were sent are counted: three words, and two.
    for (vector, usage) in [("[0.5]", usage), (&long, usage), ("[0.5]", r#""model": "cheap""#)] {
        let body = format!(r#"{{"object": "list", "data": [{{"embedding": {vector}}}], {usage}}}"#);
        let answer = body.clone();
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &answer)));
        let mut passing = unread(Endpoint::Embeddings);
        passing.forward.body = Bytes::from_static(br#"{"model": "cheap", "input": ["one two", "three"]}"#);
        assert_eq!(text(bench.live(passing).await).await, body);
    }
    bench.until("all are counted", |bench| bench.heard().len() == 3).await;
    bench.logged().await;
    let totals = bench.totals().await;
    assert_eq!((totals.passed, totals.input_tokens, totals.output_tokens), (3, 2 * 70 + 5, 0));
    assert_eq!((totals.spent, totals.unpriced), (NanoUsd::from_nanos(1000 * (2 * 70 + 5)), 0));
}

#[tokio::test]
async fn what_is_passed_on_unread_is_counted_though_nobody_tells_the_tokens() {
    let bench = Bench::new().await;
    let mut asked = unread(Endpoint::Chat);
    asked.forward.body = Bytes::from_static(
        br#"{"model": "cheap", "n": 2, "messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "one two three"}], "tools": [{"type": "function"}]}"#,
    );
    let untold = chat_completion("cheap", "Yes.", "stop").replace("usage", "unused");
    // An answer of which nothing is read but its tokens.
    let odd = r#"{"said": "Yes.", "usage": {"prompt_tokens": 70, "completion_tokens": 30}}"#;
    let error = r#"{"error": {"message": "no"}}"#;
    // By the counter of these tests: two, five of turns, one of tools.
    for (body, tokens) in [(&*untold, (8, 1)), (odd, (70, 30)), (error, (0, 0))] {
        let (answer, before) = (body.to_owned(), bench.heard().len());
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &answer)));
        let counted = bench.counted().await.totals;
        assert_eq!(text(bench.live(asked.clone()).await).await, body);
        bench.until("it is counted", |bench| bench.heard().len() == before + 1).await;
        let totals = bench.counted().await.totals;
        let more = (totals.input_tokens - counted.input_tokens, totals.output_tokens - counted.output_tokens);
        assert_eq!(more, tokens, "{body}");
    }
}
