//! Too much to do: load is shed with 503 in the published form, hits go on, and it passes.

use serde_json::json;

use crate::util::http::Connection;
use crate::util::provider::{Family, completion, json_response};
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Gate, PATIENCE, Reaction, Tenant, eventually};

const BIG: [&str; 6] = ["--tier", "enterprise", "--rpm", "100000", "--burst", "100000"];

#[test]
fn more_provider_calls_than_allowed_are_refused_and_hits_go_on() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_UPSTREAM_MAX_IN_FLIGHT", "2").start();
    let tenant = Tenant::create(&deja, "upstream", &BIG);
    tenant.ask_for("How do I reset my password?");
    let gate = Gate::default();
    provider.on("overload", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("At last.".into()))));
    let ask = |context: &str| json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": context});
    let mut waiting = [tenant.begin(&ask("overload 1")), tenant.begin(&ask("overload 2"))];
    provider.wait_for_calls("overload", 2);
    let refused = tenant.send(&ask("overload 3"));
    assert!(!refused.detail(503).is_empty());
    assert_eq!(refused.header("x-deja-error"), Some("overloaded"));
    assert!(refused.number("retry-after") >= 1);
    assert!(refused.header("x-ratelimit-remaining").is_some());
    assert_eq!(tenant.ask_for("How can I reset my password?")["cache_hit"], true);
    // Whoever asks what is under way already waits for it and takes no more.
    let mut joined = tenant.begin(&ask("overload 1"));
    gate.open();
    for connection in waiting.iter_mut().chain([&mut joined]) {
        assert_eq!(connection.receive().unwrap().json()["response"], "At last.");
    }
    assert_eq!(tenant.ask(&ask("overload 3"))["response"], "At last.");
}

#[test]
fn one_project_cannot_take_the_provider_calls_of_all() {
    let provider = FakeProvider::start();
    let deja =
        Deja::builder().provider(&provider).env("DEJA_UPSTREAM_MAX_IN_FLIGHT_PER_PROJECT", "1").start();
    let (greedy, other) = (Tenant::create(&deja, "greedy", &BIG), Tenant::create(&deja, "other", &BIG));
    let gate = Gate::default();
    provider.on("share", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("At last.".into()))));
    let ask = |context: &str| json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": context});
    let mut waiting = vec![greedy.begin(&ask("share 1"))];
    provider.wait_for_calls("share", 1);
    let refused = greedy.send(&ask("share 2"));
    refused.detail(503);
    assert_eq!(refused.header("x-deja-error"), Some("overloaded"));
    waiting.push(other.begin(&ask("share 1")));
    provider.wait_for_calls("share", 2);
    gate.open();
    for connection in &mut waiting {
        assert_eq!(connection.receive().unwrap().json()["response"], "At last.");
    }
}

#[test]
fn the_queries_of_one_project_leave_room_for_those_of_others() {
    let provider = FakeProvider::start();
    // Half of all is for one project: two of these queries.
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_MAX_PROMPT_BYTES", "30000")
        .env("DEJA_MAX_BODY_BYTES", "32768")
        .env("DEJA_WIRE_MAX_BODY_BYTES", "32768")
        .env("DEJA_WIRE_MAX_BYTES_IN_FLIGHT", "131072")
        .start();
    let [greedy, other] = ["greedy-texts", "other-texts"].map(|name| Tenant::create(&deja, name, &BIG));
    let gate = Gate::default();
    provider.on("texts", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("At last.".into()))));
    let ask = |number: usize| json!({"prompt": "x".repeat(25_000), "model": MODEL, "context": format!("texts {number}")});
    let mut waiting = vec![greedy.begin(&ask(1)), greedy.begin(&ask(2))];
    provider.wait_for_calls("texts", 2);
    let refused = greedy.send(&ask(3));
    assert!(!refused.detail(503).is_empty());
    assert_eq!(refused.header("x-deja-error"), Some("overloaded"));
    waiting.push(other.begin(&ask(1)));
    provider.wait_for_calls("texts", 3);
    gate.open();
    for connection in &mut waiting {
        assert_eq!(connection.receive().unwrap().json()["response"], "At last.");
    }
    eventually("their room comes back", || greedy.send(&ask(3)).status == 200);
}

#[test]
fn answers_that_take_too_much_together_are_refused_and_hits_go_on() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_UPSTREAM_MAX_RESPONSE_BYTES", "100000")
        .env("DEJA_UPSTREAM_MAX_BYTES_IN_FLIGHT", "100000")
        .start();
    let tenant = Tenant::create(&deja, "bytes", &BIG);
    tenant.ask_for("How do I reset my password?");
    let long = |bytes: usize| json_response(200, &completion(Family::OpenAi, MODEL, &"y".repeat(bytes)));
    let gate = Gate::default();
    provider.on("bytes", Reaction::Bytes(long(60_000)));
    provider.on("bytes first", Reaction::Halves(gate.clone(), long(90_000)));
    let ask = |context: &str| json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": context});
    let context = std::thread::scope(|threads| {
        // It may itself find no room, beside one of the others.
        let first = threads.spawn(|| {
            std::iter::repeat_with(|| tenant.send(&ask("bytes first"))).find(|first| first.status != 503)
        });
        provider.wait_for_calls("bytes first", 1);
        // Until the first half of the first answer has been read, others find room.
        let began = std::time::Instant::now();
        let (context, refused) = (1..20_000)
            .take_while(|_| began.elapsed() < PATIENCE)
            .map(|n| format!("bytes {n}."))
            .map(|context| (context.clone(), tenant.send(&ask(&context))))
            .find(|(_, response)| response.status != 200)
            .expect("there is always room");
        assert!(!refused.detail(503).is_empty());
        assert_eq!(refused.header("x-deja-error"), Some("overloaded"));
        assert!(refused.number("retry-after") >= 1);
        assert_eq!(provider.calls(&context).len(), 1, "its answer is paid for: it is not asked for again");
        assert_eq!(tenant.ask_for("How can I reset my password?")["cache_hit"], true);
        gate.open();
        assert_eq!(first.join().unwrap().unwrap().status, 200);
        context
    });
    // What an answer took comes back a moment after its client has it.
    let mut again = std::iter::repeat_with(|| tenant.send(&ask(&context)));
    assert_eq!(again.find(|answer| answer.status != 503).unwrap().json()["cache_hit"], false);
    eventually("there is room for both", || tenant.send(&ask("bytes first")).status == 200);
    // And so does what the last one took.
    let mut again = std::iter::repeat_with(|| tenant.send(&ask("bytes first")));
    assert_eq!(again.find(|hit| hit.status != 503).unwrap().json()["cache_hit"], true);
}

