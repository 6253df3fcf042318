//! PostgreSQL stopped, killed, frozen, cut off, reset, half open and blackholed while deja is asked: each request is answered
//! rightly or refused in the published form, and when it is back all is there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::durability::{Ledger, check};
use crate::postgres::{Database, Server};
use crate::proxy::{Proxy, Weather};
use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::once;
use crate::util::provider::answer_to;
use crate::util::tenant::MODEL;
use crate::util::{PATIENCE, Random, Tenant, eventually};
use crate::worlds::{Stop, World};

pub const TRIAL: Trial =
    Trial { name: "database", counts: "faults", goals: Goals { few: 2, short: 21, long: 700 }, play };

const THREADS: usize = 3;
/// Faults of one server before the next begins with an empty database.
const FAULTS_OF_ONE: usize = 70;

/// What becomes of the database.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The server is told so, and told the other thing in the end.
    Server(&'static str, &'static str),
    Network(Weather),
}

const FAULTS: [Fault; 7] = [
    Fault::Network(Weather::Blackhole),
    Fault::Server("pause", "resume"),
    Fault::Network(Weather::HalfOpen),
    Fault::Server("stop", "start"),
    Fault::Network(Weather::Reset),
    Fault::Server("kill", "start"),
    Fault::Network(Weather::Cut),
];

fn play(rounds: &mut Rounds<'_>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    loop {
        let mut server = Server::start();
        let database = runtime.block_on(Database::create_on(&server.url));
        let (before, rest) = database.url.split_once('@').unwrap();
        let (address, name) = rest.split_once('/').unwrap();
        let proxy = runtime.block_on(Proxy::to(address.to_owned()));
        let url = format!("{before}@{}/{name}", proxy.address);
        let world = World::start_on(Some(url), |builder| {
            // Deadlines as in production, so that they are met by what takes too long.
            builder
                .env("DEJA_DATABASE_CONNECT_TIMEOUT_MS", "1000")
                .env("DEJA_DATABASE_ACQUIRE_TIMEOUT_MS", "1000")
                .env("DEJA_DATABASE_TIMEOUT_MS", "2000")
        });
        let (slug, key) = world.project("database");
        for _ in 0..FAULTS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
            let fault = FAULTS[usize::try_from(seed % FAULTS.len() as u64).unwrap()];
            let tenant = Tenant { deja: &world.deja, slug: slug.clone(), key: key.clone() };
            let stored = fill(&tenant, seed);
            let mut weather = |away: bool| match (fault, away) {
                (Fault::Server(begin, _), true) => server.tell(begin),
                (Fault::Server(_, end), false) => server.tell(end),
                (Fault::Network(weather), true) => proxy.set(weather),
                (Fault::Network(_), false) => proxy.set(Weather::Fair),
            };
            let (answered, refused) = disturb(&tenant, seed, &mut weather);
            eventually("it is ready again", || world.deja.get("/readyz").status == 200);
            // On a busy machine one may be late once more.
            let again = json!({"prompt": format!("After {seed}?"), "model": MODEL});
            eventually("it answers again", || tenant.send(&again).status == 200);
            eventually("it finds again", || tenant.send(&again).json()["cache_hit"] == true);
            check(&tenant, &stored, seed);
            world.wait_until_idle(u64::MAX);
            world.assert_sound();
            world.provider.forget();
            rounds.saw(&format!("{fault:?}"), 1);
            rounds.saw("answered meanwhile", answered);
            rounds.saw("refused meanwhile", refused);
            rounds.done(1);
        }
    }
}

/// Some answers, and they are stored.
fn fill(tenant: &Tenant<'_>, round: u64) -> Ledger {
    let stored = Ledger::default();
    for n in 0..5 {
        let prompt = format!("Before {round}, question {n}?");
        let answer = tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1}));
        let answer = answer["response"].as_str().unwrap().to_owned();
        stored.answers.lock().unwrap().insert(prompt, answer);
    }
    stored
}

/// Asks while the database is away and comes back. Says how many requests were answered and how many refused.
fn disturb(tenant: &Tenant<'_>, seed: u64, weather: &mut dyn FnMut(bool)) -> (u64, u64) {
    let mut random = Random::new(seed);
    let stop = AtomicBool::new(false);
    let (answered, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (stop, answered, refused) = (&stop, &answered, &refused);
            scope.spawn(move || {
                for n in (0..).take_while(|_| !stop.load(Ordering::SeqCst)) {
                    let prompt = match n % 2 {
                        0 => format!("Before {seed}, question {}?", n / 2 % 5),
                        _ => format!("Meanwhile {seed} {thread} {n}?"),
                    };
                    let began = Instant::now();
                    let query = json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1});
                    let response = tenant.send(&query);
                    assert!(began.elapsed() < PATIENCE / 2, "{prompt} took {:?}", began.elapsed());
                    if response.status == 200 {
                        assert_eq!(response.json()["response"], answer_to(&prompt));
                        answered.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert!(!response.detail(503).is_empty());
                        assert!(response.header("retry-after").is_some(), "{response:?}");
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        let _stop = Stop(&stop);
        std::thread::sleep(Duration::from_millis(random.below(200) as u64));
        weather(true);
        let away = Instant::now();
        let long = Duration::from_millis(100 + random.below(5000) as u64);
        // It lives without its database.
        assert_eq!(once(tenant.deja.address(), "GET", "/livez", &[], b"").unwrap().status, 200);
        std::thread::sleep(long.saturating_sub(away.elapsed()));
        weather(false);
    });
    (answered.into_inner(), refused.into_inner())
}
