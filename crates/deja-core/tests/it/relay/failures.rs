//! What goes wrong: at the provider, in an answer, with the cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use deja_core::analytics::Outcome;
use deja_core::audit::{Actor, AuditFilter};
use deja_core::cache::{Frame, Inserted, Kind, NewEntry, PromptHash, Scope};
use deja_core::clock::Clock;
use deja_core::embedding::{EmbedError, Embedder};
use deja_core::engine::{NotAllowed, QueryError, RecordLimits, Relay, Relayed, Said, Source};
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::project::{OptIn, Project, ProjectSettings};
use deja_core::provider::{Endpoint, FailureClass, Forwarded, ProviderError};
use deja_core::store::{Audit, Entries, Projects};
use deja_core::testing::change;
use deja_wire::{Mode, STORED_RESPONSE, Wire};
use futures::StreamExt as _;
use futures::channel::mpsc::unbounded;

use super::{as_stream, chunk, done, exact, relay, streamed, text};
use crate::util::{Bench, chat_completion, complete, failure, passed, plain, settle, unguarded, vector};

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
    let timed = |bench: &Bench| bench.heard.3.lock().unwrap().len();
    bench.until("the time of each call", |bench| timed(bench) == bench.provider.count()).await;
}

/// Behind the end mark the connection breaks off, or stays open and silent.
#[tokio::test(start_paused = true)]
async fn a_stream_that_came_to_its_end_mark_is_whole_however_its_connection_ends() {
    for breaks in [true, false] {
        let bench = Bench::new().await;
        let (feed, _) = bench.streams();
        let live = bench.live(streamed("reset|1")).await;
        let plain = bench.begin_hit(relay("reset|1"));
        settle().await;
        for piece in [chunk("One", ""), chunk("", "stop"), done()] {
            feed.unbounded_send(Ok(piece)).unwrap();
        }
        if breaks {
            feed.unbounded_send(Err(failure(FailureClass::StreamInterrupted))).unwrap();
        }
        let began = tokio::time::Instant::now();
        assert!(text(live).await.ends_with("[DONE]\n\n"));
        assert!(began.elapsed() <= Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(plain.await.unwrap().entry.answer.text, "One");
        assert_eq!((bench.provider.count(), bench.entries().await), (1, 1));
        assert_eq!(bench.heard(), [Outcome::Miss, Outcome::ExactHit]);
        assert!(feed.is_closed());
    }
    // Silence before the end mark says nothing.
    let bench = Bench::new().await;
    let (feed, _) = bench.streams();
    let live = bench.live(streamed("reset|1")).await;
    feed.unbounded_send(Ok(chunk("One", "stop"))).unwrap();
    tokio::time::sleep(Duration::from_secs(9)).await;
    feed.unbounded_send(Ok(done())).unwrap();
    assert!(text(live).await.ends_with("[DONE]\n\n"));
}

/// A long answer is parsed when there is room. As long as it goes on, nobody waits for that.
#[tokio::test(start_paused = true)]
async fn a_long_stream_that_pauses_goes_on_while_others_are_parsed() {
    let records = RecordLimits { each: 1 << 20, all: 4 << 20 };
    let bench = Bench::new().await.replica_that_records(2, records);
    let (feed, _) = bench.streams();
    let mut live = bench.live(streamed("reset|1")).await;
    let others = deja_core::room_to_parse(Some(bench.caller.project.id), usize::MAX).await;
    for piece in [chunk(&"x".repeat(100 * 1024), ""), chunk("One", ""), chunk("", "stop")] {
        feed.unbounded_send(Ok(piece)).unwrap();
        let next = tokio::time::timeout(Duration::from_secs(5), live.next()).await;
        next.expect("it goes on").unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    drop(others);
    feed.unbounded_send(Ok(done())).unwrap();
    assert_eq!(text(live).await, "data: [DONE]\n\n");
    assert_eq!(bench.entries().await, 1);
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

#[tokio::test]
async fn who_reads_a_refusal_along_is_counted_as_who_began_the_call() {
    for (status, class, cause) in [
        (429, Some(FailureClass::RateLimit), "provider_rate_limit"),
        (400, Some(FailureClass::InvalidRequest), "provider_invalid_request"),
        // An error in an answer whose status is none.
        (200, None, "provider_declined"),
    ] {
        let bench = Bench::new().await;
        let gate = bench.provider.hold();
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| {
            let answer = plain(status, r#"{"error": {"message": "later"}}"#);
            Ok(Forwarded { error: class, ..answer })
        });
        let first = bench.begin_reading(relay("reset|1"));
        bench.until("the call", |bench| bench.provider.count() == 1).await;
        let second = bench.begin_reading(relay("reset|1"));
        settle().await;
        gate.add_permits(1);
        assert_eq!(first.await.unwrap(), second.await.unwrap());
        bench.until("both are counted", |bench| bench.heard().len() == 2).await;
        let causes: Vec<_> = bench.logged().await.into_iter().map(|one| one.cause.unwrap()).collect();
        assert_eq!(causes, [cause; 2]);
        assert_eq!(bench.provider.count(), 1);
    }
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
    let mut vectors = vec![(bench.embedder.id().clone(), vector(&identity.text))];
    vectors.retain(|_| identity.mode == Mode::Semantic);
    let new = NewEntry { scope, prompt_hash, entry, vectors, now, replaces: true, purges: None };
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
            let audit =
                bench.store.changes(&AuditFilter::default(), None, 10.try_into().unwrap()).await.unwrap();
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
    let begun = Bytes::from_static(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":70,\"completion_tokens\":1}}\n\n",
    );
    let error = Bytes::from_static(b"data: {\"error\": {\"message\": \"no\"}}\n\n");
    let (mut input, mut output, mut errors) = (0, 0, 0);
    for (pieces, more_in, more_out) in [
        (vec![Ok(chunk("One two", "")), cut()], 3, 2),
        (vec![Ok(chunk("One", "")), Ok(counted.clone()), cut()], 70, 30),
        // Told with the first word, before the others.
        (vec![Ok(begun.clone()), Ok(chunk("One two three", "")), cut()], 70, 3),
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
    // A plain one says what it says up to where it is cut, and nothing before it. An error costs nothing, nor does what has not begun.
    let body = chat_completion("cheap", "One two three", "stop");
    let (said, begun) = (body.find("three").unwrap() + 2, body.find("choices").unwrap());
    for (status, end, more_in, more_out) in
        [(200, said, 3, 3), (200, begun, 3, 0), (200, 0, 0, 0), (500, said, 0, 0)]
    {
        let part = Bytes::copy_from_slice(&body.as_bytes()[..end]);
        *bench.provider.passing.lock().unwrap() = Arc::new(move |_| {
            let pieces = [Ok(part.clone()), Err(failure(FailureClass::StreamInterrupted))];
            Ok(passed(status, "application/json", futures::stream::iter(pieces).boxed()))
        });
        let _: Vec<_> = bench.live(relay("reset|1")).await.collect().await;
        (input, output, errors) = (input + more_in, output + more_out, errors + 1);
        bench.until("it is counted", |bench| bench.heard().len() == errors).await;
    }
    bench.engine.flush_counts().await.unwrap();
    let totals = bench.totals().await;
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
async fn whoever_waits_for_a_similar_question_reaches_the_provider_without_a_database() {
    // It goes away before they join, while they wait, or while they wait and the answer can still be stored.
    for (before, fails_insert) in [(true, true), (false, true), (false, false)] {
        let bench = Bench::new().await;
        let gate = bench.provider.hold();
        let first = bench.begin_reading(relay("reset|1"));
        bench.until("the call", |bench| bench.provider.count() == 1).await;
        bench.store.fail_search.store(before, Ordering::SeqCst);
        let similar = bench.begin_reading(relay("reset|2"));
        settle().await;
        assert_eq!(bench.provider.count(), if before { 2 } else { 1 });
        bench.store.fail_search.store(true, Ordering::SeqCst);
        bench.store.fail_insert.store(fails_insert, Ordering::SeqCst);
        gate.add_permits(2);
        let bodies = [first.await.unwrap(), similar.await.unwrap()];
        assert_ne!(bodies[0], bodies[1]);
        assert_eq!(bench.provider.count(), 2);
    }
}

// One thread: the first of the waiting begins first, so that the other follows it.
#[tokio::test]
async fn nothing_is_bought_for_a_project_that_was_deleted_or_suspended_while_its_requests_waited() {
    for (elsewhere, deleted) in [(false, true), (true, true), (false, false), (true, false)] {
        let bench = Bench::new().await.replica(2);
        // It is not stored.
        *bench.provider.passing.lock().unwrap() =
            Arc::new(|_| Ok(plain(200, &chat_completion("cheap", "One", "length"))));
        let gate = bench.provider.hold();
        let leader = bench.begin_reading(relay("reset|1"));
        bench.until("the call", |bench| bench.provider.count() == 1).await;
        // The same in the other rendering, and another question, which wait for the end.
        let other = if elsewhere { bench.replica(3) } else { bench.clone() };
        let waiting = [other.begin_relay(streamed("reset|1")), other.begin_relay(relay("reset|2"))];
        let embedded = 2 + usize::from(elsewhere);
        bench.until("their vectors", |b| b.embedder.calls.load(Ordering::SeqCst) == embedded).await;
        settle().await;
        let project = Project { suspended: true, ..(*bench.caller.project).clone() };
        let shut = if deleted {
            bench.store.delete_project(project.id, &change()).await
        } else {
            bench.store.update_project(&project, &change()).await
        };
        assert!(shut.unwrap());
        gate.add_permits(9);
        leader.await.unwrap();
        for one in waiting {
            let refused = one.await.unwrap();
            assert!(matches!(refused, Err(QueryError::Forbidden(NotAllowed::Suspended))), "{refused:?}");
        }
        assert_eq!(bench.provider.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_an_answer_comes_is_an_error_for_its_readers_and_each_is_counted() {
    let bench = Bench::new().await;
    let (feed, body) = unbounded();
    let body = body.chain(futures::stream::poll_fn(|_| panic!("the test panics here")));
    let body = std::sync::Mutex::new(Some(body.boxed()));
    *bench.provider.passing.lock().unwrap() =
        Arc::new(move |_| Ok(passed(200, "text/event-stream", body.lock().unwrap().take().unwrap())));
    let mut readers = [bench.live(streamed("reset|1")).await, bench.live(streamed("reset|1")).await];
    feed.unbounded_send(Ok(Bytes::from_static(b"half"))).unwrap();
    for reader in &mut readers {
        assert_eq!(reader.next().await.unwrap().unwrap(), "half");
    }
    drop(feed);
    for mut reader in readers {
        let next = tokio::time::timeout(Duration::from_hours(1), reader.next()).await;
        assert!(matches!(next, Ok(Some(Err(QueryError::Internal(_))))), "{next:?}");
    }
    bench.until("both are counted", |bench| bench.heard() == [Outcome::Error; 2]).await;
    assert_eq!(bench.engine.upstream_calls(), 0);
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn a_word_of_the_projects_model_is_paid_for_though_its_hit_cannot_be_given() {
    let opt_ins = [OptIn::StoreToolCalls].into();
    let settings =
        ProjectSettings { guard_model: Some("cheap".into()), opt_ins, ..ProjectSettings::default() };
    for fails in [false, true] {
        let bench = Bench::with(settings.clone(), 10).await;
        *bench.provider.passing.lock().unwrap() =
            Arc::new(|_| Ok(plain(200, &chat_completion("cheap", "Let me see.", "tool_calls"))));
        bench.provider.script(|_| async { Ok(complete("yes")) });
        text(bench.live(relay("|How do I renew my fishing licence?")).await).await;
        let one_call = bench.counted().await.totals.spent;
        if fails {
            *bench.provider.passing.lock().unwrap() = Arc::new(|_| Err(failure(FailureClass::Server)));
        }
        match bench.relay(relay("|How do I renew my fishing licence today?")).await {
            Ok(Relayed::Live(live)) => drop(text(live).await),
            answered => assert!(fails && answered.is_err(), "a hit that calls a tool"),
        }
        let told = bench.heard.4.lock().unwrap().clone();
        let [(Said::Yes, word)] = told[..] else { panic!("{told:?}") };
        assert!(word > NanoUsd::ZERO);
        let calls = if fails { one_call } else { one_call.plus(one_call) };
        assert_eq!(bench.counted().await.totals.spent, calls.plus(word), "{fails}");
    }
}

/// OpenAI keeps a response for 30 days: the id of an older one leads nowhere.
#[tokio::test]
async fn an_answer_with_a_providers_id_is_not_served_for_longer_than_the_provider_keeps_it() {
    let settings = ProjectSettings { ttl_seconds: None, ..unguarded() };
    let bench = Bench::with(settings, 10).await;
    let mut stored = exact("stored");
    stored.identity.reasons = vec![STORED_RESPONSE];
    let other = exact("other");
    for relay in [&stored, &other] {
        text(bench.live(relay.clone()).await).await;
    }
    let day = Duration::from_hours(24);
    bench.clock.advance(24 * day);
    bench.hit(stored.clone()).await;
    bench.clock.advance(2 * day);
    bench.hit(other).await;
    text(bench.live(stored).await).await;
    assert_eq!(bench.provider.count(), 3);
}
