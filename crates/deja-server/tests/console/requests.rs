//! The log of requests: its page, its file, and what is said of a request there.

use std::num::NonZeroUsize;
use std::time::Duration;

use deja_core::admin::cache;
use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::analytics::{ContextKey, EntryHits, OTHER_MODELS, Outcome, UsageBatch, UsageEvent};
use deja_core::cache::{Answered, Met};
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::KeyId;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_core::request_log::{GUARD_COST, LoggedRequest};

use crate::util::{Browser, Page, World};

const ASKED: &str = "What's the capital of French Guiana?";
const ROWS: &str = "table tbody tr";

async fn keeping_texts(world: &World) -> deja_core::project::Project {
    let patch = ProjectPatch { request_texts_days: Some(7), ..ProjectPatch::default() };
    projects::set(&world.acting(), "furnished", patch).await.unwrap()
}

#[tokio::test]
async fn a_hit_on_which_the_guards_model_cost_what_it_saves_has_saved_nothing() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    for (cause, saved, in_file) in [(None, "no price", ",0.003,"), (Some(GUARD_COST), "$0.00", ",0.003,0")] {
        let cause = cause.map(str::to_owned);
        let hit = LoggedRequest { saved: NanoUsd::ZERO, cause, ..world.logged(&project, entry, ASKED) };
        world.wired.store.log_requests(&[hit]).await.unwrap();
        let page = member.get("/console/p/furnished/requests").await;
        assert_eq!(page.all("td[data-label=Saved]")[0], saved);
        let csv = member.get("/console/p/furnished/requests/log.csv").await;
        assert!(csv.body.lines().nth(1).unwrap().ends_with(in_file), "{}", csv.body);
    }
}

