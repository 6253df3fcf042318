//! The audit log: its filters, its pages and its file.

use deja_core::audit::{Actor, Change};
use deja_core::clock::Timestamp;
use deja_core::operator::Role;

use crate::util::{Browser, Page, World};

const ROWS: &str = "table tbody tr";
/// 2026-07-01T00:00:00Z.
const BEGIN: i64 = 1_782_864_000;
const HOUR: i64 = 3600;

fn at(hours: i64) -> Timestamp {
    Timestamp::from_secs(BEGIN + hours * HOUR)
}

/// A project with rows of July, by all kinds of actors, and the browser of an owner.
async fn with_rows() -> (World, Browser, String) {
    let (world, project, owner) = World::with_project("Shop", Role::Owner).await;
    let ada = Actor::from(&world.wired.store.operators().await.unwrap()[0]);
    let key = || Actor::Key("key dj_0001abcd".into());
    for (hour, actor, action) in [
        (0, ada.clone(), "key.create"),
        (1, Actor::Cli, "key.create"),
        (2, ada.clone(), "key.revoke"),
        (3, key(), "feedback.wrong"),
        (4, Actor::System, "session.refuse"),
    ] {
        let change = Change::new(at(hour), actor, action).of(format!("=subject {hour}"));
        let change = if hour < 3 { change.within(project.id) } else { change };
        world.wired.store.note(&change).await.unwrap();
    }
    (world, owner, ada.name().to_owned())
}

/// The hours of the rows, newest first.
fn hours(page: &Page) -> String {
    page.all("td[data-label=Subject]").iter().map(|subject| subject.trim_start_matches("=subject ")).collect()
}

#[tokio::test]
async fn rows_are_found_by_project_action_actor_and_time() {
    let (_world, mut owner, ada) = with_rows().await;
    // The rows of July alone: others tell of what made them.
    let july = "from=2026-07-01T00:00&until=2026-08-01T00:00";
    for (filter, found) in [
        ("", "43210"),
        ("&project=shop", "210"),
        ("&action=key.create", "10"),
        (&format!("&actor={ada}"), "20"),
        (&format!("&actor={}", ada.to_uppercase()), "20"),
        ("&actor=cli", "1"),
        ("&actor=system", "4"),
        ("&actor=key", "3"),
        ("&actor=key+dj_0001abcd", "3"),
        ("&actor=nobody@example.com", ""),
        (&format!("&project=shop&action=key.create&actor={ada}"), "0"),
    ] {
        let page = owner.get(&format!("/console/audit?{july}{filter}")).await;
        assert_eq!((page.status, hours(&page).as_str()), (200, found), "{filter}: {}", page.text());
        assert_eq!(page.all(ROWS).is_empty(), page.text().contains("No change matches"), "{filter}");
        let csv = page.attributes("nav[aria-label=View] a", "href").remove(0);
        let file = owner.get(&csv).await;
        let subjects: String = file
            .body
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(5).unwrap().trim_start_matches("'=subject "))
            .collect();
        assert_eq!((file.status, subjects.as_str()), (200, found), "{csv}");
    }
    for (time, found) in [
        ("from=2026-07-01T01:00&until=2026-07-01T03:00", "21"),
        ("until=2026-07-01T01:00", "0"),
        ("from=2026-07-01T00:00:01&until=2026-07-01T01:00:01", "1"),
        ("from=2026-07-02&until=2026-07-03", ""),
    ] {
        assert_eq!(hours(&owner.get(&format!("/console/audit?{time}")).await), found, "{time}");
    }
    let page =
        owner.get("/console/audit?action=key.revoke&actor=key+dj_0001abcd&from=2026-07-01T00:00").await;
    assert_eq!(page.one("#action option[selected]"), "key.revoke");
    assert_eq!(
        page.one("#actor option[selected]"),
        "key dj_0001abcd",
        "it stays, though the page shows none of its rows"
    );
    assert_eq!(page.attributes("#from, #until", "value"), ["2026-07-01T00:00", ""]);
    assert_eq!(page.all("form[method=get] button").len(), 1, "it works without a script");
    let choices = owner.get("/console/audit").await.all("#actor option");
    for choice in [ada.as_str(), "cli: the command line", "key: all API keys", "key dj_0001abcd"] {
        assert!(choices.iter().any(|known| known == choice), "{choice} of {choices:?}");
    }
}

