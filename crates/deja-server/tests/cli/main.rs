//! The built binary: every command, what it prints last, its exit codes and files. Mostly while no server runs.
//! No network, an environment of its own, temporary directories.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use deja_server::commands::socket;
use serde_json::Value;
use tempfile::TempDir;

mod errors;
mod eval;
mod import;
mod interrupted;
mod locked;
#[path = "../it/util/patience.rs"]
mod patience;
mod reference;

use patience::{PATIENCE, eventually, within};

struct Deja {
    root: TempDir,
    env: Vec<(&'static str, String)>,
}

impl Deja {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), env: vec![("DEJA_PRICES_URL", String::new())] }
    }

    fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deja"));
        command.args(arguments).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.root.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs it with `input` on its standard input.
    fn fed(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses its arguments ends without reading.
        let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Makes an operator with a password.
    #[track_caller]
    fn operator(&self, arguments: &[&str]) {
        let arguments = [&["operator", "create", "--password-stdin"], arguments].concat();
        let output = self.fed(&arguments, "correct horse battery staple\n");
        assert!(output.status.success(), "{output:?}");
    }

    /// Waits until this server takes commands.
    #[track_caller]
    fn until_served_by(&self, server: &mut Child) {
        eventually("it serves", || {
            assert_eq!(server.try_wait().unwrap(), None, "it gave up");
            socket::path_in(&self.path().join("deja-data")).exists()
        });
    }

    /// What it prints; it must succeed and complain about nothing.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && error.is_empty(), "{arguments:?}: {} {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// What `key create` with these arguments gives: the key alone, for scripts.
    #[track_caller]
    fn key(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["key", "create"], arguments].concat());
        let (key, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && said.contains("shown this once"), "{arguments:?}: {said}");
        assert_eq!(key.lines().count(), 1, "{key}");
        key.trim_end().to_owned()
    }

    #[track_caller]
    fn last_line(&self, arguments: &[&str]) -> String {
        self.ok(arguments).lines().last().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// The one line it complains with; nothing else is printed.
    #[track_caller]
    fn error(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let line = error.strip_suffix('\n').unwrap();
        assert!(line.starts_with("deja: ") && !line.contains('\n'), "{arguments:?}: {error}");
        line.to_owned()
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Tells a server to stop, as a supervisor does, and waits for its end.
fn terminate(mut server: Child) -> ExitStatus {
    let sent = Command::new("kill").arg("-TERM").arg(server.id().to_string()).status().unwrap();
    assert!(sent.success());
    let ended = within(PATIENCE, || server.try_wait().unwrap());
    if ended.is_none() {
        server.kill().unwrap();
    }
    ended.unwrap()
}

#[test]
fn projects_from_first_to_last() {
    let deja = Deja::new();
    assert_eq!(deja.last_line(&["project", "create", "My Team"]), "my-team");
    let args = ["project", "create", "My team!", "--tier", "enterprise", "--rpm", "50", "--burst", "70"];
    assert_eq!(deja.last_line(&args), "my-team-2");
    let list = deja.json(&["project", "list", "--json"]);
    assert_eq!(list[0]["slug"], "my-team");
    assert_eq!((&list[0]["requests_per_minute"], &list[0]["burst"]), (&100.into(), &120.into()));
    assert_eq!((&list[1]["requests_per_minute"], &list[1]["burst"]), (&50.into(), &70.into()));
    assert_eq!((&list[1]["tier"], &list[1]["name"]), (&"enterprise".into(), &"My team!".into()));
    assert_eq!(list[0]["week"]["requests"], 0);
    assert!(list[0]["created"].as_str().unwrap().ends_with('Z'));
    deja.ok(&["project", "suspend", "my-team"]);
    let table = deja.ok(&["project", "list"]);
    assert!(table.starts_with("SLUG ") && table.lines().nth(1).unwrap().contains("suspended"), "{table}");
    deja.ok(&["project", "resume", "my-team"]);
    let set =
        ["--name", "Ours", "--tier", "pro", "--ttl", "none", "--max-entries", "9", "--share-models", "true"];
    deja.ok(&[&["project", "set", "my-team"], &set[..]].concat());
    assert_eq!(deja.json(&["project", "list", "--json"])[0]["guard"], "standard");
    deja.ok(&[
        "project", "set", "my-team", "--guard", "strict", "--guard-model", "m", "--guard-budget", "0.5",
    ]);
    let project = &deja.json(&["project", "list", "--json"])[0];
    assert_eq!((&project["name"], &project["tier"]), (&"Ours".into(), &"pro".into()));
    assert_eq!((&project["ttl_seconds"], &project["max_entries"]), (&Value::Null, &9.into()));
    assert_eq!((&project["share_models"], &project["state"]), (&true.into(), &"active".into()));
    assert_eq!((&project["guard"], &project["guard_model"]), (&"strict".into(), &"m".into()));
    assert_eq!(project["guard_budget_usd"], 0.5);
    let wires = ["--opt-ins", "semantic_tools,semantic_history", "--client-controls", "none"];
    let wires = [&wires[..], &["--hit-usage", "zero", "--on-hangup", "abort"]].concat();
    deja.ok(&[&["project", "set", "my-team"], &wires[..]].concat());
    let project = &deja.json(&["project", "list", "--json"])[0];
    assert_eq!(project["opt_ins"], serde_json::json!(["semantic_history", "semantic_tools"]));
    assert_eq!(
        (&project["client_controls"], &project["hit_usage"]),
        (&serde_json::json!([]), &"zero".into())
    );
    assert_eq!(project["on_hangup"], "abort");
    let told = deja.error(2, &["project", "set", "my-team", "--opt-ins", "everything"]);
    assert!(told.contains("share_end_users"), "{told}");
    deja.ok(&["project", "set", "my-team", "--threshold", "0.9", "--minimum-threshold", "0.8"]);
    deja.ok(&["project", "set", "my-team", "--guard-model", "none", "--minimum-threshold", "none"]);
    let project = &deja.json(&["project", "list", "--json"])[0];
    assert_eq!((&project["default_threshold"], &project["minimum_threshold"]), (&0.9.into(), &Value::Null));
    assert_eq!(deja.json(&["project", "list", "--json"])[0]["guard_model"], Value::Null);
    deja.error(2, &["project", "delete", "my-team"]);
    deja.ok(&["project", "delete", "my-team", "--yes"]);
    assert_eq!(deja.json(&["project", "list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_openapi_document_is_printed() {
    let printed: Value = Deja::new().json(&["openapi"]);
    let kept: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    assert_eq!(printed, kept);
}

#[test]
fn an_export_to_a_dash_is_on_standard_output() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for arguments in [&["export", "--with-projects"][..], &["export", "--with-projects", "-"]] {
        let output = deja.run(arguments);
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && lines.contains("\"project\":\"a\""), "{arguments:?}: {lines}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("1 project"), "the summary is apart");
    }
    assert!(deja.error(2, &["export", "--resume", "-"]).contains("name one"));
}

#[test]
fn keys_from_first_to_last() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let key = deja.key(&["--project", "a", "--name", "ci", "--model", "gpt-4o"]);
    assert!(key.starts_with("dj_") && key.len() == 35, "{key}");
    let listed = deja.json(&["key", "list", "--project", "a", "--json"]);
    assert_eq!(listed[0]["prefix"], key[..7]);
    assert_eq!((&listed[0]["name"], &listed[0]["models"][0]), (&"ci".into(), &"gpt-4o".into()));
    assert_eq!((&listed[0]["status"], &listed[0]["last_used"]), (&"Active".into(), &Value::Null));
    assert!(!deja.ok(&["key", "list", "--project", "a"]).contains(&key));
    let other = deja.key(&["--project", "a", "--name", "b"]);
    deja.ok(&["key", "revoke", &key[..7]]);
    deja.ok(&["key", "revoke", &other, "--project", "a"]);
    let error = deja.error(1, &["key", "revoke", &other]);
    assert!(!error.contains(&other[7..]), "{error}");
    let listed = deja.json(&["key", "list", "--project", "a", "--json"]);
    assert!(listed.as_array().unwrap().iter().all(|key| key["status"] == "Revoked"));
    deja.key(&["--project", "a", "--name", "c"]);
    let id = deja.json(&["key", "list", "--project", "a", "--json"])[2]["id"].clone();
    deja.ok(&["key", "revoke", id.as_str().unwrap()]);
}

#[test]
fn keys_with_an_end_and_a_limit_of_their_own() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a", "--rpm", "50", "--burst", "55"]);
    deja.key(&["--project", "a", "--name", "b", "--rpm", "50"]);
    deja.key(&["--project", "a", "--name", "c", "--burst", "5", "--expires", "2099-01-31T00:00:00Z"]);
    deja.key(&["--project", "a", "--name", "d", "--rpm", "10", "--expires", "90d"]);
    let listed = deja.json(&["key", "list", "--project", "a", "--json"]);
    let limit = |at: usize| (listed[at]["requests_per_minute"].clone(), listed[at]["burst"].clone());
    assert_eq!(
        [limit(0), limit(1), limit(2)],
        [(50, 55), (50, 5), (10, 12)].map(|(a, b)| (a.into(), b.into()))
    );
    assert_eq!((&listed[0]["expires"], &listed[2]["status"]), (&Value::Null, &"Active".into()));
    assert!(listed[2]["expires"].as_str() > listed[2]["created"].as_str());
    let create = |flags: &[&str]| {
        let of = ["key", "create", "--project", "a", "--name", "x"];
        deja.error(2, &[&of[..], flags].concat())
    };
    for wide in [&["--rpm", "51"][..], &["--burst", "56"], &["--rpm", "1", "--burst", "99"]] {
        assert!(create(wide).contains("50 requests a minute, 55 at once"), "{wide:?}");
    }
    for past in ["0s", "2020-01-31T00:00:00Z", "99999d", "9999-12-31T00:00:00Z", "tomorrow"] {
        let told = create(&["--expires", past]);
        assert!(told.contains("36500 days") || told.contains("such as 90d"), "{past}: {told}");
    }
    let rows = deja.json(&["audit", "list", "--project", "a", "--json"]);
    let until = rows[0]["detail"].as_str().unwrap().strip_prefix("10 a minute, 12 at once; until ").unwrap();
    assert_eq!(until.len(), "2030-01-31T00:00:00Z".len(), "{until}");
}

#[test]
fn access_tokens_from_first_to_last() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    assert!(deja.error(1, &["token", "list", "--operator", "ada@example.com"]).contains("no operator"));
    deja.ok(&["operator", "create", "ada@example.com"]);
    // A link makes no operator before it is used.
    let error = deja.error(1, &["token", "create", "--operator", "ada@example.com", "--name", "ci"]);
    assert!(error.contains("no operator"), "{error}");
    deja.operator(&["bob@example.com"]);
    let output = deja.run(&["token", "create", "--operator", "bob@example.com", "--name", "ci"]);
    let (token, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let token = token.trim_end();
    assert!(
        token.starts_with("djt_") && token.len() == 68 && said.contains("shown this once"),
        "{token} {said}"
    );
    let list = ["token", "list", "--operator", "bob@example.com"];
    let listed = deja.json(&[&list[..], &["--json"]].concat());
    assert_eq!((&listed[0]["prefix"], &listed[0]["name"]), (&token[..8].into(), &"ci".into()));
    assert!(!deja.ok(&list).contains(token) && deja.ok(&list).contains(&token[..8]));
    let revoke = ["token", "revoke", "--operator", "bob@example.com"];
    let error = deja.error(1, &[&revoke[..], &["djt_none"]].concat());
    assert!(error.contains("no token 'djt_none'"), "{error}");
    deja.ok(&[&revoke[..], &[token]].concat());
    let error = deja.error(1, &[&revoke[..], &[token]].concat());
    assert!(!error.contains(&token[8..]), "{error}");
    assert_eq!(deja.json(&[&list[..], &["--json"]].concat()), serde_json::json!([]));
    let rows = deja.json(&["audit", "list", "--limit", "2", "--json"]);
    for (row, action) in [(&rows[0], "token.revoke"), (&rows[1], "token.create")] {
        let subject = format!("{} ci", &token[..8]);
        assert_eq!((&row["action"], &row["subject"]), (&action.into(), &subject.into()));
    }
}

#[test]
fn members_from_first_to_last() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let of = ["--project", "a", "--operator", "bob@example.com"];
    let set = |rank| [&["member", "set"][..], &of, &["--rank", rank]].concat();
    assert!(deja.error(1, &set("editor")).contains("no operator"));
    deja.operator(&["bob@example.com", "--role", "member"]);
    assert_eq!(deja.ok(&set("viewer")).trim_end(), "bob@example.com is viewer in the project.");
    deja.ok(&set("editor"));
    assert!(deja.error(2, &set("king")).contains("viewer, editor or owner"));
    let listed = deja.json(&["member", "list", "--project", "a", "--json"]);
    assert_eq!(listed, serde_json::json!([{"email": "bob@example.com", "rank": "editor"}]));
    let rows = deja.json(&["audit", "list", "--project", "a", "--json"]);
    assert_eq!((&rows[0]["action"], &rows[0]["detail"]), (&"member.set".into(), &"viewer -> editor".into()));
    let remove = [&["member", "remove"][..], &of].concat();
    deja.ok(&remove);
    assert!(deja.error(1, &remove).contains("no member of the project 'a'"));
    assert!(deja.error(1, &["member", "list", "--project", "b"]).contains("no project 'b'"));
}

#[test]
fn providers_and_where_their_keys_come_from() {
    let deja = Deja::new().env("HOUSE_KEY", "hush-1");
    deja.ok(&["project", "create", "a"]);
    let add = |name: &str, model: &str, more: &[&str]| {
        let url = "https://llm.example.com/v1/";
        let args = ["provider", "add", "--project", "a", "--name", name, "--base-url", url, "--model", model];
        let output = deja.fed(&[&args, more].concat(), "hush-2\n");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    std::fs::write(deja.path().join("key"), "hush-3\n").unwrap();
    assert_eq!(add("one", "m1", &["--key-env", "HOUSE_KEY", "--model", "m1b"]).0, Some(0));
    assert_eq!(add("two", "m2", &["--key-stdin"]).0, Some(0));
    assert_eq!(add("three", "m3", &["--key-file", "key", "--kind", "gemini"]).0, Some(0));
    assert_eq!(add("four", "m4", &[]).0, Some(0));
    for (more, wanted) in [
        (&["--key-env", "UNSET"][..], "UNSET"),
        (&["--key-file", "missing"], "missing"),
        (&["--key-env", "HOUSE_KEY", "--key-stdin"], "cannot be used with"),
        (&["--kind", "cohere"], "use openai, anthropic or gemini"),
    ] {
        let (code, error) = add("five", "m5", more);
        assert!(code == Some(2) && error.contains(wanted), "{error}");
    }
    let (code, error) = add("five", "tuned/m?5", &["--kind", "gemini"]);
    assert!(
        code == Some(2) && error.contains("gemini provider cannot have a model called 'tuned/m?5'"),
        "{error}"
    );
    for (name, model, told) in [
        ("one", "m6", "there is a provider 'one' already: choose another name"),
        ("six", "m1b", "another provider of this project has the model 'm1b': take it away there first"),
    ] {
        assert_eq!(add(name, model, &[]), (Some(1), format!("deja: {told}\n")), "it is taken");
    }
    let list = deja.json(&["provider", "list", "--project", "a", "--json"]);
    let of = |name: &str| list.as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    assert_eq!(of("one")["models"], serde_json::json!(["m1", "m1b"]));
    assert_eq!((&of("one")["has_secret"], &of("four")["has_secret"]), (&true.into(), &false.into()));
    assert_eq!(of("one")["base_url"], "https://llm.example.com/v1");
    assert_eq!((&of("one")["kind"], &of("three")["kind"]), (&"openai".into(), &"gemini".into()));
    assert!(deja.ok(&["provider", "list", "--project", "a"]).starts_with("NAME"));
    deja.ok(&["provider", "remove", "--project", "a", "four"]);
    deja.error(1, &["provider", "remove", "--project", "a", "four"]);
    // No secret lies in the data directory as it is.
    for file in std::fs::read_dir(deja.path().join("deja-data")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(5).any(|window| window == b"hush-"));
    }
}

#[test]
fn private_addresses_need_the_operators_word() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let add = [
        "provider", "add", "--project", "a", "--name", "x", "--model", "m", "--url", "http://127.0.0.1:9/v1",
    ];
    deja.error(2, &add);
    deja.ok(&[&add[..], &["--allow-private"]].concat());
}

