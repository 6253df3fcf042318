//! What something cost and saved, and what has no price.

use deja_core::analytics::{EntryHits, Outcome, Step, UsageBatch, UsageEvent};
use deja_core::cache::PairHash;
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;

use super::{figure, record, with_traffic};
use crate::util::World;

#[tokio::test]
async fn a_model_without_a_price_is_not_shown_as_free() {
    let (world, event, mut member) = with_traffic().await;
    let address = "/console/p/furnished/analytics";
    // Free, and known to be; refused before a price mattered; with money of a price that it had.
    let price = [("model", "own-free"), ("input", "0"), ("output", "0")];
    member.submit("/console/p/furnished/providers/prices", &price).await;
    let known = [
        UsageEvent { model: "own-free", ..event },
        UsageEvent { model: "gpt-4o-mini", ..event },
        UsageEvent { model: "refused", outcome: Outcome::Refused, ..event },
        UsageEvent { model: "had-one", spent: NanoUsd::from_nanos(2_500_000), ..event },
    ];
    record(&world, known).await;
    let page = member.get(address).await;
    assert!(page.all("#unpriced").is_empty());
    assert!(!page.one("#models").contains("no price"));
    let blends = ["blend-1", "blend-2", "blend-3", "blend-4", "blend-5", "blend-6"];
    record(&world, blends.map(|model| UsageEvent { model, ..event })).await;
    record(&world, [UsageEvent { model: "blend-1", outcome: Outcome::ExactHit, ..event }]).await;
    let passed = UsageEvent { model: "embedder", outcome: Outcome::Passed, ..event };
    record(&world, [passed]).await;
    let page = member.get(address).await;
    let note = page.one("#unpriced");
    assert!(note.contains(" blend-1, blend-2, blend-3, blend-4, blend-5 and 2 more: "), "{note}");
    assert_eq!(page.attributes("#unpriced a", "href"), ["/console/p/furnished/providers"]);
    let row = page.all("#models tbody tr:first-child td");
    assert_eq!(row, ["2", "50.0%", "no price", "no price", "0", "0"]);
    let rows = page.all("#models tbody tr");
    let told = |name: &str| rows.iter().find(|row| row.starts_with(name)).unwrap();
    assert!(told("own-free").contains("$0.00$0.00") && told("gpt-4o-mini").contains("$0.00$0.00"));
    assert!(told("had-one").contains("$0.00250") && told("refused").contains("$0.00"));
    assert!(told("embedder").contains("no priceno price"), "{}", told("embedder"));
    let file = member.get(&format!("{address}/models.csv")).await;
    assert!(file.body.contains("\nblend-1,2,0.5,,,0,0\n"), "{}", file.body);
    // One that gets a price is one less.
    let price = [("model", "blend-6"), ("input", "1"), ("output", "2")];
    member.submit("/console/p/furnished/providers/prices", &price).await;
    assert!(member.get(address).await.one("#unpriced").contains("blend-5 and 1 more: "));
}

#[tokio::test]
async fn what_had_no_price_is_not_shown_as_free_when_there_is_one() {
    let (world, event, mut member) = with_traffic().await;
    let hit = UsageEvent { outcome: Outcome::ExactHit, model: "blend", unpriced: true, ..event };
    record(&world, [hit, hit]).await;
    let address = "/console/p/furnished/analytics";
    let price = [("model", "blend"), ("input", "1"), ("output", "2")];
    member.submit("/console/p/furnished/providers/prices", &price).await;
    let page = member.get(address).await;
    let told = ("no price".into(), "spent: no price, 2 answers without a price".into());
    assert_eq!(figure(&page, "Saved"), told);
    assert!(page.one("#unpriced").contains(" blend: "), "{}", page.one("#unpriced"));
    for table in ["#models", "#keys", "#contexts"] {
        let row = page.all(&format!("{table} tbody td"));
        assert_eq!(row, ["2", "100.0%", "no price", "no price", "0", "0"], "{table}");
    }
    assert_eq!(figure(&member.get("/console/p/furnished").await, "Saved").0, "no price");
    assert!(member.get("/console/projects").await.all("tbody td.num").contains(&"no price".into()));
    // From then on there is money.
    record(&world, [UsageEvent { unpriced: false, saved: NanoUsd::from_nanos(2_500_000), ..hit }]).await;
    let page = member.get(address).await;
    assert_eq!(figure(&page, "Saved").0, "$0.00250");
    assert!(page.one("#unpriced").contains(" blend: "));
}

