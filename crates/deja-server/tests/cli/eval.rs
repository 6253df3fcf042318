//! `deja eval` on a handful of pairs, with the built-in embedder.

use super::Deja;

const PAIRS: [(&str, &str, u8, &str); 6] = [
    ("How do I reset my router?", "How can I reset my router?", 1, "reworded"),
    ("Did Microsoft buy LinkedIn?", "Was LinkedIn bought by Microsoft?", 1, "reworded"),
    ("How do I enable 2FA on GitHub?", "How do I disable 2FA on GitHub?", 0, "opposite"),
    ("Who won the World Cup in 2014?", "Who won the World Cup in 2018?", 0, "number"),
    ("flights from Madrid to Oslo", "flights from Oslo to Madrid", 0, "roles"),
    ("How long do I boil an egg?", "Which laptop has the best battery?", 0, "far"),
];

fn lines() -> String {
    let line = |(a, b, label, kind): &(&str, &str, u8, &str)| {
        format!("{}\n", serde_json::json!({ "a": a, "b": b, "label": label, "kind": kind, "source": "own" }))
    };
    PAIRS.iter().map(line).collect()
}

fn deja(name: &str, text: &str) -> Deja {
    let deja = Deja::new();
    std::fs::write(deja.path().join(name), text).unwrap();
    deja
}

#[test]
fn the_guard_is_measured_beside_the_threshold_alone() {
    // With the byte order mark that some editors write.
    let deja = deja("pairs.jsonl", &format!("\u{feff}{}", lines()));
    let args =
        ["eval", "pairs.jsonl", "--threshold", "0.85", "--threshold", "0.7", "--json", "--svg", "c.svg"];
    let report = deja.json(&args);
    assert_eq!((&report["pairs"], &report["right"], &report["wrong"]), (&6.into(), &2.into(), &4.into()));
    assert_eq!(report["embedder"], "all-MiniLM-L6-v2/int8-1");
    let row = |threshold: f64, guard: &str| {
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["threshold"] == threshold && row["guard"] == guard).unwrap().clone()
    };
    assert_eq!((&row(0.85, "off")["served"], &row(0.85, "off")["precision"]), (&4.into(), &0.5.into()));
    for guard in ["standard", "strict"] {
        let row = row(0.85, guard);
        assert_eq!((&row["served"], &row["precision"]), (&2.into(), &1.0.into()), "{guard}");
        assert_eq!((&row["recall"], &row["lost"], &row["cut"]), (&1.0.into(), &0.0.into(), &1.0.into()));
    }
    assert_eq!(row(0.7, "strict")["served"], 5, "there is no guard below 0.75");
    let rankings = report["rankings"].as_array().unwrap();
    assert!(rankings[0]["average_precision"].as_f64().unwrap() < 1.0, "{rankings:?}");
    assert_eq!(
        (&rankings[1]["average_precision"], &rankings[1]["hits_at_1_percent_wrong"]),
        (&1.0.into(), &1.0.into())
    );
    assert!(report["judge_us"].as_f64().unwrap() > 0.0 && report["embed_ms"].as_f64().unwrap() > 0.0);
    let svg = std::fs::read_to_string(deja.path().join("c.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.matches("<path d=\"M").count() >= 9, "{svg}");
    assert!(svg.contains("standard at 0.85: precision 1.000, recall 1.000"), "{svg}");
}

#[test]
fn the_table_says_the_same_of_csv() {
    let rows = PAIRS.map(|(a, b, label, kind)| format!("{kind},\"{a}\",\"{b}\",{label}\n"));
    let deja = deja("pairs.CSV", &format!("kind,a,b,label\n{}", rows.concat()));
    let table = deja.ok(&["eval", "pairs.CSV", "--threshold", "0.85", "--guard", "standard", "--by-kind"]);
    let row = |start: &str| {
        let line =
            table.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {table}"));
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("     0.85"), ["0.85", "standard", "2", "100.0 %", "100.0 %", "0.0 %", "100.0 %"]);
    assert_eq!(row("standard"), ["standard", "1.000", "100.0 %"]);
    let exact = deja.ok(&["eval", "pairs.CSV", "--threshold", "0.875", "--threshold", "1", "--guard", "off"]);
    assert!(exact.contains(" 0.875  off") && exact.contains(" 1.00  off"), "{exact}");
    assert_eq!(row("reworded"), ["reworded", "0.85", "standard", "2 of 2", "-"]);
    assert_eq!(row("opposite"), ["opposite", "0.85", "standard", "-", "0 of 1"]);
    assert!(table.starts_with("6 pairs, 2 right and 4 wrong; embedder all-MiniLM-L6-v2"), "{table}");
}

