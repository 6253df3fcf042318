//! The figures of the analytics page, as people and as machines read them.

use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::{
    ContextKey, EntryHits, Outcome, Placed, RefusedFor, Step, Surface, UsageBatch, UsageEvent,
};
use deja_core::cache::{Frame, Kind, PairHash, Parameters, Scope};
use deja_core::clock::Timestamp;
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_core::project::Project;
use deja_wire::Wire;

use crate::util::{Browser, Page, World};

/// A project called Furnished, and what a request of its key is counted as.
async fn furnished(world: &Arc<World>) -> (Project, UsageEvent<'static>) {
    let (project, _) = world.furnished().await;
    let key = world.wired.store.keys(project.id).await.unwrap()[0].0.id;
    let event = UsageEvent::bare(project.id, key, Outcome::Miss, world.wired.admin.clock.now());
    (project, event)
}

async fn record(world: &World, events: impl IntoIterator<Item = UsageEvent<'_>>) {
    let mut batch = UsageBatch::default();
    for event in events {
        batch.add(&event);
    }
    world.wired.store.record(&batch).await.unwrap();
}

/// A figure and its remark.
fn figure(page: &Page, name: &str) -> (String, String) {
    let place = page.all(".figures dt").iter().position(|found| found == name).unwrap();
    (page.all(".figures dt + dd").remove(place), page.all(".figures dd.sub").remove(place))
}

#[tokio::test]
async fn top_prompts_say_since_when_they_are_counted() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    let other = world.entry(&project, "=How long is a day?", "24 h.", Some("Be brief.")).await;
    let last_hit = world.wired.admin.clock.now();
    let mut batch = UsageBatch::default();
    for (entry, hits, saved) in [(entry, 1234, 5_600_000), (other, 2, 45_000)] {
        let saved = NanoUsd::from_nanos(saved);
        batch.entries.insert((project.id, entry), EntryHits { hits, last_hit, saved });
    }
    world.wired.store.record(&batch).await.unwrap();

    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    assert_eq!(
        page.all("#prompts thead th"),
        ["Prompt", "Model", "Context", "Hits since stored", "Saved since stored"]
    );
    assert!(page.one("#prompts .hint").contains("since each entry was stored"));
    assert_eq!(page.all("#prompts tbody tr:first-child td"), ["gpt-4o-mini", "", "1,234", "$0.00560"]);
    assert_eq!(page.all("#prompts tbody th")[0], "What is the capital of France?");
    let context = ContextKey::of(Some("Be brief.")).0;
    let page = member.get(&format!("/console/p/furnished/analytics?range=1h&context={context}")).await;
    assert_eq!(page.all("#prompts tbody th"), ["=How long is a day?"], "of this context only");
    let csv = member.get("/console/p/furnished/analytics/prompts.csv?range=1h").await;
    assert_eq!(
        csv.body,
        "Prompt,Model,Context,Hits since stored,Saved since stored\n\
         What is the capital of France?,gpt-4o-mini,,1234,0.0056\n\
         '=How long is a day?,gpt-4o-mini,Be brief.,2,0.000045\n"
    );
}

#[tokio::test]
async fn without_a_range_it_is_the_shortest_that_has_something() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let mut member = world.browser_of(Role::Member).await;
    let address = "/console/p/furnished/analytics";
    let range = |page: &Page| page.one("nav[aria-label=Range] [aria-current]");
    assert_eq!(range(&member.get(address).await), "24 hours", "nothing anywhere");
    for (hours, name) in [(20 * 24, "30 days"), (3 * 24, "7 days"), (3, "24 hours"), (0, "1 hour")] {
        let at = Timestamp::from_secs(event.at.as_secs() - hours * 3600);
        record(&world, [UsageEvent { at, model: name, ..event }]).await;
        assert_eq!(range(&member.get(address).await), name);
    }
    let page = member.get(&format!("{address}?model=7+days")).await;
    assert_eq!(range(&page), "7 days", "with the filter");
    assert_eq!(range(&member.get(&format!("{address}?range=30d")).await), "30 days");
}

