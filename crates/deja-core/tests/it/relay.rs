//! Requests in a wire format: read along, recorded, stored, shared, given up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use deja_core::analytics::{Outcome, hour_of};
use deja_core::audit::Actor;
use deja_core::cache::{Frame, Inserted, Kind, NewEntry, PromptHash, Scope};
use deja_core::clock::Clock;
use deja_core::embedding::{EmbedError, Embedder, Threshold};
use deja_core::engine::{Control, Live, NotAllowed, QueryError, Relay, Relayed, Reply, Source};
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::project::{OnHangup, ProjectSettings};
use deja_core::provider::{Endpoint, FailureClass, Forward, ProviderError, Seen};
use deja_core::store::{Audit, Entries, Usage};
use deja_wire::{Identity, Mode, Rendering, Wire};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt as _, StreamExt as _};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use crate::util::{
    Bench, HANGUP_TIMEOUT, chat_completion, failure, passed, plain, settle, unguarded, vector,
};

/// A question in the format of chat completions.
fn relay(text: &str) -> Relay {
    let identity = Identity {
        mode: Mode::Semantic,
        model: "cheap".into(),
        instructions: None,
        parameters: [("temperature".into(), "0".into())].into(),
        hash: Sha256::digest(text).into(),
        text: text.into(),
        reasons: Vec::new(),
        rendering: Rendering::default(),
    };
    let forward = Forward {
        endpoint: Endpoint::Chat,
        model: "cheap".into(),
        body: Bytes::from(format!(r#"{{"prompt": "{text}"}}"#)),
        headers: Seen::default(),
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
        tokio::time::timeout(crate::util::PATIENCE, self.engine.relay(&self.caller, relay))
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

    fn heard(&self) -> Vec<Outcome> {
        self.heard.0.lock().unwrap().clone()
    }
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

async fn text(live: Live) -> String {
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
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_for_its_readers_and_never_stored() {
    let bench = Bench::new().await;
    // Cut; complete but for its end mark; without a finish; with an error in it.
    let cut = || vec![Ok(chunk("One", "")), Err(failure(FailureClass::StreamInterrupted))];
    let endings = [
        cut(),
        vec![Ok(chunk("One", "stop"))],
        vec![Ok(chunk("One", "")), Ok(done())],
        vec![
            Ok(chunk("One", "")),
            Ok(Bytes::from_static(b"data: {\"error\": {\"message\": \"no\"}}\n\n")),
            Ok(done()),
        ],
    ];
    for (number, ending) in endings.into_iter().enumerate() {
        let (feed, _) = bench.streams();
        let live = bench.live(streamed("reset|1")).await;
        let waiting = bench.begin_relay(relay("reset|2"));
        settle().await;
        let broken = ending.iter().any(Result::is_err);
        for piece in ending {
            feed.unbounded_send(piece).unwrap();
        }
        drop(feed);
        let pieces: Vec<_> = live.collect().await;
        assert_eq!(pieces.last().unwrap().is_err(), broken, "ending {number}");
        // Whoever waited for it asks for themselves.
        waiting.await.unwrap().unwrap();
        assert_eq!(bench.provider.count(), 2 * (number + 1));
        bench.until("its end", |bench| bench.engine.upstream_calls() <= 1).await;
        assert_eq!(bench.entries().await, 0);
        *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Server)));
    }
    assert!(bench.heard().iter().all(|outcome| *outcome == Outcome::Error), "{:?}", bench.heard());
}

#[tokio::test]
async fn the_providers_own_refusal_is_passed_on_and_not_kept() {
    let bench = Bench::new().await;
    for (status, body) in [(400, r#"{"error": {"message": "no"}}"#), (200, r#"{"error": {"message": "no"}}"#)]
    {
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(status, body)));
        let live = bench.live(relay("reset|1")).await;
        assert_eq!((live.status, text(live).await), (status, body.to_owned()));
        // Whoever asks again when it has ended does not read it along.
        assert!(!bench.live(relay("reset|1")).await.joined);
    }
    for finish in ["length", "tool_calls", "content_filter"] {
        let body = chat_completion("cheap", "half", finish);
        let passing = body.clone();
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(200, &passing)));
        assert_eq!(text(bench.live(relay("reset|1")).await).await, body);
    }
    assert_eq!((bench.provider.count(), bench.entries().await), (7, 0));
    *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Auth)));
    let error = bench.relay(relay("reset|1")).await.err().unwrap();
    assert!(
        matches!(error, QueryError::Provider(ProviderError { class: FailureClass::Auth, .. })),
        "{error}"
    );
}

