//! The price table: fetched with an ETag, checked before it replaces the old one, and kept over a restart.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::util::deja::Deja;
use crate::util::server::listen;
use crate::util::{FakeProvider, PATIENCE, World, eventually, within};

/// What the source of prices says at the moment, and what it was asked.
#[derive(Default)]
struct Source {
    status: u16,
    etag: String,
    body: Vec<u8>,
    /// The `If-None-Match` of each request; empty without one.
    asked: Vec<String>,
}

/// A source of prices over a real socket. Answers 304 to the ETag it has.
fn start(source: Arc<Mutex<Source>>) -> String {
    let address = listen(move |asked| {
        let asked = asked.header("if-none-match").unwrap_or_default();
        let mut source = source.lock().unwrap();
        source.asked.push(asked.to_owned());
        let known = !asked.is_empty() && asked == source.etag;
        let (status, body) = if known { (304, &[][..]) } else { (source.status, &source.body[..]) };
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\nETag: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            source.etag,
            body.len()
        );
        [head.as_bytes(), body].concat()
    });
    format!("http://{address}/prices.json")
}

/// The table that deja ships with, with one price changed: dollars per token of gpt-4o-mini's input.
fn table(input: f64) -> Vec<u8> {
    let mut table: Value = serde_json::from_str(include_str!("../../../deja-core/data/prices.json")).unwrap();
    table["gpt-4o-mini"]["input_cost_per_token"] = json!(input);
    table.to_string().into_bytes()
}

/// Dollars per million input tokens of gpt-4o-mini, and where the table came from.
fn price(deja: &Deja) -> (f64, String) {
    let output = deja.try_cli(&["price", "show", "gpt-4o-mini", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    (shown["input"].as_f64().unwrap(), shown["table"]["source"].as_str().unwrap().to_owned())
}

fn refresh(deja: &Deja) -> Value {
    let output = deja.try_cli(&["price", "refresh", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn fresh_prices_are_checked_kept_and_asked_for_by_their_etag() {
    let state =
        Arc::new(Mutex::new(Source { status: 200, etag: "\"v1\"".into(), body: table(5e-6), asked: vec![] }));
    let url = start(state.clone());
    // Who may fetch them is nobody's to see.
    let secret = url.replace("http://", "http://me:hush@") + "?token=hush";
    let mut deja = Deja::builder().env("DEJA_PRICES_URL", secret).start();
    eventually("the prices are taken over", || price(&deja) == (5.0, url.clone()));

    // The same table again costs the source no body.
    let kept = || -> Value {
        serde_json::from_slice(&std::fs::read(deja.data().join("prices.json")).unwrap()).unwrap()
    };
    assert_eq!(refresh(&deja)["changed"], false);
    let before = kept();
    assert_eq!(refresh(&deja)["changed"], false);
    assert_eq!(state.lock().unwrap().asked, ["", "\"v1\"", "\"v1\""]);
    let after = kept();
    assert_ne!(before["fetched_at"], after["fetched_at"], "a start finds them as young as they are");
    assert_eq!((&before["table"], &before["etag"]), (&after["table"], &after["etag"]));

    // A new one holds at once.
    {
        let mut state = state.lock().unwrap();
        (state.etag, state.body) = ("\"v2\"".into(), table(6e-6));
    }
    assert_eq!(refresh(&deja)["changed"], true);
    assert_eq!(price(&deja), (6.0, url.clone()));

    // What is wrong changes nothing, and is said.
    for (number, body) in [&table(-7e-6)[..], b"not JSON", b"[]", b"", b"{}"].into_iter().enumerate() {
        {
            let mut state = state.lock().unwrap();
            (state.etag, state.body) = (format!("\"bad{number}\""), body.to_vec());
        }
        let output = deja.try_cli(&["price", "refresh"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{number}: {error}");
        assert!(error.starts_with("deja: ") && error.contains("old prices stay"), "{number}: {error}");
        assert_eq!(price(&deja), (6.0, url.clone()), "{number}");
    }
    // A list of one's own may be short.
    {
        let mut state = state.lock().unwrap();
        let entry = json!({"mode": "chat", "input_cost_per_token": 6e-6, "output_cost_per_token": 1e-6});
        state.body = json!({"gpt-4o-mini": entry}).to_string().into_bytes();
        state.etag = "\"v3\"".into();
    }
    assert_eq!((refresh(&deja)["changed"].as_bool(), price(&deja)), (Some(true), (6.0, url.clone())));
    assert!(deja.log().contains("the price map lacks"), "{}", deja.log());
    {
        let mut state = state.lock().unwrap();
        (state.status, state.etag) = (500, "\"v4\"".into());
    }
    assert_eq!(deja.try_cli(&["price", "refresh"]).status.code(), Some(1));

    // The last good table is there after the end, without a server and with one that finds no source.
    deja.stop();
    assert_eq!(price(&deja), (6.0, "last-known-good".into()));
    state.lock().unwrap().asked.clear();
    deja.restart();
    assert_eq!(price(&deja), (6.0, "last-known-good".into()));
    eventually("the source is asked at start", || !state.lock().unwrap().asked.is_empty());
    assert_eq!(state.lock().unwrap().asked[0], "\"v3\"", "the ETag survives with its table");
}

#[test]
fn a_damaged_table_on_disk_is_left_aside() {
    let deja = Deja::builder().env("DEJA_PRICES_URL", "http://127.0.0.1:9/prices.json").start();
    let shipped = price(&deja);
    assert_eq!(shipped.1, "compiled-in");
    let mut deja = deja;
    deja.stop();
    std::fs::write(deja.data().join("prices.json"), b"{\"url\": \"cut o").unwrap();
    deja.restart();
    assert_eq!(price(&deja), shipped);
    assert!(deja.log().contains("stored price table is not usable"), "{}", deja.log());
}

#[test]
fn without_a_source_there_is_nothing_to_refresh() {
    let deja = Deja::builder().start();
    let output = deja.try_cli(&["price", "refresh"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("DEJA_PRICES_URL"), "{error}");
}

#[test]
fn savings_without_a_price_are_not_told_as_zero() {
    let provider = FakeProvider::start();
    let tenant = World::shared().tenant("unpriced");
    let (deja, url) = (tenant.deja, format!("{}/v1", provider.url()));
    deja.cli(&tenant.provider_add("house", &url, "house-model", &["--allow-private"]));
    let stats = |more: &[&str]| {
        let output = deja.try_cli(&[&["cache", "stats", "--project", tenant.slug.as_str()], more].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(stats(&[]).contains(" 0.00 USD"), "nothing happened: {}", stats(&[]));
    for _ in 0..2 {
        tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "house-model"}));
    }
    let week = || serde_json::from_str::<Value>(&stats(&["--json"])).unwrap()["week"].take();
    let week = within(PATIENCE, || Some(week()).filter(|week| week["requests"] == 2));
    let week = week.expect("both are counted");
    assert_eq!(
        (&week["exact_hits"], &week["saved_usd"], &week["unpriced"]),
        (&json!(1), &json!(0.0), &json!(2))
    );
    let listed = deja.try_cli(&["project", "list"]).stdout;
    let listed = String::from_utf8(listed).unwrap();
    let own = listed.lines().find(|line| line.starts_with(&tenant.slug)).unwrap();
    for told in [stats(&[]).as_str(), own] {
        assert!(told.contains("no price") && !told.contains(" 0.00"), "{told}");
    }
}
