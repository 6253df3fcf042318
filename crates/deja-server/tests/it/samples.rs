//! Samples of what was asked and came near, from a query to an export.

use serde_json::{Value, json};

use crate::util::provider::Reaction;
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, PATIENCE, Tenant, eventually, within};

const PROMPT: &str = "How do I reset my password?";
const REWORDED: &str = "How can I reset my password?";

/// The samples of an export.
fn samples(deja: &Deja, arguments: &[&str]) -> Vec<Value> {
    let output = deja.try_cli(&[&["export"], arguments].concat());
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "sample").collect()
}

fn tune(deja: &Deja, slug: &str) -> Value {
    serde_json::from_slice(&deja.try_cli(&["tune", "--project", slug, "--json"]).stdout).unwrap()
}

fn until_sampled(deja: &Deja) -> Value {
    within(PATIENCE, || samples(deja, &["--with-samples"]).pop()).expect("a sample is written")
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

#[test]
fn tuning_shows_own_traffic_and_claims_nothing_without_labels() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "Tuned", &[]);
    for prompt in [PROMPT, REWORDED] {
        tenant.ask(&json!({"prompt": prompt, "model": MODEL}));
    }
    until_sampled(&deja);
    // Samples may be written before the last counts.
    eventually("both are counted", || tune(&deja, &tenant.slug)["answered"] == 2);
    let view = tune(&deja, &tenant.slug);
    assert_eq!((&view["samples"], &view["labels"], &view["answered"]), (&json!(1), &json!(0), &json!(2)));
    assert_eq!(
        (&view["hit_rate"], &view["wrong"], &view["advised"]),
        (&json!(0.5), &Value::Null, &Value::Null)
    );
    assert_eq!(view["curve"].as_array().unwrap().len(), 100);
    assert_eq!(view["present"], json!({"threshold": 0.85, "guard": "standard"}));
}

#[test]
fn a_model_judges_samples_for_what_it_may_cost_and_apart_from_people() {
    const QUESTION: &str = "Would one complete answer serve both";
    let provider = FakeProvider::start();
    provider.on(QUESTION, Reaction::Text("Yes.".into()));
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "Judged", &[]);
    for prompt in [PROMPT, REWORDED] {
        tenant.ask(&json!({"prompt": prompt, "model": MODEL}));
    }
    let slug = tenant.slug.as_str();
    until_sampled(&deja);
    let judge = |model: &str, more: &[&str]| {
        let tune = ["tune", "--project", slug, "--json", "--judge", model];
        let output = deja.try_cli(&[&tune, more].concat());
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (done, _, said) = judge(MODEL, &["--budget", "1"]);
    assert!(!done && said.contains("would judge: 1, for about 0.00"), "{said}");
    assert!(said.contains(" USD, 1 USD at most") && !said.contains("about 0.00 USD"), "{said}");
    assert!(said.contains("nothing was asked: add --yes"), "{said}");
    let (done, view, said) = judge(MODEL, &["--budget", "0", "--yes"]);
    assert!(done && said.contains("Pairs judged: 0,") && view.contains("\"labels\": 0"), "{view} {said}");
    assert_eq!(provider.calls(QUESTION).len(), 0, "none was paid for");

    let (done, view, said) = judge(MODEL, &["--budget", "1", "--yes"]);
    assert!(done && said.contains("Pairs judged: 1, 0 of them unclear"), "{said}");
    let view: Value = serde_json::from_str(&view).unwrap();
    let off = view["curve"].as_array().unwrap().iter().find(|point| point["guard"] == "off").unwrap();
    assert_eq!((&view["labels"], &off["precision"]["share"]), (&json!(1), &json!(1.0)));
    let asked = provider.calls(QUESTION);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].prompt.contains(PROMPT) && asked[0].prompt.contains(REWORDED));
    // What it said is remembered, counts for no person, and forbids nothing.
    assert!(judge(MODEL, &["--budget", "1", "--yes"]).2.contains("would judge: 0, for"));
    assert_eq!(provider.calls(QUESTION).len(), 1);
    assert_eq!(tune(&deja, slug)["labels"], 0);
    assert_eq!(tenant.ask(&json!({"prompt": REWORDED, "model": MODEL}))["cache_hit"], true);

    assert!(judge("nobodys-model", &["--budget", "1", "--yes"]).2.contains("no provider answers the model"));
    assert!(judge(MODEL, &["--budget", "-1", "--yes"]).2.starts_with("deja: "));
}

#[test]
fn what_judges_failed_at_is_told_behind_what_it_cost() {
    const QUESTION: &str = "Would one complete answer serve both";
    let provider = FakeProvider::start();
    provider.on(QUESTION, Reaction::Json(400, json!({"error": {"message": "no"}})));
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "Unjudged", &[]);
    let more = ["How could I reset my password?", "How do I reset my password now?"];
    for prompt in [PROMPT, REWORDED].iter().chain(&more) {
        tenant.ask(&json!({"prompt": prompt, "model": MODEL}));
    }
    eventually("all are sampled", || samples(&deja, &["--with-samples"]).len() == 3);
    let tune = ["tune", "--project", &tenant.slug, "--judge", MODEL, "--budget", "1", "--yes"];
    let output = deja.try_cli(&tune);
    let said = String::from_utf8(output.stderr).unwrap();
    let (told, failed) = said.split_once("Pairs judged: 3, 3 of them unclear, for ").unwrap();
    assert!(
        !told.contains("failed") && failed.contains("deja: the model failed 3 times in a row: "),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
}
