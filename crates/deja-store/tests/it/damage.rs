//! Damaged files: one clear line, never a panic, and nothing wrong served.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use deja_core::cache::Labelled;
use deja_core::store::NewLabel;
use deja_core::testing::change;
use deja_store::{OpenError, StoreSettings, open, schema_version};

use crate::support::{assert_whole, embedder, entry, project, project_id, scope, store_in, vector, wrong};

/// The error of opening `directory`, as text.
async fn refusal(directory: &Path) -> (OpenError, String) {
    match open(&StoreSettings::new(directory)).await {
        Ok(_) => panic!("it must not open"),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "one line: {text}");
            (error, text)
        }
    }
}

async fn filled(directory: &Path) {
    let scope = scope();
    let store = store_in(directory).await;
    store.create_project(&project(1), &change()).await.unwrap();
    for number in 0..200 {
        store.insert(entry(number, &scope, &number.to_string())).await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn garbage_is_no_database() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("deja.db"), b"this is not a database, whatever its name says").unwrap();
    let (error, text) = refusal(directory.path()).await;
    assert!(matches!(error, OpenError::Corrupt { .. }), "{text}");
    assert!(text.contains("restore it from a backup"), "{text}");
}

#[tokio::test]
async fn a_database_of_something_else_is_refused_and_an_empty_one_is_none_yet() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deja.db");
    fs::write(&path, b"").unwrap();
    let settings = StoreSettings::new(directory.path());
    assert_eq!(schema_version(&settings).await.unwrap().found, 0);
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE dashboards (id INTEGER)").unwrap();
    for tables in 1..=2u32 {
        let (error, text) = refusal(directory.path()).await;
        assert!(matches!(error, OpenError::Foreign { .. }), "{text}");
        assert!(text.contains("not one of deja") && text.contains("another data directory"), "{text}");
        assert!(matches!(schema_version(&settings).await, Err(OpenError::Foreign { .. })));
        let found = |query: &str| foreign.query_row(query, [], |row| row.get::<_, rusqlite::types::Value>(0));
        assert_eq!(found("SELECT count(*) FROM sqlite_schema").unwrap(), i64::from(tables).into());
        assert_eq!(found("PRAGMA journal_mode").unwrap(), "delete".to_owned().into());
        assert!(!directory.path().join("deja.reserve").exists());
        // Other programs number their changes too.
        if tables == 1 {
            foreign.execute_batch("CREATE TABLE migrations (id INTEGER, batch INTEGER)").unwrap();
        }
    }
}

#[tokio::test]
async fn damage_anywhere_is_an_error_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let path = directory.path().join("deja.db");
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for round in 0..24usize {
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        if round % 4 == 3 {
            file.set_len((whole.len() * (round + 1) / 30) as u64).unwrap();
        } else {
            // A page overwritten, in another place each time.
            file.seek(SeekFrom::Start((whole.len() / 4096 * round / 24 * 4096) as u64)).unwrap();
            file.write_all(&[0xA5; 4096]).unwrap();
        }
        drop(file);
        let settings = StoreSettings { embedder: Some(embedder()), ..StoreSettings::new(directory.path()) };
        match open(&settings).await {
            Err(error) => {
                refused += 1;
                assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
            }
            // The damage lies in a page that opening does not read: reads say so, or find the entry.
            Ok(store) => {
                let scope = scope();
                for number in 0..200u32 {
                    let hash = deja_core::cache::PromptHash::of(&number.to_string());
                    if let Ok(Some(entry)) = store.exact(&scope, &hash, crate::support::NOW).await {
                        assert_eq!(entry.prompt, number.to_string());
                    }
                }
                store.close().await.unwrap();
            }
        }
        for side in ["deja.db-wal", "deja.db-shm"] {
            let _ = fs::remove_file(directory.path().join(side));
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(refused > 5, "{refused} of 24 refused");
    assert_whole(&*store_in(directory.path()).await, &scope(), 7, "7").await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let database = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
    database.execute("INSERT INTO migrations (version) VALUES (999)", []).unwrap();
    drop(database);
    let (error, text) = refusal(directory.path()).await;
    assert!(matches!(error, OpenError::NewerSchema { found: 999, .. }), "{text}");
    assert!(text.contains("run a newer deja"), "{text}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let (error, text) = refusal(&path).await;
        assert!(matches!(error, OpenError::DataDir { .. }), "{text}");
        assert!(text.contains(&file.display().to_string()), "{text}");
    }
}

#[tokio::test]
async fn a_backup_that_fails_leaves_no_file() {
    let (directory, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(directory.path().join("deja.db"), b"this is not a database, whatever its name says").unwrap();
    let file = target.path().join("backup.db");
    assert!(deja_store::backup(directory.path(), &file).await.is_err());
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}

/// All who write wait for it, so it must not take longer the more pairs there are.
#[tokio::test]
async fn a_label_reads_its_own_pair_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let store = store_in(directory.path()).await;
    let by = (embedder(), vector(1));
    let says = async |asked: &str, answers| {
        let label = NewLabel { vector: Some((&by.0, &by.1)), answers, ..wrong(7, asked) };
        store.label(project_id(1), label, &change()).await.unwrap()
    };
    assert_eq!(says("a", false).await, Some(Labelled::Forbidden));
    let database = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
    database.execute("UPDATE wrong_answers SET vector = x'00'", []).unwrap();
    assert_eq!(says("b", false).await, Some(Labelled::Forbidden));
    assert_eq!(says("b", true).await, Some(Labelled::Allowed));
    let number = store.wrong_answers(project_id(1), None, NonZeroUsize::MIN).await.unwrap()[0].number;
    assert!(store.allow(project_id(1), number, &change()).await.unwrap());
}
