//! The page Quality: what it shows of samples and traffic, and a setting that is applied from there.

use std::time::Duration;

use deja_core::admin::cache;
use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, KeyId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_core::project::Guard;
use deja_core::testing::sample;

use crate::util::{Page, World};

const STORED: &str = "How do I enable read receipts?";
const REWORDED: &str = "How can I enable read receipts?";
const OPPOSITE: &str = "How do I disable read receipts?";

/// A sample, and the query that it is of.
async fn sampled(
    world: &World,
    project: ProjectId,
    entry: EntryId,
    number: i64,
    asked: &str,
    similarity: f32,
) {
    let similarity = Similarity::from_cosine(similarity);
    let at = world.wired.admin.clock.now();
    let sample = sample(number, project, entry, asked, similarity, at);
    world.wired.store.keep_samples(&[sample], at).await.unwrap();
    let mut batch = UsageBatch::default();
    let counted = batch.add(&UsageEvent {
        entry: Some(entry),
        similarity: Some(similarity),
        latency: Duration::from_millis(1),
        saved: NanoUsd::from_nanos(1_000_000_000),
        ..UsageEvent::bare(project, KeyId::from_bytes([1; 16]), Outcome::SemanticHit, at)
    });
    assert!(counted);
    world.wired.store.record(&batch).await.unwrap();
}

/// A project with two samples: one that every guard lets pass, one that none but "off" does.
async fn with_samples() -> (World, ProjectId) {
    let world = World::new().await;
    let project = world.project("Sampled").await;
    let entry = world.entry_without_vector(&project, "m", STORED, None).await;
    sampled(&world, project.id, entry, 1, REWORDED, 0.961).await;
    sampled(&world, project.id, entry, 2, OPPOSITE, 0.951).await;
    (world, project.id)
}

/// The cells of a table's row, counted from 1.
fn row(page: &Page, table: &str, number: usize) -> String {
    page.all(&format!("{table} tbody tr:nth-child({number}) > *")).join(" ")
}

#[tokio::test]
async fn without_samples_the_page_says_what_makes_them() {
    let (_world, _, mut member) = World::with_project("Bare", Role::Member).await;
    let page = member.get("/console/p/bare/quality").await;
    assert_eq!(page.one(".empty h2"), "No samples yet");
    assert!(page.one(".empty p").contains("Send one question in two wordings"), "{}", page.text());
    assert_eq!(
        page.attributes("main .head a", "href"),
        ["/console/p/bare/cache/wrong"],
        "what people reported"
    );
    let page = member.get("/console/p/bare/quality/label").await;
    assert_eq!(page.one(".empty h2"), "Nothing to label");
    let form = [("name", "Bare"), ("max_entries", "10"), ("samples", "0")];
    member.submit("/console/p/bare/settings", &form).await;
    let page = member.get("/console/p/bare/quality").await;
    assert_eq!(page.one(".empty h2"), "This project keeps no samples");
    let few = [("name", "Bare"), ("max_entries", "10"), ("samples", "99")];
    let page = member.post("/console/p/bare/settings", &few).await;
    assert!(page.status == 422 && page.text().contains("between 100 and 10000"), "{}", page.text());
}

#[tokio::test]
async fn the_curve_is_of_own_traffic_and_says_what_is_not_known() {
    let (world, _) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/sampled/quality").await;
    assert!(page.one("#unknown").starts_with("Nobody has labelled a sample yet"));
    assert!(page.text().contains("100.0%of 2 answered requests"), "{}", page.text());
    assert!(
        page.text().contains(":00:00 UTC, the hour in which the oldest sample was taken"),
        "{}",
        page.text()
    );
    assert_eq!(page.one("#precision p"), "Not known yet: it takes labels of samples.");
    assert_eq!(page.all("#curve tbody tr").len(), 25);
    assert_eq!(row(&page, "#curve", 11), "0.85 50.0% not known – $1.00 In force");
    let off = member.get("/console/p/sampled/quality?guard=off").await;
    assert_eq!(row(&off, "#curve", 11), "0.85 100.0% not known – $2.00 Apply…");
    assert_eq!(row(&off, "#curve", 22), "0.96 50.0% not known – $1.00 Apply…");
    let csv = member.get("/console/p/sampled/quality/curve.csv").await.body;
    assert_eq!(csv.lines().count(), 1 + 100);
    assert!(csv.contains("\n0.85,standard,0.5000,,,,0,1\n"), "{csv}");
    assert_eq!(member.get("/console/p/sampled/quality/other.csv").await.status, 404);
}

