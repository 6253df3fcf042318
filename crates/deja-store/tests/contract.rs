//! The store contract over every backend: `sqlite::entries::purge_hides_from_nearest`.
//!
//! `sqlite_reopened` closes and opens the database before each case reads what it wrote. `postgres_replicas`
//! reads through another replica instead, which runs beside the one that wrote.
#![expect(clippy::expect_used, clippy::panic, reason = "without the test harness this is no test to clippy")]

#[expect(dead_code, reason = "other test binaries use the rest")]
mod postgres;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use deja_core::embedding::EmbedderId;
use deja_core::store::Store;
use deja_core::testing::MemoryStore;
use deja_core::testing::contract::{BoxFuture, Case, EMBEDDER, Subject, cases, cases_of_shared};
use deja_store::{StoreSettings, open};
use libtest_mimic::{Arguments, Failed, Trial};
use postgres::{Database, open_store, settings};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for case in cases() {
        trials.push(trial("sqlite", &case, |run| Box::pin(on_sqlite(run, false))));
        trials.push(trial("sqlite_reopened", &case, |run| Box::pin(on_sqlite(run, true))));
    }
    for case in cases().into_iter().chain(cases_of_shared()) {
        trials.push(trial("memory", &case, |run| {
            Box::pin(async move { run(Subject::new(MemoryStore::new())).await })
        }));
        trials.push(trial("postgres", &case, |run| Box::pin(on_postgres(run, false))));
        trials.push(trial("postgres_replicas", &case, |run| Box::pin(on_postgres(run, true))));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

type Run = fn(Subject) -> BoxFuture<'static, ()>;

fn trial(backend: &str, case: &Case, start: fn(Run) -> BoxFuture<'static, ()>) -> Trial {
    let run = case.run;
    Trial::test(format!("{backend}::{}", case.name), move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(start(run));
        Ok::<(), Failed>(())
    })
}

async fn on_sqlite(run: Run, reopening: bool) {
    let directory = tempfile::tempdir().expect("a directory");
    let path: PathBuf = directory.path().join("data");
    let store = fresh(path.clone(), EmbedderId::new(EMBEDDER)).await;
    let reopen = move |store: Arc<dyn Store>, embedder| -> BoxFuture<'static, Arc<dyn Store>> {
        let path = path.clone();
        Box::pin(async move {
            store.close().await.expect("it closes");
            fresh(path, embedder).await
        })
    };
    run(Subject::reopening(store, Arc::new(reopen), reopening)).await;
}

async fn on_postgres(run: Run, replicas: bool) {
    let database = Database::create().await;
    let store = database.store().await;
    let subject = if replicas {
        let url = database.url.clone();
        let reopen = move |_first: Arc<dyn Store>, _| -> BoxFuture<'static, Arc<dyn Store>> {
            Box::pin(open_store(settings(&url)))
        };
        Subject::reopening(store, Arc::new(reopen), true)
    } else {
        Subject::new(store)
    };
    run(subject).await;
}

async fn fresh(path: PathBuf, embedder: EmbedderId) -> Arc<dyn Store> {
    let settings = StoreSettings { embedder: Some(embedder), ..StoreSettings::new(path) };
    open(&settings).await.unwrap_or_else(|error| panic!("{error}"))
}
