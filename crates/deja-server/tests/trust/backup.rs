//! Backups of a server that is written to: what was acknowledged before each began is in it, and a server runs on it.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::AtomicBool;

use crate::durability::{Ledger, check, keep_writing};
use crate::postgres::program;
use crate::trial::{Goals, Rounds, Trial};
use crate::util::deja::new_database;
use crate::util::{Tenant, eventually};
use crate::worlds::{Pair, Stop, World};

pub const TRIAL: Trial =
    Trial { name: "backup", counts: "backups", goals: Goals { few: 2, short: 30, long: 100 }, play };

/// Backups of one server before the next begins with an empty store.
const BACKUPS_OF_ONE: usize = 20;

fn play(rounds: &mut Rounds<'_>) {
    loop {
        let mut worlds = Pair::new();
        for _ in 0..BACKUPS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
            let (world, (slug, key)) = &*worlds.turn(seed, |backend| {
                let world = World::start(backend);
                let project = world.project("ledger");
                (world, project)
            });
            let (before, backup) = back_up(world, slug, key, seed);
            restore(&backup, world, slug, key, &before, seed);
            rounds.saw("answers found again", before.answers.lock().unwrap().len() as u64);
            rounds.saw("keys found again", before.keys.lock().unwrap().len() as u64);
            world.assert_sound();
            world.provider.forget();
            rounds.done(1);
        }
    }
}

/// Takes a backup while the server is written to; returns what was acknowledged before it began, and where it lies.
fn back_up(world: &World, slug: &str, key: &str, round: u64) -> (Ledger, tempfile::TempPath) {
    let ledger = Ledger::default();
    let stop = AtomicBool::new(false);
    let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    // It must not be there yet.
    fs::remove_file(&file).unwrap();
    let before = std::thread::scope(|scope| {
        let writing = scope.spawn(|| keep_writing(&world.deja, slug, key, &ledger, round, &stop));
        let _stop = Stop(&stop);
        eventually("something is acknowledged", || {
            let some = ledger.answers.lock().unwrap().len() > 10 && ledger.keys.lock().unwrap().len() > 1;
            some || writing.is_finished()
        });
        let answers = ledger.answers.lock().unwrap().clone();
        // A key that is revoked later is revoked or not in the backup: only those that are for good can be looked at.
        let keys: HashMap<_, _> = ledger
            .keys
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, revoked)| **revoked)
            .map(|(key, revoked)| (key.clone(), *revoked))
            .collect();
        match &world.database {
            None => drop(world.deja.cli(&["db", "backup", file.to_str().unwrap()])),
            Some(url) => {
                let dumped =
                    program("pg_dump").arg("--format=custom").arg("--file").arg(&*file).arg(url).status();
                assert!(dumped.unwrap().success());
            }
        }
        Ledger { answers: answers.into(), keys: keys.into(), ..Ledger::default() }
    });
    (before, file)
}

/// Starts a server on a backup and asserts that all is there.
fn restore(backup: &tempfile::TempPath, source: &World, slug: &str, key: &str, before: &Ledger, round: u64) {
    let target = if source.database.is_some() {
        let url = new_database();
        let restored = program("pg_restore")
            .args(["--clean", "--if-exists", "--exit-on-error", "--dbname", &url])
            .arg(&**backup)
            .status();
        assert!(restored.unwrap().success());
        World::start_on(Some(url), |builder| builder)
    } else {
        World::start_on_file(backup)
    };
    let tenant = Tenant { deja: &target.deja, slug: slug.to_owned(), key: key.to_owned() };
    check(&tenant, before, round);
    // All that is found was stored: nobody was asked for it again.
    assert!(
        target.provider.calls("").is_empty(),
        "{} answers were not there",
        target.provider.calls("").len()
    );
}
