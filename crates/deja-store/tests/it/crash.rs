//! kill -9 in the middle of writing, and a write-ahead log torn anywhere: what was acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use deja_core::cache::PromptHash;
use deja_core::store::Store;
use deja_core::testing::change;

use crate::support::{NOW, assert_whole, entry, near, project, project_id, scope, store_in, vector};

const DIRECTORY: &str = "DEJA_CRASH_TEST_DIRECTORY";
const FIRST: &str = "DEJA_CRASH_TEST_FIRST";

/// The child of the test below: stores entries and prints the number of each that is acknowledged, until it is
/// killed. By itself it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_is_killed() {
    let (Ok(directory), Ok(first)) = (std::env::var(DIRECTORY), std::env::var(FIRST)) else { return };
    let store = store_in(Path::new(&directory)).await;
    let _ = store.create_project(&project(1), &change()).await;
    let first: u32 = first.parse().unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..16u32 {
        let store: Arc<dyn Store> = Arc::clone(&store);
        tasks.spawn(async move {
            for number in 0.. {
                let number = first + number * 16 + task;
                store.insert(entry(number, &scope(), &number.to_string())).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "stored {number}").unwrap();
                out.flush().unwrap();
            }
        });
    }
    tasks.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_being_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<u32> = Vec::new();
    for round in 0..20u32 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_that_is_killed", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .env(FIRST, (round * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (stored, numbers) = mpsc::channel();
        let reading = std::thread::spawn(move || {
            let mut line = String::new();
            while out.read_line(&mut line).unwrap() > 0 {
                // The last line may be cut off: only whole ones count.
                let whole = line.strip_suffix('\n').and_then(|line| line.strip_prefix("stored "));
                if let Some(number) = whole.and_then(|number| number.parse::<u32>().ok()) {
                    stored.send(number).unwrap();
                }
                line.clear();
            }
        });
        acknowledged.push(numbers.recv().unwrap());
        std::thread::sleep(Duration::from_millis(u64::from(round * 37 % 50) * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        reading.join().unwrap();
        acknowledged.extend(numbers);
    }
    assert!(acknowledged.len() > 100, "{} acknowledged", acknowledged.len());
    let store = store_in(directory.path()).await;
    for number in &acknowledged {
        let hash = PromptHash::of(&number.to_string());
        assert!(store.exact(&scope(), &hash, NOW).await.unwrap().is_some(), "entry {number}");
    }
    // A vector came with each text; looked at one by one it takes long, so a sample.
    for number in acknowledged.iter().step_by(acknowledged.len() / 50 + 1) {
        let found = near(&*store, &scope(), &vector(*number), 0.99, NOW).await;
        assert!(!found.is_empty(), "vector of {number}");
    }
    assert!(store.count(project_id(1)).await.unwrap() >= acknowledged.len() as u64);
}

#[tokio::test]
async fn a_torn_log_loses_its_end_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    for number in 0..60 {
        store.insert(entry(number, &scope(), &number.to_string())).await.unwrap();
    }
    // The files as a power cut would leave them: the store is still open.
    let (database, log) = (directory.path().join("deja.db"), directory.path().join("deja.db-wal"));
    let (database, log) = (std::fs::read(database).unwrap(), std::fs::read(log).unwrap());
    assert!(log.len() > 100_000);
    for round in 0..16usize {
        let torn = tempfile::tempdir().unwrap();
        let path: PathBuf = torn.path().to_owned();
        std::fs::write(path.join("deja.db"), &database).unwrap();
        let cut = log.len() * (round + 1) / 17 + round * 131 % 4096;
        std::fs::write(path.join("deja.db-wal"), &log[..cut.min(log.len())]).unwrap();
        let store = store_in(&path).await;
        // Whole entries, from the first one up to where the log is torn.
        let count = store.count(project_id(1)).await.unwrap() as u32;
        for number in 0..count {
            assert_whole(&*store, &scope(), number, &number.to_string()).await;
        }
        assert!(round < 12 || count > 20, "{count} after {cut} bytes");
    }
}