#[tokio::test]
async fn hits_of_which_no_sample_is_left_are_told() {
    let (world, project) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/sampled/quality").await;
    assert!(page.all("#without-samples").is_empty(), "{}", page.text());
    // Two hits at another similarity, whose samples go with their entry.
    let settings = world.reload("sampled").await;
    let entry = world.entry_without_vector(&settings, "m", "Where is my order?", None).await;
    for number in [3, 4] {
        sampled(&world, project, entry, number, "Where's my order?", 0.90).await;
    }
    let whole = member.get("/console/p/sampled/quality?guard=off").await;
    assert_eq!(row(&whole, "#curve", 11), "0.85 100.0% not known – $4.00 Apply…");
    cache::delete(&world.acting(), "sampled", entry).await.unwrap();
    let page = member.get("/console/p/sampled/quality?guard=off").await;
    assert_eq!(row(&page, "#curve", 11), "0.85 50.0% not known – $2.00 Apply…");
    assert!(page.one("#without-samples").starts_with("Of 2 queries no sample is left"), "{}", page.text());
}

#[tokio::test]
async fn what_differs_is_marked_and_one_may_be_skipped() {
    let (world, _) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    let first = member.get("/console/p/sampled/quality/label").await;
    assert_eq!(first.all("mark"), ["can", "do"]);
    assert!(first.text().contains("0 labelled, 2 to go") && first.text().contains("0.961"));
    let second = member.get("/console/p/sampled/quality/label?skip=1").await;
    assert_eq!(second.all("mark"), ["disable", "enable"]);
    // The same one stays skipped, whatever is labelled meanwhile.
    let skip = first.attributes("main a[data-key=s]", "href").remove(0);
    assert_eq!(skip, "?skip=1");
    let form = [("sample", "2"), ("answers", "yes"), ("skip", "1")];
    let none = member.submit("/console/p/sampled/quality/label", &form).await;
    assert!(none.one(".empty").contains("You have skipped the rest"));
}

