//! Running it: health, metrics, documents, start, stop, and the command line against a running server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::util::deja::{free_port, wait};
use crate::util::http::{self, Connection};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Gate, PATIENCE, Reaction, Tenant, World, eventually, metrics};
use crate::wire::counted;

#[test]
fn health_is_told_in_json_and_without_a_key() {
    let deja = &World::shared().deja;
    for path in ["/livez", "/readyz"] {
        let response = deja.get(path);
        assert_eq!((response.status, response.json()), (200, json!({"status": "ok"})), "{path}");
        assert_eq!(deja.request("HEAD", path, &[], b"").status, 200);
    }
}

#[test]
fn metrics_have_a_listener_of_their_own_and_only_if_asked_for() {
    World::shared().deja.get("/metrics").detail(404);
    let provider = FakeProvider::start();
    let port = free_port();
    let deja =
        Deja::builder().provider(&provider).env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{port}")).start();
    // An alert hears of the first event only if there was a 0 before it.
    let fresh = metrics(port);
    for line in ["deja_shed_total 0\n", "deja_counts_dropped_total 0\n"] {
        assert!(fresh.contains(line), "no {line} in\n{fresh}");
    }
    let quarantined = |line: &&str| line.contains(r#"effect="quarantined""#) && line.ends_with("} 0");
    assert_eq!(fresh.lines().filter(quarantined).count(), 6, "two sources, three kinds:\n{fresh}");
    let tenant = Tenant::create(&deja, "metrics", &[]);
    for _ in 0..3 {
        tenant.ask_for("Who wrote Faust?");
    }
    // A model that nobody knows is the caller's mistake, and no error.
    tenant.send(&json!({"prompt": "Who wrote Faust?", "model": "nobody-knows"})).detail(400);
    // What a client wants neither looked up nor stored is no look-up.
    let key = format!("Bearer {}", tenant.key);
    let headers = [("Authorization", key.as_str()), ("X-Deja-Cache", "off")];
    let asked = json!({"model": MODEL, "messages": [{"role": "user", "content": "Who wrote Faust?"}]});
    let off = deja.request("POST", "/v1/chat/completions", &headers, asked.to_string().as_bytes());
    assert_eq!((off.status, off.header("x-deja-cache")), (200, Some("bypass")), "{off:?}");
    let text = metrics(port);
    let version = format!(r#"deja_build_info{{version="{}"}} 1"#, env!("CARGO_PKG_VERSION"));
    let outcomes =
        [("miss", 1), ("passed", 1), ("exact_hit", 2), ("refused", 1)].map(|(outcome, requests)| {
            format!(r#"deja_queries_total{{outcome="{outcome}",project="metrics"}} {requests}"#)
        });
    let entries = r#"deja_entries{project="metrics"} 1"#;
    for line in outcomes.iter().map(String::as_str).chain([
        version.as_str(),
        entries,
        "deja_search_duration_seconds_count 3",
        "process_open_fds ",
        "process_resident_memory_bytes ",
    ]) {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    let saved = r#"deja_saved_nanodollars_total{project="metrics"} 900000"#;
    assert!(text.contains(saved), "two hits of 1000 and 500 tokens:\n{text}");
    assert!(!text.contains("deja_price_table_age_seconds 0\n"), "prices compiled in are old:\n{text}");
    deja.get("/metrics").detail(404);
    for (method, path, status) in [("GET", "/", 404), ("POST", "/metrics", 405)] {
        let mut connection = Connection::open(([127, 0, 0, 1], port).into()).unwrap();
        let refused = connection.ask(&http::request(method, path, &[], b""));
        assert_eq!(refused.status, status, "{method} {path}");
        assert!(refused.json()["detail"].is_string(), "{refused:?}");
    }
    // A project that is made again begins with 0.
    for _ in 0..2 {
        deja.cli(&["project", "delete", "metrics", "--yes"]);
        let text = metrics(port);
        assert!(!text.contains(r#"project="metrics""#), "it is deleted:\n{text}");
        Tenant::create(&deja, "metrics", &[]).ask_for("Who wrote Faust?");
        let text = metrics(port);
        assert!(text.contains(r#"deja_queries_total{outcome="miss",project="metrics"} 1"#), "{text}");
        assert!(!text.contains("deja_saved_nanodollars_total"), "{text}");
    }
}

#[test]
fn the_openapi_document_is_the_committed_one() {
    let served = World::shared().deja.get("/openapi.json");
    assert_eq!(served.header("content-type"), Some("application/json"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let committed = std::fs::read_to_string(path).expect("docs/openapi.json");
    let committed: serde_json::Value = serde_json::from_str(&committed).unwrap();
    assert_eq!(served.json(), committed, "make it anew from the served one");
}

#[test]
fn what_is_not_there_beside_the_documents_is_refused_as_everywhere() {
    let deja = &World::shared().deja;
    assert_eq!(deja.get("/docs/").status, 200);
    for path in ["/docs/nope.js", "/docs/%FF", "/nope.js"] {
        let refused = deja.get(path);
        refused.detail(404);
        assert_eq!(refused.header("x-deja-error"), Some("not_found"), "{path}");
    }
}

#[test]
fn the_openapi_document_has_the_published_interface() {
    let document = World::shared().deja.get("/openapi.json").json();
    let query = &document["paths"]["/v1/cache/query"]["post"];
    for status in ["200", "400", "401", "403", "429", "500"] {
        assert!(query["responses"][status].is_object(), "{status}");
    }
    let request = &document["components"]["schemas"]["QueryRequest"];
    assert_eq!(request["required"], json!(["prompt", "model"]));
    let mut fields: Vec<&String> = request["properties"].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["context", "include_debug", "model", "prompt", "similarity_threshold"]);
}

#[test]
fn the_documentation_page_is_served() {
    let deja = &World::shared().deja;
    let mut response = deja.get("/docs");
    if let 300..400 = response.status {
        response = deja.get(response.header("location").expect("where to"));
    }
    assert_eq!(response.status, 200);
    assert!(
        response.header("content-type").is_some_and(|kind| kind.starts_with("text/html")),
        "{response:?}"
    );
    assert!(response.text().contains("<html"), "{}", response.text());
}

#[test]
fn a_query_in_flight_at_sigterm_is_answered() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    let gate = Gate::default();
    provider
        .on("operations-sigterm", Reaction::Gated(gate.clone(), Box::new(Reaction::Text("Goethe.".into()))));
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "sigterm", &[]);
        let mut idle = Connection::open(deja.address()).unwrap();
        let mut waiting = tenant.begin(&json!({"prompt": "operations-sigterm", "model": MODEL}));
        provider.wait_for_calls("operations-sigterm", 1);
        deja.signal("TERM");
        // Nobody new gets in, and who only keeps a connection open is sent off.
        let is_served = |mut c: Connection| {
            c.send(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").is_ok() && c.receive().is_ok()
        };
        eventually("new connections are not served", || {
            !Connection::open(deja.address()).is_ok_and(is_served)
        });
        assert!(idle.receive().is_err());
        gate.open();
        let answer = waiting.receive().unwrap();
        assert_eq!((answer.status, &answer.json()["response"]), (200, &json!("Goethe.")));
        (tenant.slug, tenant.key)
    };
    let status = deja.wait();
    assert_eq!(status.code(), Some(0), "{}", deja.log());
    deja.restart();
    let tenant = Tenant { deja: &deja, slug, key };
    assert_eq!(tenant.ask_for("operations-sigterm")["cache_hit"], true);
}

#[test]
fn what_is_answered_while_the_server_stops_is_counted_also_if_it_is_killed() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    let gates = ["answered", "stuck"].map(|prompt| {
        let gate = Gate::default();
        let answer = Reaction::Text("Goethe.".into());
        provider.on(&format!("stopping-{prompt}"), Reaction::Gated(gate.clone(), Box::new(answer)));
        gate
    });
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "stopping", &[]);
        let [mut answered, _stuck] = ["stopping-answered", "stopping-stuck"].map(|prompt| {
            let waiting = tenant.begin(&json!({"prompt": prompt, "model": MODEL}));
            provider.wait_for_calls(prompt, 1);
            waiting
        });
        deja.signal("TERM");
        deja.until_logged("shutting down", 1);
        gates[0].open();
        assert_eq!(answered.receive().unwrap().status, 200);
        // Counts are written once a second.
        std::thread::sleep(Duration::from_secs(3));
        (tenant.slug, tenant.key)
    };
    deja.signal("KILL");
    deja.wait();
    gates[1].open();
    deja.restart();
    counted(&Tenant { deja: &deja, slug, key }, 1);
}

#[test]
fn a_replica_leaves_before_it_stops() {
    let provider = FakeProvider::start();
    let port = free_port();
    let mut deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_SHUTDOWN_DELAY_S", "3600")
        .env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{port}"))
        .start();
    let ready = |value: u8| metrics(port).lines().any(|line| line == format!("deja_ready {value}"));
    assert!(ready(1));
    let tenant = Tenant::create(&deja, "leaving", &[]);
    let mut open = Connection::open(deja.address()).unwrap();
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes();
    assert_eq!(open.ask(&request("/livez")).header("connection"), None);
    deja.signal("TERM");
    eventually("it is not ready any more", || deja.get("/readyz").status == 503);
    assert_eq!(deja.get("/readyz").header("x-deja-error"), Some("unavailable"));
    assert!(ready(0));
    // New requests are answered, on old connections and on new ones, and each connection ends with its answer.
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], false);
    let last = open.ask(&request("/livez"));
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    // Whoever is in a hurry says it twice.
    deja.signal("TERM");
    assert_eq!(deja.wait().code(), Some(0), "{}", deja.log());
}

#[test]
fn a_query_that_does_not_end_is_cut_at_the_deadline_of_the_stop() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder().provider(&provider).env("DEJA_SHUTDOWN_TIMEOUT_S", "1").start();
    provider.on("operations-stuck", Reaction::Hang);
    let began;
    let (slug, key) = {
        let tenant = Tenant::create(&deja, "stuck", &[]);
        let mut waiting = tenant.begin(&json!({"prompt": "operations-stuck", "model": MODEL}));
        provider.wait_for_calls("operations-stuck", 1);
        began = Instant::now();
        deja.signal("TERM");
        // An error or a cut, but not for ever.
        if let Ok(response) = waiting.receive() {
            assert!(response.status >= 500, "{response:?}");
        }
        (tenant.slug, tenant.key)
    };
    deja.wait();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    deja.restart();
    assert_eq!(counted(&Tenant { deja: &deja, slug, key }, 1)["errors"], 1);
}

#[test]
fn slow_heads_and_bodies_are_cut() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_HEADER_TIMEOUT_MS", "500")
        .env("DEJA_BODY_TIMEOUT_MS", "500")
        .env("DEJA_IDLE_TIMEOUT_S", "1")
        .start();
    let tenant = Tenant::create(&deja, "slow", &[]);
    let whole = tenant.request(&json!({"prompt": "Who wrote Faust?", "model": MODEL}));
    let body_at = http::find(&whole, b"\r\n\r\n").unwrap() + 4;
    // A head that stops: the connection ends, with or without a word.
    let mut head = Connection::open(deja.address()).unwrap();
    head.send(&whole[..body_at / 2]).unwrap();
    if let Ok(response) = head.receive() {
        assert!((400..500).contains(&response.status), "{response:?}");
    }
    // One that never stops, a byte at a time.
    let mut drip = Connection::open(deja.address()).unwrap();
    let mut bytes = (0..body_at - 5).chain(std::iter::repeat(body_at - 6));
    eventually("a head that drips is not read for ever", || {
        let byte = bytes.next().unwrap();
        drip.send(&whole[byte..=byte]).is_err()
    });
    // A body that stops: 400 in the usual form.
    let mut body = Connection::open(deja.address()).unwrap();
    let detail = body.ask(&whole[..body_at + 5]).detail(400);
    assert!(detail.contains("body"), "{detail}");
    // A connection that never says anything is closed too.
    let idle = Connection::open(deja.address()).unwrap();
    assert_eq!(idle.stream().read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], false);
}

