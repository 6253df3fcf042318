//! Samples of what was asked and came near, from a query to an export.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::util::http::PATIENCE;
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Tenant};

const PROMPT: &str = "How do I reset my password?";
const REWORDED: &str = "How can I reset my password?";

/// The samples of an export.
fn samples(deja: &Deja, arguments: &[&str]) -> Vec<Value> {
    let output = deja.try_cli(&[&["export"], arguments].concat());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "sample").collect()
}

fn until_sampled(deja: &Deja) -> Value {
    let began = Instant::now();
    loop {
        if let Some(sample) = samples(deja, &["--with-samples"]).pop() {
            return sample;
        }
        assert!(began.elapsed() < PATIENCE, "no sample is written");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_hit_by_meaning_is_sampled_and_goes_out_only_if_asked_for() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "Sampled", &[]);
    for prompt in [PROMPT, REWORDED] {
        tenant.ask(&json!({"prompt": prompt, "model": MODEL}));
    }
    let sample = until_sampled(&deja);
    assert_eq!((&sample["asked"], &sample["met"]), (&json!(REWORDED), &json!("served")));
    assert_eq!(samples(&deja, &["--with-samples"]).len(), 1);
    assert_eq!(samples(&deja, &[]), Vec::<Value>::new());
    assert!(!deja.log().contains(REWORDED) && !deja.get("/metrics").text().contains(REWORDED));

    // Into another server, behind its entry, and with the export going on where it ended.
    let file = deja.data().join("out.jsonl");
    let path = file.to_str().unwrap();
    deja.cli(&["export", path, "--with-projects", "--with-samples"]);
    let resumed = deja.cli(&["export", path, "--with-projects", "--with-samples", "--resume", "--json"]);
    let none = json!({"projects": 0, "providers": 0, "keys": 0, "entries": 0, "samples": 0});
    assert_eq!(serde_json::from_str::<Value>(&resumed).unwrap()["exported"], none);
    let target = Deja::start(&provider);
    let imported = target.cli(&["import", path, "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&imported).unwrap()["imported"]["samples"], 1);
    assert_eq!(samples(&target, &["--with-samples"]), [sample]);

    // A project that wants none has none.
    let slug = tenant.slug.as_str();
    let refused = deja.try_cli(&["project", "set", slug, "--samples", "50"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("between 100 and 10000"));
    deja.cli(&["project", "set", slug, "--samples", "0"]);
    assert_eq!(samples(&deja, &["--with-samples"]), Vec::<Value>::new());
}