#[tokio::test]
async fn the_page_shows_hashes_or_texts_and_filters() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let page = member.get("/console/p/furnished/requests").await;
    assert!(page.text().contains("No request yet"), "{}", page.text());
    world.answered(&project, entry, &[ASKED]).await;
    let page = member.get("/console/p/furnished/requests").await;
    let row = page.one(ROWS);
    assert!(row.contains("hit by meaning") && row.contains("0.900") && row.contains("answered"), "{row}");
    assert!(row.contains("Console") && row.contains("$1.50") && row.contains("3.00 ms"), "{row}");
    // Exactly when, in words that need no mouse.
    let at = page.attributes("tbody time", "datetime").remove(0);
    assert_eq!(page.one("tbody time"), at.replace('T', " ").replace('Z', " UTC"));
    assert!(!page.body.contains("French Guiana"), "a text that nobody asked for");
    let console = KeyId::from_bytes([0; 16]);
    let first = world.wired.store.keys(project.id).await.unwrap().remove(0).0;
    let name = format!("first ({}…)", first.shown);
    // Requests has one of the console. Analytics counted none.
    for (place, offered) in [("requests", &["All", "Console"][..]), ("analytics", &["All"])] {
        for (key, name) in [(console, "Console"), (first.id, &name)] {
            let page = member.get(&format!("/console/p/furnished/{place}?key={key}")).await;
            assert_eq!(page.one("select#key option[selected]"), name, "{place}");
        }
        let page = member.get(&format!("/console/p/furnished/{place}")).await;
        assert_eq!(page.all("select#key option"), offered, "{place}");
    }

    let unpriced =
        LoggedRequest { saved: NanoUsd::ZERO, model: "brew".into(), ..world.logged(&project, entry, ASKED) };
    world.wired.store.log_requests(std::slice::from_ref(&unpriced)).await.unwrap();
    let saved = async |member: &mut Browser| {
        let page = member.get("/console/p/furnished/requests?model=brew").await;
        page.one("td[data-label=Saved]")
    };
    assert_eq!(saved(&mut member).await, "no price");
    let csv = member.get("/console/p/furnished/requests/log.csv?model=brew").await;
    assert!(csv.body.trim_end().ends_with(",0.003,"), "{}", csv.body);
    for (price, told) in [("1", "no price"), ("0", "$0.00")] {
        let form = [("model", "brew"), ("input", price), ("output", price)];
        member.submit("/console/p/furnished/providers/prices", &form).await;
        assert_eq!(saved(&mut member).await, told, "a price that is set later");
    }

    let project = keeping_texts(&world).await;
    world.answered(&project, entry, &["Is Paris nice?"]).await;
    let page = member.get("/console/p/furnished/requests").await;
    assert_eq!(page.all(ROWS).len(), 3);
    assert!(page.all(ROWS)[0].contains("Is Paris nice?"), "the latest first");
    for (filter, rows) in [
        ("q=paris+nice", 1),
        ("q=What's+the+capital+of+French+Guiana?", 2),
        ("q=capital", 0),
        ("outcome=semantic_hit", 3),
        ("outcome=miss", 0),
        ("model=gpt-4o-mini", 2),
        ("model=other", 0),
        (&format!("entry={entry}"), 3),
    ] {
        let page = member.get(&format!("/console/p/furnished/requests?{filter}")).await;
        assert_eq!(page.all(ROWS).len(), rows, "{filter}: {}", page.text());
    }
    // An answer that was stored is a hit of those who waited for it, another one a miss.
    let joined =
        |outcome, prompt| LoggedRequest { outcome, joined: true, ..world.logged(&project, entry, prompt) };
    let hit = joined(Outcome::ExactHit, "Is Lyon nice?");
    let miss = LoggedRequest { met: None, ..joined(Outcome::Miss, "Is Lille nice?") };
    world.wired.store.log_requests(&[hit, miss]).await.unwrap();
    let page = member.get("/console/p/furnished/requests?outcome=joined").await;
    assert_eq!(page.one("select#outcome option[selected]"), "joined");
    assert_eq!(page.all(ROWS).len(), 2, "{}", page.text());
    for (outcome, prompt) in [("exact_hit", "Is Lyon nice?"), ("miss", "Is Lille nice?")] {
        let row = member.get(&format!("/console/p/furnished/requests?outcome={outcome}")).await.one(ROWS);
        assert!(row.contains(prompt) && row.contains("joined"), "{row}");
    }
    let csv = member.get("/console/p/furnished/requests/log.csv?outcome=joined").await;
    assert_eq!(csv.body.lines().count(), 3, "{}", csv.body);
    let live = member.get("/console/p/furnished/requests?live=1&outcome=semantic_hit").await;
    let renewed = r#"<noscript><meta http-equiv="refresh" content="3"></noscript>"#;
    assert!(live.body.contains(renewed) && !page.body.contains("noscript"), "{}", live.body);
    assert_eq!(
        live.attributes("[data-renewed]", "data-renewed"),
        ["3"],
        "where there is a script, it does so"
    );
    assert!(live.all("form.filters").is_empty(), "what is typed would be gone");
    let stop = live.attributes("nav[aria-label=View] a", "href").remove(0);
    assert_eq!(stop, "/console/p/furnished/requests?outcome=semantic_hit", "it stops with the same filters");
}