#[test]
fn a_connection_between_requests_is_kept_longer_than_a_head_may_take() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_HEADER_TIMEOUT_MS", "300")
        .env("DEJA_IDLE_TIMEOUT_S", "60")
        .start();
    let mut connection = Connection::open(deja.address()).unwrap();
    for _ in 0..2 {
        assert_eq!(connection.ask(&http::request("GET", "/livez", &[], b"")).status, 200);
        // Far more than a head may take, far less than a connection may be idle.
        std::thread::sleep(Duration::from_millis(1500));
    }
}

/// Whoever is in a hurry says it twice: nothing is waited for then.
#[test]
fn another_signal_cuts_what_is_under_way() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder().provider(&provider).env("DEJA_SHUTDOWN_TIMEOUT_S", "3600").start();
    provider.on("operations-hurry", Reaction::Hang);
    let query = json!({"prompt": "operations-hurry", "model": MODEL});
    let mut waiting = Tenant::create(&deja, "hurry", &[]).begin(&query);
    provider.wait_for_calls("operations-hurry", 1);
    deja.signal("INT");
    deja.until_logged("shutting down", 1);
    deja.signal("INT");
    assert_eq!(waiting.receive().map_or(503, |cut| cut.status), 503);
    assert_eq!(deja.wait().code(), Some(0), "{}", deja.log());
}

