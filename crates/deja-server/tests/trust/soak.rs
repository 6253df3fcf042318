//! Load without end, and every ten seconds something goes wrong: memory and descriptors stay where they are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::trend::{Trend, trend};
use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::{Connection, post};
use crate::util::provider::Reaction;
use crate::util::tenant::MODEL;
use crate::util::{Random, Tenant};
use crate::wire::question;
use crate::worlds::{Backend, Stop, World};

pub const TRIAL: Trial =
    Trial { name: "soak", counts: "seconds", goals: Goals { few: 3, short: 50, long: 7_200 }, play };

/// How often something goes wrong.
const EVERY: Duration = Duration::from_secs(10);
/// The same in a usual test run.
const EVERY_OF_FEW: Duration = Duration::from_secs(3);
/// What memory may grow by in an hour.
const KB_AN_HOUR: f64 = 1024.0;
/// A growth is told of so many hours at least: within less, what goes up and down by itself looks like it.
const TOLD_OF: f64 = 1.0;
/// So long memory is filled before it is compared: the cache is full, each thread had its turn, the allocator has its pages.
const WARM: Duration = Duration::from_mins(20);
/// What a project keeps, so that what is stored does not grow.
const ENTRIES: &str = "500";
/// Questions that come again.
const QUESTIONS: usize = 300;

fn play(rounds: &mut Rounds<'_>) {
    // The memory of these servers tells only of their own time.
    rounds.at_a_stretch();
    let every = if rounds.are_few() { EVERY_OF_FEW } else { EVERY };
    let worlds = Backend::ALL.map(|backend| {
        let world = World::start(backend);
        let (slug, key) = world.project("soak");
        world.deja.cli(&["project", "set", &slug, "--max-entries", ENTRIES]);
        let idle = world.descriptors() + 40;
        (world, slug, key, idle)
    });
    let began = Instant::now();
    let mut sizes: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
    let mut counted = 0;
    while let Some(seed) = rounds.next() {
        for ((world, slug, key, idle), sizes) in worlds.iter().zip(&mut sizes) {
            let tenant = Tenant { deja: &world.deja, slug: slug.clone(), key: key.clone() };
            let (right, wrong) = ten_seconds(world, &tenant, seed, every / 2);
            world.wait_until_idle(*idle);
            world.assert_sound();
            world.provider.forget();
            let size = world.deja.memory_kb("VmRSS");
            rounds.saw("requests answered", right);
            rounds.saw("requests that met a fault", wrong);
            rounds.saw_at_most("largest resident memory, kB", size);
            rounds.saw_at_most("most descriptors when idle", world.descriptors());
            if began.elapsed() >= WARM {
                sizes.push((began.elapsed().as_secs_f64() / 3600.0, size as f64));
            }
        }
        // A run that is cut short says this too.
        for (backend, trend) in Backend::ALL.iter().zip(sizes.iter().map(|sizes| growth(sizes))) {
            let Some(Trend { slope, error }) = trend else { continue };
            rounds.sees(&format!("{backend:?}: growth of memory, kB an hour"), slope.max(0.0) as u64);
            rounds.sees(&format!("{backend:?}: more or less (95 %), kB an hour"), error as u64);
        }
        // All of the time: a server that waits to become idle, and the other one's turn, are part of a soak.
        let elapsed = began.elapsed().as_secs();
        rounds.done(elapsed - std::mem::replace(&mut counted, elapsed));
    }
    for trend in sizes.iter().filter_map(|sizes| growth(sizes)) {
        let Trend { slope, error } = trend;
        assert!(
            trend.at_least() <= KB_AN_HOUR,
            "memory grows by {slope:.0} kB an hour, {error:.0} more or less"
        );
    }
}

/// By how much memory grows in an hour, if the points tell.
fn growth(points: &[(f64, f64)]) -> Option<Trend> {
    let ((first, _), (last, _)) = (points.first()?, points.last()?);
    if last - first < TOLD_OF { None } else { trend(points) }
}

/// Load, and one thing that goes wrong in it. Says how many requests were answered, and how many were not.
fn ten_seconds(world: &World, tenant: &Tenant<'_>, seed: u64, long: Duration) -> (u64, u64) {
    let fault = seed % 4;
    // Of this round alone: rules stay, so each names its round.
    let broken = format!("soak {seed} broken");
    world.provider.on(&broken, if fault == 0 { Reaction::Reset } else { Reaction::cut() });
    let stop = AtomicBool::new(false);
    let (right, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (stop, right, wrong, broken) = (&stop, &right, &wrong, &broken);
            scope.spawn(move || {
                let mut random = Random::new(seed * 2 + thread);
                while !stop.load(Ordering::SeqCst) {
                    let prompt = match random.below(20) {
                        0 if fault < 2 => format!("{broken} {}", random.bits()),
                        1..8 => format!("soak, new {:x}?", random.bits()),
                        _ => format!("soak, question {}?", random.below(QUESTIONS)),
                    };
                    let status = if random.one_in(3) {
                        let body =
                            question("/v1/chat/completions", MODEL, &prompt, random.one_in(2)).to_string();
                        // A stream that broke has begun with 200, and ends early.
                        chat(tenant, &body)
                    } else {
                        tenant.send(&json!({"prompt": prompt, "model": MODEL})).status
                    };
                    let count = if status == 200 { right } else { wrong };
                    count.fetch_add(1, Ordering::SeqCst);
                    // A provider that broke often is left alone for a while, by this project's misses too.
                    let expected = matches!(status, 200 | 503) || prompt.contains("broken");
                    assert!(expected, "{status} {prompt}");
                }
            });
        }
        let _stop = Stop(&stop);
        let began = Instant::now();
        while began.elapsed() < long {
            match fault {
                2 => hang_up(world, tenant, false),
                3 => hang_up(world, tenant, true),
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    (right.into_inner(), wrong.into_inner())
}

/// The status of an answer in OpenAI's format; 0 of a stream that broke.
fn chat(tenant: &Tenant<'_>, body: &str) -> u16 {
    let sent = post(&tenant.key, "/v1/chat/completions", body);
    let response = Connection::open(tenant.deja.address()).and_then(|mut connection| {
        connection.send(&sent)?;
        connection.receive()
    });
    response.map_or(0, |response| response.status)
}

/// Twenty clients that ask and go away: before the answer, or in the middle of the question.
fn hang_up(world: &World, tenant: &Tenant<'_>, early: bool) {
    for n in 0..20 {
        let request = tenant.request(&json!({"prompt": format!("soak, gone {n}?"), "model": MODEL}));
        let sent = if early { request.len() / 2 } else { request.len() };
        let mut connection = Connection::open(world.deja.address()).unwrap();
        connection.send(&request[..sent]).unwrap();
    }
}