#[tokio::test]
async fn requests_are_found_by_their_time_in_the_list_the_file_and_the_live_view() {
    let (world, (project, entry), mut viewer) = World::furnished_for(Role::Member).await;
    // 2026-07-01T00:00:00Z, and each a minute later.
    let at = |minute: i64| Timestamp::from_secs(1_782_864_000 + 60 * minute);
    let rows = (0..120).map(|minute| LoggedRequest {
        at: at(minute),
        request: Some(format!("r{minute}")),
        outcome: if minute % 2 == 0 { Outcome::SemanticHit } else { Outcome::Miss },
        ..world.logged(&project, entry, ASKED)
    });
    world.wired.store.log_requests(&rows.collect::<Vec<_>>()).await.unwrap();
    let list = "/console/p/furnished/requests";
    for (filter, rows) in [
        ("from=2026-07-01T01:50", 10),
        ("until=2026-07-01T00:20", 20),
        ("from=2026-07-01T00:10&until=2026-07-01T00:30", 20),
        ("from=2026-07-01T00:10&until=2026-07-01T00:30&outcome=miss", 10),
        ("from=2026-07-01T00:10&until=2026-07-01T00:30&sort=5", 20),
        ("from=2026-07-01T02:00", 0),
    ] {
        let page = viewer.get(&format!("{list}?{filter}")).await;
        assert_eq!((page.status, page.all(ROWS).len()), (200, rows), "{filter}");
        assert_eq!(page.text().contains("No request matches"), rows == 0, "{filter}");
        let [live, csv] = page.attributes("nav[aria-label=View] a", "href").try_into().unwrap();
        assert_eq!(viewer.get(&csv).await.body.lines().count(), 1 + rows, "{csv}");
        let page = viewer.get(&live).await;
        assert_eq!(page.all(ROWS).len(), rows, "{live}");
        let stop = page.attributes("nav[aria-label=View] a", "href").remove(0);
        assert_eq!(viewer.get(&stop).await.all(ROWS).len(), rows, "{stop}");
    }
    // Page by page within the time.
    let page = viewer.get(&format!("{list}?from=2026-07-01T00:30&until=2026-07-01T01:30")).await;
    assert_eq!(page.attributes("#from, #until", "value"), ["2026-07-01T00:30", "2026-07-01T01:30"]);
    let next = page.attributes("a[rel=next]", "href").remove(0);
    let page = viewer.get(&next).await;
    assert_eq!((page.all(ROWS).len(), page.attributes("a[rel=next]", "href").len()), (10, 0));
    for (time, told) in [
        ("from=soon", "From must be a moment such as 2026-07-31 14:30, in UTC."),
        ("from=2026-07-02T00:00&until=2026-07-01T00:00", "Until must be later than from."),
    ] {
        let page = viewer.get(&format!("{list}?{time}")).await;
        assert_eq!((page.status, page.all(ROWS).len()), (422, 0), "{time}");
        assert_eq!((page.one("[role=alert]").as_str(), page.text().contains("No request")), (told, false));
        let file = viewer.get(&format!("{list}/log.csv?{time}")).await;
        assert_eq!((file.status, file.text().contains(told)), (422, true), "{}", file.text());
    }
}

#[tokio::test]
async fn what_a_column_cuts_is_there_without_a_mouse() {
    let (world, (_, entry), mut member) = World::furnished_for(Role::Member).await;
    let project = keeping_texts(&world).await;
    let long = format!("\n  Two <b>lines</b>:\n{}the end.", "all of it, ".repeat(200));
    let cause = "a_cause_that_is_longer_than_its_column";
    let logged = LoggedRequest {
        request: Some("a-request-with-a-long-name".into()),
        cause: Some(cause.into()),
        ..world.logged(&project, entry, &long)
    };
    world.wired.store.log_requests(&[logged]).await.unwrap();
    for place in ["requests".to_owned(), format!("cache/{entry}")] {
        let page = member.get(&format!("/console/p/furnished/{place}")).await;
        let asked = "tbody th details";
        assert!(page.one(&format!("{asked} summary")).starts_with("Two <b>lines</b>: all of it"), "{place}");
        let text = page.one(&format!("{asked} pre[tabindex='0']"));
        assert!(text.ends_with("the end.") && text.len() > 2000, "{place}: {text}");
        assert!(page.body.contains("aria-label=\"Asked\">\n\n  Two"), "the first break is not the text's");
        let facts = page.all(&format!("{asked} dd"));
        assert_eq!(facts[0].len(), 12, "the hash");
        assert_eq!(
            facts[1..],
            ["a-request-with-a-long-name", cause, "answered", "gpt-4o-mini", "Console"],
            "{place}"
        );
    }
    // Without a text the hash opens it, for viewers too.
    let patch = ProjectPatch { request_texts_days: Some(0), ..ProjectPatch::default() };
    projects::set(&world.acting(), "furnished", patch).await.unwrap();
    let page = member.get("/console/p/furnished/requests").await;
    assert!(page.one("tbody th summary").starts_with('#') && page.all("tbody th pre").is_empty());
}

