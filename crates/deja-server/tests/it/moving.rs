//! Moving a cache: export, import, copy and backup, while servers run and while they do not.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::admin_api::with_input;
use crate::util::provider::answer_to;
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Tenant};
use crate::wire;

const PROMPT: &str = "How do I reset my password?";
const REWORDED: &str = "How can I reset my password?";

/// A line of an export: entry `n` of a project.
pub(crate) fn line(project: &str, n: u64, prompt: &str, answer: &str) -> String {
    let entry = json!({
        "deja": 1, "type": "entry", "project": project, "id": format!("00000000-0000-7000-8000-{n:012x}"),
        "model": MODEL, "context": null, "prompt": prompt,
        "answer": {"text": answer, "provider": "openai", "input_tokens": 10, "output_tokens": 20},
        "created": format!("2026-01-01T00:{:02}:{:02}.{n:09}Z", n / 60 % 60, n % 60), "expires": null,
    });
    format!("{entry}\n")
}

/// Where a test keeps the file `name` of a server.
fn file(deja: &Deja, name: &str) -> String {
    deja.data().join(name).to_str().unwrap().to_owned()
}

fn summary(deja: &Deja, arguments: &[&str]) -> Value {
    serde_json::from_str(&deja.cli(&[arguments, &["--json"]].concat())).unwrap()
}

/// How many entries a project has.
fn entries(deja: &Deja, slug: &str) -> Value {
    let output = deja.try_cli(&["cache", "stats", "--project", slug, "--json"]);
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["entries"].clone()
}

#[track_caller]
fn refused(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.starts_with("deja: "), "{error}");
    error
}

/// The answers that a tenant gets from the cache: text and similarity of the same prompts and of others like them.
fn hits(tenant: &Tenant<'_>) -> Vec<(Value, Value)> {
    let mut hits = Vec::new();
    for context in [Value::Null, json!(""), json!("legal \u{1F98A}")] {
        for prompt in [PROMPT, REWORDED] {
            let answer = tenant.ask(&json!({"prompt": prompt, "model": MODEL, "context": context}));
            assert_eq!(answer["cache_hit"], true, "{context} {prompt}: {answer}");
            hits.push((answer["response"].clone(), answer["similarity_score"].clone()));
        }
    }
    hits
}

#[test]
fn a_cache_moves_with_projects_and_keys() {
    let provider = FakeProvider::start();
    let mut source = Deja::start(&provider);
    let tenant = Tenant::create(&source, "Moving", &["--tier", "pro", "--rpm", "700", "--burst", "800"]);
    for context in [Value::Null, json!(""), json!("legal \u{1F98A}")] {
        tenant.ask(&json!({"prompt": PROMPT, "model": MODEL, "context": context}));
    }
    let revoked = tenant.new_key(&[]);
    tenant.revoke(&revoked);
    let narrow = tenant.new_key(&["--model", "gpt-4o"]);
    let before = hits(&tenant);
    let (slug, key) = (tenant.slug.clone(), tenant.key.clone());
    source.cli(&["project", "set", &slug, "--ttl", "none", "--max-entries", "77"]);

    let running = file(&source, "running.jsonl");
    let whole = ["--with-projects", "--with-keys"];
    let exported = summary(&source, &[&["export", &running], &whole[..]].concat());
    let counts = json!({"projects": 1, "providers": 0, "keys": 3, "entries": 3, "samples": 0});
    assert_eq!(exported, json!({"exported": counts}));
    assert_eq!(fs::metadata(&running).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&running).unwrap();
    assert!(!text.contains(&key[3..]) && text.lines().all(|line| line.starts_with("{\"deja\":1,\"type\":")));
    source.stop();
    let stopped = file(&source, "stopped.jsonl");
    source.cli(&[&["export", &stopped], &whole[..]].concat());
    assert_eq!(fs::read_to_string(&stopped).unwrap(), text, "the same whether a server runs or not");

    let mut target = Deja::start(&provider);
    let imported = summary(&target, &["import", &running]);
    assert_eq!((&imported["imported"], &imported["already_there"]["entries"]), (&counts, &json!(0)));
    let calls = provider.calls("password").len();
    let tenant = Tenant { deja: &target, slug: slug.clone(), key: key.clone() };
    assert_eq!(hits(&tenant), before, "the same answers, exactly as similar");
    assert_eq!(provider.calls("password").len(), calls);
    assert_eq!(tenant.post_as(&revoked, "/v1/cache/query", b"{}").status, 401);
    let narrow = tenant.post_as(
        &narrow,
        "/v1/cache/query",
        json!({"prompt": PROMPT, "model": MODEL}).to_string().as_bytes(),
    );
    assert_eq!(narrow.status, 403);
    let list: Value = serde_json::from_str(&{
        let output = target.try_cli(&["project", "list", "--json"]);
        String::from_utf8(output.stdout).unwrap()
    })
    .unwrap();
    let project = &list[0];
    assert_eq!(
        (&project["name"], &project["tier"], &project["burst"]),
        (&json!("Moving"), &json!("pro"), &json!(800))
    );
    assert_eq!((&project["ttl_seconds"], &project["max_entries"]), (&Value::Null, &json!(77)));

    // Once more, and while no server runs.
    target.stop();
    let again = summary(&target, &["import", &running]);
    assert_eq!((&again["imported"]["entries"], &again["already_there"]), (&json!(0), &counts));
    target.restart();
    let tenant = Tenant { deja: &target, slug, key };
    assert_eq!(hits(&tenant), before);
}