#[test]
fn prices() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    assert!(deja.ok(&["price", "show", "gpt-4o-mini"]).contains("0.15 in, 0.6 out, 0.075 cache read, US"));
    let long = "200000 input tokens: 2.5 in, 15 out, 0.25 cache read";
    assert!(deja.ok(&["price", "show", "gemini-2.5-pro"]).contains(long));
    let price = deja.json(&["price", "show", "claude-sonnet-4-6", "--json"]);
    assert_eq!((&price["cache_write"], &price["cache_write_1h"]), (&3.75.into(), &6.0.into()));
    deja.ok(&["price", "set", "--project", "a", "house-1", "--input", "0.2", "--output", "0.6"]);
    let price = deja.json(&["price", "show", "house-1", "--project", "a", "--json"]);
    assert_eq!((&price["origin"], &price["input"]), (&"override".into(), &0.2.into()));
    deja.error(1, &["price", "show", "house-1"]);
    deja.error(2, &["price", "set", "--project", "a", "m", "--input=-1", "--output", "1"]);
    deja.ok(&["price", "unset", "--project", "a", "house-1"]);
    deja.error(1, &["price", "unset", "--project", "a", "house-1"]);
}

#[test]
fn caches() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let stats = |deja: &Deja| deja.ok(&["cache", "stats", "--project", "a"]);
    assert!(stats(&deja).starts_with("entries"));
    // As `--ttl` takes it.
    for ttl in ["30d", "12h", "45m", "90s"] {
        deja.ok(&["project", "set", "a", "--ttl", ttl]);
        assert!(stats(&deja).contains(&format!("\ntime to live      {ttl}\n")), "{ttl}");
    }
    assert_eq!(deja.json(&["cache", "stats", "--project", "a", "--json"])["entries"], 0);
    let purge = ["cache", "purge", "--project", "a", "--yes"];
    assert_eq!(deja.ok(&purge), "Deleted 0 entries.\n");
    deja.ok(&[&purge[..], &["--model", "m", "--context", ""]].concat());
    deja.ok(&[&purge[..], &["--no-context"]].concat());
    deja.error(2, &[&purge[..], &["--no-context", "--context", "c"]].concat());
    assert!(deja.error(2, &purge[..4]).contains("--yes"));
}

