//! kill -9 under load: each answer, key and revocation that was acknowledged is there after a restart.

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

fn play(rounds: &mut Rounds<'_>) {
    loop {
        let mut worlds = Pair::new();
        for _ in 0..2 * KILLS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
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
            world.assert_sound();
            world.provider.forget();
            let after = counts(ledger);
            for (n, what) in
                ["answers acknowledged", "keys acknowledged", "revocations acknowledged"].iter().enumerate()
            {
                rounds.saw(what, after[n].saturating_sub(before[n]));
            }
            rounds.done(1);
        }
    }
}

/// Answers, keys and revocations.
fn counts(ledger: &Ledger) -> [u64; 3] {
    let keys = ledger.keys.lock().unwrap();
    let revoked = keys.values().filter(|revoked| **revoked).count();
    [ledger.answers.lock().unwrap().len(), keys.len(), revoked].map(|count| count as u64)
}
