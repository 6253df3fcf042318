//! A kill, an error of the disk and a full disk at each write and each fsync of a command: what was said to be done is
//! there, what was not is there whole or not at all, and the next start finds nothing broken.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::trial::{Goals, Rounds, Trial};
use crate::util::deja::{DEJA, free_port, wait};
use crate::util::http::once;
use crate::util::tenant::{MODEL, PATH};
use crate::util::{FakeProvider, PATIENCE, Random, Response, within};

/// Not in each usual test run: not every machine lets a test trace a process.
pub const TRIAL: Trial =
    Trial { name: "points", counts: "points", goals: Goals { few: 0, short: 200, long: 2_000 }, play };

/// What may happen at a point.
const FAULTS: [&str; 3] = ["signal=KILL", "error=EIO", "error=ENOSPC"];
/// What changes a file; not every machine has all. The log's index is mapped into memory and made anew after a crash.
const CALLS: &str =
    "pwrite64,ftruncate,fsync,fdatasync,?rename,?renameat,?renameat2,?unlink,unlinkat,?link,linkat";
/// What a database is made of.
const FILES: [&str; 3] = ["deja.db", "deja.db-wal", "deja.db-journal"];

/// What is done under strace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    CreateKey,
    RevokeKey,
    Import,
    /// By a server that starts, answers a miss and is killed.
    Store,
    Migrate,
    Backup,
}

const WORKS: [Work; 6] =
    [Work::CreateKey, Work::RevokeKey, Work::Import, Work::Store, Work::Migrate, Work::Backup];

fn play(rounds: &mut Rounds<'_>) {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    assert!(
        traced.is_ok_and(|status| status.success()),
        "strace cannot be run here: install it, and allow ptrace"
    );
    let pattern = Pattern::make();
    while let Some(seed) = rounds.next() {
        // Works and faults alternate; the point is drawn among those that an undisturbed run of the work has.
        let work = WORKS[usize::try_from(seed % 6).unwrap()];
        let fault = FAULTS[usize::try_from(seed / 6 % 3).unwrap()];
        let mut random = Random::new(seed);
        let calls = pattern.calls(work);
        let (call, count) = &calls[random.below(calls.len())];
        let nth = 1 + random.below(*count);
        let copy = pattern.copy();
        let inject = format!("inject={call}:{fault}:when={nth}");
        let (done, said) = copy.run(work, Some(&inject));
        copy.check(work, done, &format!("{work:?} {inject}, done: {done}. {said}"));
        let outcome = if done { "said to be done" } else { "failed" };
        rounds.saw(&format!("{work:?}, {outcome}"), 1);
        rounds.done(1);
    }
}

/// A data directory that each point begins with, and which calls each work makes in it.
struct Pattern {
    data: Data,
    calls: Vec<(Work, Vec<(String, usize)>)>,
}

/// A data directory with a project, a key, and an entry, and beside it what is needed to work on it.
struct Data {
    folder: tempfile::TempDir,
    key: String,
}

/// What a line of an export looks like.
const ENTRY: &str = r#"{"deja":1,"type":"entry","project":"points","id":"00000000-0000-7000-8000-0000000000NN","model":"gpt-4o-mini","context":null,"prompt":"question NN","answer":{"text":"answer NN","provider":"openai","input_tokens":10,"output_tokens":20},"created":"2026-01-01T00:00:NN.000000000Z","expires":null}
"#;

impl Pattern {
    fn make() -> Self {
        let data = Data { folder: tempfile::tempdir().unwrap(), key: String::new() };
        std::fs::write(data.file("old.jsonl"), ENTRY.replace("NN", "01")).unwrap();
        std::fs::write(data.file("new.jsonl"), ENTRY.replace("NN", "02")).unwrap();
        data.ok(&["project", "create", "points"]);
        let key = data.ok(&["key", "create", "--project", "points", "--name", "old"]);
        data.ok(&["import", &data.file("old.jsonl")]);
        let data = Data { key: key.trim_end().lines().last().unwrap().to_owned(), ..data };
        let mut pattern = Self { data, calls: Vec::new() };
        for work in WORKS {
            let copy = pattern.copy();
            let (done, said) = copy.run(work, None);
            assert!(done, "{work:?}: {said}");
            pattern.calls.push((work, copy.traced()));
        }
        pattern
    }

    fn calls(&self, work: Work) -> &[(String, usize)] {
        &self.calls.iter().find(|(found, _)| *found == work).unwrap().1
    }

    fn copy(&self) -> Data {
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(self.data.folder.path()).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
        Data { folder, key: self.data.key.clone() }
    }
}

