//! Three servers on one PostgreSQL behave as one.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::feedback::FEEDBACK;
use crate::postgres::{Database, Server, connect};
use crate::util::deja::{Builder, new_database};
use crate::util::http::{Connection, post};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Gate, Reaction, Tenant, eventually};

fn three(provider: &FakeProvider) -> [Deja; 3] {
    let url = new_database();
    [(); 3].map(|()| Deja::on(&url, provider))
}

/// Asks, and says the status and whether it was a hit.
fn ask(deja: &Deja, key: &str, prompt: &str) -> (u16, bool) {
    let body = json!({"prompt": prompt, "model": MODEL}).to_string();
    let response = deja.post(key, PATH, body.as_bytes());
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
    assert_eq!(ask(&replicas[0], &key, "What is the boiling point of water at altitude 1?"), (200, false));
    let other = "What is the boiling point of water at altitude 2?";
    assert_eq!(ask(&replicas[1], &key, other), (200, false), "a similar one that asks something else");
    replicas[2].cli(&["project", "set", &slug, "--guard", "off"]);
    let third = "What is the boiling point of water at altitude 3?";
    assert_eq!(ask(&replicas[0], &key, third), (200, true), "the project's setting, on every replica");
}

#[test]
fn what_one_replica_is_told_of_an_answer_of_another_holds_on_all_at_once() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let slug = replicas[0].cli(&["project", "create", "told"]);
    let key = replicas[1].cli(&["key", "create", "--project", &slug, "--name", "k"]);
    let at = |turn: usize| Tenant { deja: &replicas[turn % 3], slug: slug.clone(), key: key.clone() };
    let query = |prompt: &str| json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 0.7});
    for (turn, does) in
        ["reset my password", "cancel my travel insurance", "open the red door"].iter().enumerate()
    {
        let (stored, asked) = (format!("How do I {does}?"), format!("How can I {does}?"));
        assert_eq!(at(turn).ask(&query(&stored))["cache_hit"], false);
        let hit = at(turn).send(&query(&asked));
        assert_eq!(hit.json()["cache_hit"], true, "{asked}");
        // Its name is known where it was answered, and within a moment everywhere.
        let said = json!({"request_id": hit.header("x-request-id"), "correct": false}).to_string();
        let heard = at(turn + 1).post_as(&key, FEEDBACK, said.as_bytes());
        assert_eq!((heard.status, &heard.json()["effect"]), (200, &json!("blocked")), "{}", heard.text());
        assert_eq!(at(turn + 2).ask(&query(&asked))["cache_hit"], false, "the very next request");
        let entry = hit.header("x-deja-entry").unwrap();
        for replica in 0..3 {
            let own = at(replica).send(&query(&stored));
            assert_eq!(own.header("x-deja-entry"), Some(entry), "it answers its own prompt");
        }
        for (wrong, effect) in [("Who wrote Faust?", "blocked"), ("Why is the sky blue?", "quarantined")] {
            let said =
                json!({"matched_cache_entry_id": entry, "prompt": wrong, "correct": false}).to_string();
            let heard = at(turn + 2).post_as(&key, FEEDBACK, said.as_bytes());
            assert_eq!(heard.json()["effect"], effect, "{}", heard.text());
        }
        let similar = at(turn).send(&query(&format!("How do I {does}, please?")));
        assert_ne!(similar.header("x-deja-entry"), Some(entry), "in quarantine");
    }
}

#[test]
fn what_a_projects_model_said_of_a_pair_is_remembered_on_every_replica() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let tenant = Tenant::create(&replicas[0], "judged", &[]);
    provider.on("judge-1", Reaction::Text("yes".into()));
    let url = format!("{}/v1", provider.url());
    replicas[0].cli(&tenant.provider_add("judges", &url, "judge-1", &["--allow-private"]));
    replicas[1].cli(&["price", "set", "--project", &tenant.slug, "judge-1", "--input", "1", "--output", "2"]);
    replicas[2].cli(&["project", "set", &tenant.slug, "--guard-model", "judge-1"]);
    let stored = "How do I cancel my travel insurance before the end of the month?";
    let uncertain = "How can I cancel my travel insurance before the end of the month today?";
    assert_eq!(ask(&replicas[0], &tenant.key, stored), (200, false));
    for replica in &replicas {
        assert_eq!(ask(replica, &tenant.key, uncertain), (200, true));
    }
    assert_eq!(provider.calls("judge-1").len(), 1);
}

