//! How often a call is made, and after which waits.

use std::time::{Duration, Instant};

use deja_core::provider::FailureClass;
use deja_providers::HttpSettings;

use crate::server::{SOON, Server, chat, custom, http, json, provider, settings};

fn error(code: &str) -> String {
    format!("{{\"error\":{{\"message\":\"no\",\"type\":\"x\",\"code\":\"{code}\"}}}}")
}

async fn attempts(answer: String) -> usize {
    let server = Server::always(answer);
    custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap_err();
    server.requests().len()
}

#[tokio::test]
async fn what_cannot_get_better_is_tried_once() {
    for status in [400, 401, 402, 403, 404, 405, 413, 418, 422] {
        assert_eq!(attempts(json(status, &error("x"))).await, 1, "{status}");
    }
}

#[tokio::test]
async fn what_may_get_better_is_tried_three_times() {
    let waits = "retry-after-ms: 10\r\n";
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert_eq!(attempts(http(status, waits, &error("x"))).await, 3, "{status}");
    }
    assert_eq!(attempts(http(200, waits, "{\"error\":{\"code\":502,\"message\":\"no\"}}")).await, 3);
}

#[tokio::test]
async fn a_used_up_quota_is_not_tried_again_whatever_the_headers_say() {
    for code in ["insufficient_quota", "credit_balance_exhausted", "project_spend_limit_exceeded"] {
        assert_eq!(
            attempts(http(429, "x-should-retry: true\r\nretry-after: 0\r\n", &error(code))).await,
            1,
            "{code}"
        );
    }
}

#[tokio::test]
async fn the_server_may_overrule_the_status() {
    assert_eq!(attempts(http(503, "x-should-retry: false\r\nretry-after: 0\r\n", &error("x"))).await, 1);
    assert_eq!(attempts(http(400, "x-should-retry: true\r\nretry-after: 0\r\n", &error("x"))).await, 3);
}

#[tokio::test]
async fn the_first_good_answer_counts() {
    let server = Server::script(vec![json(500, "oops"), chat("At last.")]);
    let start = Instant::now();
    let answer = custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap();
    assert_eq!(answer.text, "At last.");
    assert_eq!(server.requests().len(), 2);
    assert!(start.elapsed() >= Duration::from_millis(500), "the first wait is half a second");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_wait_that_the_server_asks_for_is_kept() {
    for headers in ["retry-after: 1\r\n", "retry-after-ms: 1000\r\nretry-after: 9\r\n"] {
        let server = Server::script(vec![http(429, headers, &error("slow_down")), chat("x")]);
        let start = Instant::now();
        custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap();
        let waited = start.elapsed();
        assert!(waited >= Duration::from_secs(1) && waited < SOON, "{waited:?}");
    }
}

#[tokio::test]
async fn the_wait_in_a_google_error_is_kept() {
    let details = r#"{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"0.8s"}]}}"#;
    let good = r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}"#;
    let server = Server::script(vec![json(429, details), json(200, good)]);
    let start = Instant::now();
    let model = "gemini-2.5-flash";
    provider(&server.url, model, settings()).complete(model, None, "Hi").await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(800), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_limit_per_day_is_not_waited_for() {
    let daily = r#"{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerDay"}]},{"retryDelay":"0s"}]}}"#;
    assert_eq!(attempts(json(429, daily)).await, 1);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let server = Server::always(http(429, "retry-after: 60\r\n", &error("rate_limit_exceeded")));
    let start = Instant::now();
    let error = custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap_err();
    assert_eq!((error.class, error.retry_after), (FailureClass::RateLimit, Some(Duration::from_mins(1))));
    assert!(start.elapsed() < SOON);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn all_attempts_together_keep_to_the_deadline() {
    let server = Server::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(600));
        drop(std::io::Write::write_all(stream, json(500, "{}").as_bytes()));
    });
    let settings = HttpSettings { total_deadline: Duration::from_secs(2), max_attempts: 50, ..settings() };
    let start = Instant::now();
    custom(&server.url, settings).complete("m", None, "Hi").await.unwrap_err();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}