#[tokio::test]
async fn figures_are_compared_with_those_of_the_span_before() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let long_ago = |hours: i64| Timestamp::from_secs(event.at.as_secs() - hours * 3600);
    let before = UsageEvent { at: long_ago(30), outcome: Outcome::ExactHit, ..event };
    let longer_ago = UsageEvent { at: long_ago(60), ..event };
    record(&world, [event, before, before, before, longer_ago]).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=24h").await;
    let place = |name: &str| page.all(".figures dt").iter().position(|found| found == name).unwrap();
    let told = page.all(".figures dd.before");
    assert_eq!(figure(&page, "Requests").0, "1");
    assert_eq!([&told[place("Requests")], &told[place("Hit rate")]], ["before: 3", "before: 100.0%"]);
    assert!(page.one("#before").contains(" UTC"), "{}", page.one("#before"));
    let page = member
        .get("/console/p/furnished/analytics?range=custom&from=1970-01-01T00:00&until=2199-01-01T00:00");
    assert!(page.await.all(".before, #before").is_empty(), "nothing is kept of before");
}

#[tokio::test]
async fn tables_of_usage_are_sorted_by_a_click_and_keep_the_filter() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let of = |model, spent| UsageEvent { model, spent: NanoUsd::from_nanos(spent), ..event };
    record(&world, [of("b", 5_000_000), of("a", 1_000_000), of("a", 1_000_000), of("C", 9_000_000)]).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=1h&key=").await;
    let names = |page: &Page| page.all("#models tbody th");
    assert_eq!(names(&page)[0], "a", "most requests first");
    let links = page.attributes("#models thead a", "href");
    assert_eq!((links.len(), page.all("#models [aria-sort]").len()), (7, 0));
    let page = member.get(links[4].split('#').next().unwrap()).await;
    assert_eq!(names(&page), ["C", "b", "a"], "spent most");
    assert_eq!(page.attributes("#models [aria-sort]", "aria-sort"), ["descending"]);
    assert_eq!(page.one("nav[aria-label=Range] [aria-current]"), "1 hour");
    let turned = page.attributes("#models thead a", "href").remove(4);
    let page = member.get(turned.split('#').next().unwrap()).await;
    assert_eq!(names(&page), ["a", "b", "C"]);
    let by_name = page.attributes("#models thead a", "href").remove(0);
    let page = member.get(by_name.split('#').next().unwrap()).await;
    assert_eq!(names(&page), ["a", "b", "C"], "whatever the case");
    let file = page.attributes("#models > .head a", "href").remove(0);
    let file = member.get(&file).await;
    assert!(file.body.contains("\na,2,"), "the file has the same order: {}", file.body);
    assert!(
        page.all("#prompts thead a").is_empty(),
        "the first twenty of one order are not those of another"
    );
}

#[tokio::test]
async fn a_filter_keeps_the_custom_range() {
    let world = Arc::new(World::new().await);
    world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    let place = "/console/p/furnished/analytics?range=custom&from=2026-01-01T00:00&until=2026-01-02T12:00";
    let page = member.get(place).await;
    assert_eq!(page.all("label[for=from], label[for=until]"), ["From (UTC)", "Until (UTC)"]);
    let typed = |page: &Page| page.attributes("input[type=datetime-local]", "value");
    let sent = |name| page.attributes(&format!("form[data-auto] input[name={name}]"), "value").concat();
    let [range, from, until] = ["range", "from", "until"].map(sent);
    assert_eq!(range, "custom");
    let filtered =
        format!("/console/p/furnished/analytics?range={range}&from={from}&until={until}&model=gpt-4o-mini");
    let filtered = member.get(&filtered).await;
    assert!(filtered.all("[role=alert]").is_empty(), "{}", filtered.text());
    assert_eq!(typed(&filtered), typed(&page));
}

#[tokio::test]
async fn a_range_that_is_none_is_told() {
    let world = Arc::new(World::new().await);
    world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    for (range, told) in [
        ("custom&from=2026-01-02T00:00&until=2026-01-01T00:00", 1),
        ("custom&from=x&until=", 1),
        ("custom&from=2026-01-01T00:00&until=2026-01-02T00:00", 0),
        ("7d", 0),
    ] {
        let page = member.get(&format!("/console/p/furnished/analytics?range={range}")).await;
        assert_eq!(page.all("[role=alert]").len(), told, "{range}");
    }
}