/// Puts a record into the place of that of the entry that answers `relay`.
async fn spoil(bench: &Bench, relay: &Relay, record: Option<&'static [u8]>) -> EntryId {
    let Relay { identity, .. } = relay;
    let kind = Kind::from(Wire::Chat);
    let frame = match identity.mode {
        Mode::Exact => Frame::exact(kind, &identity.model),
        _ => Frame::of_wire(kind, &identity.model, None, identity.parameters.clone()),
    };
    let (scope, prompt_hash) = (Scope::new(bench.caller.project.id, frame), PromptHash(identity.hash));
    let now = bench.clock.now();
    let mut entry = (*bench.store.exact(&scope, &prompt_hash, now).await.unwrap().unwrap()).clone();
    entry.answer.record = record.map(Bytes::from_static);
    entry.id = EntryId::from_bytes([9; 16]);
    let id = entry.id;
    let vector = Some((bench.embedder.id().clone(), vector(&identity.text)));
    let vector = vector.filter(|_| identity.mode == Mode::Semantic);
    let new = NewEntry { scope, prompt_hash, entry, vector, max_entries: 100, replaces: true };
    assert!(matches!(bench.store.insert(new).await.unwrap(), Inserted::New));
    id
}

#[tokio::test]
async fn an_entry_whose_record_cannot_be_given_makes_way_for_a_fresh_answer() {
    for spoilt in
        [Some(&b"{\"choi"[..]), Some(b""), Some(b"[]"), Some(b"{}"), Some(b"{\"choices\":[7]}"), None]
    {
        for (stored, asked) in [
            (relay("reset|1"), streamed("reset|1")),
            // The record of a similar question is read when it is to be given.
            (relay("reset|1"), streamed("reset|2")),
            (exact("reset|1"), as_stream(exact("reset|1"))),
        ] {
            let bench = Bench::new().await;
            text(bench.live(stored.clone()).await).await;
            let id = spoil(&bench, &stored, spoilt).await;
            assert_eq!(bench.entries().await, 1);
            text(bench.live(asked.clone()).await).await;
            let fresh = bench.hit(asked).await;
            assert_eq!((fresh.source, fresh.entry.answer.text.as_str()), (Source::Exact, "answer 1"));
            assert_ne!(fresh.entry.id, id);
            assert_eq!((bench.provider.count(), bench.entries().await), (2, 1));
            assert_eq!(bench.heard(), [Outcome::Miss, Outcome::Miss, Outcome::ExactHit], "each once");
            let audit = bench.store.changes(None, None, 10.try_into().unwrap()).await.unwrap();
            let row = audit.iter().find(|row| row.change.action == "entry.delete").unwrap();
            assert_eq!(
                (&row.change.actor, row.change.subject.as_str()),
                (&Actor::System, id.to_string().as_str())
            );
        }
    }
}

#[tokio::test]
async fn tokens_of_an_answer_that_broke_off_are_counted_once() {
    let bench = Bench::new().await;
    let cut = || Err(failure(FailureClass::StreamInterrupted));
    // Tokens of "reset|1" are three, by the counter of these tests. A chunk with the provider's own count wins.
    let counted = Bytes::from_static(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":70,\"completion_tokens\":30}}\n\n",
    );
    let error = Bytes::from_static(b"data: {\"error\": {\"message\": \"no\"}}\n\n");
    let (mut input, mut output, mut errors) = (0, 0, 0);
    for (pieces, more_in, more_out) in [
        (vec![Ok(chunk("One two", "")), cut()], 3, 2),
        (vec![Ok(chunk("One", "")), Ok(counted.clone()), cut()], 70, 30),
        (vec![Ok(chunk("One two three", ""))], 3, 3),
        (vec![Ok(chunk("One", "")), Ok(error.clone()), Ok(done())], 3, 1),
        (vec![Ok(error), Ok(done())], 0, 0),
        (vec![cut()], 0, 0),
    ] {
        for mode in [Mode::Semantic, Mode::Exact] {
            let mut asked = streamed("reset|1");
            asked.identity.mode = mode;
            let (feed, _) = bench.streams();
            let live = bench.live(asked.clone()).await;
            let reader = bench.live(asked).await;
            assert!(reader.joined);
            for piece in pieces.clone() {
                feed.unbounded_send(piece).unwrap();
            }
            drop(feed);
            let _: Vec<_> = live.collect().await;
            let _: Vec<_> = reader.collect().await;
            (input, output, errors) = (input + more_in, output + more_out, errors + 2);
            bench.until("both are counted", |bench| bench.heard().len() == errors).await;
        }
    }
    bench.engine.flush_counts().await.unwrap();
    let hour = hour_of(bench.clock.now());
    let totals = bench.store.totals(hour - 1, hour + 1).await.unwrap()[&bench.caller.project.id];
    assert_eq!((totals.errors, totals.requests()), (errors as u64, errors as u64));
    assert_eq!((totals.input_tokens, totals.output_tokens), (input, output));
    assert_eq!(totals.spent, NanoUsd::from_nanos(1000 * input + 2000 * output));
    assert_eq!(bench.entries().await, 0);
}