#[test]
fn an_expired_key_is_refused_by_the_very_next_request_on_every_replica() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let tenant = Tenant::create(&replicas[0], "expired", &[]);
    let (lasting, brief) = (tenant.new_key(&["--expires", "1h"]), tenant.new_key(&["--expires", "2s"]));
    let made = Instant::now();
    for replica in &replicas {
        assert_eq!(ask(replica, &lasting, "Who wrote Faust?").0, 200);
    }
    std::thread::sleep(Duration::from_secs(2).saturating_sub(made.elapsed()));
    for replica in &replicas {
        let of = Tenant { deja: replica, slug: tenant.slug.clone(), key: brief.clone() };
        for path in [PATH, FEEDBACK, "/v1/chat/completions"] {
            let refused = of.post_as(&brief, path, b"{}");
            let said = (refused.status, refused.header("x-deja-error"));
            assert_eq!(said, (401, Some("expired_api_key")), "{path}");
        }
        assert_eq!(ask(replica, &lasting, "Who wrote Faust?").0, 200);
    }
}

#[test]
fn the_limit_of_a_key_holds_over_all_replicas() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let tenant = Tenant::create(&replicas[0], "own-limit", &[]);
    let key = tenant.new_key(&["--rpm", "1", "--burst", "4"]);
    let statuses: Vec<u16> =
        (0..9).map(|turn| ask(&replicas[turn % 3], &key, "Who wrote Faust?").0).collect();
    // One more comes with each minute.
    let answered = statuses.iter().filter(|status| **status == 200).count();
    assert!((4..=6).contains(&answered), "{statuses:?}");
    assert_eq!(ask(&replicas[1], &tenant.key, "Who wrote Faust?").0, 200, "the project goes on");
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
fn a_changed_provider_holds_for_the_very_next_request_on_every_replica() {
    let provider = FakeProvider::start();
    let replicas = three(&provider);
    let tenant = Tenant::create(&replicas[0], "provided", &[]);
    let mut asked = 0;
    let mut all_answer = |expected: &str| {
        for replica in &replicas {
            let tenant = Tenant { deja: replica, slug: tenant.slug.clone(), key: tenant.key.clone() };
            // Twice: from the database, and from memory where that is allowed.
            for _ in 0..2 {
                asked += 1;
                let query =
                    json!({"prompt": format!("{asked}"), "model": MODEL, "similarity_threshold": 1.0});
                assert_eq!(tenant.ask(&query)["llm_provider"], expected, "request {asked}");
            }
        }
    };
    all_answer("openai");
    let url = format!("{}/v1", provider.url());
    for turn in 0..3 {
        let names = ["a", "b"].map(|name| format!("{name}{turn}"));
        replicas[turn].cli(&tenant.provider_add(&names[0], &url, MODEL, &["--allow-private"]));
        all_answer(&names[0]);
        let remove = |name: &str| {
            let next = &replicas[(turn + 1) % 3];
            next.cli(&["provider", "remove", "--project", &tenant.slug, name]);
        };
        remove(&names[0]);
        all_answer("openai");
        replicas[turn].cli(&tenant.provider_add(&names[1], &url, MODEL, &["--allow-private"]));
        all_answer(&names[1]);
        remove(&names[1]);
    }
    all_answer("openai");
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
    let url = runtime.block_on(Database::create_on(&server.url)).keep();
    let deja = as_patient_as_by_itself(&url, &provider);
    let slug = deja.cli(&["project", "create", "down"]);
    let key = deja.cli(&["key", "create", "--project", &slug, "--name", "k"]);
    let served_again = |after: &str| {
        let what = format!("{after}: it is served again");
        eventually(&what, || ask(&deja, &key, "Who wrote Faust?").0 == 200);
        becomes(&deja, 200);
    };
    served_again("start");
    for (away, back) in [("pause", "resume"), ("kill", "start")] {
        server.tell(away);
        assert_eq!(ask(&deja, &key, "Who wrote Faust?").0, 503, "{away}: neither served nor refused");
        becomes(&deja, 503);
        assert_eq!(deja.get("/livez").status, 200);
        server.tell(back);
        served_again(back);
    }
}