#[tokio::test]
async fn the_filters_offer_what_is_on_other_pages_too() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let of = |model: &str, context: Option<&str>| LoggedRequest {
        model: model.into(),
        context: ContextKey::of(context),
        ..world.logged(&project, entry, ASKED)
    };
    let rows = (0..60).map(|place| if place == 0 { of("quiet", Some("brief")) } else { of("busy", None) });
    world.wired.store.log_requests(&rows.collect::<Vec<_>>()).await.unwrap();
    let key = world.wired.store.keys(project.id).await.unwrap()[0].0.id;
    let event = UsageEvent::bare(project.id, key, Outcome::Miss, world.wired.admin.clock.now());
    let mut counted = UsageBatch::default();
    counted.add(&UsageEvent { model: "quiet", context: Some("brief"), ..event });
    counted.add(&UsageEvent { model: OTHER_MODELS, ..event });
    world.wired.store.record(&counted).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    for filter in ["", "?model=busy"] {
        let page = member.get(&format!("/console/p/furnished/requests{filter}")).await;
        assert!(!page.all(ROWS).concat().contains("quiet"), "it is on another page");
        assert_eq!(page.all("#key option").len(), 3, "{filter}: those that asked");
        assert_eq!(page.all("#model option"), ["All", "busy", "quiet"], "{filter}");
        assert_eq!(page.all("#context option"), ["All", "(no context)", "brief"], "{filter}");
    }
    let page = member.get("/console/p/furnished/requests?model=quiet").await;
    assert_eq!(page.all(ROWS).len(), 1);
}

#[tokio::test]
async fn a_prompt_is_found_with_its_lines_and_blanks_as_browsers_send_it() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let prompts = ["\n Two\nlines. \n", "One line."];
    world.answered(&project, entry, &prompts).await;
    let mut member = world.browser_of(Role::Member).await;
    for (sent, rows) in [
        ("%0D%0A+Two%0D%0Alines.+%0D%0A", 1),
        ("%0A+Two%0Alines.+%0A", 1),
        ("One+line.", 1),
        ("+One+line.%0D%0A", 1),
        ("Two%0D%0Alines.", 0),
    ] {
        let page = member.get(&format!("/console/p/furnished/requests?q={sent}")).await;
        assert_eq!(page.all(ROWS).len(), rows, "{sent}: {}", page.text());
        assert_eq!(page.all("form.filters textarea#q").len(), 1, "a field that keeps lines");
    }
    let page = member.get("/console/p/furnished/requests?q=%0D%0A+Two%0D%0Alines.+%0D%0A").await;
    assert!(page.body.contains(">\n\n Two\nlines. \n</textarea>"), "the first break is not the prompt's");
    let csv = page.attributes("nav[aria-label=View] a", "href").remove(1);
    assert_eq!(member.get(&csv).await.body.lines().count(), 2);
}