#[tokio::test]
async fn a_setting_is_applied_after_a_preview() {
    let (world, project) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/sampled/quality/apply?threshold=0.96&guard=off").await;
    let changes: Vec<String> = (1..=3).map(|number| row(&page, "main > .table", number)).collect();
    assert_eq!(changes, ["Threshold 0.85 0.96", "Guard standard off", "Hit rate 50.0% 50.0%"]);
    let looser = member.get("/console/p/sampled/quality/apply?guard=off").await;
    assert_eq!(row(&looser, "section[aria-labelledby=gained]", 1), format!("0.951 {OPPOSITE} {STORED} –"));
    assert_eq!(looser.all("section[aria-labelledby=lost] tbody tr").len(), 0);
    assert_eq!(world.reload("sampled").await.settings.guard, Guard::Standard, "a preview changes nothing");

    let page = member
        .submit("/console/p/sampled/quality/apply", &[("threshold", "0.96"), ("guard", "strict")])
        .await;
    assert!(page.text().contains("Threshold 0.96, guard strict"));
    let settings = world.reload("sampled").await.settings;
    assert_eq!((settings.threshold(None).get(), settings.guard), (0.96, Guard::Strict));
    let changes = world.changes(project).await;
    assert_eq!(changes[0].change.detail, "threshold: 0.85 -> 0.96; guard: standard -> strict");

    let form = [("name", "Sampled"), ("max_entries", "10"), ("minimum", "0.9")];
    member.submit("/console/p/sampled/settings", &form).await;
    let page = member.submit("/console/p/sampled/quality/apply", &[("threshold", "0.8")]).await;
    assert!(page.text().contains("minimum threshold is 0.9: lower that first"), "{}", page.text());
    for wrong in ["threshold=2", "threshold=x", "guard=loose"] {
        assert_eq!(
            member.get(&format!("/console/p/sampled/quality/apply?{wrong}")).await.status,
            422,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_setting_between_those_of_the_table_is_told_too() {
    let (world, _) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    for (threshold, number, told) in [
        ("0.955", 22, "0.955 50.0% not known – $1.00 In force"),
        ("0.995", 26, "0.995 0.0% not known – $0.00 In force"),
        ("0.7", 1, "0.70 100.0% not known – $2.00 In force"),
    ] {
        let form = [("name", "Sampled"), ("max_entries", "10"), ("threshold", threshold), ("guard", "off")];
        member.submit("/console/p/sampled/settings", &form).await;
        let page = member.get("/console/p/sampled/quality").await;
        assert_eq!((page.all("#curve tbody tr").len(), row(&page, "#curve", number)), (26, told.into()));
        let other = member.get("/console/p/sampled/quality?guard=strict").await;
        assert!(!other.one("#curve").contains("In force"), "{}", other.text());
    }
    let page = member.get("/console/p/sampled/quality/apply?threshold=0.955").await;
    assert_eq!(row(&page, "main > .table", 3), "Hit rate 100.0% 50.0%");
}

#[tokio::test]
async fn thirty_labels_give_a_first_interval() {
    let world = World::new().await;
    let project = world.project("Sampled").await;
    let entry = world.entry_without_vector(&project, "m", STORED, None).await;
    for number in 0..30 {
        // Thirty prompts that the guard takes for the same question.
        let asked = format!("{REWORDED}{}", "!".repeat(number));
        sampled(&world, project.id, entry, number as i64, &asked, 0.961).await;
    }
    let mut member = world.browser_of(Role::Member).await;
    let label = "/console/p/sampled/quality/label";
    for number in 0..30 {
        if number == 1 {
            let page = member.get("/console/p/sampled/quality").await;
            assert!(page.one("#advice").starts_with("1 label does not yet show"), "{}", page.text());
        }
        let page = member.get(label).await;
        let sample = page.attributes("main input[name=sample]", "value").remove(0);
        let page = member.submit(label, &[("sample", &sample), ("answers", "yes"), ("skip", "0")]).await;
        assert!(page.text().contains("Kept."));
    }
    assert_eq!(member.get(label).await.one(".empty h2"), "Nothing to label");
    let page = member.get("/console/p/sampled/quality").await;
    assert_eq!(page.all("#unknown").len(), 0);
    assert!(page.text().contains("0.0%0.0% to 11.4%, with 95% certainty"), "{}", page.text());
    assert_eq!(row(&page, "#curve", 11), "0.85 100.0% 100.0% 88.6% to 100.0% $30.00 In force");
    assert!(page.one("#advice").starts_with("30 labels do not yet show"), "{}", page.one("#advice"));
    let gone = member.submit(label, &[("sample", "99"), ("answers", "no")]).await;
    assert!(gone.text().contains("This sample is gone"));
}

#[tokio::test]
async fn a_no_to_what_was_served_forbids_the_pair() {
    let (world, project) = with_samples().await;
    let mut member = world.browser_of(Role::Member).await;
    let label = "/console/p/sampled/quality/label?skip=1";
    let form = [("sample", "2"), ("answers", "no"), ("skip", "1")];
    let page = member.submit(label, &form).await;
    assert!(page.text().contains("no longer answer each other"), "{}", page.text());
    let wrong = world.wired.store.wrong_answers(project, None, std::num::NonZeroUsize::MIN).await.unwrap();
    assert_eq!((&*wrong[0].asked, &*wrong[0].matched), (OPPOSITE, STORED));
    let page = member.get("/console/p/sampled/quality?guard=off").await;
    assert_eq!(row(&page, "#curve", 11), "0.85 100.0% 0.0% 0.0% to 79.3% $2.00 Apply…");
}