#[test]
fn the_schema_is_told_and_brought_up_to_date() {
    let deja = Deja::new();
    let status = || deja.json(&["db", "status", "--json"]);
    assert_eq!((&status()["backend"], &status()["state"]), (&"sqlite".into(), &"empty".into()));
    assert!(deja.ok(&["db", "migrate"]).contains("it is up to date"));
    let current = status();
    assert_eq!((&current["state"], &current["schema"]), (&"current".into(), &current["known"]));
    assert!(deja.ok(&["db", "status"]).starts_with("sqlite: schema version "));
    deja.ok(&["project", "create", "a"]);
    let database = rusqlite::Connection::open(deja.path().join("deja-data/deja.db")).unwrap();
    // As an older deja left it, which may have to serve it again.
    database.execute("DELETE FROM migrations WHERE version = ?1", [current["known"].as_i64()]).unwrap();
    for arguments in [&["project", "list"][..], &["project", "create", "b"]] {
        assert!(deja.error(1, arguments).contains("run deja db migrate"), "{arguments:?}");
    }
    assert_eq!(status()["state"], "older", "no command of an operator changes that");
    database.execute("INSERT INTO migrations (version) VALUES (999)", []).unwrap();
    assert_eq!(status()["state"], "too_new");
    assert!(deja.ok(&["db", "status"]).contains("run a newer deja"));
    // Trying again does not help: code 2 keeps a supervisor from it.
    for arguments in [&["project", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        assert!(deja.error(2, arguments).contains("run a newer deja"));
    }
    let other = deja.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let foreign = rusqlite::Connection::open(other.join("deja.db")).unwrap();
    foreign.execute_batch("CREATE TABLE dashboards (id INTEGER)").unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", "other"];
    assert!(deja.error(2, &serve).contains("not one of deja"));
}

#[test]
fn settings_are_checked_and_printed() {
    let key = "ab".repeat(32);
    let deja = Deja::new().env("DEJA_LOG", "warn").env("DEJA_MASTER_KEY", &key).env("OPENAI_API_KEY", "hush");
    assert_eq!(deja.ok(&["config", "check"]), "The settings are valid.\n");
    let printed = deja.ok(&["config", "print", "--listen", "127.0.0.1:99"]);
    assert!(printed.contains("listen = \"127.0.0.1:99\"") && printed.contains("log = \"warn\""), "{printed}");
    assert!(!printed.contains(&key) && !printed.contains("hush"), "{printed}");
    std::fs::write(deja.path().join("again.toml"), &printed).unwrap();
    assert_eq!(deja.ok(&["config", "print", "--config", "again.toml"]), printed);
    assert!(!deja.path().join("deja-data").exists(), "looking makes nothing");
}

#[test]
fn settings_that_are_hardly_meant_are_told_of() {
    let warned = |deja: Deja| String::from_utf8(deja.run(&["config", "check"]).stderr).unwrap();
    assert_eq!(warned(Deja::new().env("DEJA_TRUSTED_PROXIES", "10.0.0.0/8")), "");
    for (name, value, wanted) in [
        ("DEJA_QUERY_TIMEOUT_S", "180", "upstream_total_timeout_s (180) is not below query_timeout_s (180)"),
        ("DEJA_TRUSTED_PROXIES", "10.0.0.1,0.0.0.0/0", "trusted_proxies has 0.0.0.0/0: "),
        ("DEJA_TRUSTED_PROXIES", "::/0", "trusted_proxies has ::/0: "),
    ] {
        let said = warned(Deja::new().env(name, value));
        assert!(said.starts_with(&format!("deja: {wanted}")) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn what_is_kept_is_for_its_owner_only() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let data = deja.path().join("deja-data");
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("master.key")), 0o600);
    let elsewhere = deja.path().join("else");
    deja.ok(&["project", "create", "a", "--data-dir", elsewhere.to_str().unwrap()]);
    assert!(elsewhere.join("master.key").exists());
}

#[test]
fn help_teaches() {
    let deja = Deja::new();
    assert!(deja.ok(&["--help"]).contains("deja project create"));
    assert!(deja.ok(&["key", "create", "--help"]).contains("Example:"));
    assert!(deja.ok(&["--version"]).starts_with("deja "));
}

/// The token of a printed link, which must lead to this page.
fn token<'a>(link: &'a str, page: &str) -> &'a str {
    let token = link.strip_prefix(&format!("https://deja.example/console/{page}?token=")).unwrap();
    assert!(token.len() == 64 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{link}");
    token
}