#[tokio::test]
async fn a_file_has_all_that_pass_the_filter_and_each_once() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let prompts: Vec<String> = (0..1200).map(|number| format!("prompt {number}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    world.answered(&project, entry, &prompts).await;
    let project = keeping_texts(&world).await;
    world.answered(&project, entry, &["=1+1"]).await;
    // What cannot be read is no reason to give all.
    for odd in ["outcome=hit", "key=k", "context=none", "entry=7"] {
        for place in ["requests", "requests/log.csv"] {
            let refused = member.get(&format!("/console/p/furnished/{place}?{odd}")).await;
            assert_eq!(refused.status, 400, "{place}?{odd}");
        }
    }
    let csv = member.get("/console/p/furnished/requests/log.csv?outcome=semantic_hit").await;
    let mut lines = csv.body.lines();
    assert!(lines.next().unwrap().starts_with("time,request,asked,hash,outcome"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 1201);
    assert!(lines[0].contains(",'=1+1,"), "no formula: {}", lines[0]);
    // Names as on the page, and nothing where there is no context.
    assert!(lines[0].contains(",gpt-4o-mini,,") && lines[0].ends_with(",Console,0.003,1.5"), "{}", lines[0]);
    assert_eq!(
        member.get("/console/p/furnished/requests/log.csv?outcome=miss").await.body.lines().count(),
        1
    );
    // Page by page it is the same.
    let (mut place, mut rows) = ("/console/p/furnished/requests".to_owned(), 0);
    loop {
        let page = member.get(&place).await;
        rows += page.all(ROWS).len();
        let Some(next) = page.attributes("a[rel=next]", "href").pop() else { break };
        place = next;
    }
    assert_eq!(rows, 1201);
}

#[tokio::test]
async fn the_log_is_sorted_over_all_pages_and_in_its_file() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let rows = (0..120).map(|number: u64| {
        let mut row = LoggedRequest {
            latency: (!number.is_multiple_of(10)).then(|| Duration::from_millis(number % 10)),
            saved: NanoUsd::from_nanos((number % 7 + 1) * 1_000_000_000),
            model: if number < 60 { "a" } else { "b" }.into(),
            ..world.logged(&project, entry, ASKED)
        };
        match row.met.as_mut() {
            Some(met) if !number.is_multiple_of(3) => {
                met.similarity = Similarity::from_cosine(0.5 + number as f32 / 1000.0);
            }
            _ => row.met = None,
        }
        row
    });
    world.wired.store.log_requests(&rows.collect::<Vec<_>>()).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    let place = "/console/p/furnished/requests";
    let first = member.get(&format!("{place}?model=b")).await;
    let names = first.all("thead a");
    assert_eq!(names, ["When", "Nearest entry", "Duration", "Saved"]);
    assert_eq!(first.attributes("[aria-sort]", "aria-sort"), ["descending"], "the latest first");
    let links = first.attributes("thead a", "href");
    let value = |text: &String| {
        let number = text.trim_start_matches('$');
        number.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse::<f64>().ok()
    };
    for (at, name, known) in [(1, "Nearest entry", 40), (2, "Duration", 54), (3, "Saved", 60)] {
        for way in ["descending", "ascending"] {
            let mut path = links[at].clone();
            if way == "ascending" {
                path = member.get(&path).await.attributes("thead a", "href").remove(at);
            }
            let (mut values, mut next) = (Vec::new(), Some(path.clone()));
            while let Some(path) = next {
                let page = member.get(&path).await;
                values.extend(page.all(&format!("td[data-label='{name}']")));
                assert_eq!(page.attributes("[aria-sort]", "aria-sort"), [way], "{path}");
                assert_eq!(page.attributes("input[name=sort]", "value").len(), 1, "a filter keeps the order");
                let live = page.attributes("nav[aria-label=View] a", "href").remove(0);
                assert_eq!(live, format!("{place}?model=b&live=1"), "what is followed is the latest");
                next = page.attributes("a[rel=next]", "href").pop();
            }
            let values: Vec<_> = values.iter().map(value).collect();
            assert_eq!((values.len(), values.iter().flatten().count()), (60, known), "{name}");
            assert!(values[..known].iter().all(Option::is_some), "what there is nothing of comes last");
            let values: Vec<f64> = values.into_iter().flatten().collect();
            let sorted =
                |one: &f64, other: &f64| if way == "ascending" { one <= other } else { one >= other };
            assert!(values.is_sorted_by(sorted), "{name}, {way}: {values:?}");
        }
    }
    let page = member.get(&links[2]).await;
    let file = member.get(&page.attributes("nav[aria-label=View] a", "href")[1]).await;
    let seconds = file.body.lines().skip(1).map(|line| line.split(',').nth(15).unwrap().to_owned());
    let seconds: Vec<String> = seconds.collect();
    assert_eq!(seconds.len(), 60);
    assert!(seconds[0] == "0.009" && seconds[53] == "0.001" && seconds[54].is_empty(), "{seconds:?}");
    let live = member.get(&format!("{place}?live=1&sort=5")).await;
    assert_eq!(live.attributes("[aria-sort] a", "href"), [format!("{place}?sort=-0")], "by time alone");
    let odd = member.get(&format!("{place}?sort=1&after=x.y")).await;
    assert_eq!(odd.all(ROWS).len(), 50, "what is no order and no place is left out");
}

#[tokio::test]
async fn wrong_is_one_click_where_the_prompt_is_known() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    world.answered(&project, entry, &[ASKED]).await;
    let page = member.get(&format!("/console/p/furnished/cache/{entry}")).await;
    let answered = "section[aria-labelledby=answered]";
    assert_eq!(page.all(&format!("{answered} tbody tr")).len(), 1, "{}", page.text());
    let click = page.attributes(&format!("{answered} form"), "action").remove(0);
    let page = member.submit(&click, &[]).await;
    assert!(page.one("[role=alert]").contains("is not kept any more"), "{}", page.text());

    // As feedback keeps it, without texts in the log.
    let kept = Answered {
        project: project.id,
        request: "request-0".into(),
        at: world.wired.admin.clock.now(),
        asked: ASKED.into(),
        entry,
        similarity: Similarity::from_cosine(0.9),
        met: Met::Served,
    };
    world.wired.store.keep_answered(&[Answered { asked: "another".into(), ..kept.clone() }]).await.unwrap();
    let page = member.submit(&click, &[]).await;
    assert!(page.one("[role=alert]").contains("is not kept any more"), "another request of that name");
    world.wired.store.keep_answered(&[kept]).await.unwrap();
    let page = member.submit(&click, &[]).await;
    assert!(page.one(".note").contains("The pair is forbidden"), "{}", page.text());
    let pairs = world.wired.store.wrong_answers(project.id, None, NonZeroUsize::MAX).await.unwrap();
    assert_eq!(pairs.iter().map(|pair| &*pair.asked).collect::<Vec<_>>(), [ASKED]);

    let project = keeping_texts(&world).await;
    world.answered(&project, entry, &["What is the capital of Ghana?"]).await;
    let click =
        member.get("/console/p/furnished/requests").await.attributes("td.do form", "action").remove(0);
    let page = member.submit(&click, &[]).await;
    assert!(page.one(".note").contains("The pair is forbidden"), "{}", page.text());
    for (path, status) in [("furnished/requests/x/wrong", 404), ("furnished/requests/999999/wrong", 303)] {
        assert_eq!(member.post(&format!("/console/p/{path}"), &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn what_was_marked_wrong_is_told_and_the_list_stays_as_it_was() {
    let (world, (_, entry), mut member) = World::furnished_for(Role::Member).await;
    let project = keeping_texts(&world).await;
    world.answered(&project, entry, &[ASKED, "What is the capital of Ghana?"]).await;
    let list = "/console/p/furnished/requests?model=gpt-4o-mini&sort=5";
    let click = async |member: &mut Browser, list: &str| {
        member.get(list).await.attributes("td.do form", "action").remove(0)
    };
    let marks = |page: &Page| (page.all("td.do .badge").len(), page.all("td.do form").len());
    let page = member.get(list).await;
    assert_eq!(marks(&page), (0, 2), "{}", page.text());
    let wrong = click(&mut member, list).await;
    let answer = member.post(&wrong, &[]).await;
    assert_eq!(answer.location(), list);
    let page = member.get(list).await;
    assert!(page.one("[role=status].note").starts_with("The pair is forbidden"), "{}", page.text());
    assert_eq!(marks(&page), (1, 1));
    assert_eq!(marks(&member.get(&format!("/console/p/furnished/cache/{entry}")).await), (1, 1));
    let undo = page.attributes("[role=status] form", "action").remove(0);
    member.submit(&undo, &[]).await;
    assert_eq!(marks(&member.get(list).await), (0, 2));
    // What is refused leads back, too. A list that renews itself stops: the message would be gone.
    let wrong = click(&mut member, &format!("{list}&live=1")).await;
    world.wired.store.delete(project.id, entry, &deja_core::testing::change()).await.unwrap();
    let answer = member.post(&wrong, &[]).await;
    assert_eq!(answer.location(), list);
    assert!(member.get(list).await.one("[role=alert]").contains("gone already"));
}

#[tokio::test]
async fn a_request_of_another_project_is_not_there() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    world.answered(&project, entry, &[ASKED]).await;
    world.project("Other").await;
    let mut member = world.browser_of(Role::Member).await;
    let click =
        member.get("/console/p/furnished/requests").await.attributes("td.do form", "action").remove(0);
    let foreign = click.replace("/furnished/", "/other/");
    let page = member.submit(&foreign, &[]).await;
    assert!(page.one("[role=alert]").contains("no longer in the log"), "{}", page.text());
    assert!(member.get("/console/p/other/requests").await.all(ROWS).is_empty());
}

#[tokio::test]
async fn settings_say_what_is_logged_and_for_how_long() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    world.answered(&project, entry, &[ASKED]).await;
    let mut member = world.browser_of(Role::Member).await;
    let set = |requests: &'static str, days: &'static str| {
        [
            ("name", "Furnished"),
            ("max_entries", "100"),
            ("request_log", requests),
            ("request_texts_days", days),
        ]
    };
    let place = "/console/p/furnished/settings";
    let page = member.post(place, &set("100", "31")).await;
    assert!(page.one("#request_texts_days-problem").contains("at most 30 days"), "{}", page.text());
    let page = member.post(place, &set("50001", "1")).await;
    assert!(page.one("#request_log-problem").contains("at most 50000"), "{}", page.text());
    member.submit(place, &[&set("0", "0")[..], &[("let_go", "request_log=0")]].concat()).await;
    let page = member.get("/console/p/furnished/requests").await;
    assert!(page.text().contains("logs no requests") && page.all(ROWS).is_empty(), "{}", page.text());
    let asked = [("asked", ASKED)];
    let page = member.post(&format!("/console/p/furnished/cache/{entry}/wrong"), &asked).await;
    assert!(page.one("#asked-problem").contains("logs no requests"), "{}", page.text());
    let rows = world.changes(project.id).await;
    assert!(rows[0].change.detail.contains("request log: 10000 -> 0"), "{:?}", rows[0].change);
}

#[tokio::test]
async fn a_deleted_entry_comes_back_with_its_hits_for_ten_seconds() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let store = &world.wired.store;
    let mut hits = UsageBatch::default();
    let (last_hit, saved) = (world.wired.admin.clock.now(), NanoUsd::from_nanos(7));
    hits.entries.insert((project.id, entry), EntryHits { hits: 3, last_hit, saved });
    store.record(&hits).await.unwrap();
    let before = store.entry(project.id, entry).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    let delete = format!("/console/p/furnished/cache/{entry}/delete");

    let page = member.post(&delete, &[]).await;
    assert_eq!((page.status, page.one("p[role=status]").as_str()), (200, "The entry is deleted."));
    assert_eq!(store.entry(project.id, entry).await.unwrap(), None, "it answers nobody meanwhile");
    let sealed = page.attributes("input[name=entry]", "value").remove(0);
    assert!(!page.body.contains("Paris."), "nobody else can read it");
    let undo = [("entry", sealed.as_str())];
    let mut other = world.browser_of(Role::Member).await;
    assert_eq!(other.post("/console/p/furnished/cache/restore", &undo).await.status, 400, "another session");
    world.project("Other").await;
    let page = member.submit("/console/p/other/cache/restore", &undo).await;
    assert!(page.one("[role=alert]").contains("no entry of this project"), "{}", page.text());
    let page = member.submit("/console/p/furnished/cache/restore", &undo).await;
    assert_eq!(page.one(".note"), "The entry is back.");
    assert_eq!(store.entry(project.id, entry).await.unwrap(), before);
    let page = member.submit("/console/p/furnished/cache/restore", &undo).await;
    assert!(page.one("[role=alert]").contains("back already"), "{}", page.text());

    let deleted = cache::delete(&world.acting(), "furnished", entry).await.unwrap().unwrap();
    let late = cache::Deleted { at: deleted.at.minus(Duration::from_mins(1)), ..deleted };
    let refused = cache::restore(&world.acting(), "furnished", late).await.unwrap_err();
    assert!(refused.to_string().contains("ten seconds"), "{refused}");
    let rows = world.changes(project.id).await;
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..3], ["entry.delete", "entry.restore", "entry.delete"]);
    assert!(member.submit(&delete, &[]).await.one("[role=alert]").contains("any more"), "it is gone");
}