#[tokio::test]
async fn requests_are_hits_misses_and_those_without_an_answer_on_every_page() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let outcomes = [
        (Outcome::ExactHit, 1),
        (Outcome::SemanticHit, 2),
        (Outcome::Miss, 3),
        (Outcome::Error, 4),
        (Outcome::Refused, 5),
        (Outcome::RateLimited, 60),
        (Outcome::Passed, 7),
    ];
    let events = outcomes
        .into_iter()
        .flat_map(|(outcome, times)| std::iter::repeat_n(UsageEvent { outcome, ..event }, times));
    record(&world, events).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    assert_eq!(figure(&page, "Requests"), ("82".into(), "3 answered by the provider".into()));
    assert_eq!(figure(&page, "Passed on").0, "7");
    assert_eq!(figure(&page, "Hit rate").0, "50.0%", "what is passed on could not have been a hit");
    assert_eq!(figure(&page, "Hits").0, "3");
    assert_eq!(figure(&page, "Not answered"), ("69".into(), "4 errors, 5 refused, 60 over the limit".into()));
    let row = page.all("#keys tbody td");
    assert_eq!((row.first().unwrap().as_str(), row.last().unwrap().as_str()), ("82", "69"));
    let page = member.get("/console/p/furnished").await;
    assert_eq!(figure(&page, "Requests"), ("82".into(), "69 without an answer".into()));
    let page = member.get("/console/projects").await;
    assert!(page.all("tbody td.num").contains(&"82".into()), "{}", page.text());
    let page = member.get("/console/p/furnished/keys").await;
    assert_eq!(page.all("tbody td.num"), ["82"]);
}

