//! What `/metrics` says, and that docs/reference/metrics.md says the same of it.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::http;

const PAGE: &str = include_str!("../../../../../docs/reference/metrics.md");

/// The metrics of the server that listens for them on `port`. Each has a row of the page, with its type and its labels.
#[track_caller]
pub fn metrics(port: u16) -> String {
    let response = http::once(SocketAddr::from(([127, 0, 0, 1], port)), "GET", "/metrics", &[], b"").unwrap();
    assert_eq!(response.status, 200);
    let text = response.text();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    for (name, kind) in families.filter(|(name, _)| name.starts_with("deja_")) {
        let row = PAGE.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | {kind} | ")));
        let (labels, _) =
            row.unwrap_or_else(|| panic!("the page has no {kind} {name}")).split_once('|').unwrap();
        let documented: BTreeSet<_> = labels.split('`').skip(1).step_by(2).collect();
        let samples = text.lines().filter(|line| of(name, line));
        for sample in samples {
            assert_eq!(labels_of(sample), documented, "{sample}");
        }
    }
    text
}

/// Whether a line is a sample of a metric, by its own name or those that a histogram adds.
fn of(name: &str, line: &str) -> bool {
    let rest = line.strip_prefix(name).unwrap_or("?");
    let own =
        ["_bucket", "_sum", "_count"].into_iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
    own.starts_with(['{', ' '])
}

/// Names of a sample's labels, without the bound of a bucket.
fn labels_of(sample: &str) -> BTreeSet<&str> {
    let names = sample.split("=\"").map(|part| part.rsplit(['{', ',']).next().unwrap_or_default());
    let count = sample.matches("=\"").count();
    names.take(count).filter(|name| *name != "le").collect()
}
