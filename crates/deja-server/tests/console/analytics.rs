//! The figures of the analytics page, as people and as machines read them.

mod filters;
mod prices;

use std::time::Duration;

use deja_core::analytics::{
    ContextKey, EntryHits, Outcome, Placed, RefusedFor, Surface, UsageBatch, UsageEvent,
};
use deja_core::api_key::ApiKey;
use deja_core::cache::{Frame, Kind, Parameters, Scope};
use deja_core::clock::Timestamp;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_core::project::Project;
use deja_core::testing;
use deja_wire::Wire;

use crate::util::{Browser, Page, World};

/// A project called Furnished, and what a request of its key is counted as.
async fn furnished(world: &World) -> (Project, UsageEvent<'static>) {
    let (project, _) = world.furnished().await;
    let key = world.wired.store.keys(project.id).await.unwrap()[0].0.id;
    let event = UsageEvent::bare(project.id, key, Outcome::Miss, world.wired.admin.clock.now());
    (project, event)
}

/// A furnished project, an event of it, and a member's browser.
async fn with_traffic() -> (World, UsageEvent<'static>, Browser) {
    let world = World::new().await;
    let (_, event) = furnished(&world).await;
    let member = world.browser_of(Role::Member).await;
    (world, event, member)
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
    let world = World::new().await;
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
async fn figures_are_compared_with_those_of_the_span_before() {
    let (world, event, mut member) = with_traffic().await;
    let long_ago = |hours: i64| Timestamp::from_secs(event.at.as_secs() - hours * 3600);
    let before = UsageEvent { at: long_ago(30), outcome: Outcome::ExactHit, ..event };
    let longer_ago = UsageEvent { at: long_ago(60), ..event };
    record(&world, [event, before, before, before, longer_ago]).await;
    let page = member.get("/console/p/furnished/analytics?range=24h").await;
    let place = |name: &str| page.all(".figures dt").iter().position(|found| found == name).unwrap();
    let told = page.all(".figures dd.before");
    assert_eq!(figure(&page, "Requests").0, "1");
    assert_eq!(figure(&page, "Hits").1, "0 exact, 0 by meaning");
    assert_eq!([&told[place("Requests")], &told[place("Hit rate")]], ["before: 3", "before: 100.0%"]);
    assert!(page.one("#before").contains(" UTC"), "{}", page.one("#before"));
    let page = member
        .get("/console/p/furnished/analytics?range=custom&from=1970-01-01T00:00&until=2199-01-01T00:00");
    assert!(page.await.all(".before, #before").is_empty(), "nothing is kept of before");
}

#[tokio::test]
async fn tables_of_usage_are_sorted_by_a_click_and_keep_the_filter() {
    let (world, event, mut member) = with_traffic().await;
    let of = |model, spent| UsageEvent { model, spent: NanoUsd::from_nanos(spent), ..event };
    record(&world, [of("b", 5_000_000), of("a", 1_000_000), of("a", 1_000_000), of("C", 9_000_000)]).await;
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
async fn requests_are_hits_misses_and_those_without_an_answer_on_every_page() {
    let (world, event, mut member) = with_traffic().await;
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
async fn seven_days_are_168_hours_on_every_page() {
    let (world, event, mut member) = with_traffic().await;
    // Most of the time on the eighth day back.
    let ago = |hours: i64| Timestamp::from_secs(event.at.as_secs() - hours * 3600);
    let saved = NanoUsd::from_nanos(2_000_000_000);
    let early = UsageEvent { at: ago(166), too_long: true, saved, ..event };
    record(&world, [event, early, UsageEvent { at: ago(170), ..event }]).await;
    let page = member.get("/console/projects").await;
    assert_eq!(page.all("tbody td.num")[0], "2", "{}", page.text());
    let bars = page.attributes("svg.spark", "aria-label").remove(0);
    assert_eq!(bars, "Requests for each 24 hours, up to now: 1, 0, 0, 0, 0, 0, 1");
    let together = "All projects together: 2 requests, $2.00 saved.";
    assert!(page.one("caption").ends_with(together), "{}", page.one("caption"));
    let page = member.get("/console/p/furnished").await;
    assert_eq!(figure(&page, "Saved").1, "spent: $0.00; saved in 7 days: $2.00");
    let told = page.one("#window");
    assert!(told.contains(" 1 of the 2 prompts that were no exact hits were longer (50.0%)"), "{told}");
    let page = member.get("/console/p/furnished/analytics?range=7d").await;
    assert_eq!((figure(&page, "Requests").0, figure(&page, "Saved").0), ("2".into(), "$2.00".into()));
    let place = page.all(".figures dt").iter().position(|found| found == "Requests").unwrap();
    assert_eq!(page.all(".figures dd.before")[place], "before: 1", "the 168 hours before these");
    let csv = member.get("/console/p/furnished/analytics/requests.csv?range=7d").await;
    let misses = csv.body.lines().skip(1).map(|line| line.split(',').nth(3).unwrap());
    assert_eq!(misses.map(|count| count.parse::<u64>().unwrap()).sum::<u64>(), 2);
}

#[tokio::test]
async fn the_small_charts_of_the_projects_say_their_values() {
    let (world, event, mut member) = with_traffic().await;
    record(&world, [event, UsageEvent { outcome: Outcome::ExactHit, ..event }]).await;
    let told = member.get("/console/projects").await.attributes("svg.spark", "aria-label");
    assert_eq!(told[0], "Requests for each 24 hours, up to now: 0, 0, 0, 0, 0, 0, 2");
    assert_eq!(told[1], "Hit rate for each 24 hours, up to now: –, –, –, –, –, –, 50.0%");
}

#[tokio::test]
async fn surfaces_streams_and_scopes_are_told() {
    let world = World::new().await;
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
    assert_eq!(cells, ["1", "0", "0.0%", "0", "5", "1", "20.0%", "0", "0", "0", "–", "1"]);
    let (share, began) = figure(&page, "Streams");
    assert!(share == "66.7%" && began.starts_with("of the answers; first byte: median "), "{share} {began}");
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
    let (world, event, mut member) = with_traffic().await;
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
    let long_ago = "?range=custom&from=2020-01-01T00:00&until=2020-01-02T00:00";
    let page = member.get(&format!("{analytics}{long_ago}")).await;
    assert!(
        page.one("[role=alert]").contains("Nothing is kept of the custom range’s time"),
        "{}",
        page.text()
    );
    let csv = member.get(&format!("{analytics}/requests.csv{long_ago}")).await;
    assert!(csv.status == 422 && csv.body.contains("Nothing is kept"), "{} {}", csv.status, csv.body);
}

#[tokio::test]
async fn tables_tell_of_the_rows_that_they_do_not_show() {
    let (world, event, mut member) = with_traffic().await;
    let contexts: Vec<String> = (0..1043).map(|n| format!("context {n}")).collect();
    let count = async |contexts: &[String]| {
        record(&world, contexts.iter().map(|text| UsageEvent { context: Some(text), ..event })).await;
    };
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
    assert!(page.one(".filters + .hint").contains("the 200 keys, models and contexts with most requests"));
    let page = member.get(&format!("{address}?context={}", ContextKey::WITHOUT.0)).await;
    assert_eq!(page.all("select#context option").len(), 1 + 200 + 1, "and the chosen one");
}

#[tokio::test]
async fn refused_requests_stand_under_their_model_and_reason() {
    let (world, event, mut member) = with_traffic().await;
    let refused = |model, why| UsageEvent { outcome: Outcome::Refused, refused: Some(why), model, ..event };
    let typo = UsageEvent { context: Some("shop"), ..refused("gpt-4o-minni", RefusedFor::UnknownModel) };
    let shape = UsageEvent { model: "", ..refused("", RefusedFor::Shape) };
    let limited = UsageEvent { outcome: Outcome::RateLimited, ..event };
    let closed = refused("claude-haiku-4-5", RefusedFor::ForbiddenModel);
    record(&world, [typo, typo, shape, limited, closed]).await;
    let page = member.get("/console/p/furnished/analytics").await;
    let rows = page.all("#refusals tbody tr");
    assert_eq!(
        rows,
        [
            "a model that nobody serves, or not at this endpoint (400, 404)2",
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
    assert!(
        file.body.starts_with(
            "Reason,Requests\n\"a model that nobody serves, or not at this endpoint (400, 404)\",2\n"
        ),
        "{}",
        file.body
    );
}

#[tokio::test]
async fn latencies_of_exact_hits_and_of_hits_by_meaning_stand_apart() {
    let (world, event, mut member) = with_traffic().await;
    let hit = |outcome, millis| UsageEvent { outcome, latency: Duration::from_millis(millis), ..event };
    let hits = [hit(Outcome::ExactHit, 1), hit(Outcome::SemanticHit, 400), hit(Outcome::SemanticHit, 400)];
    record(&world, hits).await;
    // What waited for a call has no latency: neither figure goes away for it.
    let joined =
        [Outcome::ExactHit, Outcome::SemanticHit].map(|of| UsageEvent { joined: true, ..hit(of, 30_000) });
    record(&world, joined).await;
    let page = member.get("/console/p/furnished/analytics?range=1h").await;
    let millis = |name| {
        let text = figure(&page, name).0;
        text.strip_suffix(" ms").unwrap_or_else(|| panic!("{text}")).parse::<f64>().unwrap()
    };
    assert!((0.5..2.0).contains(&millis("Latency of exact hits")));
    assert!((250.0..600.0).contains(&millis("Latency of hits by meaning")));
    let told = figure(&page, "Latency of exact hits").1;
    assert!(told.starts_with("median; p95 "), "a figure says what it is: {told}");
    // The legend names what is drawn: dashes of lines, and the line across the similarities.
    assert_eq!(page.attributes("#semantic-latency .legend path", "class"), ["line c1", "line c2", "line c4"]);
    assert_eq!(page.all("#similarity .legend li"), ["hits", "near misses", "default threshold, 0.85"]);
    assert_eq!(page.one("#requests .plot > span"), "UTC", "the hours at the axis have their zone");
    for file in ["exact-latency", "semantic-latency", "miss-latency"] {
        member.get(&format!("/console/p/furnished/analytics/{file}.csv")).await;
    }
}

#[tokio::test]
async fn the_overview_says_which_prompts_are_too_long_to_be_found_by_meaning() {
    let (world, event, mut member) = with_traffic().await;
    let told = member.get("/console/p/furnished").await.one("#window");
    assert!(told.starts_with("A prompt of up to 256 tokens is found by its meaning"), "{told}");
    assert!(!told.contains('%'), "{told}");
    let long = UsageEvent { too_long: true, ..event };
    let exact = UsageEvent { outcome: Outcome::ExactHit, ..event };
    record(&world, [event, event, event, long, exact]).await;
    let told = member.get("/console/p/furnished").await.one("#window");
    assert!(told.contains(" 1 of the 4 prompts that were no exact hits were longer (25.0%)"), "{told}");
}

#[tokio::test]
async fn the_first_steps_go_away_when_they_are_done() {
    let (world, _, mut member) = World::with_project("New", Role::Owner).await;
    let done =
        |page: &Page| page.all("#checklist li").iter().map(|step| step.ends_with("Done")).collect::<Vec<_>>();
    assert_eq!(done(&member.get("/console/p/new").await), [false; 4]);
    // A key whose time is over is none.
    let new = world.reload("new").await;
    let brief = testing::key(7, new.id, new.created);
    let brief = ApiKey { expires: Some(brief.created), ..brief };
    world.wired.store.create_key(&brief, &testing::change()).await.unwrap();
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