#[tokio::test]
async fn surfaces_streams_and_scopes_are_told() {
    let world = Arc::new(World::new().await);
    let (project, event) = furnished(&world).await;
    let frame = |instructions, user: &str| {
        let user = Parameters::from([("user".into(), user.into())]);
        Frame::of_wire(Kind::Chat, "m", Some(instructions), user)
    };
    let frames = [
        frame("Today is Monday.", "ada"),
        frame("Today is Tuesday.", "ada"),
        frame("Today is Wednesday.", "bob"),
        frame("Today is Monday.", "cy"),
    ];
    let [monday, tuesday, wednesday, cy] = frames.each_ref().map(|frame| {
        let scope = Scope::new(project.id, frame.clone()).key();
        let began = Some(Duration::from_millis(20));
        let surface = Surface::Wire(Wire::Chat);
        UsageEvent { surface, began, placed: Some(Placed { scope, frame }), ..event }
    });
    let hit = UsageEvent { outcome: Outcome::ExactHit, began: None, ..monday };
    let embeddings = UsageEvent { surface: Surface::Other, outcome: Outcome::Passed, ..event };
    record(&world, [monday, hit, tuesday, wednesday, cy, embeddings, event]).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    assert_eq!(page.all("#surfaces tbody th"), ["query", "chat", "other"]);
    let cells = page.all("#surfaces tbody td");
    assert_eq!(cells, ["1", "0", "0.0%", "0", "5", "1", "20.0%", "0", "1", "0", "–", "1"]);
    let (share, began) = figure(&page, "Streams");
    assert!(share == "66.7%" && began.starts_with("first byte: p50 "), "{share} {began}");
    let csv = member.get("/console/p/furnished/analytics/streams.csv?range=1h").await;
    let column = |at| {
        let cells = csv.body.lines().skip(1).map(move |line| line.split(',').nth(at).unwrap());
        cells.map(|cell| cell.parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!([column(1), column(2)], [4, 2]);
    let csv = member.get("/console/p/furnished/analytics/first-byte.csv?range=1h").await;
    let p50 = csv.body.lines().find_map(|line| line.split(',').nth(1)?.parse::<f64>().ok()).unwrap();
    assert!((10.0..30.0).contains(&p50), "{p50}");
    let csv = member.get("/console/p/furnished/analytics/surfaces.csv?range=1h").await;
    assert_eq!(csv.body.lines().nth(2), Some("chat,5,1,0.2,0"));

    let (scopes, cause) = figure(&page, "New scopes per 1,000 requests");
    assert_eq!(
        (scopes.as_str(), cause.as_str()),
        ("800", "50.0%: new instructions, such as a date or a name in them")
    );
    let causes = page.all("#scopes tbody tr");
    assert_eq!(
        causes,
        [
            "new instructions, such as a date or a name in them2400",
            "a new end user1200",
            "a new model, or known parts in a new combination1200",
        ]
    );
    let csv = member.get("/console/p/furnished/analytics/scopes.csv?range=1h").await;
    assert_eq!(csv.body.lines().nth(2), Some("a new end user,1,200"));
}

#[tokio::test]
async fn tables_and_files_say_the_whole_time() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let mut member = world.browser_of(Role::Member).await;
    let analytics = "/console/p/furnished/analytics";
    // Whole days of the past, which do not move while the pages are read.
    let today = world.wired.admin.clock.now().as_secs().div_euclid(86_400);
    let day = |before: i64| jiff::Timestamp::from_second((today - before) * 86_400).unwrap();
    for (from, until, length) in [(3, 1, 16), (390, 20, 10)] {
        let [begin, end] = [from, until].map(|before| day(before).strftime("%Y-%m-%dT%H:%M").to_string());
        let query = format!("?range=custom&from={begin}&until={end}");
        let at = |before: i64| Timestamp::from_secs((today - before) * 86_400 + 7200);
        record(&world, [from, until + 1].map(|before| UsageEvent { at: at(before), ..event })).await;
        let page = member.get(&format!("{analytics}{query}")).await;
        let csv = member.get(&format!("{analytics}/requests.csv{query}")).await;
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = csv.body.lines().skip(1).map(cells).collect();
        assert_eq!(lines[0][0], day(from).to_string());
        assert!(lines.is_sorted() && lines.iter().all(|line| line[0].parse::<jiff::Timestamp>().is_ok()));
        let told: Vec<&Vec<String>> = lines.iter().filter(|line| line[3] != "0").collect();
        assert!(told.len() == 2 && lines.len() > 20, "the file has the quiet bars too: {lines:?}");
        // The table has the latest first, and no bar in which nothing was asked.
        let shown: Vec<String> =
            told.iter().rev().map(|line| line[0].replace('T', " ")[..length].into()).collect();
        assert_eq!(page.all("#requests tbody th"), shown);
        let times = page.attributes("#requests tbody th time", "datetime");
        assert_eq!(times, told.iter().rev().map(|line| line[0].clone()).collect::<Vec<_>>());
    }
    let csv = member.get(&format!("{analytics}/similarity.csv")).await;
    assert!(csv.body.contains("\n0.02,"), "bounds are no times: {}", csv.body);
}

#[tokio::test]
async fn top_prompts_of_a_context_are_found_among_many_others() {
    let world = Arc::new(World::new().await);
    let (project, event) = furnished(&world).await;
    let lines = "Be brief.\nBe kind.";
    let numbers = (0..501).map(|n| format!("Question {n}")).collect::<Vec<_>>();
    let many = numbers.iter().map(|prompt| world.entry_without_vector(&project, "gpt-4o-mini", prompt, None));
    let mut saved = vec![1_000_000; numbers.len()];
    let mut entries = futures::future::join_all(many).await;
    for (prompt, context) in [("Small?", "tiny"), ("Short?", lines), ("Gone?", "nobody asks")] {
        entries.push(world.entry_without_vector(&project, "gpt-4o-mini", prompt, Some(context)).await);
        saved.push(5);
    }
    let mut batch = UsageBatch::default();
    for (entry, saved) in entries.iter().zip(saved) {
        let hits = EntryHits { hits: 1, last_hit: event.at, saved: NanoUsd::from_nanos(saved) };
        batch.entries.insert((project.id, *entry), hits);
    }
    // Known by their labels, one of which is not the text: a label is one line.
    for context in ["tiny", lines] {
        batch.add(&UsageEvent { context: Some(context), ..event });
    }
    world.wired.store.record(&batch).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    for (context, expected) in [("tiny", "Small?"), (lines, "Short?"), ("nobody asks", "Gone?")] {
        let number = ContextKey::of(Some(context)).0;
        let page = member.get(&format!("/console/p/furnished/analytics?context={number}")).await;
        assert_eq!(page.all("#prompts tbody th"), [expected]);
    }
    for context in [ContextKey::OTHER, ContextKey::of(Some("never stored"))] {
        let page = member.get(&format!("/console/p/furnished/analytics?context={}", context.0)).await;
        assert_eq!(page.one("#prompts p.muted"), "No entry of this context is known.");
    }
    let without = ContextKey::WITHOUT.0;
    let page =
        member.get(&format!("/console/p/furnished/analytics?context={without}&model=gpt-4o-mini")).await;
    assert_eq!(page.all("#prompts tbody tr").len(), 20);
    let page = member.get(&format!("/console/p/furnished/analytics?context={without}&model=other")).await;
    assert_eq!(page.one("#prompts p.muted"), "No entry was hit since this range began.");
}

#[tokio::test]
async fn filters_offer_the_names_of_the_range_whatever_is_filtered() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let past = Timestamp::from_secs(event.at.as_secs() - 3 * 3600);
    let (x, y, old) = (Some("about x"), Some("about y"), Some("about the past"));
    let events = [
        UsageEvent { model: "a", context: x, ..event },
        UsageEvent { model: "b", context: y, ..event },
        UsageEvent { model: "c", context: old, at: past, ..event },
    ];
    record(&world, events).await;
    let mut member = world.browser_of(Role::Member).await;
    let numbers = [x, y, old].map(|context| ContextKey::of(context).0.to_string());
    let [number, _, gone] = &numbers;
    for (filter, chosen) in [
        (String::new(), ["All", "All", "All"]),
        ("&model=a".into(), ["All", "a", "All"]),
        (format!("&context={number}&key={}", event.key), ["", "All", "about x"]),
        (format!("&model=c&context={gone}"), ["All", "c", "about the past"]),
        ("&model=+other&context=1".into(), ["All", "(other models)", "(other contexts)"]),
        ("&context=77".into(), ["All", "All", "(unknown context)"]),
        (format!("&key={}", event.project), ["(unknown key)", "All", "All"]),
    ] {
        let page = member.get(&format!("/console/p/furnished/analytics?range=1h{filter}")).await;
        let options = |select: &str| page.all(&format!("select#{select} option"));
        let told =
            ["key", "model", "context"].map(|name| page.one(&format!("select#{name} option[selected]")));
        assert!(
            told[0] == chosen[0] || chosen[0].is_empty() && told[0].starts_with("first (dj_"),
            "{told:?}"
        );
        assert_eq!(told[1..], chosen[1..], "{filter}");
        assert!(["a", "b"].iter().all(|name| options("model").contains(&(*name).to_owned())), "{filter}");
        assert!(["about x", "about y"].iter().all(|name| options("context").contains(&(*name).to_owned())));
        let more = usize::from(![String::from("All"), "about x".into()].contains(&told[2]));
        assert_eq!(options("context").len(), 3 + more, "{filter}");
        assert!(page.all("[role=alert]").is_empty());
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_told_and_left_out() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    record(&world, [event]).await;
    let mut member = world.browser_of(Role::Member).await;
    for (filter, what) in [("key=x", "key"), ("context=x", "context")] {
        let page = member.get(&format!("/console/p/furnished/analytics?{filter}")).await;
        let told = page.one("[role=alert]");
        assert!(told.contains(what) && told.ends_with("The figures are shown without it."), "{told}");
        assert_eq!(page.one(&format!("select#{what} option[selected]")), "All");
        assert_eq!(figure(&page, "Requests").0, "1");
        assert!(page.attributes("a[href$='csv?range=1h']", "href").len() > 5);
        let file = member.get(&format!("/console/p/furnished/analytics/keys.csv?{filter}")).await;
        assert_eq!(file.status, 422);
    }
}

#[tokio::test]
async fn tables_tell_of_the_rows_that_they_do_not_show() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let contexts: Vec<String> = (0..1043).map(|n| format!("context {n}")).collect();
    let count = async |contexts: &[String]| {
        record(&world, contexts.iter().map(|text| UsageEvent { context: Some(text), ..event })).await;
    };
    let mut member = world.browser_of(Role::Member).await;
    let address = "/console/p/furnished/analytics";
    let rest = "#contexts .table + .hint";
    for (told, line) in [(0..20, None), (20..43, Some("20 of 43 shown; the CSV file has all."))] {
        count(&contexts[told]).await;
        let page = member.get(address).await;
        assert_eq!(
            (page.all("#contexts tbody tr").len(), page.all(rest)),
            (20, Vec::from_iter(line.map(str::to_owned)))
        );
    }
    let file = async |member: &mut Browser| {
        member.get(&format!("{address}/contexts.csv")).await.body.lines().count()
    };
    assert_eq!(file(&mut member).await, 1 + 43);
    // A batch tells 64 of an hour apart.
    for some in contexts[43..].chunks(50) {
        count(some).await;
    }
    let page = member.get(address).await;
    assert_eq!(page.all("#contexts tbody tr").len(), 20);
    assert_eq!(page.one(rest), "20 of more than 1,000 shown; the CSV file has the first 1,000.");
    assert_eq!(file(&mut member).await, 1 + 1000);
    assert_eq!(page.all("select#context option").len(), 1 + 200);
    assert!(page.one(".filters + .hint").contains("the 200 models and contexts with most requests"));
    let page = member.get(&format!("{address}?context={}", ContextKey::WITHOUT.0)).await;
    assert_eq!(page.all("select#context option").len(), 1 + 200 + 1, "and the chosen one");
}

