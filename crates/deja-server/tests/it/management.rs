//! What an operator changes while the server runs holds for the very next request.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::util::tenant::{MODEL, PATH};
use crate::util::{FakeProvider, Tenant, World, eventually};

#[test]
fn a_purged_cache_is_empty_at_once() {
    let tenant = World::shared().tenant("purge");
    let ask = |prompt: &str, model: &str, context: Option<&str>| {
        let query = json!({"prompt": prompt, "model": model, "context": context, "include_debug": true});
        tenant.ask(&query)["cache_hit"].clone()
    };
    for (model, context) in [(MODEL, None), (MODEL, Some("shop")), ("gpt-4o", None)] {
        ask("How do I reset my password?", model, context);
    }
    // Only those of a model; then all. A paraphrase must not find them either.
    tenant.deja.cli(&["cache", "purge", "--project", &tenant.slug, "--model", "gpt-4o", "--yes"]);
    assert_eq!(ask("How can I reset my password?", "gpt-4o", None), false);
    assert_eq!(ask("How can I reset my password?", MODEL, None), true);
    tenant.deja.cli(&["cache", "purge", "--project", &tenant.slug, "--context", "shop", "--yes"]);
    assert_eq!(ask("How can I reset my password?", MODEL, Some("shop")), false);
    assert_eq!(ask("How do I reset my password?", MODEL, None), true);
    tenant.deja.cli(&["cache", "purge", "--project", &tenant.slug, "--yes"]);
    let answer = tenant.ask_for("How do I reset my password?");
    assert_eq!((&answer["cache_hit"], &answer["debug"]["cache_entry_count"]), (&json!(false), &json!(1)));
}

#[test]
fn a_purge_of_one_project_leaves_the_others_alone() {
    let world = World::shared();
    let (one, two) = (world.tenant("purge-one"), world.tenant("purge-two"));
    for tenant in [&one, &two] {
        tenant.ask_for("Who wrote Faust?");
    }
    one.deja.cli(&["cache", "purge", "--project", &one.slug, "--yes"]);
    assert_eq!(one.ask_for("Who wrote Faust?")["cache_hit"], false);
    assert_eq!(two.ask_for("Who wrote Faust?")["cache_hit"], true);
}

#[test]
fn answers_are_served_no_longer_than_the_project_says() {
    let tenant = World::shared().tenant("ttl");
    tenant.deja.cli(&["project", "set", &tenant.slug, "--ttl", "1s"]);
    tenant.ask_for("Who wrote Faust?");
    eventually("its time is over", || tenant.ask_for("Who wrote Faust?")["cache_hit"] == false);
}

#[test]
fn a_project_keeps_no_more_entries_than_it_says() {
    let tenant = World::shared().tenant("max-entries");
    tenant.deja.cli(&["project", "set", &tenant.slug, "--max-entries", "2"]);
    for prompt in ["Who wrote Faust?", "Why is the sky blue?", "How tall is Everest?", "What is a noun?"] {
        let answer = tenant.ask_for(prompt);
        assert_eq!(answer["cache_hit"], false);
        assert!(answer["debug"]["cache_entry_count"].as_u64().unwrap() <= 2, "{}", answer["debug"]);
    }
    assert_eq!(tenant.ask_for("What is a noun?")["cache_hit"], true, "the newest stays");
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], false, "the oldest went");
}

#[test]
fn models_share_answers_where_the_project_says_so() {
    let tenant = World::shared().tenant("sharing");
    tenant.deja.cli(&["project", "set", &tenant.slug, "--share-models", "true"]);
    let ask = |model: &str| tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": model}));
    assert_eq!(ask(MODEL)["cache_hit"], false);
    let hit = ask("gpt-4o");
    assert_eq!(hit["cache_hit"], true);
    // 1000 tokens at 2.50 and 500 at 10 USD per million: the asked model's price.
    assert!((hit["cost_saved"].as_f64().unwrap() - 0.0075).abs() < 1e-12, "{hit}");
}

#[test]
fn a_projects_own_price_counts_from_the_next_hit_on() {
    let tenant = World::shared().tenant("prices");
    tenant.ask_for("Who wrote Faust?");
    let saved = || tenant.ask_for("Who wrote Faust?")["cost_saved"].as_f64().unwrap();
    assert!((saved() - 0.00045).abs() < 1e-12);
    tenant.deja.cli(&["price", "set", "--project", &tenant.slug, MODEL, "--input", "1", "--output", "10"]);
    assert!((saved() - 0.006).abs() < 1e-12, "{}", saved());
    tenant.deja.cli(&["price", "unset", "--project", &tenant.slug, MODEL]);
    assert!((saved() - 0.00045).abs() < 1e-12);
}