#[tokio::test]
async fn an_entry_without_a_price_says_so() {
    let world = World::new().await;
    let (project, priced) = world.furnished().await;
    let unpriced = world.entry_without_vector(&project, "blend", "How?", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let mut reader = world.browser_of(Role::Member).await;
    let mut saved = async |entry: EntryId| {
        let page = reader.get(&format!("/console/p/furnished/cache/{entry}")).await;
        let place = page.all(".facts dt").iter().position(|what| what == "Saved").unwrap();
        page.all(".facts dd").remove(place)
    };
    assert_eq!(saved(priced).await, "$0.00");
    assert_eq!(saved(unpriced).await, "unknown: the model has no known price");
    let mut batch = UsageBatch::default();
    let last_hit = world.wired.admin.clock.now();
    let hits = EntryHits { hits: 1, last_hit, saved: NanoUsd::from_nanos(2_500_000) };
    batch.entries.insert((project.id, unpriced), hits);
    world.wired.store.record(&batch).await.unwrap();
    assert_eq!(saved(unpriced).await, "$0.00250", "what it saved with a price that it had");

    // One that was hit without a price has saved nobody knows what, whatever price is set later; unless it is free.
    let hits = EntryHits { hits: 2, last_hit, saved: NanoUsd::ZERO };
    let (brew, free) = (
        world.entry_without_vector(&project, "brew", "When?", None).await,
        world.entry_without_vector(&project, "free", "Why?", None).await,
    );
    let mut batch = UsageBatch::default();
    batch.entries.extend([brew, free].map(|entry| ((project.id, entry), hits)));
    world.wired.store.record(&batch).await.unwrap();
    assert_eq!(saved(brew).await, "unknown: the model had no known price then");
    for (model, price) in [("brew", "1"), ("free", "0")] {
        let form = [("model", model), ("input", price), ("output", price)];
        member.submit("/console/p/furnished/providers/prices", &form).await;
    }
    assert_eq!(saved(brew).await, "unknown: the model had no known price then");
    assert_eq!(saved(free).await, "$0.00");
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    let row =
        |name: &str| page.all("#prompts tbody tr").into_iter().find(|row| row.starts_with(name)).unwrap();
    assert!(row("When?").ends_with("2no price") && row("Why?").ends_with("2$0.00"), "{}", row("When?"));
}

#[tokio::test]
async fn what_the_guards_model_cost_is_a_figure() {
    let (world, (project, _), mut member) = World::furnished_for(Role::Member).await;
    let name = "Guard model";
    let told = "all of these days; off what is saved if it made a hit, else in what is spent";
    let page = member.get("/console/p/furnished/analytics?range=7d").await;
    assert!(!page.all(".figures dt").iter().any(|found| found == name), "nothing was asked");
    let today = Step::Day.period_of(world.wired.admin.clock.now());
    for (days_ago, cost) in [(0, 1_000_000), (1, 2_000_000), (60, 5_000_000)] {
        let cost = NanoUsd::from_nanos(cost);
        world
            .wired
            .store
            .keep_opinion(project.id, &PairHash([1; 32]), None, today - days_ago, cost)
            .await
            .unwrap();
    }
    let page = member.get("/console/p/furnished/analytics?range=7d").await;
    assert_eq!(figure(&page, name), ("$0.00300".into(), format!("2 questions, {told}")));
    let page = member.get("/console/p/furnished/analytics?range=7d&model=other").await;
    assert!(!page.all(".figures dt").iter().any(|found| found == name), "it is not told by model");
    let day = |days_ago| {
        let begins = jiff::Timestamp::from_second((today - days_ago) * 86_400).unwrap();
        begins.strftime("%Y-%m-%dT%H:%M").to_string()
    };
    let range = format!("range=custom&from={}&until={}", day(1), day(0));
    let page = member.get(&format!("/console/p/furnished/analytics?{range}")).await;
    let yesterday = ("$0.00200".into(), format!("1 question, {told}"));
    assert_eq!(figure(&page, name), yesterday, "not of the day that begins at the end");
}