#[tokio::test]
async fn a_model_without_a_price_is_not_shown_as_free() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let mut member = world.browser_of(Role::Member).await;
    let address = "/console/p/furnished/analytics";
    // Free, and known to be; refused before a price mattered; with money of a price that it had.
    let price = [("model", "own-free"), ("input", "0"), ("output", "0")];
    member.submit("/console/p/furnished/prices", &price).await;
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
    let page = member.get(address).await;
    let note = page.one("#unpriced");
    assert!(note.contains(" blend-1, blend-2, blend-3, blend-4, blend-5 and 1 more: "), "{note}");
    assert_eq!(page.attributes("#unpriced a", "href"), ["/console/p/furnished/providers"]);
    let row = page.all("#models tbody tr:first-child td");
    assert_eq!(row, ["2", "50.0%", "no price", "no price", "0", "0"]);
    let rows = page.all("#models tbody tr");
    let told = |name: &str| rows.iter().find(|row| row.starts_with(name)).unwrap();
    assert!(told("own-free").contains("$0.00$0.00") && told("gpt-4o-mini").contains("$0.00$0.00"));
    assert!(told("had-one").contains("$0.00250") && told("refused").contains("$0.00"));
    let file = member.get(&format!("{address}/models.csv")).await;
    assert!(file.body.contains("\nblend-1,2,0.5,,,0,0\n"), "{}", file.body);
    // One that gets a price is one less.
    let price = [("model", "blend-6"), ("input", "1"), ("output", "2")];
    member.submit("/console/p/furnished/prices", &price).await;
    assert!(member.get(address).await.one("#unpriced").contains("blend-4, blend-5: "));
}

