//! Requests in a wire format: read along, recorded, stored, shared.

mod failures;
mod hangups;
mod shared;
mod tokens;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use deja_core::analytics::{Distribution, Outcome, Rollup, Slice, Step, Surface};
use deja_core::clock::Clock as _;
use deja_core::embedding::Threshold;
use deja_core::engine::{Control, Live, NotAllowed, QueryError, Relay, Relayed, Reply, Source};
use deja_core::money::NanoUsd;
use deja_core::project::{HitUsage, OptIn, ProjectSettings};
use deja_core::provider::{AllowedHeaders, Endpoint, Forward, Forwarded, ProviderError};
use deja_core::store::Usage as _;
use deja_wire::{Demand, Identity, Mode, Rendering, Wire};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt as _, StreamExt as _};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::util::{Bench, PATIENCE, chat_completion, complete, passed, plain, settle, unguarded};

/// A question in the format of chat completions.
pub fn relay(text: &str) -> Relay {
    let identity = Identity {
        mode: Mode::Semantic,
        model: "cheap".into(),
        instructions: None,
        parameters: [("temperature".into(), "0".into())].into(),
        hash: Sha256::digest(text).into(),
        text: text.into(),
        reasons: Vec::new(),
        rendering: Rendering::default(),
        labels: None,
        has_tools: false,
        demand: Demand::default(),
    };
    let forward = Forward {
        endpoint: Endpoint::Chat,
        model: "cheap".into(),
        body: Bytes::from(format!(r#"{{"prompt": "{text}"}}"#)),
        headers: AllowedHeaders::default(),
        query: None,
    };
    let (threshold, control) = (Threshold::DEFAULT, Control::default());
    Relay { identity, forward, threshold, control, context: None, request: None }
}

fn streamed(text: &str) -> Relay {
    as_stream(relay(text))
}

fn as_stream(mut relay: Relay) -> Relay {
    relay.identity.rendering.stream = true;
    relay
}

fn exact(text: &str) -> Relay {
    let mut relay = relay(text);
    relay.identity.mode = Mode::Exact;
    relay.identity.parameters.clear();
    relay
}

impl Bench {
    async fn relay(&self, relay: Relay) -> Result<Relayed, QueryError> {
        tokio::time::timeout(crate::util::PATIENCE, self.engine.relay(None, &self.caller, relay))
            .await
            .expect("the engine hangs")
    }

    async fn live(&self, relay: Relay) -> Live {
        let Relayed::Live(live) = self.relay(relay).await.unwrap() else { unreachable!("a hit") };
        live
    }

    async fn hit(&self, relay: Relay) -> Reply {
        let Relayed::Hit(reply, _) = self.relay(relay).await.unwrap() else { unreachable!("no hit") };
        reply
    }

    /// Asks in a task of its own, and reads the answer.
    fn begin_reading(&self, relay: Relay) -> JoinHandle<String> {
        let bench = self.clone();
        self.tasks.spawn(async move { text(bench.live(relay).await).await })
    }

    fn begin_hit(&self, relay: Relay) -> JoinHandle<Reply> {
        let bench = self.clone();
        self.tasks.spawn(async move { bench.hit(relay).await })
    }

    fn begin_relay(&self, relay: Relay) -> JoinHandle<Result<(), QueryError>> {
        let bench = self.clone();
        self.tasks.spawn(async move { bench.relay(relay).await.map(drop) })
    }

    /// The next calls give streams that these senders feed, first call first.
    fn streams(&self) -> (Feed, Arc<std::sync::Mutex<Vec<Feed>>>) {
        let feeds = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (first, body) = unbounded();
        let (first_body, later) = (std::sync::Mutex::new(Some(body)), feeds.clone());
        *self.provider.passing.lock().unwrap() = Arc::new(move |_| {
            let body = first_body.lock().unwrap().take().unwrap_or_else(|| {
                let (feed, body) = unbounded();
                later.lock().unwrap().push(feed);
                body
            });
            Ok(passed(200, "text/event-stream", body.boxed()))
        });
        (first, feeds)
    }

    pub fn heard(&self) -> Vec<Outcome> {
        self.heard.0.lock().unwrap().clone()
    }

    /// What is counted today.
    async fn counted(&self) -> Rollup {
        self.engine.flush_counts().await.unwrap();
        let (project, day) = (self.caller.project.id, Step::Day.period_of(self.clock.now()));
        let days = self.store.usage_series(project, &Slice::default(), Step::Day, day..day + 1).await;
        days.unwrap().remove(&day).unwrap_or_default()
    }
}

/// How many requests are in these distributions.
fn told<const N: usize>(counted: &Rollup, of: [Distribution; N]) -> [u64; N] {
    of.map(|of| counted.histograms.counts(of).iter().sum())
}

type Feed = UnboundedSender<Result<Bytes, ProviderError>>;

fn chunk(delta: &str, finish: &str) -> Bytes {
    let finish = if finish.is_empty() { "null".to_owned() } else { format!("\"{finish}\"") };
    let choice = format!(r#"{{"index":0,"delta":{{"content":"{delta}"}},"finish_reason":{finish}}}"#);
    let event = format!(
        r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"cheap","choices":[{choice}]}}"#
    );
    Bytes::from(format!("data: {event}\n\n"))
}

fn done() -> Bytes {
    Bytes::from_static(b"data: [DONE]\n\n")
}

pub async fn text(live: Live) -> String {
    let pieces: Vec<_> = live.map(|piece| piece.unwrap()).collect().await;
    String::from_utf8(pieces.concat()).unwrap()
}

#[tokio::test]
async fn an_answer_comes_as_it_is_and_answers_the_same_and_similar_questions_from_then_on() {
    let bench = Bench::new().await;
    let live = bench.live(relay("reset|1")).await;
    assert_eq!((live.status, live.provider.as_str(), live.joined), (200, "fake", false));
    let body = text(live).await;
    assert_eq!(body, chat_completion("cheap", "answer 0", "stop"), "byte for byte");

    let same = bench.hit(relay("reset|1")).await;
    assert_eq!((same.source, same.entry.answer.text.as_str()), (Source::Exact, "answer 0"));
    assert_eq!(same.entry.answer.record.as_deref(), Some(body.as_bytes()));
    let similar = bench.hit(relay("reset|2")).await;
    assert!(matches!(similar.source, Source::Semantic(_)));
    assert_eq!(similar.entry.answer.record.as_deref(), Some(body.as_bytes()), "the record is read for it");
    assert_eq!((bench.provider.count(), bench.entries().await), (1, 1));
    assert_eq!(bench.heard(), [Outcome::Miss, Outcome::ExactHit, Outcome::SemanticHit]);
    assert!(same.saved().as_nanos() > 0 && same.cost.input_tokens == 7);
}

#[tokio::test]
async fn what_an_answer_depends_on_keeps_questions_apart() {
    let bench = Bench::new().await;
    text(bench.live(relay("reset|1")).await).await;
    let other = |change: fn(&mut Relay)| {
        let mut relay = relay("reset|1");
        change(&mut relay);
        relay
    };
    let others = [
        other(|relay| relay.identity.model = "dear".into()),
        other(|relay| relay.identity.instructions = Some("Be brief.".into())),
        other(|relay| drop(relay.identity.parameters.insert("temperature".into(), "1".into()))),
        other(|relay| relay.context = Some("shop".into())),
        exact("reset|1"),
    ];
    let count = others.len();
    for relay in others {
        text(bench.live(relay).await).await;
    }
    assert!(!bench.try_ask(crate::util::query("reset|1")).await.unwrap().is_hit(), "deja's own API");
    assert_eq!(bench.provider.count(), count + 2);
    assert_eq!(bench.hit(relay("reset|1")).await.entry.answer.text, "answer 0");
}

#[tokio::test]
async fn a_whole_request_is_found_by_its_hash_and_not_by_the_text_that_people_see() {
    let bench = Bench::new().await;
    let with_hash = |hash| {
        let mut relay = exact("the same turns");
        relay.identity.hash = [hash; 32];
        relay
    };
    // At the same time, so that flights would join, and one after the other.
    let gate = bench.provider.hold();
    let one = bench.begin_reading(with_hash(1));
    let two = bench.begin_reading(with_hash(2));
    bench.until("two calls", |bench| bench.provider.count() == 2).await;
    gate.add_permits(100);
    assert_ne!(one.await.unwrap(), two.await.unwrap());
    let first = bench.hit(with_hash(1)).await;
    assert_ne!(first.entry.id, bench.hit(with_hash(2)).await.entry.id);
    text(bench.live(with_hash(3)).await).await;
    assert_eq!(bench.embedder.calls.load(Ordering::SeqCst), 0, "nothing is embedded for it");
}

#[tokio::test]
async fn what_was_found_wrong_for_a_text_is_wrong_for_it_in_several_parts() {
    let bench = Bench::new().await;
    text(bench.live(relay("reset|1")).await).await;
    let in_parts = |text: &str| {
        let mut relay = relay(text);
        relay.identity.hash = [7; 32];
        relay
    };
    let entry = bench.hit(in_parts("reset|2")).await.entry.id;
    bench.found_wrong(entry, "reset|2").await;
    text(bench.live(in_parts("reset|2")).await).await;
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn those_who_ask_the_same_read_along_and_a_paraphrase_waits_for_the_end() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let mut leader = bench.live(streamed("reset|1")).await;
    feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
    assert_eq!(leader.next().await.unwrap().unwrap(), chunk("One", ""));

    let mut reader = bench.live(streamed("reset|1")).await;
    assert!(reader.joined);
    assert_eq!(reader.next().await.unwrap().unwrap(), chunk("One", ""), "from the beginning");
    assert!(reader.next().now_or_never().is_none());
    let (similar, plain) = (bench.begin_hit(streamed("reset|2")), bench.begin_hit(relay("reset|1")));
    let mut counting = streamed("reset|1");
    counting.identity.rendering.usage = true;
    let counting = bench.begin_hit(counting);
    settle().await;
    assert!(!similar.is_finished() && !plain.is_finished(), "no byte before it is known to be whole");
    assert!(!counting.is_finished(), "the stream does not say how many tokens there are");
    drop(leader);

    for event in [Ok(chunk(" two.", "")), Ok(chunk("", "stop")), Ok(done())] {
        feed.unbounded_send(event).unwrap();
    }
    drop(feed);
    assert_eq!(text(reader).await.matches("data: ").count(), 3);
    let (similar, plain) = (similar.await.unwrap(), plain.await.unwrap());
    assert_eq!(counting.await.unwrap().source, Source::Exact);
    assert_eq!((similar.entry.answer.text.as_str(), plain.source), ("One two.", Source::Exact));
    assert_eq!((bench.provider.count(), bench.entries().await), (1, 1));
    bench.until("five counts", |bench| bench.heard().len() == 5).await;
    let mut heard = bench.heard();
    heard.sort_by_key(|outcome| format!("{outcome:?}"));
    let hit = Outcome::ExactHit;
    assert_eq!(heard, [hit, hit, hit, Outcome::Miss, Outcome::SemanticHit]);
    let waited = told(&bench.counted().await, [Distribution::HitLatency, Distribution::StreamBegan]);
    assert_eq!(waited, [0, 4], "who waits for a call says nothing of how fast the cache is");
}

#[tokio::test]
async fn what_answers_say_of_themselves_is_counted() {
    let bench = Bench::with(unguarded(), 10).await;
    text(bench.live(relay("reset|1")).await).await;
    bench.hit(relay("reset|2")).await;
    assert!(bench.logged().await.iter().all(|request| request.latency.is_some()));
    let counted = bench.counted().await;
    let of = [Distribution::MissLatency, Distribution::HitLatency, Distribution::HitSimilarity];
    assert_eq!(told(&counted, of), [1; 3]);
    let chat = counted.of_surface(Surface::Wire(Wire::Chat));
    assert_eq!((chat.hits, chat.misses, counted.totals.new_scopes), (1, 1, 1));
}

#[tokio::test]
async fn a_hit_tells_the_tokens_of_its_call_or_none_and_is_of_its_surface() {
    for (hit_usage, told) in [(HitUsage::Stored, 10), (HitUsage::Zero, 0)] {
        let bench = Bench::with(ProjectSettings { hit_usage, ..unguarded() }, 10).await;
        text(bench.live(relay("reset|1")).await).await;
        let Relayed::Hit(_, body) = bench.relay(relay("reset|1")).await.unwrap() else {
            unreachable!("no hit")
        };
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["usage"]["total_tokens"], told);
        let surfaces: Vec<_> = bench.logged().await.iter().map(|request| request.surface).collect();
        assert_eq!(surfaces, [Surface::Wire(Wire::Chat); 2]);
    }
}