#[test]
fn operators_from_first_to_last() {
    let deja = Deja::new().env("DEJA_PUBLIC_URL", "https://deja.example");
    let first = deja.last_line(&["operator", "create", "Ada@Example.com"]);
    let second = deja.last_line(&["operator", "create", "ada@example.com", "--role", "member"]);
    assert_ne!(token(&first, "join"), token(&second, "join"));
    assert_eq!(deja.json(&["operator", "list", "--json"]), Value::Array(Vec::new()), "a link is no operator");

    deja.operator(&["ada@example.com"]);
    let list = deja.json(&["operator", "list", "--json"]);
    assert_eq!((&list[0]["email"], &list[0]["role"]), (&"ada@example.com".into(), &"owner".into()));
    assert_eq!((&list[0]["state"], list.as_array().unwrap().len()), (&"active".into(), 1));
    assert!(deja.ok(&["operator", "list"]).contains("ada@example.com  owner  active"));

    let again = deja.error(1, &["operator", "create", "ADA@example.com"]);
    assert!(again.contains("already"), "{again}");
    token(&deja.last_line(&["operator", "reset-password", "ada@example.com"]), "reset");
    assert!(deja.error(1, &["operator", "reset-password", "bob@example.com"]).contains("no operator"));
    assert!(deja.error(2, &["operator", "create", "bob"]).contains("email address"));
    assert!(deja.error(2, &["operator", "create", "b@c", "--role", "king"]).contains("owner or member"));

    let files = std::fs::read_dir(deja.path().join("deja-data")).unwrap();
    for file in files.map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        let bytes = std::fs::read(&file).unwrap();
        for secret in ["correct horse battery", token(&first, "join")] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "a secret is in {}", file.display());
        }
    }
}

