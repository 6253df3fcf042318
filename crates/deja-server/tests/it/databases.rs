//! From one kind of store to the other, and a PostgreSQL out of its own dump.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::postgres::program;
use crate::util::deja::{DEJA, new_database};
use crate::util::provider::answer_to;
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Tenant};
use crate::wire;

const PROMPT: &str = "How do I reset my password?";
const REWORDED: &str = "How can I reset my password?";

/// A tenant with a provider of its own, two entries and those of each wire format, and a revoked key. Returns that key too.
fn furnished<'a>(deja: &'a Deja, provider: &FakeProvider) -> (Tenant<'a>, String) {
    let tenant = Tenant::create(deja, "moved", &["--tier", "pro"]);
    let house = format!("{}/v1", provider.url());
    let add = tenant.provider_add("house", &house, "house-1", &["--allow-private", "--key-env", "HOUSE_KEY"]);
    let added = deja.command(&add).env("HOUSE_KEY", "hush-house").output().unwrap();
    assert!(added.status.success());
    tenant.ask_for(PROMPT);
    tenant.ask(&json!({"prompt": PROMPT, "model": MODEL, "context": "legal \u{1F98A}"}));
    wire::fill(&tenant);
    let revoked = tenant.new_key(&[]);
    tenant.revoke(&revoked);
    (tenant, revoked)
}

/// All that was there is there: answers, keys, what was revoked, and the sealed secret.
fn everything_is_there(tenant: &Tenant<'_>, revoked: &str, provider: &FakeProvider) {
    for prompt in [PROMPT, REWORDED] {
        let hit = tenant.ask_for(prompt);
        assert_eq!((&hit["cache_hit"], &hit["response"]), (&json!(true), &json!(answer_to(PROMPT))));
    }
    wire::serves_what_was_filled(tenant, provider);
    let body = json!({"prompt": PROMPT, "model": MODEL}).to_string();
    assert_eq!(tenant.post_as(revoked, "/v1/cache/query", body.as_bytes()).status, 401);
    let before = provider.calls("house-1").len();
    tenant.ask(&json!({"prompt": format!("Who lives here? {before}"), "model": "house-1"}));
    let calls = provider.calls("house-1");
    assert_eq!(calls.len(), before + 1);
    assert_eq!(calls[before].header("authorization"), Some("Bearer hush-house"));
}

/// What an export of a store that no server runs on holds.
fn exported(deja: &Deja, url: &str) -> String {
    let export = ["export", "--with-projects", "--with-keys"];
    let output = deja.command(&export).env("DEJA_DATABASE_URL", url).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_cache_is_copied_to_postgresql_and_back() {
    let provider = FakeProvider::start();
    let mut embedded = Deja::on("", &provider);
    let (tenant, revoked) = furnished(&embedded, &provider);
    let (slug, key) = (tenant.slug.clone(), tenant.key.clone());
    embedded.stop();
    let url = new_database();
    let copy = |from: &str, to: &str| -> Value {
        let output = embedded.try_cli(&["db", "copy", "--from", from, "--to", to, "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["imported"].clone()
    };
    let counts =
        json!({"projects": 1, "providers": 1, "keys": 2, "entries": 2 + wire::FILLING, "samples": 0});
    let there = embedded.data().to_str().unwrap();
    assert_eq!(copy(there, &url), counts);
    let original = exported(&embedded, "");
    assert_eq!(original.lines().count(), 6 + wire::FILLING);
    assert_eq!(exported(&embedded, &url), original);

    let back = embedded.data().join("back");
    assert_eq!(copy(&url, back.to_str().unwrap()), counts);
    let output = embedded.command(&["export", "--with-projects", "--with-keys"]);
    let output = { output }.env("DEJA_DATA_DIR", &back).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), original, "there and back again");

    let mut replica = Deja::on(&url, &provider);
    everything_is_there(
        &Tenant { deja: &replica, slug: slug.clone(), key: key.clone() },
        &revoked,
        &provider,
    );
    replica.stop();
    embedded.set("DEJA_DATA_DIR", back.to_str().unwrap());
    embedded.restart();
    everything_is_there(&Tenant { deja: &embedded, slug, key }, &revoked, &provider);
}

#[test]
fn a_dump_of_a_running_postgresql_can_be_restored() {
    let provider = FakeProvider::start();
    let (url, restored) = (new_database(), new_database());
    let source = Deja::on(&url, &provider);
    let (tenant, revoked) = furnished(&source, &provider);
    let file = source.data().join("deja.dump");
    let dumped = program("pg_dump").arg("--format=custom").arg("--file").arg(&file).arg(&url).status();
    assert!(dumped.unwrap().success());
    tenant.ask_for("What came after the backup?");

    // The databases of the tests have the extension already, as one that was made for deja would.
    let output = program("pg_restore")
        .args(["--clean", "--if-exists", "--exit-on-error", "--jobs=2"])
        .arg(format!("--dbname={restored}"))
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(&file).unwrap();
    let target = Deja::on(&restored, &provider);
    let tenant = Tenant { deja: &target, slug: tenant.slug.clone(), key: tenant.key.clone() };
    everything_is_there(&tenant, &revoked, &provider);
    let after = tenant.ask_for("What came after the backup?");
    assert_eq!(after["cache_hit"], false, "it came after the backup");
}

/// The data directory of a replica need not be kept, so whoever lets deja make a key in it is told.
#[test]
fn a_master_key_that_is_made_beside_postgresql_is_to_be_kept() {
    let url = new_database();
    let root = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], data: &str| {
        let mut command = Command::new(DEJA);
        command.args(arguments).env_clear().env("DEJA_PRICES_URL", "").env("DEJA_DATABASE_URL", &url);
        let output = command.env("DEJA_DATA_DIR", root.path().join(data)).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = run(&["project", "list"], "one");
    assert!(code == 1 && error.contains("there is no deja in "), "{error}");
    assert!(!root.path().join("one").exists(), "nothing is made");
    let (code, told) = run(&["project", "create", "a"], "one");
    assert!(code == 0 && told.contains("master.key") && told.contains("DEJA_MASTER_KEY"), "{told}");
    let mode = fs::metadata(root.path().join("one")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(run(&["project", "list"], "one"), (0, String::new()));
    assert!(run(&["project", "list"], "two").1.contains("set DEJA_MASTER_KEY"));
}