#[tokio::test]
async fn a_stream_says_whether_anybody_asked_for_its_tokens() {
    for (deja_asks, asks) in [(false, false), (true, false), (false, true), (true, true)] {
        let bench = Bench::new().await;
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| {
            let answer = passed(200, "text/event-stream", futures::stream::pending().boxed());
            Ok(Forwarded { asked_usage: deja_asks, ..answer })
        });
        let mut relay = streamed("reset|1");
        relay.identity.rendering.usage = asks;
        assert_eq!(bench.live(relay).await.usage, deja_asks || asks);
    }
}

#[tokio::test]
async fn who_wants_nothing_stored_shares_no_call() {
    for (store, calls) in [(true, 1), (false, 2)] {
        let bench = Bench::new().await;
        *bench.provider.passing.lock().unwrap() =
            Arc::new(|_| Ok(passed(200, "text/event-stream", futures::stream::pending().boxed())));
        let control = Control { store, ..Control::default() };
        let ask = async || bench.live(Relay { control, ..streamed("reset|1") }).await;
        let (first, second) = (ask().await, ask().await);
        assert_eq!([first.joined, second.joined], [false, store]);
        assert_eq!(bench.provider.count(), calls);
    }
}

#[tokio::test]
async fn whoever_labelled_the_same_question_otherwise_does_not_read_along() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let labelled = |label| {
        let mut relay = streamed("reset|1");
        relay.identity.labels = label;
        relay
    };
    let leader = bench.live(labelled(Some([1; 32]))).await;
    assert!(bench.live(labelled(Some([1; 32]))).await.joined);
    let others = [Some([2; 32]), None].map(|label| bench.begin_hit(labelled(label)));
    settle().await;
    assert!(others.iter().all(|other| !other.is_finished()), "they wait for an answer without the labels");
    for piece in [chunk("One", ""), chunk("", "stop"), done()] {
        feed.unbounded_send(Ok(piece)).unwrap();
    }
    drop(feed);
    text(leader).await;
    for other in others {
        assert_eq!(other.await.unwrap().source, Source::Exact);
    }
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn a_stream_begins_with_the_first_byte_of_its_body() {
    const SILENCE: Duration = Duration::from_millis(60);
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let leader = bench.live(streamed("reset|1")).await;
    let early = bench.live(streamed("reset|1")).await;
    tokio::time::sleep(SILENCE).await;
    feed.unbounded_send(Ok(chunk("One", ""))).unwrap();
    settle().await;
    let late = bench.live(streamed("reset|1")).await;
    tokio::time::sleep(SILENCE).await;
    for piece in [Ok(chunk("", "stop")), Ok(done())] {
        feed.unbounded_send(piece).unwrap();
    }
    drop(feed);
    for live in [leader, early, late] {
        text(live).await;
    }
    bench.until("all are counted", |bench| bench.heard().len() == 3).await;
    let began = bench.heard.2.lock().unwrap().clone();
    assert!(began[0].unwrap() >= SILENCE, "the leader: {began:?}");
    let of_readers = [began[1].unwrap(), began[2].unwrap()];
    assert!(*of_readers.iter().max().unwrap() >= SILENCE, "who came before the first byte: {began:?}");
    assert!(of_readers.iter().min() < of_readers.iter().max(), "who came behind it waited less: {began:?}");
}