#[test]
fn an_interrupt_ends_it_in_order_too() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    deja.signal("INT");
    assert_eq!(deja.wait().code(), Some(0), "{}", deja.log());
}

/// What went wrong at start: one line that says what to do, and this exit code.
#[track_caller]
fn refuses(output: &Output, code: i32, words: &[&str]) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    assert!(!err.contains("panicked"), "{err}");
    let last = err.trim_end().lines().last().unwrap_or_default();
    for word in words {
        assert!(
            last.to_lowercase().contains(&word.to_lowercase()),
            "no {word:?} in the last line of {err:?}"
        );
    }
}

/// Runs `deja serve`, which should not get far.
fn serve(deja: &Deja, change: &[(&str, &str)]) -> Output {
    let mut command = deja.command(&["serve"]);
    command.envs(change.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if wait(&mut child, PATIENCE).is_none() {
        child.kill().unwrap();
        panic!("it runs: {:?}", child.wait_with_output());
    }
    child.wait_with_output().unwrap()
}

#[test]
fn what_stands_in_the_way_of_a_start_is_told_in_one_line() {
    let world = World::start();
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    // The data directory is another server's.
    let port = free_port().to_string();
    let elsewhere = format!("127.0.0.1:{port}");
    refuses(&serve(&world.deja, &[("DEJA_LISTEN", &elsewhere)]), 1, &["data directory", "in use"]);
    // The port is taken.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    refuses(&serve(&world.deja, &[("DEJA_LISTEN", &taken), ("DEJA_DATA_DIR", empty)]), 1, &[&taken]);
    // Settings that make no sense, each named.
    for (name, value, word) in [
        ("DEJA_LISTEN", "nowhere", "listen"),
        ("DEJA_LISTEN", "127.0.0.1:99999", "listen"),
        ("DEJA_MAX_PROMPT_BYTES", "many", "max_prompt_bytes"),
        ("DEJA_MAX_PROMPT_BYTES", "0", "max_prompt_bytes"),
        ("DEJA_LOG_FORMAT", "xml", "log_format"),
        ("DEJA_MASTER_KEY", "short", "master"),
        ("OPENAI_BASE_URL", "not a url", "OPENAI_BASE_URL"),
    ] {
        let output =
            serve(&world.deja, &[("DEJA_LISTEN", &elsewhere), ("DEJA_DATA_DIR", empty), (name, value)]);
        refuses(&output, 2, &[word]);
    }
    // A data directory that cannot be one.
    let file = std::path::Path::new(empty).join("file");
    std::fs::write(&file, "x").unwrap();
    let output =
        serve(&world.deja, &[("DEJA_LISTEN", &elsewhere), ("DEJA_DATA_DIR", file.to_str().unwrap())]);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    refuses(&output, output.status.code().unwrap(), &["file"]);
    assert_eq!(world.deja.get("/readyz").status, 200, "the first server is none the worse");
}

#[test]
fn a_wrong_master_key_is_noticed_at_start() {
    let provider = FakeProvider::start();
    let key = |digit: &str| digit.repeat(64);
    let mut deja = Deja::builder().provider(&provider).env("DEJA_MASTER_KEY", key("a")).start();
    assert!(deja.stop().success());
    let output = serve(&deja, &[("DEJA_MASTER_KEY", &key("b"))]);
    let code = output.status.code().unwrap();
    assert!(code == 1 || code == 2, "{output:?}");
    refuses(&output, code, &["master key"]);
}

#[test]
fn wrong_usage_is_2_and_what_is_not_there_is_1() {
    let deja = &World::shared().deja;
    for arguments in
        [&["no-such-command"][..], &["key", "create"], &["project", "create"], &["serve", "--no-such-flag"]]
    {
        assert_eq!(deja.try_cli(arguments).status.code(), Some(2), "{arguments:?}");
    }
    for arguments in [
        &["key", "create", "--project", "no-such-project", "--name", "x"][..],
        &["project", "suspend", "no-such-project"],
        &["key", "revoke", "dj_zzzz"],
    ] {
        let output = deja.try_cli(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty());
    }
    assert!(deja.cli(&["--version"]).contains(env!("CARGO_PKG_VERSION")));
    assert!(deja.try_cli(&["--help"]).status.success());
}

#[test]
fn a_key_revoked_while_the_server_runs_is_refused_at_the_very_next_request() {
    let tenant = World::shared().tenant("revoke");
    let mut connection = Connection::open(tenant.deja.address()).unwrap();
    for n in 0..100 {
        let key = tenant.new_key(&[]);
        let request = http::post(&key, PATH, "{}");
        let mut status = || {
            // The command line may take longer than a connection may be idle.
            if connection.send(&request).is_err() {
                connection = Connection::open(tenant.deja.address()).unwrap();
                connection.send(&request).unwrap();
            }
            connection.receive().unwrap().status
        };
        assert_eq!(status(), 400, "key {n} works at once");
        tenant.revoke(&key);
        assert_eq!(status(), 401, "key {n}");
    }
}

#[test]
fn listings_show_the_published_attributes_of_keys() {
    let tenant = World::shared().tenant("listing");
    let key = tenant.deja.cli(&["key", "create", "--project", &tenant.slug, "--name", "checkout service"]);
    for _ in 0..7 {
        let body = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
        assert_eq!(tenant.post_as(&key, PATH, body.as_bytes()).status, 200);
    }
    // A refused body counts too.
    assert_eq!(tenant.post_as(&key, PATH, b"{}").status, 400);
    let revoked = tenant.new_key(&[]);
    tenant.revoke(&revoked);
    let listed = || {
        let output = tenant.deja.try_cli(&["key", "list", "--project", &tenant.slug]);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let line =
        |text: &str, word: &str| text.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
    // Counts are written in batches, a second or so later.
    eventually("8 are counted", || {
        line(&listed(), "checkout service").split_whitespace().any(|word| word == "8")
    });
    let text = listed();
    let active = line(&text, "checkout service");
    assert!(active.contains(&key[..7]) && active.contains("Active"), "{active}");
    assert!(line(&text, &revoked[..7]).contains("Revoked"), "{text}");
    assert!(!text.contains(&key) && !text.contains(&key[7..]), "the whole key is shown once only");
}

#[test]
fn projects_are_listed() {
    let tenant = World::shared().tenant("In The List");
    assert!(tenant.slug.starts_with("in-the-list"), "{}", tenant.slug);
    let output = tenant.deja.try_cli(&["project", "list"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains(&tenant.slug));
}

#[test]
fn the_command_line_works_without_a_server_too() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    assert!(deja.stop().success());
    let slug = deja.cli(&["project", "create", "offline"]);
    let key = deja.cli(&["key", "create", "--project", &slug, "--name", "test"]);
    let revoked = deja.cli(&["key", "create", "--project", &slug, "--name", "gone"]);
    deja.cli(&["key", "revoke", &revoked[..7]]);
    deja.restart();
    let tenant = Tenant { deja: &deja, slug, key };
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], false);
    assert_eq!(tenant.post_as(&revoked, PATH, b"{}").status, 401);
}

