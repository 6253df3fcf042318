//! Requests that are cut at any byte, on deja's own API and the formats of applications: nobody gets the answer of another,
//! and nothing is left of them.

use std::io::Read as _;
use std::time::Duration;

use serde_json::json;

use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::{Connection, request};
use crate::util::provider::answer_to;
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Random, Response};
use crate::wire::{CACHED, EXACT, address, question, said};
use crate::worlds::{Pair, World};

pub const TRIAL: Trial = Trial {
    name: "cut",
    counts: "requests",
    goals: Goals { few: 800, short: 20_000, long: 1_000_000 },
    play,
};

const THREADS: u64 = 4;
/// Connections that a thread opens in a round.
const CONNECTIONS: usize = 40;
/// Rounds that a pair of servers sees before the next one begins with an empty store.
const ROUNDS_OF_ONE: usize = 200;
/// What the database's pool, a look at the server and its own work may have opened since it was first idle.
const MORE_DESCRIPTORS: u64 = 40;

fn play(rounds: &mut Rounds<'_>) {
    loop {
        let mut worlds = Pair::new();
        for _ in 0..ROUNDS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
            let (world, key, idle) = &*worlds.turn(seed, |backend| {
                let world = World::start(backend);
                let (_, key) = world.project("cut");
                let idle = world.descriptors() + MORE_DESCRIPTORS;
                (world, key, idle)
            });
            let seen: Vec<Seen> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|n| scope.spawn(move || hang_up_often(world, key, seed * THREADS + n)))
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            world.wait_until_idle(*idle);
            world.assert_sound();
            world.provider.forget();
            for seen in seen {
                rounds.done(seen.requests);
                rounds.saw("cut while asking", seen.asking);
                rounds.saw("cut while answered", seen.answered);
                rounds.saw("answers compared", seen.whole);
                rounds.saw("hits among them", seen.hits);
            }
        }
    }
}

/// How often what happened.
#[derive(Default)]
struct Seen {
    requests: u64,
    asking: u64,
    answered: u64,
    whole: u64,
    hits: u64,
}

/// A request, where its answer is read, and what that must say.
struct Asked {
    bytes: Vec<u8>,
    path: &'static str,
    answer: String,
}

fn ask(random: &mut Random, key: &str) -> Asked {
    // Some are asked again and again, by all threads at once; most are new.
    let prompt = match random.below(3) {
        0 => format!("cut, often {}?", random.below(20)),
        _ => format!("cut, once {:x}?", random.bits()),
    };
    let authorization = format!("Bearer {key}");
    let mut headers = vec![("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    // Only the very same prompt will do, in each of them.
    let (path, address, body) = match CACHED.get(random.below(CACHED.len() + 1)) {
        None => {
            let body = json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1});
            (PATH, PATH.to_owned(), body)
        }
        Some((path, model)) => {
            headers.push(EXACT);
            let stream = random.one_in(2);
            (*path, address(path, stream), question(path, model, &prompt, stream))
        }
    };
    let bytes = request("POST", &address, &headers, body.to_string().as_bytes());
    Asked { bytes, path, answer: answer_to(&prompt) }
}

fn hang_up_often(world: &World, key: &str, seed: u64) -> Seen {
    let mut random = Random::new(seed);
    let mut seen = Seen::default();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(world.deja.address()).unwrap();
        // Whole requests first, whose answers are read, so that the cut one is not always the first of its connection.
        for _ in 0..random.below(3) {
            let asked = ask(&mut random, key);
            let response = connection.ask(&asked.bytes);
            compare(&asked, &response);
            seen.requests += 1;
            seen.whole += 1;
            seen.hits += u64::from(is_hit(&asked, &response));
        }
        let asked = ask(&mut random, key);
        seen.requests += 1;
        if random.one_in(2) {
            seen.asking += 1;
            let cut = random.below(asked.bytes.len());
            connection.send(&asked.bytes[..cut]).unwrap();
        } else {
            seen.answered += 1;
            connection.send(&asked.bytes).unwrap();
            let wanted = random.pick(&[0, 1, 20, 300, 3000]);
            let mut part = vec![0; 1 + random.below(1 + wanted)];
            if wanted > 0 {
                let _some = connection.stream().read(&mut part).unwrap();
            } else {
                std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
            }
        }
        if random.one_in(2) {
            // Reset, not closed in order.
            socket2::SockRef::from(connection.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
    seen
}

fn compare(asked: &Asked, response: &Response) {
    assert_eq!(response.status, 200, "{}: {}", asked.path, response.text());
    let answer = if asked.path == PATH {
        response.json()["response"].as_str().unwrap().to_owned()
    } else {
        said(asked.path, response)
    };
    assert_eq!(answer, asked.answer, "{}", asked.path);
}

fn is_hit(asked: &Asked, response: &Response) -> bool {
    if asked.path == PATH {
        response.json()["cache_hit"] == true
    } else {
        response.header("x-deja-cache") == Some("hit")
    }
}