#[tokio::test]
async fn a_filter_that_is_wrong_shows_nothing_and_says_why() {
    let (_world, mut owner, _) = with_rows().await;
    for (filter, told) in [
        ("project=gone", "There is no project “gone”"),
        ("action=key.remove", "There is no action 'key.remove': known are cache.export, "),
        ("actor=ada", "The actor must be an operator's e-mail address, cli, system, key for all API keys"),
        ("from=yesterday", "From must be a moment such as 2026-07-31 14:30, in UTC."),
        ("until=2026-02-30T00:00", "Until must be a moment"),
        ("from=2026-07-02T00:00&until=2026-07-01T00:00", "Until must be later than from."),
        ("from=2026-07-02T00:00&until=2026-07-02T00:00", "Until must be later than from."),
    ] {
        let page = owner.get(&format!("/console/audit?{filter}")).await;
        assert_eq!((page.status, page.all(ROWS).len()), (422, 0), "{filter}");
        assert!(page.one("[role=alert]").contains(told), "{filter}: {}", page.text());
        let file = owner.get(&format!("/console/audit/log.csv?{filter}")).await;
        assert_eq!(file.status, if filter == "project=gone" { 404 } else { 422 }, "{filter}");
        assert!(!file.body.contains("subject"), "{filter}");
    }
    let page = owner.get("/console/audit?from=2026-07-02T00:00&until=2026-07-01T00:00").await;
    assert_eq!(page.attributes("[aria-invalid]", "id"), ["until"]);
    assert_eq!(page.one("#until-problem"), "Until must be later than from.");
    assert_eq!(owner.get("/console/audit?from=2026-07-01&from=2026-07-02").await.status, 400);
}

#[tokio::test]
async fn pages_keep_the_filter_and_the_file_has_every_row_once() {
    let (world, mut owner, _) = with_rows().await;
    for number in 0..2_100 {
        let action = if number % 2 == 0 { "entry.right" } else { "entry.wrong" };
        let change = Change::new(at(number % 24), Actor::Cli, action).of(format!("n{number}"));
        world.wired.store.note(&change).await.unwrap();
    }
    let filter = "action=entry.right&actor=cli&from=2026-07-01T00%3A00&until=2026-07-02T00%3A00";
    let (mut place, mut rows, mut pages) = (format!("/console/audit?{filter}"), Vec::new(), 0);
    loop {
        let page = owner.get(&place).await;
        rows.extend(page.all("td[data-label=Subject]"));
        pages += 1;
        assert_eq!(page.one("#action option[selected]"), "entry.right");
        let back = page.attributes("nav[aria-label=Pages] a:not([rel])", "href");
        assert_eq!(back, vec![format!("/console/audit?{filter}"); usize::from(pages > 1)]);
        let Some(next) = page.attributes("a[rel=next]", "href").pop() else { break };
        place = next;
    }
    let expected: Vec<_> = (0..1_050).rev().map(|number| format!("n{}", 2 * number)).collect();
    assert_eq!((pages, &rows), (11, &expected));
    let file = owner.get(&format!("/console/audit/log.csv?{filter}")).await;
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"audit.csv\"");
    let mut lines = file.body.lines();
    assert_eq!(lines.next(), Some("number,time,actor,action,project,subject,detail"));
    let subjects: Vec<_> = lines.map(|line| line.split(',').nth(5).unwrap()).collect();
    assert_eq!(subjects, expected);
}