#[test]
fn what_moves_can_be_chosen() {
    let deja = Deja::builder().start();
    for (n, slug) in [(1, "a"), (2, "b"), (3, "c")] {
        deja.cli(&["project", "create", slug]);
        fs::write(file(&deja, "one"), line(slug, n, "prompt", "answer")).unwrap();
        deja.cli(&["import", &file(&deja, "one")]);
    }
    let two = file(&deja, "two");
    assert_eq!(
        summary(&deja, &["export", &two, "--project", "c", "--project", "a"])["exported"]["entries"],
        2
    );
    let text = fs::read_to_string(&two).unwrap();
    let projects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["project"].clone());
    assert_eq!(projects.collect::<Vec<_>>(), ["a", "c"]);
    assert!(
        refused(&deja.try_cli(&["export", &file(&deja, "x"), "--project", "d"])).contains("no project 'd'")
    );
    assert!(!Path::new(&file(&deja, "x")).exists(), "nothing was written, and --resume is not asked for");
    assert!(refused(&deja.try_cli(&["export", &two])).contains("--resume"), "no file is written over");
    assert_eq!(fs::read_to_string(&two).unwrap(), text);

    // Standard output has the lines alone.
    let output = deja.try_cli(&["export", "--project", "a"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().collect::<Vec<_>>(), text.lines().take(1).collect::<Vec<_>>());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "Exported 1 entry.\n");

    let target = Deja::builder().start();
    let error = refused(&target.try_cli(&["import", &two]));
    assert!(error.contains("line 1: there is no project 'a'"), "{error}");
    target.cli(&["project", "create", "c"]);
    let some = summary(&target, &["import", &two, "--project", "c"]);
    assert_eq!((&some["imported"]["entries"], &some["skipped"]), (&json!(1), &json!(0)));
}

/// Two projects with settings, keys and 1,200 entries each.
fn filled(deja: &Deja) {
    let mut lines = String::new();
    for slug in ["first", "second"] {
        deja.cli(&["project", "create", slug]);
        deja.cli(&["key", "create", "--project", slug, "--name", "k"]);
        (0..1200)
            .for_each(|n| lines.push_str(&line(slug, n, &format!("Question {n}?"), &format!("Answer {n}."))));
    }
    fs::write(file(deja, "filling"), lines).unwrap();
    let filled = summary(deja, &["import", &file(deja, "filling")]);
    assert_eq!(filled["imported"]["entries"], 2400);
}

