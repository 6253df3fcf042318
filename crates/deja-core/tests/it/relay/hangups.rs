//! Readers that hang up, and calls that are given up.

use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::Outcome;
use deja_core::clock::Clock as _;
use deja_core::engine::QueryError;
use deja_core::project::{OnHangup, ProjectSettings};
use deja_core::provider::{Endpoint, FailureClass};
use deja_wire::Mode;
use futures::StreamExt as _;

use super::{chunk, done, exact, relay, streamed, text};
use crate::util::{Bench, HANGUP_TIMEOUT, PATIENCE, failure, passed, settle, unguarded};

/// A body that never ends, and that takes its time to be let go: as long as nothing comes through the second channel.
struct Reluctant(std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<()>);

impl Drop for Reluctant {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        let _ = self.1.recv_timeout(crate::util::PATIENCE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reads_along_what_is_given_up() {
    let bench = Bench::with(ProjectSettings { on_hangup: OnHangup::Abort, ..unguarded() }, 10).await;
    let (letting_go, is_let_go) = std::sync::mpsc::channel();
    let (let_go, waits) = std::sync::mpsc::channel();
    let reluctant = std::sync::Mutex::new(Some(Reluctant(letting_go, waits)));
    *bench.provider.passing.lock().unwrap() = Arc::new(move |_| {
        let held = reluctant.lock().unwrap().take();
        let never = futures::stream::poll_fn(move |_| {
            let _held = &held;
            std::task::Poll::Pending
        });
        let first = futures::stream::once(async { Ok(chunk("half", "")) });
        Ok(passed(200, "text/event-stream", first.chain(never).boxed()))
    });
    drop(bench.live(exact("reset|1")).await);
    tokio::task::spawn_blocking(move || is_let_go.recv().unwrap()).await.unwrap();
    // The first answer is being given up, and has not ended for its readers yet.
    let second = bench.live(exact("reset|1")).await;
    assert!(!second.joined);
    assert_eq!(bench.provider.count(), 2);
    let_go.send(()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_read_to_its_end_for_the_cache() {
    let bench = Bench::new().await;
    let (feed, feeds) = bench.streams();
    drop(bench.live(streamed("reset|1")).await);
    for piece in [Ok(chunk("One", "")), Ok(chunk("", "stop")), Ok(done())] {
        feed.unbounded_send(piece).unwrap();
    }
    drop(feed);
    bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    assert_eq!(bench.hit(relay("reset|1")).await.entry.answer.text, "One");
    assert_eq!(bench.heard()[0], Outcome::Miss, "what was spent is counted");

    // But not for ever.
    drop(bench.live(streamed("delete|1")).await);
    let feed = feeds.lock().unwrap().pop().unwrap();
    feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
    settle().await;
    assert!(!feed.is_closed());
    tokio::time::sleep(HANGUP_TIMEOUT + Duration::from_secs(1)).await;
    bench.until("its end", |_| feed.is_closed()).await;
    assert_eq!(bench.entries().await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_that_is_left_counts_from_the_last_who_hung_up() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    drop(bench.live(streamed("reset|1")).await);
    feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
    tokio::time::sleep(HANGUP_TIMEOUT / 2).await;
    let second = bench.live(streamed("reset|1")).await;
    assert!(second.joined);
    tokio::time::sleep(HANGUP_TIMEOUT / 4).await;
    drop(second);
    tokio::time::sleep(HANGUP_TIMEOUT / 2).await;
    settle().await;
    assert!(!feed.is_closed());
    tokio::time::sleep(HANGUP_TIMEOUT / 2).await;
    bench.until("its end", |_| feed.is_closed()).await;
}

#[tokio::test]
async fn a_call_whose_answer_would_not_be_stored_ends_with_its_last_reader() {
    let bench = Bench::new().await;
    let mut tools = streamed("reset|1");
    (tools.identity.mode, tools.identity.has_tools) = (Mode::Exact, true);
    let mut bypass = streamed("reset|1");
    bypass.identity.mode = Mode::Bypass;
    let settings = ProjectSettings { on_hangup: OnHangup::Abort, ..unguarded() };
    let aborting = Bench::with(settings, 9).await;
    for (bench, relay) in [(&bench, tools), (&bench, bypass), (&aborting, streamed("reset|1"))] {
        let (feed, _) = bench.streams();
        let live = bench.live(relay).await;
        feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
        settle().await;
        assert!(!feed.is_closed());
        drop(live);
        bench.until("its end", |_| feed.is_closed()).await;
    }
    // One that waits for its first byte, too.
    let gate = bench.provider.hold();
    let mut bypass = relay("reset|1");
    bypass.identity.mode = Mode::Bypass;
    let waiting = bench.begin_relay(bypass);
    bench.until("the call", |bench| bench.engine.upstream_calls() == 1).await;
    waiting.abort();
    bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    drop(gate);
}

#[tokio::test]
async fn an_answer_whose_last_reader_hangs_up_at_its_end_mark_is_stored() {
    let bench = Bench::new().await;
    let mut tools = streamed("reset|1");
    (tools.identity.mode, tools.identity.has_tools) = (Mode::Exact, true);
    for (marked, stored) in [(false, 0), (true, 1)] {
        let (feed, _) = bench.streams();
        let mut live = bench.live(tools.clone()).await;
        let mark = marked.then(done);
        for piece in [chunk("One", ""), chunk("", "stop")].into_iter().chain(mark) {
            feed.unbounded_send(Ok(piece)).unwrap();
            live.next().await.unwrap().unwrap();
        }
        // The body has not ended.
        drop(live);
        bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
        assert!(feed.is_closed());
        assert_eq!(bench.entries().await, stored);
    }
    assert_eq!(bench.heard(), [Outcome::Error, Outcome::Miss]);
    assert_eq!(bench.hit(tools).await.entry.answer.text, "One");
}

/// Gemini's streams have no end mark: more may come behind what looks like the end.
#[tokio::test]
async fn a_stream_without_an_end_mark_is_not_stored_when_its_last_reader_hangs_up() {
    let bench = Bench::with(ProjectSettings { on_hangup: OnHangup::Abort, ..unguarded() }, 10).await;
    let mut gemini = streamed("reset|1");
    gemini.forward.endpoint = Endpoint::Gemini { stream: true };
    let candidate =
        r#"{"content":{"parts":[{"text":"One"}],"role":"model"},"index":0,"finishReason":"STOP"}"#;
    for (hangs_up, stored) in [(true, 0), (false, 1)] {
        let (feed, _) = bench.streams();
        let mut live = bench.live(gemini.clone()).await;
        feed.unbounded_send(Ok(format!("data: {{\"candidates\":[{candidate}]}}\n\n").into())).unwrap();
        live.next().await.unwrap().unwrap();
        if hangs_up {
            drop(live);
        } else {
            drop(feed);
            assert!(live.next().await.is_none());
        }
        bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
        assert_eq!(bench.entries().await, stored);
    }
}

#[tokio::test]
async fn an_answer_that_came_to_its_end_mark_is_whole_though_calls_are_cut() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let mut live = bench.live(streamed("reset|1")).await;
    for piece in [chunk("One", ""), chunk("", "stop"), done()] {
        feed.unbounded_send(Ok(piece)).unwrap();
        live.next().await.unwrap().unwrap();
    }
    bench.cut.cancel();
    assert!(live.next().await.is_none());
    assert_eq!(bench.entries().await, 1);
}

#[tokio::test]
async fn a_reader_keeps_the_call_going_that_another_began() {
    let bench = Bench::new().await;
    let mut tools = streamed("reset|1");
    (tools.identity.mode, tools.identity.has_tools) = (Mode::Exact, true);
    let (feed, _) = bench.streams();
    let leader = bench.live(tools.clone()).await;
    feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
    let reader = bench.live(tools).await;
    drop(leader);
    settle().await;
    feed.unbounded_send(Ok(chunk("", "stop"))).unwrap();
    feed.unbounded_send(Ok(done())).unwrap();
    drop(feed);
    assert!(text(reader).await.ends_with("[DONE]\n\n"));
    assert_eq!((bench.provider.count(), bench.entries().await), (1, 1));
}

#[tokio::test]
async fn who_hangs_up_neither_opens_the_circuit_of_a_provider_nor_lengthens_its_rest() {
    let bench = Bench::new().await;
    let mut bypass = relay("reset|1");
    bypass.identity.mode = Mode::Bypass;
    let hang_up = async || {
        let (_held, before) = (bench.provider.hold(), bench.provider.count());
        let waiting = bench.begin_relay(bypass.clone());
        bench.until("the call", |bench| bench.provider.count() == before + 1).await;
        waiting.abort();
        bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    };
    for _ in 0..11 {
        hang_up().await;
    }
    assert_eq!(bench.engine.providers_down(), []);

    bench.provider.hold().add_permits(10);
    *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Connection)));
    for _ in 0..10 {
        bench.relay(bypass.clone()).await.err().unwrap();
    }
    let rest = || {
        let [down]: [_; 1] = bench.engine.providers_down().try_into().unwrap();
        down.until.since(bench.clock.now())
    };
    for _ in 0..3 {
        assert_eq!(rest(), Duration::from_secs(5));
        bench.clock.advance(Duration::from_secs(5));
        hang_up().await;
    }
}

#[tokio::test]
async fn who_is_gone_before_the_answer_begins_holds_up_nobody_who_reads_it() {
    let bench = Bench::new().await;
    let gate = bench.provider.hold();
    let (feed, _) = bench.streams();
    let leader = bench.begin_relay(streamed("reset|1"));
    bench.until("the call", |bench| bench.provider.count() == 1).await;
    let reader = bench.begin_reading(streamed("reset|1"));
    settle().await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    settle().await;
    // Too long to be recorded, so that it goes on in step with its slowest reader.
    let long = "x".repeat(40 * 1024);
    for _ in 0..20 {
        feed.unbounded_send(Ok(chunk(&long, ""))).unwrap();
    }
    feed.unbounded_send(Ok(chunk("", "stop"))).unwrap();
    feed.unbounded_send(Ok(done())).unwrap();
    drop(feed);
    let read = tokio::time::timeout(PATIENCE, reader).await.expect("the reader waits for who is gone");
    assert!(read.unwrap().ends_with("[DONE]\n\n"));
    bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn who_is_gone_before_the_answer_begins_is_counted_once() {
    for (answers, first) in [(false, Outcome::Error), (true, Outcome::Miss)] {
        let bench = Bench::new().await;
        if !answers {
            *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Server)));
        }
        let gate = bench.provider.hold();
        let leader = bench.begin_relay(relay("reset|1"));
        bench.until("the call", |bench| bench.provider.count() == 1).await;
        let follower = bench.begin_relay(relay("reset|1"));
        settle().await;
        for caller in [follower, leader] {
            caller.abort();
            assert!(caller.await.unwrap_err().is_cancelled());
        }
        gate.add_permits(100);
        bench.tasks.close();
        bench.tasks.wait().await;
        assert_eq!(bench.heard(), [Outcome::Error, first], "the follower and the leader");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cut_is_counted_with_what_came_of_it_and_lets_the_others_go_on() {
    let bench = Bench::new().await;
    // Shares its store with another process.
    let bench = Bench { cut: bench.cut.clone(), engine: bench.engine.clone(), ..bench.replica(2) };
    let (feed, _) = bench.streams();
    let mut live = bench.live(streamed("reset|1")).await;
    feed.unbounded_send(Ok(chunk("One two", ""))).unwrap();
    live.next().await.unwrap().unwrap();
    let gate = bench.provider.hold();
    let waiting = [bench.begin_relay(relay("weather|1")), bench.begin_relay(relay("weather|1"))];
    let own = bench.begin(crate::util::query("news|1"));
    bench.until("the calls", |bench| bench.provider.count() == 3).await;
    let other = bench.replica(3);
    let another = other.begin_reading(streamed("reset|1"));
    settle().await;

    bench.cut.cancel();
    assert!(matches!(live.next().await.unwrap(), Err(QueryError::Unfinished)), "it is not whole");
    bench.until("all are counted", |bench| bench.heard().len() >= 4).await;
    for one in waiting {
        assert!(matches!(one.await.unwrap(), Err(QueryError::Unfinished)));
    }
    assert!(matches!(own.await.unwrap(), Err(QueryError::Unfinished)));
    // No call is begun any more, but by the other process.
    gate.add_permits(9);
    bench.until("the other's call", |bench| bench.provider.count() == 4).await;
    another.abort();
    assert_eq!(bench.heard()[..4], [Outcome::Error; 4]);
    bench.engine.flush_counts().await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.errors, totals.input_tokens, totals.output_tokens), (4, 3, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_all_of_an_answer_does_not_wait_for_the_slow_reader_of_one_that_is_too_long() {
    for elsewhere in [false, true] {
        let bench = Bench::new().await.replica(2);
        let other = if elsewhere { bench.replica(3) } else { bench.clone() };
        let (feed, _) = bench.streams();
        let mut slow = bench.live(streamed("reset|1")).await;
        let same = other.begin_relay(relay("reset|1"));
        // The paraphrase waits for it, also in another process.
        settle().await;
        let waiting = [same, other.begin_relay(relay("reset|2"))];
        settle().await;
        assert_eq!(bench.provider.count(), 1, "they wait for it");
        let long = "x".repeat(40 * 1024);
        for _ in 0..20 {
            feed.unbounded_send(Ok(chunk(&long, ""))).unwrap();
        }
        // It has read nothing.
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        for _ in 0..20 {
            assert_eq!(slow.next().await.unwrap().unwrap(), chunk(&long, ""));
        }
        assert_eq!(bench.provider.count(), 3);
    }
}
