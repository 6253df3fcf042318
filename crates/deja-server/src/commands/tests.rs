//! Commands, over the reference store and through the socket.

use std::sync::Arc;
use std::time::Duration;

use deja_core::admin::Admin;
use deja_core::admin::projects::NewProject;
use deja_core::audit::Actor;
use deja_core::id::SystemEntropy;
use deja_core::project::Tier;
use deja_core::testing::MemoryStore;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::feeds::prices::PriceFeed;
use crate::secrets::vault::{MasterKey, Vault};
use crate::wiring;

fn admin() -> Admin {
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32))).unwrap();
    let vault = Vault::new(&key, Arc::new(SystemEntropy));
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    wiring::admin(MemoryStore::new(), vault, prices, "https://deja.example")
}

#[tokio::test]
async fn what_is_not_there_is_said_in_one_line() {
    let admin = admin();
    let by = admin.acting(Actor::Cli);
    let nobody = || String::from("no\nbody");
    for command in [
        Command::ProjectSuspend { project: nobody() },
        Command::ProjectDelete { project: nobody() },
        Command::KeyList { project: nobody() },
        Command::ProviderList { project: nobody() },
        Command::CacheStats { project: nobody() },
        Command::CachePurge { project: nobody(), model: None, context: ContextFilter::Any },
    ] {
        let error = execute(&by, command).await.unwrap_err();
        assert_eq!(error, AdminError::NotFound("there is no project 'no\\nbody'".into()));
    }
}

#[tokio::test]
async fn the_end_of_a_line_is_no_part_of_a_password() {
    let admin = admin();
    let by = admin.acting(Actor::Cli);
    let typed = Some(Hidden::from("correct horse battery\n".to_owned()));
    let create = Command::OperatorCreate { email: "ada@x".into(), role: None, password: typed };
    execute(&by, create).await.unwrap();
    let ada = operators::list(&by).await.unwrap().remove(0);
    assert!(admin.passwords.verify("correct horse battery".into(), Some(ada.password)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_does_what_the_function_does() {
    use std::os::unix::fs::PermissionsExt;

    let admin = Arc::new(admin());
    let root = tempfile::tempdir().unwrap();
    // Longer than a socket address can be.
    let directory = root.path().join("d".repeat(120));
    std::fs::create_dir(&directory).unwrap();
    let path = socket::path_in(&directory);
    let (to, list) = (path.clone(), Command::ProjectList);
    let call = async move |command: Command| {
        let to = to.clone();
        tokio::task::spawn_blocking(move || socket::call(&to, None, &command)).await.unwrap()
    };
    assert!(call(list.clone()).await.unwrap().is_none(), "nobody listens");
    for _ in 0..2 {
        let stop = CancellationToken::new();
        let served = tokio_util::task::TaskTracker::new();
        let bound = socket::OwnDirectory::take(&directory).unwrap().listen().unwrap();
        assert!(matches!(socket::OwnDirectory::take(&directory), Err(deja_store::OpenError::Locked { .. })));
        let task = served.spawn(bound.serve(admin.clone(), None, stop.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let new = NewProject { name: "Über".into(), tier: Tier::Pro, per_minute: None, burst: None };
        let made = call(Command::ProjectCreate(new)).await.unwrap().unwrap().unwrap();
        assert!(matches!(made, Reply::Project(view) if view.slug.starts_with("uber") && view.tier == "pro"));
        let error = call(Command::KeyList { project: "x".into() }).await.unwrap().unwrap().unwrap_err();
        assert!(matches!(error, AdminError::NotFound(_)));
        let huge = Command::ProjectSuspend { project: "x".repeat(65 << 20) };
        let refused = call(huge).await;
        assert!(refused.is_err() || matches!(refused, Ok(Some(Err(AdminError::Invalid(_))))));
        stop.cancel();
        tokio::time::timeout(Duration::from_mins(1), task).await.unwrap().unwrap();
        assert!(!path.exists());
        // What a killed server leaves behind.
        drop(std::os::unix::net::UnixListener::bind(root.path().join("left")).unwrap());
        std::fs::rename(root.path().join("left"), &path).unwrap();
        assert!(call(list.clone()).await.unwrap().is_none(), "a leftover is nobody");
    }
}