#[test]
fn an_interrupted_export_goes_on() {
    let deja = Deja::builder().env("DEJA_EMBED_THREADS", "1").start();
    filled(&deja);
    let export = |name: &str, more: &[&str]| {
        deja.cli(&[&["export", &file(&deja, name), "--with-projects", "--with-keys"], more].concat())
    };
    export("whole", &[]);
    // Vectors come in the background: without them the two files differ in nothing else.
    let without_vectors = |name: &str| {
        let text = fs::read_to_string(file(&deja, name)).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("vector");
            line
        });
        lines.collect::<Vec<_>>()
    };
    let whole = fs::read(file(&deja, "whole")).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
    assert_eq!(ends.len(), 2404);
    // Nothing; half of the first line; behind a project, a key, an entry; within entries; between projects; all.
    let cuts = [
        0,
        20,
        ends[0],
        ends[1],
        ends[2],
        ends[700] + 55,
        ends[1201],
        ends[1202] - 1,
        ends[1203],
        whole.len(),
    ];
    for cut in cuts {
        fs::write(file(&deja, "cut"), &whole[..cut]).unwrap();
        export("cut", &["--resume"]);
        assert_eq!(without_vectors("cut"), without_vectors("whole"), "cut at {cut}");
    }
    // What was stored since then comes behind, of each project; also if the export was interrupted in a later one.
    let later = ["first", "second"].map(|slug| line(slug, 3599, "Later?", "Later."));
    fs::write(file(&deja, "later"), later.concat()).unwrap();
    deja.cli(&["import", &file(&deja, "later")]);
    deja.cli(&["key", "create", "--project", "first", "--name", "later"]);
    let (whole, cut) = (file(&deja, "whole"), file(&deja, "cut"));
    let again = || {
        summary(&deja, &["export", &whole, "--resume", "--with-projects", "--with-keys"])["exported"].clone()
    };
    let exported = |entries: u64, keys: u64| json!({"projects": 0, "providers": 0, "keys": keys, "entries": entries, "samples": 0});
    assert_eq!(again(), exported(2, 1));
    assert_eq!(again(), exported(0, 0));
    fs::write(&cut, &fs::read(&whole).unwrap()[..ends[1300]]).unwrap();
    assert_eq!(summary(&deja, &["export", &cut, "--resume"])["exported"]["entries"], 1 + 1104);
    // A file of something else stays as it is.
    fs::write(file(&deja, "letter"), "Dear\nall").unwrap();
    let error = refused(&deja.try_cli(&["export", &file(&deja, "letter"), "--resume"]));
    assert!(error.contains("cannot go on"), "{error}");
    assert_eq!(fs::read_to_string(file(&deja, "letter")).unwrap(), "Dear\nall");
}