#[tokio::test]
async fn an_error_is_one_whether_or_not_the_request_could_have_been_a_hit() {
    let bench = Bench::new().await;
    for (n, endpoint) in [Endpoint::Chat, Endpoint::Embeddings].into_iter().enumerate() {
        for (status, body, outcome) in [
            (400, r#"{"error": {"message": "no"}}"#, Outcome::Error),
            (529, "busy", Outcome::Error),
            (200, r#"{"error": {"message": "no"}}"#, Outcome::Error),
            (200, r#"{"object": "list", "data": []}"#, Outcome::Passed),
        ] {
            *bench.provider.passing.lock().unwrap() = Arc::new(move |_| Ok(plain(status, body)));
            let mut bypass = relay("reset|1");
            (bypass.identity.mode, bypass.forward.endpoint) = (Mode::Bypass, endpoint);
            let before = bench.heard().len();
            assert_eq!(text(bench.live(bypass).await).await, body);
            bench.until("it is counted", |bench| bench.heard().len() == before + 1).await;
            assert_eq!(bench.heard().last(), Some(&outcome), "{n} {status} {body}");
        }
    }
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

#[tokio::test]
async fn a_provider_that_is_silent_is_not_waited_for_by_everybody() {
    let bench = Bench::new().await;
    *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Connection)));
    let class = async |prompt: &str| match bench.relay(relay(prompt)).await.err() {
        Some(QueryError::Provider(error)) => error.class,
        other => panic!("{other:?}"),
    };
    for number in 0..10 {
        assert_eq!(class(&format!("weather {number}")).await, FailureClass::Connection);
    }
    assert_eq!(class("news").await, FailureClass::Down);
    assert_eq!(bench.provider.count(), 10);
    // A status of the provider's own is an answer, whatever it says.
    *bench.provider.passing.lock().unwrap() = Arc::new(|_| Ok(plain(500, "{}")));
    bench.clock.advance(Duration::from_secs(5));
    for _ in 0..2 {
        assert_eq!(bench.live(relay("news")).await.status, 500);
    }
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
    assert!(matches!(bench.relay(with(young)).await, Err(QueryError::NotCached)));
    bench.hit(with(Control { max_age: Some(Duration::from_secs(10)), ..only })).await;
    bench.clock.advance(Duration::from_secs(51));
    assert_eq!(
        text(bench.live(with(on)).await).await,
        chat_completion("cheap", "answer 4", "stop"),
        "its time is over"
    );
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
async fn what_goes_wrong_with_the_cache_does_not_keep_a_request_from_its_provider() {
    let bench = Bench::new().await;
    for error in [EmbedError::Overloaded, EmbedError::Timeout] {
        *bench.embedder.fail.lock().unwrap() = Some(error);
        text(bench.live(relay("reset|1")).await).await;
        // It was stored for the same request.
        bench.hit(relay("reset|1")).await;
        bench.clock.advance(Duration::from_hours(960));
    }
    *bench.embedder.fail.lock().unwrap() = None;
    bench.store.fail_search.store(true, Ordering::SeqCst);
    text(bench.live(relay("reset|3")).await).await;
    bench.store.fail_search.store(false, Ordering::SeqCst);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_of_records_is_passed_on_whole_and_not_stored() {
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let live = bench.live(streamed("reset|1")).await;
    let long = "x".repeat(40 * 1024);
    for _ in 0..20 {
        feed.unbounded_send(Ok(chunk(&long, ""))).unwrap();
    }
    feed.unbounded_send(Ok(chunk("", "stop"))).unwrap();
    feed.unbounded_send(Ok(done())).unwrap();
    drop(feed);
    let all = text(live).await;
    assert_eq!(all.matches(&long).count(), 20);
    assert!(all.ends_with("data: [DONE]\n\n"));
    bench.until("its end", |bench| bench.engine.upstream_calls() == 0).await;
    assert_eq!(bench.entries().await, 0);
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

#[tokio::test]
async fn a_call_whose_answer_would_not_be_stored_ends_with_its_last_reader() {
    let bench = Bench::new().await;
    let mut tools = streamed("reset|1");
    (tools.identity.mode, tools.identity.reasons) = (Mode::Exact, vec!["tools"]);
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
    (tools.identity.mode, tools.identity.reasons) = (Mode::Exact, vec!["tools"]);
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

#[tokio::test]
async fn a_reader_keeps_the_call_going_that_another_began() {
    let bench = Bench::new().await;
    let mut tools = streamed("reset|1");
    (tools.identity.mode, tools.identity.reasons) = (Mode::Exact, vec!["tools"]);
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
    let refused = bench.engine.relay(&caller, relay("reset|1")).await;
    assert!(matches!(refused, Err(QueryError::Forbidden(NotAllowed::Suspended))));
    assert_eq!((bench.provider.count(), bench.heard()), (0, vec![Outcome::Refused; 3]));
}
