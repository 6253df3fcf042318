//! Three servers on one PostgreSQL behave as one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::postgres::{Database, Server};
use crate::util::deja::new_database;
use crate::util::http::{Connection, PATIENCE, request};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Gate, Reaction};

fn three(provider: &FakeProvider) -> [Deja; 3] {
    let url = new_database();
    [(); 3].map(|()| Deja::on(&url, provider))
}

/// Asks, and says the status and whether it was a hit.
fn ask(deja: &Deja, key: &str, prompt: &str) -> (u16, bool) {
    let authorization = format!("Bearer {key}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let body = json!({"prompt": prompt, "model": MODEL}).to_string();
    let response = deja.request("POST", PATH, &headers, body.as_bytes());
    (response.status, response.status == 200 && response.json()["cache_hit"] == true)
}

#[test]
fn an_answer_that_one_stored_is_a_hit_on_all() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let slug = replicas[0].cli(&["project", "create", "shared"]);
    let key = replicas[1].cli(&["key", "create", "--project", &slug, "--name", "k"]);
    assert_eq!(ask(&replicas[0], &key, "How do I reset my password?"), (200, false));
    for replica in &replicas {
        assert_eq!(ask(replica, &key, "How do I reset my password?"), (200, true), "the same prompt");
        assert_eq!(ask(replica, &key, "How can I reset my password?"), (200, true), "a similar one");
    }
}

#[test]
fn a_revoked_key_is_refused_by_the_very_next_request_on_every_replica() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let slug = replicas[0].cli(&["project", "create", "revoked"]);
    for turn in 0..3 {
        let key = replicas[turn].cli(&["key", "create", "--project", &slug, "--name", "k"]);
        for replica in &replicas {
            assert_eq!(ask(replica, &key, "Who wrote Faust?").0, 200);
        }
        replicas[(turn + 1) % 3].cli(&["key", "revoke", &key]);
        for replica in &replicas {
            assert_eq!(ask(replica, &key, "Who wrote Faust?").0, 401);
        }
    }
}

#[test]
fn three_replicas_hammered_together_keep_the_limit() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let slug = replicas[0].cli(&["project", "create", "limited", "--rpm", "60", "--burst", "30"]);
    let key = replicas[0].cli(&["key", "create", "--project", &slug, "--name", "k"]);
    let allowed = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|threads| {
        for replica in &replicas {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..20 {
                        let (status, _) = ask(replica, &key, "Who wrote Faust?");
                        assert!(matches!(status, 200 | 429), "{status}");
                        allowed.fetch_add(usize::from(status == 200), Ordering::Relaxed);
                    }
                });
            }
        }
    });
    // One a second comes back.
    let most = 30 + began.elapsed().as_secs() as usize + 1;
    let allowed = allowed.into_inner();
    assert!((30..=most).contains(&allowed), "{allowed} of at most {most}");
}

#[test]
fn without_postgres_it_is_not_ready_and_answers_503_until_it_is_back() {
    let provider = FakeProvider::start();
    let mut server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = runtime.block_on(Database::create_on(&server.url)).url;
    let deja = Deja::on(&url, &provider);
    let slug = deja.cli(&["project", "create", "down"]);
    let key = deja.cli(&["key", "create", "--project", &slug, "--name", "k"]);
    assert_eq!(ask(&deja, &key, "Who wrote Faust?").0, 200);
    for (away, back) in [("pause", "resume"), ("kill", "start")] {
        server.tell(away);
        assert_eq!(ask(&deja, &key, "Who wrote Faust?").0, 503, "{away}: neither served nor refused");
        assert_eq!(deja.get("/readyz").status, 503);
        assert_eq!(deja.get("/livez").status, 200);
        server.tell(back);
        let began = Instant::now();
        while ask(&deja, &key, "Who wrote Faust?").0 != 200 {
            assert!(began.elapsed() < PATIENCE, "{back}: it is never served again");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(deja.get("/readyz").status, 200);
    }
}

#[test]
fn a_change_on_one_replica_is_not_lost_to_another_on_the_next() {
    let provider = FakeProvider::start();
    let [first, second, _third] = three(&provider);
    let slug = first.cli(&["project", "create", "changed"]);
    for round in 0..30 {
        let name = format!("name {round}");
        std::thread::scope(|threads| {
            threads.spawn(|| first.cli(&["project", "suspend", &slug]));
            threads.spawn(|| second.cli(&["project", "set", &slug, "--name", &name]));
        });
        let listed = second.try_cli(&["project", "list", "--json"]).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        assert_eq!(
            (&listed[0]["state"], &listed[0]["name"]),
            (&json!("suspended"), &json!(name)),
            "{listed}"
        );
        first.cli(&["project", "resume", &slug]);
    }
}

/// Sends a query on a thread of its own.
fn begin<'s>(
    threads: &'s std::thread::Scope<'s, '_>,
    deja: &'s Deja,
    key: &'s str,
    prompt: &'s str,
) -> std::thread::ScopedJoinHandle<'s, (u16, bool)> {
    threads.spawn(move || ask(deja, key, prompt))
}

#[test]
fn identical_prompts_on_three_replicas_make_one_upstream_call() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let slug = replicas[0].cli(&["project", "create", "flight"]);
    let key = replicas[0].cli(&["key", "create", "--project", &slug, "--name", "k"]);
    let prompt = "What is the airspeed velocity of an unladen swallow?";
    let gate = Gate::default();
    provider.on(prompt, Reaction::Gated(gate.clone(), Box::new(Reaction::Text("24 miles an hour".into()))));
    std::thread::scope(|threads| {
        let asked: Vec<_> = (0..30).map(|n| begin(threads, &replicas[n % 3], &key, prompt)).collect();
        provider.wait_for_calls(prompt, 1);
        // Time for a second call, if there were one.
        std::thread::sleep(Duration::from_secs(1));
        gate.open();
        let answers: Vec<_> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
        assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
        assert_eq!(answers.iter().filter(|(_, hit)| !hit).count(), 1, "one miss: {answers:?}");
    });
    assert_eq!(provider.calls(prompt).len(), 1);
}

#[test]
fn when_the_replica_that_asks_is_killed_another_one_takes_over() {
    let provider = FakeProvider::start();
    let [mut first, second, third] = three(&provider);
    let slug = first.cli(&["project", "create", "takeover"]);
    let key = first.cli(&["key", "create", "--project", &slug, "--name", "k"]);
    let prompt = "Who shaves the barber?";
    // The first call never ends; the second one is answered.
    provider.on(prompt, Reaction::Hang);
    let authorization = format!("Bearer {key}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let body = json!({"prompt": prompt, "model": MODEL}).to_string();
    let mut connection = Connection::open(first.address()).unwrap();
    connection.send(&request("POST", PATH, &headers, body.as_bytes())).unwrap();
    provider.wait_for_calls(prompt, 1);
    provider.on(prompt, Reaction::Text("Nobody.".into()));
    std::thread::scope(|threads| {
        let asked = [begin(threads, &second, &key, prompt), begin(threads, &third, &key, prompt)];
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(provider.calls(prompt).len(), 1, "the owner of the flight may still be alive");
        first.signal("KILL");
        first.wait();
        for asked in asked {
            assert_eq!(asked.join().unwrap().0, 200);
        }
    });
    assert_eq!(provider.calls(prompt).len(), 2);
}