/// With deja's own deadlines for the database, which other tests put off.
fn as_patient_as_by_itself(url: &str, provider: &FakeProvider) -> Deja {
    let builder = Deja::builder_on(url, provider);
    let deadlines = ["CONNECT_TIMEOUT_MS", "ACQUIRE_TIMEOUT_MS", "TIMEOUT_MS"];
    let without = |builder: Builder, name: &&str| builder.without(&format!("DEJA_DATABASE_{name}"));
    deadlines.iter().fold(builder, without).start()
}

/// Waits until `/readyz` says this: its answer is a second old at most, and a check may take two.
fn becomes(deja: &Deja, ready: u16) {
    eventually(&format!("/readyz says {ready}"), || deja.get("/readyz").status == ready);
}

#[test]
fn readiness_is_checked_once_at_a_time_and_once_a_second() {
    let provider = FakeProvider::start();
    let url = new_database();
    let deja = as_patient_as_by_itself(&url, &provider);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut client = runtime.block_on(connect(&url));
    let counted = "CREATE TABLE checks (at timestamptz);
                   CREATE FUNCTION checked() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                       INSERT INTO checks VALUES (clock_timestamp()); RETURN NULL;
                   END $$;
                   CREATE TRIGGER checked AFTER INSERT OR UPDATE ON facts EXECUTE FUNCTION checked();";
    runtime.block_on(client.batch_execute(counted)).unwrap();
    // The answer from the start is not given again: even a fast machine asks the storage once.
    std::thread::sleep(Duration::from_millis(1_100));
    let began = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| (0..50).for_each(|_| assert_eq!(deja.get("/readyz").status, 200)));
        }
    });
    let most = began.elapsed().as_secs() as i64 + 2;
    let checks: i64 = runtime.block_on(client.query_one("SELECT count(*) FROM checks", &[])).unwrap().get(0);
    assert!((1..=most).contains(&checks), "400 requests caused {checks} checks, of at most {most}");

    // One that takes long: all others wait for the same, and those that hang up do not cause another.
    std::thread::sleep(Duration::from_millis(1_100));
    let transaction = runtime.block_on(client.transaction()).unwrap();
    runtime.block_on(transaction.batch_execute("LOCK TABLE facts IN ACCESS EXCLUSIVE MODE")).unwrap();
    std::thread::scope(|threads| {
        let asked: Vec<_> = (0..8).map(|_| threads.spawn(|| deja.get("/readyz").status)).collect();
        for _ in 0..8 {
            let mut hangs_up = std::net::TcpStream::connect(deja.address()).unwrap();
            hangs_up.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        }
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%facts%'";
        eventually("a check has a deadline", || {
            let waiting: i64 = runtime.block_on(transaction.query_one(waiting, &[])).unwrap().get(0);
            assert!(waiting <= 1, "{waiting} checks at a time");
            asked.iter().all(std::thread::ScopedJoinHandle::is_finished)
        });
        let said: Vec<u16> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
        assert_eq!(said, [503; 8]);
    });
    runtime.block_on(transaction.rollback()).unwrap();
    becomes(&deja, 200);
}