#[test]
fn a_password_that_is_too_short_makes_no_operator() {
    let deja = Deja::new();
    let output = deja.fed(&["operator", "create", "ada@example.com", "--password-stdin"], "short\n");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("at least 12 characters") && !error.contains("short\n"), "{error}");
    assert_eq!(deja.json(&["operator", "list", "--json"]), Value::Array(Vec::new()));
}

#[test]
fn every_change_is_in_the_audit_log() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let key = deja.key(&["--project", "a", "--name", "ci"]);
    deja.ok(&["project", "set", "a", "--tier", "pro"]);
    deja.ok(&["price", "set", "--project", "a", "m", "--input", "1", "--output", "2"]);
    deja.ok(&["key", "revoke", &key]);
    deja.ok(&["cache", "purge", "--project", "a", "--model", "m", "--yes"]);
    deja.ok(&["operator", "create", "ada@example.com"]);
    deja.error(1, &["project", "suspend", "nobody"]);
    let rows = deja.json(&["audit", "list", "--json"]);
    let actions: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
    let expected = [
        "operator.invite", "cache.purge", "key.revoke", "price.set", "project.set", "key.create",
        "project.create",
    ];
    assert_eq!(actions, expected);
    assert!(rows.as_array().unwrap().iter().all(|row| row["actor"] == "cli"), "{rows}");
    assert_eq!(
        rows[4]["detail"],
        "limits: free, 100 a minute, 120 at once -> pro, 1000 a minute, 1200 at once"
    );
    assert!(!rows.to_string().contains(&key[7..]), "no key");
    let found = |filter: &[&str]| {
        let rows = deja.json(&[&["audit", "list", "--json"], filter].concat());
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["action"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&["--action", "key.revoke"]), ["key.revoke"]);
    assert_eq!(
        found(&["--project", "a", "--actor", "cli", "--from", "1d", "--until", "2099-01-01T00:00:00Z"]),
        expected[1..]
    );
    assert_eq!(found(&["--until", "1d"]), [""; 0]);
    assert_eq!(found(&["--actor", "system"]), [""; 0]);
    assert_eq!(found(&["--limit", "2", "--before", &rows[1]["number"].to_string()]), expected[2..4]);
    let error = deja.error(2, &["audit", "list", "--from", "1h", "--until", "2h"]);
    assert_eq!(error, "deja: until must be later than from");
    deja.ok(&["project", "delete", "a", "--yes"]);
    assert_eq!(deja.json(&["audit", "list", "--limit", "1", "--json"])[0]["action"], "project.delete");
    assert!(deja.ok(&["audit", "list"]).starts_with("AT "));
}

#[test]
fn a_project_without_samples_is_tuned_to_nothing() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let told = deja.ok(&["tune", "--project", "a"]);
    assert!(told.contains("wrong hits               not known: nobody has labelled a hit"), "{told}");
    assert!(
        told.contains("     0.85  standard     0.0 %      -              -       0.00  in force\n"),
        "{told}"
    );
    assert!(told.ends_with("label samples on the console's page Quality.\n"), "{told}");
    let curve = deja.json(&["tune", "--project", "a", "--json"])["curve"].clone();
    assert_eq!(curve.as_array().unwrap().len(), 100);
    let refused = deja.run(&["tune", "--project", "a", "--apply", "--yes"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), told.contains("advise no setting")), (Some(1), true), "{told}");
    assert!(deja.error(1, &["tune", "--project", "b"]).contains("no project 'b'"));
}