#[tokio::test]
async fn several_entries_are_deleted_and_brought_back_at_once() {
    let world = World::new().await;
    let (project, _) = world.furnished().await;
    world.entry_without_vector(&project, "m", "And this one?", None).await;
    let store = &world.wired.store;
    let mut member = world.browser_of(Role::Member).await;
    let list = "/console/p/furnished/cache";
    let page = member.get(list).await;
    let ids = page.attributes("input[name=entry]", "value");
    let delete = page.attributes("form:has(input[name=entry])", "action").remove(0);
    assert_eq!(ids.len(), 3);
    let page = member.submit(&delete, &[]).await;
    assert!(page.one("[role=alert]").contains("tick the entries first"), "{}", page.text());
    let filtered = member.get(&format!("{list}?q=is&model=m&sort=3")).await;
    let delete_some = filtered.attributes("form:has(input[name=entry])", "action").remove(0);
    let page = member.submit(&delete_some, &[]).await;
    assert_eq!(
        (page.one("#q").as_str(), page.attributes("#model [selected]", "value")),
        ("is", vec!["m".into()])
    );
    assert_eq!(page.attributes("th[aria-sort] a", "href").len(), 1, "the filter and the order stay");
    assert_eq!(member.post(&delete, &[("entry", "x")]).await.status, 400);

    let ticked = [("entry", ids[0].as_str()), ("entry", &ids[2])];
    let page = member.post(&delete, &ticked).await;
    assert_eq!((page.status, page.one("p[role=status]").as_str()), (200, "2 entries deleted."));
    assert_eq!(store.count(project.id).await.unwrap(), 1);
    let sealed = page.attributes("input[name=entry]", "value").remove(0);
    let page = member.submit(&delete, &ticked).await;
    assert!(page.one("[role=alert]").contains("gone already"), "a reload: {}", page.text());
    let page = member.submit("/console/p/furnished/cache/restore", &[("entry", &sealed)]).await;
    assert_eq!(page.one(".note"), "2 entries are back.");
    let page = member.get(list).await;
    assert_eq!(page.attributes("input[name=entry]", "value"), ids, "as they were");
    let page = member.submit("/console/p/furnished/cache/restore", &[("entry", &sealed)]).await;
    assert!(page.one("[role=alert]").contains("back already"), "{}", page.text());
    let rows = world.changes(project.id).await;
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..4], ["entry.restore", "entry.restore", "entry.delete", "entry.delete"]);

    // What cannot be brought back is said.
    store.delete(project.id, ids[1].parse().unwrap(), &deja_core::testing::change()).await.unwrap();
    let all: Vec<(&str, &str)> = ids.iter().map(|id| ("entry", id.as_str())).collect();
    let page = member.post(&delete, &all).await;
    assert_eq!(page.one("p[role=status]"), "2 entries deleted.", "one was gone already");
}