#[test]
fn a_database_that_goes_away_right_after_the_start_does_not_end_the_server() {
    let provider = FakeProvider::start();
    let url = new_database();
    let first = Deja::on(&url, &provider);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut client = runtime.block_on(connect(&url));
    let transaction = runtime.block_on(client.transaction()).unwrap();
    // Nothing that a start needs, but what it says on the first start.
    runtime.block_on(transaction.batch_execute("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE")).unwrap();
    let second = Deja::builder_on(&url, &provider).env("DEJA_DATABASE_TIMEOUT_MS", "2000").start();
    eventually("its statements are cut", || second.log().contains("could not be deleted"));
    std::thread::sleep(Duration::from_secs(1));
    runtime.block_on(transaction.rollback()).unwrap();
    for deja in [first, second] {
        becomes(&deja, 200);
    }
}

#[test]
fn a_replica_makes_its_data_directory() {
    let provider = FakeProvider::start();
    let deja = Deja::builder_on(&new_database(), &provider).below("not/there/yet").start();
    assert_eq!(deja.cli(&["project", "create", "made"]), "made");
    let mode = std::fs::metadata(deja.data().join("not/there/yet")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_second_replica_in_one_data_directory_is_refused_and_the_first_goes_on() {
    let provider = FakeProvider::start();
    let url = new_database();
    let mut first = Deja::on(&url, &provider);
    let socket = |deja: &Deja| std::fs::metadata(deja.data().join("deja.sock")).unwrap().ino();
    let before = socket(&first);
    let mut second = first.command(&["serve"]);
    let second = second.env("DEJA_LISTEN", "127.0.0.1:0").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{said}");
    let refused: Vec<&str> = said.lines().filter(|line| line.contains("DEJA_DATA_DIR")).collect();
    assert_eq!(refused.len(), 1, "{said}");
    assert!(refused[0].contains("in use by another deja process"), "{said}");
    assert_eq!(socket(&first), before, "the first one's own");
    assert_eq!(first.cli(&["project", "create", "still"]), "still");
    // Killed, it leaves nothing that keeps the next one from starting.
    first.signal("KILL");
    first.wait();
    first.restart();
    assert_eq!(first.cli(&["project", "create", "again"]), "again");
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

#[test]
fn replicas_that_start_together_print_one_link_and_the_others_say_so() {
    let provider = FakeProvider::start();
    let url = new_database();
    let mut replicas = std::thread::scope(|threads| {
        let starting: Vec<_> = (0..3).map(|_| threads.spawn(|| Deja::on(&url, &provider))).collect();
        starting.into_iter().map(|starting| starting.join().unwrap()).collect::<Vec<_>>()
    });
    // What it says comes after it is ready.
    let said = |deja: &Deja| {
        deja.log().contains("The console has no operator") || deja.log().contains("another replica")
    };
    eventually("each says how to begin", || replicas.iter().all(said));
    let link_of = |deja: &Deja| {
        let log = deja.log();
        let link = log
            .lines()
            .rev()
            .find_map(|line| line.split_once("/console/setup"))
            .map(|(_, link)| link.to_owned());
        link.map(|token| format!("/console/setup{token}"))
    };
    let makers: Vec<usize> = (0..3).filter(|at| link_of(&replicas[*at]).is_some()).collect();
    assert_eq!(makers.len(), 1, "one link");
    let (maker, other) = (makers[0], (makers[0] + 1) % 3);
    let link = link_of(&replicas[maker]).unwrap();
    assert!(replicas.iter().all(|deja| deja.get(&link).status == 200), "on each of them");
    assert!(replicas[other].log().contains("deja operator create EMAIL"));
    // It ends with the one that printed it; then that one makes another.
    replicas[maker].stop();
    assert_eq!(replicas[other].get(&link).status, 410);
    replicas[maker].restart();
    eventually("it prints another one", || link_of(&replicas[maker]).unwrap() != link);
    assert_eq!(replicas[other].get(&link_of(&replicas[maker]).unwrap()).status, 200);
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
    let body = json!({"prompt": prompt, "model": MODEL}).to_string();
    let mut connection = Connection::open(first.address()).unwrap();
    connection.send(&post(&key, PATH, &body)).unwrap();
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