#[test]
fn too_little_precision_is_exit_code_1() {
    let deja = deja("pairs.jsonl", &lines());
    let args = ["eval", "pairs.jsonl", "--threshold", "0.85", "--min-precision", "0.9", "--guard"];
    deja.ok(&[&args[..], &["standard"]].concat());
    let output = deja.run(&[&args[..], &["off"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(error, "deja: threshold 0.85 with guard off has precision 50.0 %, below --min-precision\n");
    assert!(
        String::from_utf8(output.stdout).unwrap().contains("50.0 %"),
        "the table is printed all the same"
    );
    let output = deja.run(&["eval", "pairs.jsonl", "--threshold", "0.9999", "--min-precision", "0"]);
    assert_eq!(output.status.code(), Some(1), "what serves nothing shows no precision");
    let error = String::from_utf8(output.stderr).unwrap();
    let told = "deja: threshold 0.9999 with guard off served no pair, so it does not reach --min-precision\n";
    assert_eq!(error, told);
}

#[test]
fn texts_that_are_too_long_are_never_served() {
    let long = "word ".repeat(600);
    let line = serde_json::json!({ "a": long, "b": long, "label": true });
    let deja = deja("pairs.jsonl", &format!("{}{line}\n", lines()));
    let report = deja.json(&["eval", "pairs.jsonl", "--threshold", "0", "--guard", "off", "--json"]);
    assert_eq!((&report["too_long"], &report["rows"][0]["served"]), (&1.into(), &6.into()));
}

#[test]
fn a_bad_line_is_told_with_its_number() {
    let line = r#"{"a": "x", "b": "y", "label": 1}"#;
    for (bad, wanted) in [
        (r#"{"a": "private", "label": 1}"#, "line 3: missing field `b`"),
        (r#"{"a": "private", "b": "y", "label": 2}"#, "line 3: the label is neither 1 nor 0"),
        (
            r#"{"a": "private", "b": 7, "label": 1}"#,
            "line 3: not a pair; wanted: a and b (texts), label (1 or 0)",
        ),
        (r#"{"a": "private", "b": " ", "label": 1}"#, "line 3: b is empty"),
        ("private", "line 3: not a pair"),
    ] {
        let error = deja("p.jsonl", &format!("{line}\n\n{bad}\n{line}\n")).error(1, &["eval", "p.jsonl"]);
        assert!(
            error.contains(&format!("p.jsonl: {wanted}")) && !error.contains("private"),
            "{bad}: {error}"
        );
    }
    for (text, wanted) in [
        ("a,b\nx,y\n", "line 1: there is no column label"),
        ("a,b,label\nx,y,1\n\"private\n\",y,yes\n", "line 3: the label is neither 1 nor 0"),
        ("a,b,label\nx,y,1\nprivate,y\n", "line 3: it has 2 cells, and the first line has 3"),
        ("a,b,label\n", "holds no pairs"),
    ] {
        let error = deja("p.csv", text).error(1, &["eval", "p.csv"]);
        assert!(error.contains(wanted) && !error.contains("private"), "{text}: {error}");
    }
    let deja = deja("p.jsonl", line);
    assert!(deja.error(1, &["eval", "nothing.jsonl"]).contains("nothing.jsonl"));
    assert!(deja.error(2, &["eval", "p.jsonl", "--threshold", "1.5"]).contains("use a number from 0 to 1"));
    assert!(deja.error(2, &["eval", "p.jsonl", "--embedder", "nowhere"]).contains("DEJA_EMBEDDER"));
}

#[test]
fn a_machine_that_is_busy_makes_it_late_and_not_wrong() {
    let deja = deja("pairs.jsonl", &lines()).env("DEJA_EMBED_TIMEOUT_MS", "1");
    assert_eq!(deja.json(&["eval", "pairs.jsonl", "--json"])["pairs"], 6);
}