#[test]
fn the_demo_prints_a_table_and_exits() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(crate::util::deja::DEJA);
    command.args(["demo", "--exit"]).env_clear().env("DEJA_LISTEN", format!("127.0.0.1:{}", free_port()));
    command.env("DEJA_PRICES_URL", "").env("DEJA_EMBED_TIMEOUT_MS", "60000").current_dir(directory.path());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if wait(&mut child, PATIENCE).is_none() {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    let rows = out.lines().filter(|line| line.contains("hit") || line.contains("miss")).count();
    assert!(rows >= 3 && out.contains("hit") && out.contains("miss"), "{out}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "it leaves nothing behind");
}

#[test]
fn the_demo_asks_no_account_of_the_environment() {
    let provider = FakeProvider::start();
    let directory = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(crate::util::deja::DEJA);
    command.arg("demo").env_clear().env("DEJA_LISTEN", format!("127.0.0.1:{}", free_port()));
    command.env("ANTHROPIC_API_KEY", "sk-ant-paid").env("ANTHROPIC_BASE_URL", provider.url());
    command.env("DEJA_PRICES_URL", "").env("DEJA_EMBED_TIMEOUT_MS", "60000").current_dir(directory.path());
    let mut demo = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // curl http://ADDRESS/v1/cache/query -H 'Authorization: Bearer KEY' ...
    // They live until the end: a demo whose reader goes away ends.
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let curl = lines.find(|line| line.starts_with("curl ")).unwrap();
    let between = |before: &str, after: char| curl.split_once(before).unwrap().1.split(after).next().unwrap();
    let (address, bearer) = (between("http://", '/'), between("Authorization: ", '\''));
    let headers = [("Authorization", bearer), ("Content-Type", "application/json")];
    let body = json!({"prompt": "Is this paid?", "model": "claude-haiku-4-5"}).to_string();
    let answer = http::once(address.parse().unwrap(), "POST", PATH, &headers, body.as_bytes()).unwrap();
    demo.kill().unwrap();
    demo.wait().unwrap();
    drop(lines);
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(provider.calls("Is this paid?").is_empty());
}

#[test]
fn garbage_on_the_socket_does_not_end_the_server() {
    let deja = &World::shared().deja;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut connection = Connection::open(deja.address()).unwrap();
        connection.send(bytes).unwrap();
        connection.stream().shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let mut stream = connection.stream();
        let _ = stream.read_to_end(&mut answer);
        let _ = stream.flush();
        assert!(
            !answer.windows(5).any(|five| five == b" 200 " || five == b" 500 "),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(deja.get("/livez").status, 200);
}
