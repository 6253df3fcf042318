//! What an import says of what came in.

use std::process::Output;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Deja;

/// The identity of entry, project or provider `n`.
fn id(n: u64) -> String {
    format!("00000000-0000-7000-8000-{n:012x}")
}

fn entry(n: u64) -> Value {
    json!({
        "deja": 1, "type": "entry", "project": "a", "id": id(n), "model": "m", "prompt": format!("prompt {n}"),
        "answer": {"text": "answer", "provider": "openai", "input_tokens": 1, "output_tokens": 2},
        "created": "2026-01-01T00:00:00Z",
    })
}

/// A sample of entry `of`.
fn sample(n: u64, of: u64) -> Value {
    json!({
        "deja": 1, "type": "sample", "project": "a", "id": n, "at": "2026-01-01T00:00:00Z", "asked": "q",
        "entry": id(of), "similarity": 0.9, "met": "served",
    })
}

fn run(deja: &Deja, text: &str, more: &[&str]) -> Output {
    deja.fed(&[&["import", "-"], more].concat(), text)
}

/// The summary of an import of these lines.
#[track_caller]
fn import(deja: &Deja, lines: &[Value]) -> Value {
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    let output = run(deja, &lines.join("\n"), &["--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn samples_are_counted_as_what_became_of_them() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let lines = [entry(1), sample(1, 1), sample(2, 2)];
    let first = import(&deja, &lines);
    assert_eq!((&first["imported"]["samples"], &first["already_there"]["samples"]), (&json!(1), &json!(0)));
    assert_eq!(first["left_out"], 1, "its entry is not there: {first}");
    let again = import(&deja, &lines);
    assert_eq!((&again["imported"]["samples"], &again["already_there"]["samples"]), (&json!(0), &json!(1)));
    let said = String::from_utf8(run(&deja, &sample(1, 1).to_string(), &[]).stdout).unwrap();
    assert_eq!(said, "Imported 0 entries.\nAlready there: 0 entries, 1 sample.\n");
}

#[test]
fn a_provider_needs_its_key_until_it_has_one() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let house = json!({
        "deja": 1, "type": "provider", "project": "a", "id": id(9), "name": "house", "kind": "openai",
        "base_url": "https://house.example/v1", "models": ["m"], "allow_private": false,
        "created": "2026-01-01T00:00:00Z", "has_secret": true,
    });
    let lacking = || {
        let output = run(&deja, &house.to_string(), &["--with-projects", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["without_secret"].clone()
    };
    // The second time as an import that is repeated after an interruption.
    assert_eq!(lacking(), json!([["a", "house"]]));
    assert_eq!(lacking(), json!([["a", "house"]]));
    deja.ok(&["provider", "remove", "--project", "a", "house"]);
    let deja = Deja { env: [deja.env, vec![("HOUSE_KEY", "hush".into())]].concat(), ..deja };
    let of =
        ["provider", "add", "--project", "a", "--name", "house", "--model", "m", "--key-env", "HOUSE_KEY"];
    deja.ok(&[&of[..], &["--base-url", "https://house.example/v1"]].concat());
    let summary = import(&deja, &[house]);
    assert_eq!((&summary["without_secret"], &summary["already_there"]["providers"]), (&json!([]), &json!(1)));
}

#[test]
fn an_absurd_count_of_tokens_is_no_entry() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for which in ["input_tokens", "output_tokens"] {
        let with = |count: u64| {
            let mut entry = entry(1);
            entry["answer"][which] = json!(count);
            run(&deja, &entry.to_string(), &[])
        };
        let error = String::from_utf8(with(9_000_000_000_000_000_000).stderr).unwrap();
        assert!(error.contains("line 1: no answer has more than 1000000000000 tokens"), "{error}");
        assert!(with(1_000_000_000_000).status.success());
    }
}

#[test]
fn an_answer_without_text_is_no_entry() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for text in ["", " \n"] {
        let mut empty = entry(1);
        empty["answer"]["text"] = json!(text);
        let output = run(&deja, &format!("{}\n{empty}", entry(2)), &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("line 2: an entry needs an answer with text"), "{error}");
        let skipped = run(&deja, &format!("{empty}\n{}", entry(3)), &["--skip-bad", "--json"]);
        let summary: Value = serde_json::from_slice(&skipped.stdout).unwrap();
        assert_eq!(summary["skipped"], 1, "{summary}");
    }
    // In a wire format an answer may be calls of tools alone.
    let mut calls = entry(4);
    calls["kind"] = json!("chat");
    calls["answer"]["text"] = json!("");
    calls["answer"]["record"] = json!("e30=");
    assert_eq!(import(&deja, &[calls])["imported"]["entries"], 1);
}

#[test]
fn records_have_their_largest_values_and_none_beyond() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    import(&deja, &[entry(1)]);
    let with = |mut record: Value, name: &str, value: Value| {
        record[name] = value;
        record
    };
    let vector = |embedder: &str, values: usize| {
        let ones: Vec<u8> = [0x00, 0x3c].repeat(values);
        json!({"embedder": embedder, "f16": base64::engine::general_purpose::STANDARD.encode(ones)})
    };
    let in_seconds =
        |seconds| (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)).to_string();
    for bad in [
        with(sample(1, 1), "id", json!(-1)),
        with(sample(1, 1), "asked", json!("x".repeat(8193))),
        with(sample(1, 1), "reason", json!("x".repeat(65))),
        with(sample(1, 1), "reason", json!("a\u{0}")),
        with(entry(2), "prompt", json!("")),
        with(entry(2), "model", json!("")),
        with(entry(2), "model", json!("m".repeat(257))),
        with(entry(2), "created", json!(in_seconds(90))),
        with(entry(2), "parameters", json!({"seed": "1"})),
        with(entry(2), "kind", json!("chat")),
        with(entry(2), "vector", vector("", 2)),
        with(entry(2), "vector", vector("e", 8193)),
    ] {
        let output = run(&deja, &bad.to_string(), &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains("line 1: "), "{bad}: {error}");
    }
    // What is found by another hash than its prompt's goes out with it.
    import(&deja, &[with(entry(3), "hash", json!("ab".repeat(32)))]);
    let exported = String::from_utf8(deja.run(&["export"]).stdout).unwrap();
    assert!(exported.contains(&"ab".repeat(32)) && exported.matches("\"hash\"").count() == 1, "{exported}");
    let ended = with(sample(2, 1), "expires", json!("2026-01-02T00:00:00Z"));
    let goes_on = with(sample(3, 1), "expires", json!("2100-01-01T00:00:00Z"));
    let summary = import(&deja, &[ended, goes_on]);
    assert_eq!((&summary["expired"], &summary["imported"]["samples"]), (&json!(1), &json!(1)));
    let asked = with(sample(0, 1), "asked", json!("x".repeat(8192)));
    let lines = [
        with(entry(2), "vector", vector("e", 8192)),
        with(asked, "reason", json!("x".repeat(64))),
        with(entry(4), "model", json!("m".repeat(256))),
        // Clocks differ a little.
        with(entry(5), "created", json!(in_seconds(30))),
    ];
    let imported = import(&deja, &lines)["imported"].clone();
    assert_eq!((&imported["entries"], &imported["samples"]), (&json!(3), &json!(1)));
}

