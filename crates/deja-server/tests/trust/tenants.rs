//! Queries of many projects that ask nearly the same, by meaning, with a mark of the project in each prompt and so in each
//! answer: nobody sees the mark of another.

use std::fmt::Write as _;

use deja_core::api_key::PlainKey;
use serde_json::{Value, json};

use crate::trial::{Goals, Rounds, Trial};
use crate::util::Random;
use crate::util::http::{Connection, post};
use crate::util::tenant::{MODEL, PATH};
use crate::wire::{CACHED, address, question, said};
use crate::worlds::{Pair, World};

pub const TRIAL: Trial = Trial {
    name: "tenants",
    counts: "queries",
    goals: Goals { few: 800, short: 20_000, long: 1_000_000 },
    play,
};

const PROJECTS: usize = 1000;
/// Of a usual test run.
const PROJECTS_OF_FEW: usize = 50;
const THREADS: u64 = 4;
/// Queries of a thread in a round.
const QUERIES: usize = 100;

fn play(rounds: &mut Rounds<'_>) {
    let projects = if rounds.are_few() { PROJECTS_OF_FEW } else { PROJECTS };
    let mut worlds = Pair::new();
    while let Some(seed) = rounds.next() {
        let (world, keys) = &*worlds.turn(seed, |backend| {
            let world = World::start(backend);
            let keys = many(&world, projects);
            (world, keys)
        });
        let hits: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|n| scope.spawn(move || ask(world, keys, seed * THREADS + n))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        world.assert_sound();
        world.provider.forget();
        rounds.done(THREADS * QUERIES as u64);
        rounds.saw("hits", hits);
    }
}

/// The mark of a project; none is a part of another.
fn mark(project: usize) -> String {
    format!("canary-{project:04}-end")
}

/// Makes the projects by an import, which is one command and not thousands. Returns a key of each.
fn many(world: &World, projects: usize) -> Vec<String> {
    let file = |name: &str| world.deja.data().join(name).to_str().unwrap().to_owned();
    world.project("pattern");
    world.deja.cli(&["export", &file("pattern"), "--with-projects", "--with-keys"]);
    let pattern = std::fs::read_to_string(file("pattern")).unwrap();
    let pattern: Vec<Value> = pattern.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut lines, mut keys) = (String::new(), Vec::new());
    for project in 0..projects {
        let key = format!("dj_{project:032x}");
        for record in &pattern {
            let mut record = record.clone();
            record["project"] = json!(format!("tenant-{project}"));
            record["id"] = json!(format!("00000000-0000-7000-8000-{project:012x}"));
            if record["type"] == "key" {
                record["hash"] = json!(hex::encode(PlainKey::parse(&key).unwrap().hash().0));
            }
            writeln!(lines, "{record}").unwrap();
        }
        keys.push(key);
    }
    std::fs::write(file("many"), lines).unwrap();
    world.deja.cli(&["import", &file("many")]);
    keys
}

const SUBJECTS: [&str; 8] = [
    "my password", "my order", "a refund", "the invoice", "my account", "the parcel", "a voucher", "the app",
];
const FRAMES: [&str; 5] = [
    "How do I change {}?", "How can I change {}?", "Where do I find {}?", "Delete {} please.",
    "Why is {} wrong?",
];

/// Asks as many projects; returns how many were answered from the cache.
fn ask(world: &World, keys: &[String], seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut connection = Connection::open(world.deja.address()).unwrap();
    let mut hits = 0;
    for _ in 0..QUERIES {
        // Some are asked much more often, so that there are hits from the start.
        let often = random.one_in(2);
        let project = random.below(if often { keys.len() / 50 } else { keys.len() });
        let text = random.pick(&FRAMES).replace("{}", random.pick(&SUBJECTS));
        let prompt = format!("{text} {}", mark(project));
        let threshold = random.pick(&[0.0, 0.5, 0.85, 1.0]);
        let wire = random.below(CACHED.len() + 2);
        let (path, address, body) = match CACHED.get(wire) {
            Some((path, model)) => {
                let stream = random.one_in(2);
                (*path, address(path, stream), question(path, model, &prompt, stream))
            }
            None => (
                PATH,
                PATH.to_owned(),
                json!({"prompt": prompt, "model": MODEL, "similarity_threshold": threshold}),
            ),
        };
        let response = connection.ask(&post(&keys[project], &address, &body.to_string()));
        assert_eq!(response.status, 200, "{}", response.text());
        let (answer, hit) = if path == PATH {
            let body = response.json();
            (body["response"].as_str().unwrap().to_owned(), body["cache_hit"] == true)
        } else {
            (said(path, &response), response.header("x-deja-cache") == Some("hit"))
        };
        let whole = response.text();
        assert!(answer.contains(&mark(project)), "{project}: {whole}");
        assert_eq!(
            whole.matches("canary-").count(),
            whole.matches(&mark(project)).count(),
            "{project}: {whole}"
        );
        hits += u64::from(hit);
    }
    hits
}
