//! A disk that is really full: hits go on, misses are answered, an operator can revoke a key and purge, nothing is lost or
//! broken, and storing goes on by itself once there is room.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::points::sound;
use crate::trial::{Goals, Rounds, Trial};
use crate::util::tenant::{MODEL, key_of};
use crate::util::{Random, Reaction, Tenant, eventually};
use crate::worlds::{Backend, World};

/// Not in each usual test run: not every machine lets a test mount something.
pub const TRIAL: Trial =
    Trial { name: "full", counts: "disks", goals: Goals { few: 0, short: 6, long: 200 }, play };

const DISK_MB: u64 = 80;

fn play(rounds: &mut Rounds<'_>) {
    while let Some(seed) = rounds.next() {
        let disk = Disk::mount();
        let mut world = World::start_with(Backend::Sqlite, |builder| {
            builder.inside(disk.holder.id(), disk.directory.path().to_owned())
        });
        let (slug, key) = world.project("full");
        let mut disk = FullDisk { disk, slug, key, answers: BTreeMap::new(), random: Random::new(seed) };
        // The last bytes are taken by deja itself, or by somebody else.
        let by_itself = seed % 2 == 1;
        disk.fill(&world, by_itself);
        rounds.saw(if by_itself { "filled by answers" } else { "filled by somebody else" }, 1);
        disk.is_lived_with(&mut world, rounds);
        if seed / 2 % 2 == 1 {
            disk.is_purged(&world);
            rounds.saw("made room by a purge", 1);
        } else {
            disk.has_room_again(&world);
            rounds.saw("made room on the disk", 1);
        }
        disk.was_kept_whole(&mut world);
        rounds.done(1);
    }
}

/// A file system of some megabytes, in a mount namespace that lasts as long as its holder.
struct Disk {
    holder: Child,
    directory: tempfile::TempDir,
}

impl Disk {
    fn mount() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mount = r#"mount -t tmpfs -o "mode=0700,size=$1" tmpfs "$0" && echo mounted && exec cat"#;
        let holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
            .arg(directory.path())
            .arg(format!("{DISK_MB}m"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let needed = "no file system can be mounted here: unshare and nsenter (util-linux) are needed, and the right to \
                      make a user namespace (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)";
        let mut holder = holder.expect(needed);
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "mounted\n", "{needed}");
        Self { holder, directory }
    }

    /// A file as it is seen from outside.
    fn file(&self, name: &str) -> PathBuf {
        let inside = self.directory.path().strip_prefix("/").unwrap();
        Path::new("/proc").join(self.holder.id().to_string()).join("root").join(inside).join(name)
    }

    /// Somebody else takes all but so many bytes.
    fn take_all_but(&self, bytes: u64) {
        let mut file = File::create(self.file("somebody-else")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        file.set_len(file.metadata().unwrap().len().saturating_sub(bytes)).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _already_gone = self.holder.kill();
        let _ = self.holder.wait();
    }
}

struct FullDisk {
    disk: Disk,
    slug: String,
    key: String,
    /// What was said to be stored, by prompt.
    answers: BTreeMap<String, String>,
    random: Random,
}

impl FullDisk {
    /// Asks what was not asked before; says whether it was stored.
    fn miss(&mut self, world: &World) -> bool {
        let prompt = format!("{:x}{:x}", self.random.bits(), self.random.bits());
        // Of random digits, which take up room however they are stored.
        let bytes: Vec<u8> =
            (0..self.random.below(10_000)).flat_map(|_| self.random.bits().to_be_bytes()).collect();
        let answer = format!("{prompt} {}", hex::encode(bytes));
        world.provider.on(&prompt, Reaction::Text(answer.clone()));
        let said = self.ask(world, &prompt);
        assert_eq!(said["cache_hit"], false, "{said}");
        assert!(said["response"] == *answer, "{prompt}: another answer");
        let stored = said["debug"]["not_stored"].is_null();
        if stored {
            self.answers.insert(prompt, answer);
        }
        stored
    }

