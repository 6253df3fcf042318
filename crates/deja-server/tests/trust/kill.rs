//! kill -9 under load: each answer, key and revocation that was acknowledged is there after a restart.

use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::durability::{Ledger, check, kill_under_load};
use crate::trial::{Goals, Rounds, Trial};
use crate::util::{Random, Tenant};
use crate::worlds::{Pair, World};

pub const TRIAL: Trial =
    Trial { name: "kill", counts: "kills", goals: Goals { few: 2, short: 40, long: 10_000 }, play };

/// A server is killed so often before the next one begins with an empty store. What it acknowledged is looked at
/// after each kill, so it may not grow for ever.
const KILLS_OF_ONE: usize = 20;
/// Megabytes that a server, its reserve and what it wants to be free before it stores need on a disk.
const ROOM: u64 = 100;

fn play(rounds: &mut Rounds<'_>) {
    loop {
        let mut worlds = Pair::new();
        for _ in 0..2 * KILLS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
            let played = panic::catch_unwind(AssertUnwindSafe(|| play_one(rounds, &mut worlds, seed)));
            let Err(failed) = played else { continue };
            if free_megabytes() >= ROOM {
                panic::resume_unwind(failed);
            }
            // What fails for want of room says nothing of deja: the trial `full` looks at that.
            rounds.saw("rounds that a full disk ended, and the trial with them", 1);
            return;
        }
    }
}

fn play_one(rounds: &mut Rounds<'_>, worlds: &mut Pair<(World, (String, String), Ledger)>, seed: u64) {
    let (world, (slug, key), ledger) = worlds.turn(seed, |backend| {
        let world = World::start(backend);
        let project = world.project("ledger");
        (world, project, Ledger::default())
    });
    let pause = Duration::from_millis(Random::new(seed).below(400) as u64);
    let before = counts(ledger);
    kill_under_load(&mut world.deja, slug, key, ledger, seed, pause);
    let tenant = Tenant { deja: &world.deja, slug: slug.clone(), key: key.clone() };
    check(&tenant, ledger, seed);
    match ledger.not_stored.swap(0, Ordering::SeqCst) {
        0 => world.assert_sound(),
        given => {
            let log = world.deja.log();
            assert!(log.contains("the disk of the data directory is full"), "not stored: {log}");
            rounds.saw("answers given and not stored, since the disk was full", given);
        }
    }
    world.provider.forget();
    let after = counts(ledger);
    for (n, what) in
        ["answers acknowledged", "keys acknowledged", "revocations acknowledged"].iter().enumerate()
    {
        rounds.saw(what, after[n].saturating_sub(before[n]));
    }
    rounds.done(1);
}

/// What is free where the servers keep their data.
fn free_megabytes() -> u64 {
    let mut df = Command::new("df");
    let output = df.args(["--output=avail", "--block-size=1M"]).arg(std::env::temp_dir()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.split_whitespace().last().unwrap().parse().unwrap()
}

/// Answers, keys and revocations.
fn counts(ledger: &Ledger) -> [u64; 3] {
    let keys = ledger.keys.lock().unwrap();
    let revoked = keys.values().filter(|revoked| **revoked).count();
    [ledger.answers.lock().unwrap().len(), keys.len(), revoked].map(|count| count as u64)
}
