//! Ranges and filters.

use deja_core::analytics::{ContextKey, EntryHits, UsageBatch, UsageEvent};
use deja_core::clock::Timestamp;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;

use super::{figure, furnished, record, with_traffic};
use crate::util::{Page, World};

#[tokio::test]
async fn without_a_range_it_is_the_shortest_that_has_something() {
    let (world, event, mut member) = with_traffic().await;
    let address = "/console/p/furnished/analytics";
    let range = |page: &Page| page.one("nav[aria-label=Range] [aria-current]");
    let nothing = member.get(address).await;
    assert_eq!((range(&nothing).as_str(), nothing.all("figure").len()), ("24 hours", 0), "nothing anywhere");
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
async fn a_filter_keeps_the_custom_range() {
    let (_world, _, mut member) = World::furnished_for(Role::Member).await;
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
async fn a_month_of_another_time_zone_is_that_month() {
    let (world, event, mut member) = with_traffic().await;
    let today = event.at.as_secs().div_euclid(86_400);
    // 31 days that begin at 22:00; a request in the hour before them, and one in each of their ends.
    let begin = (today - 40) * 86_400 + 22 * 3600;
    let end = begin + 31 * 86_400;
    let at = |seconds| UsageEvent { at: Timestamp::from_secs(seconds), ..event };
    record(&world, [begin - 1, begin, end - 1, end].map(at)).await;
    let typed = |seconds| {
        let at = jiff::Timestamp::from_second(seconds).unwrap();
        at.strftime("%Y-%m-%dT%H:%M").to_string()
    };
    let place = "/console/p/furnished/analytics";
    let range = |more: i64| format!("?range=custom&from={}&until={}", typed(begin), typed(end + more));
    let page = member.get(&format!("{place}{}", range(0))).await;
    assert_eq!((figure(&page, "Requests").0.as_str(), page.all("#widened").len()), ("2", 0));
    let file = member.get(&format!("{place}/requests.csv{}", range(0))).await;
    let misses =
        file.body.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse::<u64>().unwrap());
    assert_eq!(misses.sum::<u64>(), 2);
    let page = member.get(&format!("{place}{}", range(1800))).await;
    assert_eq!(figure(&page, "Requests").0, "3");
    assert!(page.one("#widened").contains("whole hours"), "{}", page.text());
}

#[tokio::test]
async fn a_range_that_is_none_is_told() {
    let (_world, _, mut member) = World::furnished_for(Role::Member).await;
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
async fn filters_offer_the_names_of_the_range_whatever_is_filtered() {
    let (world, event, mut member) = with_traffic().await;
    let past = Timestamp::from_secs(event.at.as_secs() - 3 * 3600);
    let (x, y, old) = (Some("about x"), Some("about y"), Some("about the past"));
    let events = [
        UsageEvent { model: "a", context: x, ..event },
        UsageEvent { model: "b", context: y, ..event },
        UsageEvent { model: "c", context: old, at: past, ..event },
    ];
    record(&world, events).await;
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
        let more = usize::from(told[0] == "(unknown key)");
        assert_eq!(options("key").len(), 2 + more, "{filter}: those that asked");
        let more = usize::from(![String::from("All"), "about x".into()].contains(&told[2]));
        assert_eq!(options("context").len(), 3 + more, "{filter}");
        assert!(page.all("[role=alert]").is_empty());
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_told_and_left_out() {
    let (world, event, mut member) = with_traffic().await;
    record(&world, [event]).await;
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
async fn top_prompts_of_a_context_are_found_among_many_others() {
    let world = World::new().await;
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