    fn tenant<'a>(&self, world: &'a World, key: &str) -> Tenant<'a> {
        Tenant { deja: &world.deja, slug: self.slug.clone(), key: key.to_owned() }
    }

    fn ask(&self, world: &World, prompt: &str) -> Value {
        let query =
            json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1, "include_debug": true});
        self.tenant(world, &self.key).ask(&query)
    }

    fn hits(&self, world: &World) {
        for (prompt, answer) in &self.answers {
            let said = self.ask(world, prompt);
            assert!(
                said["cache_hit"] == true && said["response"] == **answer,
                "{prompt}: {}",
                world.deja.log()
            );
        }
    }

    fn status(&self, world: &World, key: &str) -> u16 {
        self.tenant(world, key).send(&json!({"prompt": "any question", "model": MODEL})).status
    }

    /// Stores until that is not done any more.
    fn fill(&mut self, world: &World, by_itself: bool) {
        for _ in 0..60 {
            assert!(self.miss(world), "{}", world.deja.log());
        }
        self.disk.take_all_but(if by_itself { 3 << 20 } else { 0 });
        let mut asked = 0;
        while self.miss(world) {
            asked += 1;
            assert!(asked < 5_000, "it is stored, and the disk is full");
        }
    }

    /// All that must go on, over restarts.
    fn is_lived_with(&mut self, world: &mut World, rounds: &mut Rounds<'_>) {
        let mut leaked = key_of(&world.deja, &self.slug, &[]);
        for restart in ["none", "KILL", "TERM"] {
            if restart != "none" {
                world.deja.signal(restart);
                let ended = world.deja.wait();
                assert!(restart == "KILL" || ended.success(), "{ended}: {}", world.deja.log());
                world.deja.restart_unready();
            }
            assert_eq!(world.deja.get("/livez").status, 200);
            eventually("it says that it is not ready", || world.deja.get("/readyz").status == 503);
            self.hits(world);
            for _ in 0..3 {
                assert!(!self.miss(world), "there is no room");
            }
            assert_eq!(self.status(world, &leaked), 200);
            world.deja.cli(&["key", "revoke", &leaked]);
            assert_eq!(self.status(world, &leaked), 401);
            leaked = key_of(&world.deja, &self.slug, &[]);
            rounds.saw("keys revoked on a full disk", 1);
        }
        rounds.saw("stored before", self.answers.len() as u64);
    }

    /// Entries make way; what is stored next takes their place, on a disk that is as full as before.
    fn is_purged(&mut self, world: &World) {
        world.deja.cli(&["cache", "purge", "--project", &self.slug, "--yes"]);
        // Not all of them: their answers are stored again, and would fill it again.
        for prompt in std::mem::take(&mut self.answers).into_keys().take(3) {
            assert_eq!(self.ask(world, &prompt)["cache_hit"], false, "it was purged");
        }
        self.stores_again(world);
    }

    fn has_room_again(&mut self, world: &World) {
        std::fs::remove_file(self.disk.file("somebody-else")).unwrap();
        self.stores_again(world);
    }

    fn stores_again(&mut self, world: &World) {
        eventually("it stores again", || self.miss(world));
        assert!(self.miss(world) && self.miss(world));
        eventually("it is ready again", || world.deja.get("/readyz").status == 200);
        self.hits(world);
    }

    fn was_kept_whole(&self, world: &mut World) {
        world.assert_sound();
        world.deja.signal("KILL");
        world.deja.wait();
        // SQLite follows links by itself, and so not into another namespace.
        let copy = tempfile::tempdir().unwrap();
        for name in ["deja.db", "deja.db-wal"] {
            std::fs::copy(self.disk.file(name), copy.path().join(name)).unwrap();
        }
        sound(&copy.path().join("deja.db"), &world.deja.log());
        world.deja.restart();
        self.hits(world);
    }
}
