//! What a query costs the database: each statement is a round trip.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use url::Url;

use crate::util::deja::new_database;
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Tenant};
use crate::wire::question;

/// A proxy to PostgreSQL that counts what it is asked to execute.
struct Counter {
    port: u16,
    executed: Arc<AtomicUsize>,
}

impl Counter {
    fn to(server: (String, u16)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let executed = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&executed);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (mut client, count) = (client.unwrap(), Arc::clone(&count));
                let mut server = TcpStream::connect(&server).unwrap();
                let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                for stream in [&client, &server] {
                    stream.set_nodelay(true).unwrap();
                }
                std::thread::spawn(move || carry(&mut client, &mut server, &count));
                std::thread::spawn(move || std::io::copy(&mut back, &mut to_client));
            }
        });
        Self { port, executed }
    }

    fn executed(&self) -> usize {
        self.executed.load(Ordering::SeqCst)
    }
}

/// Carries messages until an end closes. Each begins with its type and its length, but for the first, which has no type.
fn carry(client: &mut TcpStream, server: &mut TcpStream, executed: &AtomicUsize) -> std::io::Result<()> {
    let mut kind = Vec::new();
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut rest)?;
        if matches!(kind[..], [b'E' | b'Q']) {
            executed.fetch_add(1, Ordering::SeqCst);
        }
        server.write_all(&[&kind, &length[..], &rest].concat())?;
        kind.resize(1, 0);
        client.read_exact(&mut kind)?;
    }
}

/// A server whose database is behind a proxy that counts.
fn behind_counter(provider: &FakeProvider) -> (Deja, Counter) {
    let mut url = Url::parse(&new_database()).unwrap();
    let server = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
    let counter = Counter::to(server);
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(counter.port)).unwrap();
    url.query_pairs_mut().append_pair("sslmode", "disable");
    (Deja::on(url.as_str(), provider), counter)
}

#[test]
fn an_exact_hit_is_one_statement_and_so_is_a_refusal() {
    const CHAT: &str = "/v1/chat/completions";
    let provider = FakeProvider::start();
    let (deja, counter) = behind_counter(&provider);
    let tenant = Tenant::create(&deja, "hits", &[]);
    let asked = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    let chat = question(CHAT, MODEL, "Who wrote Faust?", false).to_string();
    // A long one is read after its admission, so that is two.
    let long = format!("{asked}{}", " ".repeat(200_000));
    let narrow = tenant.new_key(&["--rpm", "1", "--burst", "1"]);
    for (key, path, body, status, statements) in [
        (&tenant.key, PATH, &asked, 200, 1),
        (&tenant.key, CHAT, &chat, 200, 1),
        (&tenant.key, PATH, &long, 200, 2),
        (&tenant.key, PATH, &"{".to_owned(), 400, 1),
        (&narrow, PATH, &asked, 429, 1),
    ] {
        // The first ones are stored, prepared, or within the limit.
        for _ in 0..3 {
            tenant.post_as(key, path, body.as_bytes());
        }
        let counted: Vec<usize> = (0..20)
            .map(|_| {
                let before = counter.executed();
                assert_eq!(tenant.post_as(key, path, body.as_bytes()).status, status, "{path}");
                counter.executed() - before
            })
            .collect();
        assert_eq!(counted.iter().min(), Some(&statements), "{path}, {status}: {counted:?}");
    }
}

#[test]
fn a_miss_is_at_most_four_statements() {
    let provider = FakeProvider::start();
    let (deja, counter) = behind_counter(&provider);
    let (plain, own) = (Tenant::create(&deja, "plain", &[]), Tenant::create(&deja, "own", &[]));
    let house = format!("{}/v1", provider.url());
    deja.cli(&own.provider_add("house", &house, "house-1", &["--allow-private"]));
    // Work of its own time, such as writing counts, comes on top of some misses, and preparing of the first ones.
    for (tenant, model, answers) in [(&plain, "gpt-4o-mini", "openai"), (&own, "house-1", "house")] {
        for new_scope in [true, false] {
            let misses = (0..30).map(|number| {
                let context = if new_scope { format!("context {number}") } else { String::new() };
                let prompt = format!("{number} {new_scope}: {}", number * 7919);
                let before = counter.executed();
                let asked = json!({"prompt": prompt, "model": model, "context": context, "similarity_threshold": 1.0});
                let answer = tenant.ask(&asked);
                assert_eq!((&answer["cache_hit"], &answer["llm_provider"]), (&json!(false), &json!(answers)));
                counter.executed() - before
            });
            let misses: Vec<usize> = misses.collect();
            let least = misses.iter().min().unwrap();
            assert!((3..=4).contains(least), "{model}, new scope {new_scope}: {misses:?}");
        }
    }
}