#[test]
fn an_entry_that_came_before_its_project_shared_answers_is_there() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    import(&deja, &[entry(1)]);
    deja.ok(&["project", "set", "a", "--share-models", "true"]);
    assert_eq!(import(&deja, &[entry(1)])["already_there"]["entries"], 1);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let output = run(&deja, &format!("\u{feff}{}\n", entry(1)), &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Imported 1 entry.\n", "{output:?}");
}

#[test]
fn a_project_whose_id_is_taken_is_told_so() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let line = String::from_utf8(deja.run(&["export", "--with-projects"]).stdout).unwrap();
    let output = run(&deja, &line.replace(r#""project":"a""#, r#""project":"b""#), &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("line 1: its id is that of the project 'a' here: give it that slug"), "{error}");
}

/// What a copy complains of that is done but for something.
#[track_caller]
fn left_over(deja: &Deja, copy: &[&str]) -> String {
    let output = deja.run(copy);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("done, but for this: "), "{error}");
    error
}

#[test]
fn a_copy_puts_nothing_into_another_project_of_the_same_slug() {
    let deja = Deja::new();
    let again = |n| {
        deja.ok(&["project", "create", "a"]);
        import(&deja, &[entry(n)]);
    };
    let copy = ["db", "copy", "--from", "sqlite", "--to", "copied"];
    again(1);
    deja.ok(&copy);
    deja.ok(&["project", "delete", "a", "--yes"]);
    again(2);
    let error = left_over(&deja, &copy);
    assert!(error.contains("'a' in the target is another project: delete it there"), "{error}");
    let there = |command: &[&str]| {
        let output = deja.run(&[command, &["--data-dir", "copied"]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let exported = there(&["export"]);
    assert!(exported.contains("prompt 1") && !exported.contains("prompt 2"), "{exported}");
    assert!(there(&["project", "list", "--json"]).contains("\"suspended\""), "as the source deleted it");
    there(&["project", "delete", "a", "--yes"]);
    deja.ok(&copy);
    assert!(there(&["export"]).contains("prompt 2"));
}

#[test]
fn a_store_is_not_copied_into_itself() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    let error = deja.error(2, &["db", "copy", "--from", "sqlite", "--to", "./deja-data/../deja-data"]);
    assert_eq!(error, "deja: the source and the target are the same store");
}

#[test]
fn a_store_with_another_master_key_gets_none_from_a_copy_that_is_refused() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    // Its key is in the settings: no file lies beside it.
    let mut create = deja.command(&["project", "create", "b", "--data-dir", "copied"]);
    assert!(create.env("DEJA_MASTER_KEY", "ab".repeat(32)).output().unwrap().status.success());
    let error = deja.error(2, &["db", "copy", "--from", "sqlite", "--to", "copied"]);
    assert!(error.contains("the target has another master key than the source"), "{error}");
    assert!(!deja.path().join("copied/master.key").exists(), "it would be taken for the target's own");
}

#[test]
fn a_copy_goes_on_behind_what_is_refused_and_takes_away_all_the_same() {
    let deja = Deja::new();
    let of = ["--project", "a"];
    let add = |directory: &[&str], name: &str| {
        let at = ["--base-url", "https://house.example/v1", "--model", "m"];
        deja.ok(&[&["provider", "add", "--name", name][..], &of, &at, directory].concat());
    };
    deja.ok(&["project", "create", "a"]);
    let key = deja.key(&[&of[..], &["--name", "k"]].concat());
    let copy = ["db", "copy", "--from", "sqlite", "--to", "copied"];
    deja.ok(&copy);
    add(&[], "ours");
    add(&["--data-dir", "copied"], "theirs");
    import(&deja, &[entry(1)]);
    deja.ok(&["key", "revoke", &key]);
    std::fs::write(deja.path().join("password"), "correct horse battery staple").unwrap();
    let password = std::fs::File::open(deja.path().join("password")).unwrap();
    let mut create = deja.command(&["operator", "create", "ada@example.com", "--password-stdin"]);
    assert!(create.stdin(password).output().unwrap().status.success());
    for _ in 0..2 {
        let error = left_over(&deja, &copy);
        let wanted = "the provider 'ours' of 'a': another provider of this project has the model 'm'";
        assert!(error.contains(wanted) && error.lines().count() == 1, "{error}");
    }
    let there = |command: &[&str]| {
        let output = deja.run(&[command, &["--data-dir", "copied"]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!there(&[&["key", "list", "--json"][..], &of].concat()).contains(r#""revoked": null"#));
    assert!(there(&["export"]).contains("prompt 1") && there(&["operator", "list"]).contains("ada@"));
}

#[test]
fn keys_and_providers_come_into_a_project_that_was_there_only_if_asked_for() {
    let made = json!({"deja": 1, "project": "a", "name": "x", "created": "2026-01-01T00:00:00Z"});
    let with = |more: Value| {
        let mut record = made.clone();
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let provider = with(json!({
        "type": "provider", "id": id(9), "base_url": "http://10.0.0.1/v1", "models": ["m"],
        "allow_private": true, "has_secret": false,
    }));
    let key = with(json!({"type": "key", "id": id(8), "shown": "dj_0000", "hash": "ab".repeat(32)}));
    let project =
        with(json!({"type": "project", "id": id(7), "tier": "free", "suspended": false, "settings": {}}));

    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    for (record, flag) in [(&provider, "--with-projects"), (&key, "--with-keys")] {
        // Neither do they come behind the project's own line, which makes nothing here.
        let lines = format!("{}\n{project}\n{record}", entry(1));
        let output = run(&deja, &lines, &[]);
        let error = String::from_utf8(output.stderr).unwrap();
        let wanted = "line 3: the project 'a' was here before, and the ";
        assert!(error.contains(wanted) && error.contains(flag), "{error}");
        let skipped = run(&deja, &lines, &["--skip-bad"]);
        assert!(String::from_utf8_lossy(&skipped.stdout).ends_with("Skipped: 1.\n"), "{skipped:?}");
        let output = run(&deja, &lines, &[flag]);
        assert!(
            output.status.success() && output.stdout.starts_with(b"Imported 0 entries, 1 "),
            "{output:?}"
        );
        let again = import(&deja, std::slice::from_ref(record));
        assert_eq!(again["skipped"], 0, "what is there already is no gift: {again}");
    }
    // A project that comes with them has them, in whichever batch they come.
    let deja = Deja::new();
    let mut lines = vec![project];
    lines.extend((1..=600).map(entry));
    lines.extend([provider, key]);
    let imported = import(&deja, &lines)["imported"].clone();
    assert_eq!(imported, json!({"projects": 1, "providers": 1, "keys": 1, "entries": 600, "samples": 0}));
}

#[test]
fn an_import_says_which_project_is_full_and_of_which_no_line_is() {
    let deja = Deja::new();
    deja.ok(&["project", "create", "a"]);
    deja.ok(&["project", "set", "a", "--max-entries", "2"]);
    let lines: Vec<_> = (1..=5).map(|n| entry(n).to_string()).collect();
    std::fs::write(deja.path().join("lines"), lines.join("\n")).unwrap();
    let said = deja.ok(&["import", "lines"]);
    assert!(said.starts_with("Imported 5 entries.\n"), "{said}");
    assert!(said.contains("The project a is full: it keeps 2 entries"), "{said}");
    let error = deja.error(1, &["import", "lines", "--project", "nosuch"]);
    assert_eq!(error, "deja: no line is of the project nosuch");
}
