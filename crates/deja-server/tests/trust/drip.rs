//! Connections that say nothing, drip, or never read their answer: memory stays bounded, and others are served.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::{Connection, post};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Random, Reaction, Tenant};
use crate::wire::question;
use crate::worlds::{Pair, World};

pub const TRIAL: Trial = Trial {
    name: "drip",
    counts: "connections",
    goals: Goals { few: 100, short: 2_000, long: 10_000 },
    play,
};

/// Connections at a time.
const AT_ONCE: usize = 500;
/// Of a usual test run, which shares the machine with others.
const AT_ONCE_OF_FEW: usize = 100;
/// Questions of those that behave, meanwhile.
const OTHERS: usize = 100;
/// What a connection may take: its head, a part of its body, what the runtime keeps of it.
const KILOBYTES_OF_ONE: u64 = 64;
/// What serving anybody at all may take on top: buffers of the allocator, threads that are begun.
const KILOBYTES_OF_ALL: u64 = 100_000;
/// An answer far longer than the socket of a client that never reads holds. It may be there as it is stored, as it is
/// written, and in the kernel.
const LONG: usize = 1_000_000;

fn play(rounds: &mut Rounds<'_>) {
    let at_once = if rounds.are_few() { AT_ONCE_OF_FEW } else { AT_ONCE };
    let mut worlds = Pair::new();
    while let Some(seed) = rounds.next() {
        let (world, key, idle) = &*worlds.turn(seed, |backend| {
            let world = World::start(backend);
            let (slug, key) = world.project("drip");
            world.provider.on("drip-long", Reaction::Text("a".repeat(LONG)));
            Tenant { deja: &world.deja, slug, key: key.clone() }.ask(&long());
            let idle = world.descriptors() + 40;
            (world, key, idle)
        });
        let mut random = Random::new(seed);
        let before = world.deja.memory_kb("VmRSS");
        let mut slow: Vec<Slow> = (0..at_once).map(|_| Slow::open(world, key, &mut random)).collect();
        let mut slowest = Duration::ZERO;
        for n in 0..OTHERS {
            for one in &mut slow {
                one.drip();
            }
            let tenant = Tenant { deja: &world.deja, slug: String::new(), key: key.clone() };
            let began = Instant::now();
            let prompt = format!("Who is served while others drip, {}?", n % 10);
            tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1}));
            slowest = slowest.max(began.elapsed());
        }
        let more = world.deja.memory_kb("VmRSS").saturating_sub(before);
        let may = {
            let held = slow.iter().filter(|one| one.long).count() as u64 * 3 * LONG as u64 / 1000;
            KILOBYTES_OF_ALL + KILOBYTES_OF_ONE * at_once as u64 + held
        };
        assert!(more <= may, "{at_once} connections take {more} kB");
        drop(slow);
        world.wait_until_idle(*idle);
        world.assert_sound();
        world.provider.forget();
        rounds.saw("requests of others served", OTHERS as u64);
        rounds.saw_at_most("most kB for all at once", more);
        rounds.saw_at_most("slowest of others, ms", slowest.as_millis() as u64);
        rounds.done(at_once as u64);
    }
}

/// A question whose answer is long, and is there.
fn long() -> serde_json::Value {
    json!({"prompt": "drip-long", "model": MODEL, "similarity_threshold": 1})
}

/// A client that is slow on purpose.
struct Slow {
    connection: Connection,
    /// What it has yet to say, a byte at a time.
    rest: Vec<u8>,
    /// Whether it asked for the long answer.
    long: bool,
}

impl Slow {
    fn open(world: &World, key: &str, random: &mut Random) -> Self {
        let mut connection = Connection::open(world.deja.address()).unwrap();
        socket2::SockRef::from(connection.stream()).set_recv_buffer_size(16 * 1024).unwrap();
        let own = post(key, PATH, &long().to_string());
        let chat = question("/v1/chat/completions", MODEL, "drip-slow", true).to_string();
        let wire = post(key, "/v1/chat/completions", &chat);
        let asks_own = random.one_in(2);
        let bytes = if asks_own { own } else { wire };
        // Nothing; a part of the head; the head and a part of the body; all of it, and the answer is not read.
        let begins = match random.below(4) {
            0 => 0,
            1 => random.below(60),
            2 => bytes.len() - 1 - random.below(40),
            _ => bytes.len(),
        };
        connection.send(&bytes[..begins]).unwrap();
        let mut rest = bytes[begins..].to_vec();
        rest.reverse();
        // The last byte never comes.
        if !rest.is_empty() {
            rest.remove(0);
        }
        Self { connection, long: asks_own && begins == bytes.len(), rest }
    }

    fn drip(&mut self) {
        // The server may have given it up.
        if let Some(byte) = self.rest.pop() {
            let _gone = self.connection.stream().write(&[byte]);
        }
    }
}