/// A query that takes longer than a query may, and what is left of it.
fn times_out(database: Option<String>) {
    let provider = FakeProvider::start();
    let builder = match database {
        Some(url) => Deja::builder_on(&url, &provider),
        None => Deja::builder().provider(&provider),
    };
    let deja = builder.env("DEJA_QUERY_TIMEOUT_S", "2").start();
    let tenant = Tenant::create(&deja, "deadline", &BIG);
    let gate = Gate::default();
    provider.on("deadline", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("At last.".into()))));
    let query = json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": "deadline"});
    let paraphrase = json!({"prompt": "Who wrote Faust??", "model": MODEL, "context": "deadline"});
    // The first embeddings of a server take long on a busy machine: they are not to use the time up.
    for asked in [&query, &paraphrase] {
        let mut elsewhere = asked.clone();
        elsewhere["context"] = json!("elsewhere");
        eventually("it is embedded", || tenant.send(&elsewhere).status == 200);
    }
    let mut waiting = vec![tenant.begin(&query)];
    provider.wait_for_calls("deadline", 1);
    waiting.extend([tenant.begin(&query), tenant.begin(&paraphrase)]);
    for connection in &mut waiting {
        let response = connection.receive().unwrap();
        assert!(!response.detail(503).is_empty());
        assert_eq!(response.header("x-deja-error"), Some("query_timeout"));
        assert!(response.number("retry-after") >= 1);
    }
    assert_eq!(provider.calls("deadline").len(), 1);
    gate.open();
    eventually("the answer is there", || tenant.send(&query).status == 200);
    assert_eq!(tenant.ask(&query)["response"], "At last.");
    assert_eq!(provider.calls("deadline").len(), 1, "the call under way went on");
}

#[test]
fn a_query_ends_at_its_deadline_and_its_call_goes_on() {
    times_out(None);
}

#[test]
fn on_postgres_a_query_ends_at_its_deadline_and_its_call_goes_on() {
    times_out(Some(crate::util::deja::new_database()));
}

/// More long prompts at once than may wait for their vectors.
fn begin_many(tenant: &Tenant) -> Vec<Connection> {
    let long = "why is the sky blue and not green ".repeat(30);
    let ask =
        |n| json!({"prompt": format!("Question {n}: {long}?"), "model": MODEL, "similarity_threshold": 1});
    (0..200).map(|n| tenant.begin(&ask(n))).collect()
}

#[test]
fn prompts_of_one_project_that_wait_for_vectors_keep_none_of_others_waiting() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_EMBED_QUEUE", "100")
        .env("DEJA_EMBED_THREADS", "1")
        .env("DEJA_EMBED_TIMEOUT_MS", "600000")
        .start();
    let [greedy, other] = ["greedy-embed", "other-embed"].map(|name| Tenant::create(&deja, name, &BIG));
    other.ask_for("How do I reset my password?");
    let mut waiting = begin_many(&greedy);
    assert_eq!(other.ask_for("How can I reset my password?")["cache_hit"], true);
    let statuses: Vec<_> =
        waiting.iter_mut().map(|connection| connection.receive().unwrap().status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
}

#[test]
fn a_full_queue_for_embeddings_sheds_load_and_recovers() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_EMBED_QUEUE", "1")
        .env("DEJA_EMBED_THREADS", "1")
        .start();
    let tenant = Tenant::create(&deja, "embed", &BIG);
    tenant.ask_for("How do I reset my password?");
    let mut waiting = begin_many(&tenant);
    // The same prompt needs no embedding.
    assert_eq!(tenant.ask_for("How do I reset my password?")["cache_hit"], true);
    let (mut answered, mut refused) = (0, 0);
    for connection in &mut waiting {
        let response = connection.receive().unwrap();
        if response.status == 200 {
            answered += 1;
        } else {
            response.detail(503);
            assert!(response.number("retry-after") >= 1);
            refused += 1;
        }
    }
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
    assert_eq!(tenant.ask_for("How can I reset my password?")["cache_hit"], true);
    drop(waiting);
    deja.stop();
    // The first of them is told at once, and then at most every five seconds how many there were.
    let log = deja.log();
    assert!(!log.contains("request failed"), "{log}");
    let told = log.lines().filter(|line| line.contains("refused: there was too much to do"));
    let told: Vec<u32> =
        told.filter_map(|line| line.rsplit("requests=").next()?.trim().parse().ok()).collect();
    assert!(told.first() == Some(&1) && told.iter().sum::<u32>() <= refused, "{log}");
}