#[tokio::test]
async fn what_had_no_price_is_not_shown_as_free_when_there_is_one() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let mut member = world.browser_of(Role::Member).await;
    let hit = UsageEvent { outcome: Outcome::ExactHit, model: "blend", unpriced: true, ..event };
    record(&world, [hit, hit]).await;
    let address = "/console/p/furnished/analytics";
    let price = [("model", "blend"), ("input", "1"), ("output", "2")];
    member.submit("/console/p/furnished/prices", &price).await;
    let page = member.get(address).await;
    let told = ("no price".into(), "no price spent, 2 answers without a price".into());
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
async fn refused_requests_stand_under_their_model_and_reason() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let refused = |model, why| UsageEvent { outcome: Outcome::Refused, refused: Some(why), model, ..event };
    let typo = UsageEvent { context: Some("shop"), ..refused("gpt-4o-minni", RefusedFor::UnknownModel) };
    let shape = UsageEvent { model: "", ..refused("", RefusedFor::Shape) };
    let limited = UsageEvent { outcome: Outcome::RateLimited, ..event };
    let closed = refused("claude-haiku-4-5", RefusedFor::ForbiddenModel);
    record(&world, [typo, typo, shape, limited, closed]).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics").await;
    let rows = page.all("#refusals tbody tr");
    assert_eq!(
        rows,
        [
            "a model that nobody serves (400)2",
            "a model that the key is not for (403)1",
            "a body or header that is wrong (400)1",
            "over the limit (429)1",
        ]
    );
    let row = |page: &Page, table: &str, name: &str| {
        let rows = page.all(&format!("{table} tbody tr"));
        rows.into_iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name} in {table}"))
    };
    assert_eq!(row(&page, "#models", "gpt-4o-minni"), "gpt-4o-minni2–$0.00$0.0022");
    assert_eq!(row(&page, "#contexts", "shop"), "shop2–$0.00$0.0022");
    let page = member.get("/console/p/furnished/analytics?model=claude-haiku-4-5").await;
    assert_eq!(page.all("#refusals tbody tr"), ["a model that the key is not for (403)1"]);
    let file = member.get("/console/p/furnished/analytics/refusals.csv").await;
    assert!(file.body.starts_with("Reason,Requests\na model that nobody serves (400),2\n"), "{}", file.body);
}