#[test]
fn lines_that_cannot_be_taken_are_named() {
    let deja = Deja::builder().start();
    deja.cli(&["project", "create", "a"]);
    let good = |n| line("a", n, &format!("prompt {n}"), "answer");
    let text = good(3);
    let project = |settings| {
        let project = json!({"deja": 1, "type": "project", "project": "b", "id": "00000000-0000-7000-8000-000000000009",
            "name": "B", "tier": "free", "suspended": false, "settings": settings, "created": "2026-01-01T00:00:00Z"});
        project.to_string()
    };
    let bad = [
        "hush".to_owned(),
        text[..text.len() / 2].to_owned(),
        text.replace("\"deja\":1", "\"deja\":2"),
        text.replace("\"project\":\"a\"", "\"project\":\"hush-no-such\""),
        text.replace("00000000-0000", "hush"),
        text.replace("\"input_tokens\":10", "\"input_tokens\":-10"),
        text.replace("\"expires\":null", "\"vector\":{\"embedder\":\"e\",\"f16\":\"hush\"}"),
        text.replace("\"expires\":null", "\"vector\":{\"embedder\":\"e\",\"f16\":\"AAAAAA==\"}"),
        text.replace("\"expires\":null", "\"vector\":{\"embedder\":\"e\\u0000\",\"f16\":\"ADw=\"}"),
        text.replace("\"openai\"", "\"open\\u0000ai\""),
        project(json!({"guard_model": "a\u{0}b"})),
        project(json!({"prices": {"a\u{0}b": {"input": 1, "output": 1}}})),
        text.replace("\"entry\"", "\"exit\""),
        "\u{0}\u{1}".to_owned(),
    ];
    for bad in &bad {
        let lines = format!("{}\n{}\n{}{}", good(1), bad.trim_end(), good(1), good(2));
        fs::write(file(&deja, "lines"), &lines).unwrap();
        let error = refused(&deja.try_cli(&["import", &file(&deja, "lines")]));
        assert!(
            error.contains("line 3: ") && error.contains("--skip-bad") && error.lines().count() == 1,
            "{error}"
        );
        assert!(!error.contains("prompt 3"), "{error}");
        assert_eq!(entries(&deja, "a"), 1, "what is before it is in, what is behind it is not: {bad}");
        let skipped = summary(&deja, &["import", &file(&deja, "lines"), "--skip-bad"]);
        let counts =
            [&skipped["imported"]["entries"], &skipped["already_there"]["entries"], &skipped["skipped"]];
        assert_eq!(counts, [1, 2, 1], "{bad}");
        let purged = deja.cli(&["cache", "purge", "--project", "a", "--yes"]);
        assert_eq!(purged, "Deleted 2 entries.", "{bad}");
    }
    // Bytes that are no text; an empty file; expired entries; no line end at the end.
    fs::write(file(&deja, "bytes"), [0xff, 0xfe, b'\n']).unwrap();
    refused(&deja.try_cli(&["import", &file(&deja, "bytes")]));
    fs::write(file(&deja, "empty"), "").unwrap();
    assert_eq!(deja.cli(&["import", &file(&deja, "empty")]), "Imported 0 entries.");
    let expired = good(5).replace("\"expires\":null", "\"expires\":\"2026-01-02T00:00:00Z\"");
    fs::write(file(&deja, "last"), format!("{expired}{}", good(6).trim_end())).unwrap();
    let last = summary(&deja, &["import", &file(&deja, "last")]);
    assert_eq!((&last["expired"], &last["imported"]["entries"]), (&json!(1), &json!(1)));
    let mut child =
        deja.command(&["import", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(good(7).as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"Imported 1 entry.\n");
}

/// The largest memory of a child while it runs, in kilobytes.
fn peak_kb(arguments: &[&str], deja: &Deja) -> u64 {
    let mut child = deja.command(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmHWM"));
        peak = peak.max(line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse().unwrap()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success());
    peak
}

#[test]
fn five_thousand_entries_take_no_more_memory_than_a_few() {
    let deja = Deja::builder().env("DEJA_EMBED_THREADS", "1").start();
    for (slug, count) in [("few", 500), ("many", 5000)] {
        deja.cli(&["project", "create", slug]);
        let mut lines = fs::File::create(file(&deja, slug)).unwrap();
        for n in 0..count {
            let answer = format!("{n:x<20000}");
            lines.write_all(line(slug, n, &format!("{slug} {n}"), &answer).as_bytes()).unwrap();
        }
    }
    let import = |slug| peak_kb(&["import", &file(&deja, slug)], &deja);
    let (few, many) = (import("few"), import("many"));
    // Batches that are read ahead, and what the allocator keeps of them, vary by 25 MB.
    assert!(few > 1000 && many < few + 45_000, "import: {few} kB for 10 MB, {many} kB for 100 MB");
    let export = |slug| peak_kb(&["export", &file(&deja, &format!("{slug}.out")), "--project", slug], &deja);
    let (few, many) = (export("few"), export("many"));
    assert!(few > 1000 && many < few + 20_000, "export: {few} kB for 10 MB, {many} kB for 100 MB");
    let lines = BufReader::new(fs::File::open(file(&deja, "many.out")).unwrap()).lines().count();
    assert_eq!(lines, 5000);
}

#[test]
fn vectors_of_another_embedder_are_made_again() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "foreign", &[]);
    let foreign = line(&tenant.slug, 1, PROMPT, "from elsewhere")
        .replace("\"expires\":null", "\"vector\":{\"embedder\":\"another\",\"f16\":\"ADwAAA==\"}");
    fs::write(file(&deja, "foreign"), foreign).unwrap();
    deja.cli(&["import", &file(&deja, "foreign")]);
    assert_eq!(tenant.ask_for(PROMPT)["response"], "from elsewhere");
    deja.until_logged("these entries are embedded", 1);
    let hit = tenant.ask_for(REWORDED);
    assert_eq!((&hit["cache_hit"], &hit["response"]), (&json!(true), &json!("from elsewhere")));
}

/// Leaves nothing in a directory.
fn empty(directory: &Path) {
    for file in fs::read_dir(directory).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
}

#[test]
fn a_copy_has_sealed_secrets_and_all_else() {
    let provider = FakeProvider::start();
    let mut source = Deja::start(&provider);
    let tenant = Tenant::create(&source, "copied", &[]);
    let url = provider.url();
    let more = ["--kind", "anthropic", "--allow-private", "--key-env", "HOUSE_KEY"];
    let add = tenant.provider_add("house", &url, "house-1", &more);
    let added = source.command(&add).env("HOUSE_KEY", "hush-house").output().unwrap();
    assert!(added.status.success());
    tenant.ask_for(PROMPT);
    wire::fill(&tenant);
    let (slug, key) = (tenant.slug.clone(), tenant.key.clone());
    let operator = ["operator", "create", "bob@example.com", "--role", "member", "--password-stdin"];
    assert!(with_input(source.command(&operator), "correct horse battery staple"), "{}", source.log());
    let project = ["--project", slug.as_str()];
    let set = ["member", "set", "--operator", "bob@example.com", "--rank", "viewer"];
    source.cli(&[&set[..], &project].concat());

    let mut target = Deja::start(&provider);
    target.stop();
    let [from, to] = [&source, &target].map(|deja| deja.data().to_str().unwrap().to_owned());
    let copy = ["db", "copy", "--from", &from, "--to", &to];
    assert!(refused(&source.try_cli(&copy)).contains("in use"), "not under a running server");
    source.stop();
    assert!(refused(&source.try_cli(&copy)).contains("master key"), "the target has another key");
    empty(target.data());
    let entries = 1 + wire::FILLING;
    let counts = json!({"projects": 1, "providers": 1, "keys": 1, "entries": entries, "samples": 0});
    let copied = summary(&source, &copy);
    assert_eq!((&copied["imported"], &copied["without_secret"]), (&counts, &json!([])));
    assert_eq!(summary(&source, &copy)["already_there"], counts, "it can be repeated");
    assert!(
        refused(&source.try_cli(&["db", "copy", "--from", "nowhere", "--to", &to])).contains("no database")
    );

    target.restart();
    let members = target.try_cli(&["member", "list", "--project", &slug, "--json"]).stdout;
    let members: Value = serde_json::from_slice(&members).unwrap();
    assert_eq!(members, json!([{"email": "bob@example.com", "rank": "viewer"}]));
    let tenant = Tenant { deja: &target, slug, key };
    let hit = tenant.ask_for(REWORDED);
    assert_eq!((&hit["cache_hit"], &hit["response"]), (&json!(true), &json!(answer_to(PROMPT))));
    wire::serves_what_was_filled(&tenant, &provider);
    tenant.ask(&json!({"prompt": "Who lives here?", "model": "house-1"}));
    let call = provider.calls("house-1").pop().unwrap();
    assert_eq!(call.header("x-api-key"), Some("hush-house"), "the secret went along, and so did the kind");

    // A file never has it, and says so.
    let without = file(&target, "without");
    target.cli(&["export", &without, "--with-projects"]);
    let text = fs::read_to_string(&without).unwrap();
    assert!(text.contains("\"has_secret\":true") && !text.contains("sealed"), "{text}");
    let third = Deja::builder().start();
    assert_eq!(summary(&third, &["import", &without])["without_secret"], json!([["copied", "house"]]));
    let list = third.try_cli(&["provider", "list", "--project", "copied", "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&list.stdout).unwrap()[0]["kind"], "anthropic");
}

/// All that an export has but vectors, which come in the background, and who may do what.
fn everything(deja: &Deja, data: &str, slug: &str) -> Vec<Value> {
    let run = |arguments: &[&str]| {
        let output = deja.command(arguments).env("DEJA_DATA_DIR", data).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let exported = run(&["export", "--with-projects", "--with-keys"]);
    let mut all: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut all {
        line.as_object_mut().unwrap().remove("vector");
    }
    let project = ["--project", slug, "--json"];
    let lists = [&["provider", "list"][..], &["member", "list"], &["key", "list"]];
    let lists = lists.iter().map(|list| run(&[*list, &project[..]].concat()));
    all.extend(lists.map(|list| serde_json::from_str(&list).unwrap()));
    all
}

fn set_rank(deja: &Deja, slug: &str, email: &str, rank: &str) {
    deja.cli(&["member", "set", "--project", slug, "--operator", email, "--rank", rank]);
}

#[test]
fn a_copy_that_is_repeated_gives_what_a_new_one_gives() {
    let provider = FakeProvider::start();
    let mut source = Deja::on("", &provider);
    let tenant = Tenant::create(&source, "copied", &[]);
    let slug = tenant.slug.clone();
    for name in ["removed", "renewed", "stays"] {
        source.cli(&tenant.provider_add(name, "https://llm.example.com/v1", &format!("{name}-1"), &[]));
    }
    for (n, model) in [(1, MODEL), (2, MODEL), (3, "gpt-4o"), (4, "gpt-4o")] {
        let entry = line(&slug, n, &format!("Question {n}?"), "answer").replace(MODEL, model);
        fs::write(file(&source, "filling"), entry).unwrap();
        source.cli(&["import", &file(&source, "filling")]);
    }
    let keys = [tenant.new_key(&[]), tenant.new_key(&[])];
    for email in ["bob@example.com", "eve@example.com"] {
        let operator = ["operator", "create", email, "--role", "member", "--password-stdin"];
        assert!(with_input(source.command(&operator), "correct horse battery staple"), "{}", source.log());
        set_rank(&source, &slug, email, "editor");
    }
    source.cli(&["project", "suspend", &slug]);
    source.stop();

    let copy = |deja: &Deja, to: &str| {
        let (from, to) = (deja.data().to_str().unwrap(), file(deja, to));
        deja.cli(&["db", "copy", "--from", from, "--to", &to]);
        everything(deja, &to, &slug)
    };
    let first = copy(&source, "repeated");
    assert_eq!(copy(&source, "repeated"), first);

    source.restart();
    let tenant = Tenant { deja: &source, slug: slug.clone(), key: String::new() };
    source.cli(&["project", "resume", &slug]);
    source.cli(&["project", "set", &slug, "--tier", "pro", "--ttl", "2d", "--guard", "strict"]);
    source.cli(&["price", "set", "--project", &slug, "stays-1", "--input", "1", "--output", "2"]);
    for name in ["removed", "renewed"] {
        source.cli(&["provider", "remove", "--project", &slug, name]);
    }
    let more = ["--kind", "anthropic", "--key-env", "HOUSE_KEY"];
    let renewed = tenant.provider_add("renewed", "https://other.example.com", "renewed-2", &more);
    assert!(source.command(&renewed).env("HOUSE_KEY", "hush-house").output().unwrap().status.success());
    tenant.revoke(&keys[0]);
    tenant.new_key(&["--model", "gpt-4o"]);
    source.cli(&["cache", "purge", "--project", &slug, "--model", "gpt-4o", "--yes"]);
    set_rank(&source, &slug, "bob@example.com", "owner");
    source.cli(&["member", "remove", "--project", &slug, "--operator", "eve@example.com"]);
    source.stop();
    let new = copy(&source, "new");
    assert_ne!(new, first);
    assert_eq!(copy(&source, "repeated"), new);
}

#[test]
fn a_backup_of_a_running_server_can_be_restored() {
    let provider = FakeProvider::start();
    let source = Deja::start(&provider);
    let tenant = Tenant::create(&source, "kept", &[]);
    tenant.ask_for(PROMPT);
    let backup = file(&source, "backup.db");
    source.cli(&["db", "backup", &backup]);
    tenant.ask_for("What came after the backup?");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(refused(&source.try_cli(&["db", "backup", &backup])).contains("there already"));

    let mut target = Deja::start(&provider);
    target.stop();
    empty(target.data());
    fs::copy(&backup, target.data().join("deja.db")).unwrap();
    fs::copy(source.data().join("master.key"), target.data().join("master.key")).unwrap();
    target.restart();
    let restored = Tenant { deja: &target, slug: tenant.slug.clone(), key: tenant.key.clone() };
    let hit = restored.ask_for(REWORDED);
    assert_eq!((&hit["cache_hit"], &hit["debug"]["cache_entry_count"]), (&json!(true), &json!(1)));
}

#[test]
fn health_is_asked_for_from_the_command_line() {
    let mut deja = Deja::builder().start();
    deja.cli(&["health"]);
    deja.stop();
    assert!(refused(&deja.try_cli(&["health"])).contains("no answer"));
}
