//! Damaged files: one clear line, never a panic, and nothing wrong served.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use deja_core::cache::Labelled;
use deja_core::project::{Project, ProjectSettings};
use deja_core::store::{EntryFilter, NewLabel};
use deja_core::testing::change;
use deja_store::{OpenError, StoreSettings, open, schema_version};

use crate::support::{
    NOW, assert_whole, embedder, entry, entry_id, project, project_id, scope, store_in, vector, wrong,
};

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

/// The number of a project's entries is kept beside them. A start makes room for so many, and who has too many loses some.
#[tokio::test]
async fn a_damaged_number_of_entries_evicts_none_and_is_corrected() {
    const IMPOSSIBLE: [i64; 3] = [i64::MAX, i64::MIN, -1];
    for (said, inserts_first) in
        IMPOSSIBLE.map(|said| (said, true)).into_iter().chain([(1_200, true), (1_200, false)])
    {
        let directory = tempfile::tempdir().unwrap();
        filled(directory.path()).await;
        let database = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
        let number = || {
            let sql = "SELECT entry_count FROM projects";
            database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
        };
        // As if many had been there: then a number may be that high.
        database.execute("UPDATE sqlite_sequence SET seq = 10000 WHERE name = 'entries'", []).unwrap();
        let store = store_in(directory.path()).await;
        let settings = ProjectSettings { max_entries: 201, ..project(1).settings };
        store.update_project(&Project { settings, ..project(1) }, &change()).await.unwrap();
        store.insert(entry(200, &scope(), "200")).await.unwrap();
        store.delete(project_id(1), entry_id(0), &change()).await.unwrap();
        store.close().await.unwrap();
        database.execute("UPDATE projects SET entry_count = ?1", [said]).unwrap();

        let store = store_in(directory.path()).await;
        if IMPOSSIBLE.contains(&said) {
            assert_eq!(store.count(project_id(1)).await.unwrap(), 200, "{said} at the start");
        }
        let insert = async || drop(store.insert(entry(201, &scope(), "201")).await.unwrap());
        let sweep = async || store.sweep(NOW, NonZeroUsize::new(1_000).unwrap()).await.unwrap();
        if inserts_first {
            insert().await;
            assert_eq!(sweep().await, 0, "{said}");
        } else {
            assert_eq!(sweep().await, 0, "{said}");
            insert().await;
        }
        let all = EntryFilter::default();
        assert_eq!(store.count_matching(project_id(1), &all).await.unwrap(), 201, "{said}");
        assert_eq!((store.count(project_id(1)).await.unwrap(), number()), (201, 201), "{said}");
        // One more is one too many.
        store.insert(entry(202, &scope(), "202")).await.unwrap();
        assert_eq!((sweep().await, number()), (0, 201), "{said}");
        assert_eq!(store.count(project_id(1)).await.unwrap(), 201, "{said}");
        store.close().await.unwrap();
    }
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