impl Data {
    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn command(&self, mut command: Command) -> Command {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("DEJA_DATA_DIR", self.folder.path()).env("DEJA_PRICES_URL", "").env("DEJA_LOG", "warn");
        command.env("DEJA_MASTER_KEY", "00".repeat(32)).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn deja(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(DEJA);
        command.args(arguments);
        self.command(command).output().unwrap()
    }

    /// The output of a command that must succeed.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.deja(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "deja {arguments:?}: {} {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Does the work under strace, which sees the calls on the files of the database alone. Says whether it
    /// was said to be done, and what else was said.
    fn run(&self, work: Work, inject: Option<&str>) -> (bool, String) {
        let (new, backup) = (self.file("new.jsonl"), self.file("backup.db"));
        if work == Work::Migrate {
            // The tables are made anew, from the first version on.
            for name in ["deja.db", "deja.db-wal", "deja.db-shm"] {
                let _not_there = std::fs::remove_file(self.file(name));
            }
        }
        let arguments: Vec<&str> = match work {
            Work::CreateKey => vec!["key", "create", "--project", "points", "--name", "new"],
            Work::RevokeKey => vec!["key", "revoke", &self.key],
            Work::Import => vec!["import", &new],
            Work::Store => vec!["serve"],
            Work::Migrate => vec!["db", "migrate"],
            Work::Backup => vec!["db", "backup", &backup],
        };
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", &self.file("trace"), "-e", &format!("trace={CALLS}")]);
        // The backup is written under a name that is not known before, and nothing else is written by it.
        for name in FILES.iter().filter(|_| work != Work::Backup) {
            strace.args(["-P", &self.file(name)]);
        }
        if let Some(inject) = inject {
            strace.args(["-e", inject]);
        }
        strace.arg(DEJA).args(arguments);
        let mut strace = self.command(strace);
        if work == Work::Store {
            return self.store(strace);
        }
        let output = strace.output().unwrap();
        (output.status.success(), format!("{} {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }

    /// Has a server under strace answer a miss, and kills it. Says whether it answered.
    fn store(&self, mut strace: Command) -> (bool, String) {
        let (provider, port) = (FakeProvider::start(), free_port());
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        strace.env("DEJA_LISTEN", address.to_string()).env("DEJA_EMBED_TIMEOUT_MS", "60000");
        strace.env("OPENAI_API_KEY", "none").env("OPENAI_BASE_URL", format!("{}/v1", provider.url()));
        let log = std::fs::File::create(self.file("log")).unwrap();
        let mut strace = strace.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let status = |path| once(address, "GET", path, &[], b"").map(|response| response.status).ok();
        let mut until = |longest: Duration, holds: &dyn Fn() -> bool| {
            within(longest, || (holds() || strace.try_wait().unwrap().is_some()).then_some(()))
        };
        until(PATIENCE, &|| status("/livez").is_some());
        // With a disk that failed once it may never be ready: it is asked all the same.
        until(Duration::from_secs(5), &|| status("/readyz") == Some(200));
        let authorization = format!("Bearer {}", self.key);
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
        let query = json!({"prompt": "Who is stored?", "model": MODEL, "include_debug": true}).to_string();
        let answer = once(address, "POST", PATH, &headers, query.as_bytes());
        // What was answered and could not be stored is told as such.
        let stored =
            |answer: &Response| answer.status == 200 && answer.json()["debug"]["not_stored"].is_null();
        let stored = answer.as_ref().is_ok_and(stored);
        let children = format!("/proc/{0}/task/{0}/children", strace.id());
        let deja = std::fs::read_to_string(children).unwrap_or_default();
        for pid in deja.split_whitespace() {
            let _gone = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
        }
        assert!(wait(&mut strace, PATIENCE).is_some(), "it does not end");
        (stored, format!("{answer:?} {}", std::fs::read_to_string(self.file("log")).unwrap()))
    }

    /// Which calls were traced, and how many of each one thread made at most: that is how strace counts them.
    fn traced(&self) -> Vec<(String, usize)> {
        let trace = std::fs::read_to_string(self.file("trace")).unwrap();
        let mut counts = std::collections::BTreeMap::<(String, String), usize>::new();
        for line in trace.lines() {
            let mut words = line.split_whitespace();
            let (Some(thread), Some(call)) =
                (words.next(), words.next().and_then(|word| word.split_once('(')))
            else {
                continue;
            };
            *counts.entry((call.0.to_owned(), thread.to_owned())).or_default() += 1;
        }
        let mut most = std::collections::BTreeMap::<String, usize>::new();
        for ((call, _), count) in counts {
            let of = most.entry(call).or_default();
            *of = count.max(*of);
        }
        assert!(!most.is_empty(), "nothing was written: {trace}");
        most.into_iter().collect()
    }

    /// Asserts that all is whole after the work, and that it did what it said.
    fn check(&self, work: Work, done: bool, told: &str) {
        sound(&self.folder.path().join("deja.db"), told);
        if work == Work::Migrate {
            // Half a migration is gone over again.
            self.ok(&["db", "migrate"]);
            self.ok(&["project", "create", "points"]);
            return;
        }
        let keys = self.json(&["key", "list", "--project", "points", "--json"]);
        let of = |name: &str| keys.as_array().unwrap().iter().find(|key| key["name"] == name).cloned();
        let old = of("old").unwrap_or_else(|| panic!("the old key is gone; {told}"));
        let revoked = old["status"] == "Revoked";
        let entries = self.json(&["cache", "stats", "--project", "points", "--json"])["entries"].clone();
        match work {
            Work::CreateKey => assert!(!done || of("new").is_some(), "the new key is lost; {told}"),
            Work::RevokeKey => assert!(!done || revoked, "the revocation is lost; {told}"),
            Work::Import | Work::Store => {
                assert!(entries == 2 || (!done && entries == 1), "{entries} entries; {told}");
            }
            Work::Backup => {
                let backup = self.folder.path().join("backup.db");
                if done {
                    sound(&backup, told);
                }
                // A backup that failed is made again, perhaps over the remains of the first.
                let _remains = std::fs::remove_file(&backup);
                self.ok(&["db", "backup", &self.file("backup.db")]);
            }
            Work::Migrate => {}
        }
        assert!(work == Work::RevokeKey || !revoked, "the old key is revoked; {told}");
        // And it can be written to.
        self.ok(&["key", "create", "--project", "points", "--name", "after"]);
    }
}

/// Asserts that a database is whole, as SQLite itself sees it.
pub fn sound(file: &Path, told: &str) {
    if !file.exists() {
        return;
    }
    let database = rusqlite::Connection::open(file).unwrap();
    let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok", "{told}");
}