#[tokio::test]
async fn latencies_of_exact_hits_and_of_hits_by_meaning_stand_apart() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let hit = |outcome, millis| UsageEvent { outcome, latency: Duration::from_millis(millis), ..event };
    record(
        &world,
        [hit(Outcome::ExactHit, 1), hit(Outcome::SemanticHit, 400), hit(Outcome::SemanticHit, 400)],
    )
    .await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    let millis = |name| {
        let text = figure(&page, name).0;
        text.strip_suffix(" ms").unwrap_or_else(|| panic!("{text}")).parse::<f64>().unwrap()
    };
    assert!((0.5..2.0).contains(&millis("Latency of exact hits")));
    assert!((250.0..600.0).contains(&millis("Latency of hits by meaning")));
    for file in ["exact-latency", "semantic-latency", "miss-latency"] {
        member.get(&format!("/console/p/furnished/analytics/{file}.csv")).await;
    }
}

#[tokio::test]
async fn the_overview_says_which_prompts_are_too_long_to_be_found_by_meaning() {
    let world = Arc::new(World::new().await);
    let (_, event) = furnished(&world).await;
    let mut member = world.browser_of(Role::Member).await;
    let told = member.get("/console/p/furnished").await.one("#window");
    assert!(told.starts_with("A prompt of up to 256 tokens is found by its meaning"), "{told}");
    assert!(!told.contains('%'), "{told}");
    let long = UsageEvent { too_long: true, ..event };
    let exact = UsageEvent { outcome: Outcome::ExactHit, ..event };
    record(&world, [event, event, event, long, exact]).await;
    let told = member.get("/console/p/furnished").await.one("#window");
    assert!(told.contains(" 25.0% were longer (1 of 4)"), "{told}");
}

#[tokio::test]
async fn the_first_steps_go_away_when_they_are_done() {
    let world = Arc::new(World::new().await);
    world.project("New").await;
    let mut member = world.browser_of(Role::Owner).await;
    let done =
        |page: &Page| page.all("#checklist li").iter().map(|step| step.ends_with("Done")).collect::<Vec<_>>();
    assert_eq!(done(&member.get("/console/p/new").await), [false; 4]);
    let (project, event) = furnished(&world).await;
    assert_eq!(done(&member.get("/console/p/furnished").await), [true, false, false, false]);
    record(&world, [event]).await;
    assert_eq!(done(&member.get("/console/p/furnished").await), [true, false, true, false]);
    // A hit of long ago is one.
    let long_ago = Timestamp::from_secs(event.at.as_secs() - 60 * 86_400);
    record(&world, [UsageEvent { outcome: Outcome::ExactHit, at: long_ago, ..event }]).await;
    assert_eq!(done(&member.get("/console/p/furnished").await), [true, false, true, true]);
    let form = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "blend")];
    member.submit(&format!("/console/p/{}/providers/new", project.slug), &form).await;
    assert!(done(&member.get("/console/p/furnished").await).is_empty());
}

#[tokio::test]
async fn an_entry_without_a_price_says_so() {
    let world = Arc::new(World::new().await);
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
        member.submit("/console/p/furnished/prices", &form).await;
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
    let world = Arc::new(World::new().await);
    let (project, _) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    let name = "Guard model, off what is saved";
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
    assert_eq!(figure(&page, name), ("$0.00300".into(), "2 questions, all of these days".into()));
}