#[tokio::test]
async fn an_application_says_what_it_wants_of_the_cache() {
    let bench = Bench::new().await;
    let with = |control: Control| Relay { control, ..relay("reset|1") };
    let on = Control::default();
    let only = Control { only: true, ..on };
    assert!(matches!(bench.relay(with(only)).await, Err(QueryError::NotCached)));
    assert_eq!(bench.provider.count(), 0);
    text(bench.live(with(Control { store: false, ..on })).await).await;
    assert_eq!((bench.provider.count(), bench.entries().await), (1, 0));
    let ttl = Some(Duration::from_mins(1));
    text(bench.live(with(Control { ttl, ..on })).await).await;
    assert_eq!(bench.hit(with(only)).await.entry.answer.text, "answer 1");
    // A fresh one takes its place.
    text(bench.live(with(Control { look_up: false, ttl, ..on })).await).await;
    assert_eq!(bench.hit(with(only)).await.entry.answer.text, "answer 2");
    assert_eq!(bench.entries().await, 1);
    // Another question is not looked for by meaning.
    let other = Relay { control: Control { semantic: false, ..on }, ..relay("reset|2") };
    text(bench.live(other).await).await;
    assert_eq!(bench.provider.count(), 4);

    bench.clock.advance(Duration::from_secs(10));
    let young = Control { max_age: Some(Duration::from_secs(5)), only: true, ..on };
    bench.until("all are counted", |bench| bench.heard().len() == 7).await;
    let misses = bench.heard().iter().filter(|outcome| **outcome == Outcome::Miss).count();
    assert_eq!(misses, 3, "without a look-up there can be no hit: {:?}", bench.heard());
    assert!(matches!(bench.relay(with(young)).await, Err(QueryError::NotCached)));
    bench.hit(with(Control { max_age: Some(Duration::from_secs(10)), ..only })).await;
    bench.clock.advance(Duration::from_secs(51));
    assert_eq!(
        text(bench.live(with(on)).await).await,
        chat_completion("cheap", "answer 4", "stop"),
        "its time is over"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_too_old_for_a_request_is_replaced() {
    for bench in [Bench::new().await, Bench::new().await.replica(2)] {
        text(bench.live(relay("reset|1")).await).await;
        bench.clock.advance(Duration::from_secs(10));
        let control = Control { max_age: Some(Duration::from_secs(5)), ..Control::default() };
        let young = || Relay { control, ..relay("reset|1") };
        let asked = tokio::time::timeout(PATIENCE, bench.live(young())).await.expect("an answer");
        assert_eq!(text(asked).await, chat_completion("cheap", "answer 1", "stop"));
        bench.until("it is stored", |bench| bench.heard().len() == 2).await;
        for again in [young(), relay("reset|1")] {
            assert_eq!(bench.hit(again).await.entry.answer.text, "answer 1");
        }
        assert_eq!((bench.provider.count(), bench.entries().await), (2, 1));
    }
}

#[tokio::test]
async fn who_waits_for_another_ones_hit_gets_only_what_it_takes_itself() {
    let asked = "|How do I renew my fishing licence today?";
    let usual = Control::default();
    for (control, hit) in [
        (usual, true),
        (Control { semantic: false, ..usual }, false),
        (Control { max_age: Some(Duration::from_secs(1)), ..usual }, false),
    ] {
        let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
        let bench = Bench::with(settings, 10).await;
        bench.provider.script(|_| async { Ok(complete("yes")) });
        text(bench.live(relay("|How do I renew my fishing licence?")).await).await;
        bench.clock.advance(Duration::from_secs(5));
        let gate = bench.provider.hold();
        let leader = bench.begin_hit(relay(asked));
        bench.until("the question", |bench| bench.provider.count() == 2).await;
        let other = bench.clone();
        let follower = bench.tasks.spawn(async move { other.relay(Relay { control, ..relay(asked) }).await });
        settle().await;
        gate.add_permits(10);
        assert!(matches!(leader.await.unwrap().source, Source::Semantic(_)));
        let followed = follower.await.unwrap().unwrap();
        assert_eq!(matches!(followed, Relayed::Hit(..)), hit, "{control:?}");
        if let Relayed::Live(live) = followed {
            assert!(text(live).await.contains("answer 1"), "{control:?}");
        }
        assert_eq!(bench.provider.count(), if hit { 2 } else { 3 });
    }
}

#[tokio::test]
async fn a_request_that_bypasses_the_cache_is_neither_answered_from_it_nor_shared() {
    let bench = Bench::new().await;
    text(bench.live(exact("a picture")).await).await;
    let mut bypass = exact("a picture");
    bypass.identity.mode = Mode::Bypass;
    let gate = bench.provider.hold();
    let callers: Vec<_> = (0..3).map(|_| bench.begin_reading(bypass.clone())).collect();
    bench.until("three calls", |bench| bench.provider.count() == 4).await;
    gate.add_permits(100);
    for caller in callers {
        assert_ne!(caller.await.unwrap(), chat_completion("cheap", "answer 0", "stop"));
    }
    assert_eq!(bench.entries().await, 1);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_of_records_is_passed_on_whole_and_not_stored() {
    let bench = Bench::new().await;
    let mut bypass = streamed("reset|1");
    bypass.identity.mode = Mode::Bypass;
    let counts = Bytes::from_static(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":70,\"completion_tokens\":30}}\n\n",
    );
    // Without the provider's own count the three tokens of "reset|1", and one for each text, by the counter of these tests.
    for (asked, counts) in
        [(streamed("reset|1"), Some(counts.clone())), (bypass, Some(counts)), (streamed("reset|1"), None)]
    {
        let (feed, _) = bench.streams();
        let live = bench.live(asked.clone()).await;
        let along = if asked.identity.mode == Mode::Bypass { None } else { Some(bench.live(asked).await) };
        let long = "x".repeat(40 * 1024);
        for _ in 0..20 {
            feed.unbounded_send(Ok(chunk(&long, ""))).unwrap();
        }
        for piece in [Some(chunk("", "stop")), counts, Some(done())].into_iter().flatten() {
            feed.unbounded_send(Ok(piece)).unwrap();
        }
        drop(feed);
        let (all, along) = futures::join!(text(live), async { Some(text(along?).await) });
        assert_eq!(all.matches(&long).count(), 20);
        assert!(all.ends_with("data: [DONE]\n\n"));
        assert!(along.is_none_or(|along| along == all));
        bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    }
    assert_eq!(bench.entries().await, 0);
    bench.until("all are counted", |bench| bench.heard().len() == 5).await;
    let logged = bench.logged().await;
    let totals = bench.totals().await;
    assert_eq!((totals.misses, totals.passed, totals.errors), (4, 1, 0));
    assert_eq!((totals.input_tokens, totals.output_tokens), (2 * 70 + 3, 2 * 30 + 20));
    assert_eq!(totals.spent, NanoUsd::from_nanos(1000 * totals.input_tokens + 2000 * totals.output_tokens));
    let misses = logged.into_iter().filter(|one| one.outcome == Outcome::Miss);
    let causes: Vec<_> = misses.map(|one| one.cause.unwrap()).collect();
    assert_eq!(causes, ["not_recorded"; 4]);
}

#[tokio::test]
async fn an_answer_that_calls_tools_answers_the_very_same_question_only() {
    for store in [false, true] {
        let opt_ins = if store { [OptIn::StoreToolCalls].into() } else { BTreeSet::new() };
        let bench = Bench::with(ProjectSettings { opt_ins, ..unguarded() }, 10).await;
        *bench.provider.passing.lock().unwrap() =
            Arc::new(|_| Ok(plain(200, &chat_completion("cheap", "Let me see.", "tool_calls"))));
        let answer = async |asked: &str| match bench.relay(relay(asked)).await.unwrap() {
            Relayed::Hit(reply, _) => reply.source == Source::Exact,
            Relayed::Live(live) => text(live).await.is_empty(),
        };
        assert!(!answer("reset|1").await);
        assert_eq!(answer("reset|1").await, store, "the very same");
        assert!(!answer("reset|2").await, "a similar one");
        assert_eq!(answer("reset|2").await, store);
        assert_eq!(bench.entries().await, if store { 2 } else { 0 });
    }
}

#[tokio::test]
async fn replicas_share_one_call_and_its_answer() {
    let bench =
        Bench::of(unguarded(), deja_core::engine::CallLimits { all: 9, each: 9 }, crate::util::PATIENCE)
            .await;
    let replica = bench.replica(7);
    let gate = bench.provider.hold();
    let first = bench.begin_reading(relay("reset|1"));
    bench.until("the call", |bench| bench.provider.count() == 1).await;
    let second = replica.begin_hit(relay("reset|1"));
    settle().await;
    gate.add_permits(10);
    assert_eq!(first.await.unwrap(), chat_completion("cheap", "answer 0", "stop"));
    assert_eq!(second.await.unwrap().source, Source::Exact);
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn a_suspended_project_a_forbidden_model_and_a_foreign_endpoint_get_nothing() {
    let bench = Bench::new().await;
    let mut unknown = relay("reset|1");
    unknown.identity.model = "unsupported".into();
    assert!(matches!(bench.relay(unknown).await, Err(QueryError::ModelNotSupported { .. })));
    let mut foreign = relay("reset|1");
    foreign.forward.endpoint = Endpoint::Messages;
    assert!(matches!(bench.relay(foreign).await, Err(QueryError::WrongEndpoint { .. })));
    let mut caller = bench.caller.clone();
    let mut project = (*caller.project).clone();
    (project.suspended, project.settings) = (true, ProjectSettings::default());
    caller.project = Arc::new(project);
    let refused = bench.engine.relay(None, &caller, relay("reset|1")).await;
    assert!(matches!(refused, Err(QueryError::Forbidden(NotAllowed::Suspended))));
    assert_eq!((bench.provider.count(), bench.heard()), (0, vec![Outcome::Refused; 3]));
}
