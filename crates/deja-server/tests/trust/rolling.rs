//! Restarts under load: of two replicas on PostgreSQL one after the other, behind a balancer that asks who is ready, and of an
//! embedded one whose socket is held meanwhile. Nobody is refused.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::handover::held;
use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::{Connection, once, post};
use crate::util::provider::answer_to;
use crate::util::tenant::{MODEL, PATH};
use crate::util::{PATIENCE, eventually, within};
use crate::worlds::{Backend, Stop, World};

pub const TRIAL: Trial =
    Trial { name: "rolling", counts: "restarts", goals: Goals { few: 2, short: 20, long: 100 }, play };

const CLIENTS: u64 = 4;
/// Who sends so soon after it connected is answered.
const AT_ONCE: Duration = Duration::from_millis(200);

fn play(rounds: &mut Rounds<'_>) {
    let first = World::start_with(Backend::Postgres, |builder| builder.env("DEJA_SHUTDOWN_DELAY_S", "2"));
    let second = World::start_on(first.database.clone(), |builder| builder.env("DEJA_SHUTDOWN_DELAY_S", "2"));
    let (_, shared_key) = first.project("rolling");
    let mut replicas = [first, second];
    let mut embedded = World::start_with(Backend::Sqlite, |builder| builder.on_socket(held()));
    let (_, own_key) = embedded.project("rolling");
    while let Some(seed) = rounds.next() {
        let answers = if Backend::of(seed) == Backend::Postgres {
            let addresses = replicas.each_ref().map(|replica| replica.deja.address());
            let next = usize::try_from(seed / 2 % 2).unwrap();
            under_load(&addresses, &shared_key, seed, || restart(&mut replicas[next]))
        } else {
            let address = embedded.deja.address();
            under_load(&[address], &own_key, seed, || restart(&mut embedded))
        };
        rounds.saw("requests answered", answers);
        rounds.done(1);
    }
}

fn restart(world: &mut World) {
    assert!(world.deja.stop().success());
    world.deja.restart();
    world.assert_sound();
    world.provider.forget();
}

/// Has clients ask while `work` is done, before and behind it. Returns how many answers there were.
fn under_load(addresses: &[SocketAddr], key: &str, round: u64, work: impl FnOnce()) -> u64 {
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (stop, answers) = (&stop, &answers);
                scope.spawn(move || ask(addresses, key, (round, client), stop, answers))
            })
            .collect();
        let _stop = Stop(&stop);
        let more = |than: u64| {
            eventually("there are answers", || {
                answers.load(Ordering::SeqCst) >= than + 50
                    || clients.iter().any(ScopedJoinHandle::is_finished)
            });
        };
        more(0);
        work();
        more(answers.load(Ordering::SeqCst));
    });
    answers.into_inner()
}

/// Asks one thing after the other, some of it again, and each of whoever is ready.
fn ask(addresses: &[SocketAddr], key: &str, who: (u64, u64), stop: &AtomicBool, answers: &AtomicU64) {
    for n in (0u64..).take_while(|_| !stop.load(Ordering::SeqCst)) {
        let prompt = format!("Rolling {who:?}, question {}?", n / 3);
        let body = json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1}).to_string();
        let mut connection = connect(addresses, n);
        let connected = Instant::now();
        let sent = connection.send(&post(key, PATH, &body));
        let sent_after = connected.elapsed();
        let response = match sent.and_then(|()| connection.receive()) {
            Ok(response) => response,
            // A client that was kept from sending for long finds its connection closed, and opens another.
            Err(error) => {
                assert!(sent_after > AT_ONCE, "sent {sent_after:?} after it connected: {error}");
                continue;
            }
        };
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["response"], answer_to(&prompt));
        answers.fetch_add(1, Ordering::SeqCst);
    }
}

/// A connection to whoever is ready, as a balancer makes it; if there is but one, to that one.
fn connect(addresses: &[SocketAddr], turn: u64) -> Connection {
    if let [only] = addresses {
        return Connection::open(*only).expect("nobody is refused");
    }
    let ready = |address: &SocketAddr| {
        once(*address, "GET", "/readyz", &[], b"").is_ok_and(|response| response.status == 200)
    };
    let others = || addresses.iter().cycle().skip(turn as usize % addresses.len()).take(addresses.len());
    let connect = || others().filter(|address| ready(address)).find_map(|a| Connection::open(*a).ok());
    within(PATIENCE, connect).expect("somebody is ready")
}
