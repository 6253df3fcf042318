//! The embedder as the engine sees it: threads, queue, deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::embedding::{EmbedError, Embedded, Embedder};
use deja_embed::{LocalEmbedder, Model, PoolConfig};

use crate::vector;

const PATIENT: PoolConfig = PoolConfig { threads: 2, queue: 1024, deadline: Duration::from_mins(1) };

/// About 200 tokens: many milliseconds of work.
fn long() -> String {
    "cache ".repeat(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_callers_get_their_own_vectors() {
    let embedder = Arc::new(LocalEmbedder::builtin(PATIENT).unwrap());
    assert_eq!(embedder.dimension(), 384);
    assert_eq!(embedder.id().as_str(), "all-MiniLM-L6-v2/int8-1");
    let mut calls = tokio::task::JoinSet::new();
    for i in 0..200 {
        let embedder = Arc::clone(&embedder);
        calls.spawn(async move {
            let text = format!("prompt number {i}");
            (embedder.embed(&text).await, text)
        });
    }
    let mut session = Model::builtin().unwrap().session();
    while let Some(call) = calls.join_next().await {
        let (result, text) = call.unwrap();
        let Embedded::Vector { embedding, tokens } = result.unwrap() else { panic!("too long") };
        assert!(tokens >= 5);
        assert_eq!(embedding, vector(&mut session, &text), "{text}");
    }
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let config = PoolConfig { threads: 1, queue: 2, ..PATIENT };
    let embedder = LocalEmbedder::builtin(config).unwrap();
    let long = long();
    let results = futures_join(&embedder, &long, 40).await;
    let refused = results.iter().filter(|r| matches!(r, Err(EmbedError::Overloaded))).count();
    assert!(refused >= 30, "{refused}");
    assert!(results.iter().any(Result::is_ok));
}

#[tokio::test]
async fn a_deadline_ends_the_wait() {
    let config = PoolConfig { threads: 1, queue: 64, deadline: Duration::from_millis(1) };
    let embedder = LocalEmbedder::builtin(config).unwrap();
    let results = futures_join(&embedder, &long(), 40).await;
    assert!(results.iter().any(|r| matches!(r, Err(EmbedError::Timeout))));
}

#[tokio::test]
async fn texts_of_callers_who_hung_up_are_skipped() {
    let embedder = LocalEmbedder::builtin(PoolConfig { threads: 1, ..PATIENT }).unwrap();
    let long = long();
    let start = Instant::now();
    embedder.embed(&long).await.unwrap();
    let one = start.elapsed();
    let gone = tokio::time::timeout(Duration::from_micros(1), futures_join(&embedder, &long, 500)).await;
    assert!(gone.is_err());
    let start = Instant::now();
    embedder.embed("still here").await.unwrap();
    // Of 500 texts; half of them would mean that none was skipped, however unevenly a busy machine runs.
    assert!(start.elapsed() < one * 250, "{:?} with one text at {one:?}", start.elapsed());
}

#[tokio::test]
async fn the_window_is_a_limit_not_a_cut() {
    let embedder = LocalEmbedder::builtin(PATIENT).unwrap();
    for (words, fits) in [(253, true), (254, true), (255, false), (10_000, false), (300_000, false)] {
        let start = Instant::now();
        match embedder.embed(&"cache ".repeat(words)).await.unwrap() {
            Embedded::Vector { tokens, .. } => assert!(fits && tokens as usize == words + 2),
            Embedded::TooLong { tokens, window } => assert!(!fits && window == 256 && tokens > window),
        }
        assert!(
            fits || start.elapsed() < Duration::from_secs(30),
            "a text is not read much further than the window"
        );
    }
    let one_word = "x".repeat(2_000_000);
    assert!(matches!(embedder.embed(&one_word).await.unwrap(), Embedded::TooLong { .. }));
}

/// Starts `count` calls at the same time and waits for all.
async fn futures_join(
    embedder: &LocalEmbedder,
    text: &str,
    count: usize,
) -> Vec<Result<Embedded, EmbedError>> {
    let mut calls: Vec<_> = (0..count).map(|_| embedder.embed(text)).collect();
    let mut results: Vec<Option<Result<Embedded, EmbedError>>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut waiting = false;
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_none() {
                match call.as_mut().poll(context) {
                    std::task::Poll::Ready(r) => *result = Some(r),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    results.into_iter().flatten().collect()
}