#[test]
fn a_new_limit_holds_from_the_next_request_on() {
    let tenant = Tenant::create(&World::shared().deja, "new-limit", &[]);
    assert_eq!(tenant.post(b"{}").number("x-ratelimit-limit"), 100);
    tenant.deja.cli(&["project", "set", &tenant.slug, "--tier", "pro"]);
    assert_eq!(tenant.post(b"{}").number("x-ratelimit-limit"), 1000);
    tenant.deja.cli(&["project", "set", &tenant.slug, "--rpm", "7", "--burst", "3"]);
    assert_eq!(tenant.post(b"{}").number("x-ratelimit-limit"), 7);
}

#[test]
fn a_deleted_project_takes_its_keys_with_it() {
    let tenant = World::shared().tenant("deleted");
    tenant.ask_for("Who wrote Faust?");
    tenant.deja.cli(&["project", "delete", &tenant.slug, "--yes"]);
    assert_eq!(tenant.post(b"{}").detail(401), "Invalid or missing API key");
    // A new project of the same name begins with nothing.
    let again = World::shared().tenant("deleted");
    assert_eq!(again.post_as(&tenant.key, PATH, b"{}").status, 401);
    assert_eq!(again.ask_for("Who wrote Faust?")["cache_hit"], false);
}

#[test]
fn the_changes_of_a_deleted_project_are_listed_by_its_id() {
    let tenant = World::shared().tenant("gone-with-changes");
    let listed = |options: &[&str]| -> Vec<Value> {
        let listed = tenant.deja.try_cli(&[&["audit", "list", "--json"], options].concat());
        serde_json::from_slice(&listed.stdout).unwrap()
    };
    let before = listed(&["--project", &tenant.slug]);
    tenant.deja.cli(&["project", "delete", &tenant.slug, "--yes"]);
    assert!(!tenant.deja.try_cli(&["audit", "list", "--project", &tenant.slug]).status.success());
    let deleted = |row: &&Value| row["action"] == "project.delete" && row["subject"] == tenant.slug;
    let all = listed(&[]);
    let id = all.iter().find(deleted).unwrap()["project"].as_str().unwrap();
    let after = listed(&["--project", id]);
    assert_eq!(after.len(), before.len() + 1);
    assert!(before.len() >= 2 && after.iter().all(|row| row["project"] == id), "{after:?}");
}

#[test]
fn a_removed_provider_is_not_asked_any_more() {
    let world = World::shared();
    let tenant = world.tenant("removed");
    let own = FakeProvider::start();
    let url = format!("{}/v1", own.url());
    tenant.deja.cli(&tenant.provider_add("house", &url, "house-model", &["--allow-private"]));
    let of_house = |prompt: &str| json!({"prompt": prompt, "model": "house-model"});
    tenant.ask(&of_house("How do I reset my password?"));
    tenant.deja.cli(&["provider", "remove", "--project", &tenant.slug, "house"]);
    // What was bought stays: in the same words and in others.
    for prompt in ["How do I reset my password?", "How can I reset my password?"] {
        assert_eq!(tenant.ask(&of_house(prompt))["cache_hit"], true, "{prompt}");
    }
    tenant.send(&of_house("Why is the sky blue?")).detail(400);
    assert_eq!(own.calls("house-model").len(), 1);
}

/// The key exists, and nobody has it.
#[test]
fn a_key_that_cannot_be_printed_is_named() {
    let tenant = World::shared().tenant("unprinted");
    let mut command = tenant.deja.command(&["key", "create", "--project", &tenant.slug, "--name", "lost"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let prefix = error.lines().last().and_then(|line| line.strip_prefix("deja: the key ")).unwrap();
    let prefix = prefix.split_whitespace().next().unwrap();
    assert!(error.contains("was made but not printed; revoke it"), "{error}");
    assert_eq!(output.status.code(), Some(1));
    assert!(tenant.deja.cli(&["key", "revoke", prefix]).starts_with("Revoked "), "{prefix}");
}

/// A server of another version would overlook an option that it does not know.
#[test]
fn a_command_of_another_version_is_refused_and_does_nothing() {
    let deja = World::shared().tenant("versions").deja;
    let ask = |version: &str| {
        let mut socket = UnixStream::connect(deja.data().join("deja.sock")).unwrap();
        let command = json!({"project_create": {"name": "of-another-version", "tier": "free"}});
        writeln!(socket, "{}", json!({"version": version, "database": null, "command": command})).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    for version in ["0.0.1", ""] {
        let answer = ask(version);
        assert!(answer.contains("this command another version"), "{answer}");
        assert!(!deja.cli(&["project", "list"]).contains("of-another-version"));
    }
    let answer = ask(env!("CARGO_PKG_VERSION"));
    assert!(answer.contains("of-another-version"), "{answer}");
}
