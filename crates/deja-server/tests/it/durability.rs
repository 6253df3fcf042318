//! kill -9 under load: what was acknowledged is there after a restart. Nothing acknowledged is lost, none of it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::util::http::Connection;
use crate::util::tenant::{MODEL, PATH, Tenant};
use crate::util::{Deja, FakeProvider, PATIENCE, Random, within};

const ROUNDS: u64 = 6;
const WRITERS: usize = 3;
const SEED: u64 = 0xd0_0001;

/// What the server said is done.
#[derive(Default)]
pub struct Ledger {
    /// Prompt -> answer.
    pub answers: Mutex<HashMap<String, String>>,
    /// Key -> whether it was revoked.
    pub keys: Mutex<HashMap<String, bool>>,
    /// Answers that were given and could not be stored.
    pub not_stored: AtomicU64,
}

impl Ledger {
    /// Answers that were given, stored or not.
    fn given(&self) -> u64 {
        self.answers.lock().unwrap().len() as u64 + self.not_stored.load(Ordering::SeqCst)
    }
}

/// Asks for new prompts until the server is gone or `stop` says so.
fn write(tenant: &Tenant<'_>, ledger: &Ledger, round: u64, writer: usize, stop: &AtomicBool) {
    let Ok(mut connection) = Connection::open(tenant.deja.address()) else { return };
    for n in (0..).take_while(|_| !stop.load(Ordering::SeqCst)) {
        let prompt = format!("Round {round}, writer {writer}, question {n}?");
        // At threshold 1 every prompt is a miss, and is stored.
        let query =
            json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1, "include_debug": true});
        let request = tenant.request(&query);
        if connection.send(&request).is_err() {
            return;
        }
        let Ok(response) = connection.receive() else { return };
        assert_eq!(response.status, 200, "{}", response.text());
        let said = response.json();
        if !said["debug"]["not_stored"].is_null() {
            // As on a full disk: it is answered, and nothing is promised.
            ledger.not_stored.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        let answer = said["response"].as_str().unwrap().to_owned();
        ledger.answers.lock().unwrap().insert(prompt, answer);
    }
}

/// Creates keys and revokes every second one until the server is gone.
fn manage_keys(deja: &Deja, slug: &str, ledger: &Ledger, stop: &AtomicBool) {
    for n in 0.. {
        let created = deja.try_cli(&["key", "create", "--project", slug, "--name", "ledger"]);
        if stop.load(Ordering::SeqCst) || !created.status.success() {
            return;
        }
        let key = String::from_utf8_lossy(&created.stdout).trim_end().lines().last().unwrap().to_owned();
        ledger.keys.lock().unwrap().insert(key.clone(), false);
        if n % 2 == 1 {
            // A revocation that was not acknowledged may hold or not.
            ledger.keys.lock().unwrap().remove(&key);
            if !deja.try_cli(&["key", "revoke", &key]).status.success() {
                return;
            }
            ledger.keys.lock().unwrap().insert(key, true);
        }
    }
}

/// Asserts that all of it is there.
pub fn check(tenant: &Tenant<'_>, ledger: &Ledger, round: u64) {
    let mut connection = Connection::open(tenant.deja.address()).unwrap();
    for (prompt, answer) in &*ledger.answers.lock().unwrap() {
        let query = json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1});
        let found = connection.ask(&tenant.request(&query)).json();
        assert_eq!(
            (&found["cache_hit"], &found["response"]),
            (&json!(true), &json!(answer)),
            "round {round}: {prompt}"
        );
    }
    for (key, revoked) in &*ledger.keys.lock().unwrap() {
        let status = tenant.post_as(key, PATH, b"{}").status;
        assert_eq!(status, if *revoked { 401 } else { 400 }, "round {round}: key {}", &key[..7]);
    }
}

/// Writes to the server, answers and keys, until it is gone or `stop` says so.
pub fn keep_writing(deja: &Deja, slug: &str, key: &str, ledger: &Ledger, round: u64, stop: &AtomicBool) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let tenant = Tenant { deja, slug: slug.to_owned(), key: key.to_owned() };
            scope.spawn(move || write(&tenant, ledger, round, writer, stop));
        }
        scope.spawn(|| manage_keys(deja, slug, ledger, stop));
    });
}

/// Kills the server so long after it acknowledged something new, while it is written to, and starts it again.
pub fn kill_under_load(deja: &mut Deja, slug: &str, key: &str, ledger: &Ledger, round: u64, pause: Duration) {
    let before = ledger.given();
    let (stop, running) = (AtomicBool::new(false), &*deja);
    std::thread::scope(|scope| {
        scope.spawn(|| keep_writing(running, slug, key, ledger, round, &stop));
        // Something was acknowledged, however busy the machine is. From then on the moment of the kill is what is
        // drawn at random here, so a plain pause is right.
        let _asserted_below = within(PATIENCE, || (ledger.given() > before).then_some(()));
        std::thread::sleep(pause);
        running.signal("KILL");
        stop.store(true, Ordering::SeqCst);
    });
    assert!(ledger.given() > before, "round {round}: nothing is acknowledged");
    deja.wait();
    // Without room it is alive and not ready.
    if ledger.not_stored.load(Ordering::SeqCst) > 0 { deja.restart_unready() } else { deja.restart() }
}

#[test]
fn what_was_acknowledged_survives_kill_9_under_load() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    let (slug, key) = {
        let options = ["--tier", "enterprise", "--rpm", "100000", "--burst", "100000"];
        let tenant = Tenant::create(&deja, "ledger", &options);
        (tenant.slug, tenant.key)
    };
    let ledger = Ledger::default();
    let mut random = Random::new(SEED);
    for round in 0..ROUNDS {
        let pause = Duration::from_millis(700 + random.below(1500) as u64);
        kill_under_load(&mut deja, &slug, &key, &ledger, round, pause);
        let tenant = Tenant { deja: &deja, slug: slug.clone(), key: key.clone() };
        check(&tenant, &ledger, round);
    }
    assert_eq!(ledger.not_stored.load(Ordering::SeqCst), 0, "the disk is full");
    let keys = ledger.keys.lock().unwrap();
    assert!(
        keys.values().any(|revoked| *revoked) && keys.values().any(|revoked| !*revoked),
        "{} keys",
        keys.len()
    );
}

#[test]
fn an_orderly_stop_keeps_all_too_and_similar_prompts_are_found_again() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "orderly", &[]);
        tenant.ask_for("How do I reset my password?");
        (tenant.slug, tenant.key)
    };
    assert!(deja.stop().success());
    deja.restart();
    let tenant = Tenant { deja: &deja, slug, key };
    for prompt in ["How do I reset my password?", "How can I reset my password?"] {
        let answer = tenant.ask_for(prompt);
        assert_eq!(answer["cache_hit"], true, "{prompt}");
        assert_eq!(answer["debug"]["cache_entry_count"], 1);
    }
}