#[tokio::test]
async fn wrong_can_be_undone_where_it_is_said_quarantine_included() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let asked = ["What is the capital of Ghana?", "What is the capital of Guinea?", ASKED];
    world.answered(&project, entry, &asked).await;
    for asked in asked {
        let page =
            member.submit(&format!("/console/p/furnished/cache/{entry}/wrong"), &[("asked", asked)]).await;
        assert!(!page.all("[aria-label='Wrong answers'] tbody tr").is_empty(), "{}", page.text());
        let undo = page.attributes("[role=status] form", "action").remove(0);
        if asked == ASKED {
            assert!(world.wired.store.quarantined(project.id, entry).await.unwrap().is_some());
            let page = member.submit(&undo, &[]).await;
            assert!(page.one(".note").contains("has left quarantine"), "{}", page.text());
        }
    }
    assert_eq!(world.wired.store.quarantined(project.id, entry).await.unwrap(), None);
    let left = world.wired.store.wrong_answers(project.id, None, NonZeroUsize::MAX).await.unwrap();
    assert_eq!(left.len(), 2, "what was undone is not listed");
}

#[tokio::test]
async fn a_purge_says_how_many_went() {
    let (world, (project, _), mut member) = World::furnished_for(Role::Member).await;
    let page = member.submit("/console/p/furnished/cache/purge", &[("confirm", "furnished")]).await;
    assert_eq!(page.one(".note"), "2 entries deleted.");
    let rows = world.changes(project.id).await;
    assert_eq!(rows[0].change.detail, "all entries; 2 found");
}
