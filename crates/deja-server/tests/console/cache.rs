//! The entries of a project: found, shown, exported, purged.

use std::ops::Range;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use deja_core::admin::transfer::{self, Batch, Imported, Open, line};
use deja_core::cache::{Frame, Kind, Parameters};
use deja_core::operator::Role;
use deja_server::commands::{Command, NotEmbeddedView, Reply, execute};

use crate::util::World;

#[tokio::test]
async fn a_purge_counts_first_and_wants_the_name_typed() {
    let (world, (project, _), mut member) = World::furnished_for(Role::Member).await;
    let page = member.get("/console/p/furnished/cache/purge?context=-").await;
    assert!(page.text().contains("1 entry of 2 entries would be deleted"), "{}", page.text());
    let page =
        member.submit("/console/p/furnished/cache/purge", &[("context", "-"), ("confirm", "wrong")]).await;
    assert!(page.one("[role=alert]").contains("Nothing was deleted"));
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 2);
    let page = member
        .submit("/console/p/furnished/cache/purge", &[("context", "-"), ("confirm", "furnished")])
        .await;
    assert_eq!(page.one(".note"), "1 entry deleted.");
    assert_eq!(page.all("tbody th a"), ["How do I reset my password?"]);
}

/// The page of a purge that takes long, on any replica.
#[tokio::test]
async fn a_purge_that_goes_on_says_how_many_entries_are_left() {
    let (_world, _, mut member) = World::furnished_for(Role::Member).await;
    let place = |left: u64| format!("/console/p/furnished/cache/purge?model=gpt-4o-mini&left={left}");
    let page = member.get(&place(3)).await;
    assert!(page.text().contains("2 entries left") && page.all("form.danger").is_empty(), "{}", page.text());
    assert_eq!(page.headers["refresh"], format!("5; url={}", place(2)));
    let page = member.get(&place(2)).await;
    assert!(page.one("[role=alert]").contains("No fewer entries are left"));
    assert!(page.text().contains("2 entries of 2 entries would be deleted"));
    assert_eq!(page.headers.get("refresh"), None);
    member.submit("/console/p/furnished/cache/purge", &[("confirm", "furnished")]).await;
    let page = member.get(&place(2)).await;
    assert_eq!(page.one(".note"), "All of these entries are deleted.");
    assert_eq!(page.headers.get("refresh"), None);
}

#[tokio::test]
async fn pages_that_one_operator_does_not_take_leave_room_for_those_of_others() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let entry = world.entry(&project, "What is a pen?", &"a".repeat(8_000_000), None).await;
    let page = || Request::get(format!("/console/p/shop/cache/{entry}")).body(Body::empty()).unwrap();
    let mut one = world.browser_of(Role::Owner).await;
    let mut other = world.browser_of(Role::Owner).await;
    let mut untaken = Vec::new();
    for _ in 0..4 {
        let answer = one.answer(page()).await;
        assert_eq!(answer.status(), 200);
        untaken.push(answer);
    }
    assert_eq!(one.answer(page()).await.status(), 503);
    assert_eq!(other.answer(page()).await.status(), 200);
    assert_eq!(one.get("/console/p/shop/cache").await.status, 200, "a short page needs no room");
    let export = || Request::get("/console/p/shop/export").body(Body::empty()).unwrap();
    assert_eq!(one.answer(export()).await.status(), 503);
    untaken.pop();
    assert_eq!(one.answer(page()).await.status(), 200);
    assert_eq!(one.answer(export()).await.status(), 200);
}

#[tokio::test]
async fn what_is_too_long_to_be_sent_back_is_deleted_for_good() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut entries = Vec::new();
    for number in 0..2 {
        let prompt = format!("What is {number}?");
        entries.push(world.entry(&project, &prompt, &"a".repeat(700_000), None).await.to_string());
    }
    let mut member = world.browser_of(Role::Member).await;
    let form: Vec<_> = entries.iter().map(|entry| ("entry", entry.as_str())).collect();
    let page = member.post("/console/p/shop/cache/delete", &form).await;
    assert_eq!((page.status, page.one("h1").as_str()), (200, "Delete for good"));
    assert!(page.one("main form p").starts_with("These entries are so long"), "{}", page.text());
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 2, "it only asked");
    assert_eq!(page.attributes("main form [name=entry]", "value"), entries);
    let form = [&form[..], &[("sure", "1")]].concat();
    let page = member.submit("/console/p/shop/cache/delete", &form).await;
    assert_eq!(page.one(".note"), "2 entries deleted.");
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 0);
    let form = vec![("entry", entries[0].as_str()); 51];
    let refused = member.post("/console/p/shop/cache/delete", &form).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn a_context_of_several_lines_is_chosen_as_browsers_send_it() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    world.entry_without_vector(&project, "m", "What is a pen?", Some("Be brief.\nBe kind.")).await;
    world.entry_without_vector(&project, "m", "What is ink?", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/shop/cache?context=%3DBe+brief.%0D%0ABe+kind.").await;
    assert_eq!(page.all("tbody th a"), ["What is a pen?"]);
    let purge = [("context", "=Be brief.\r\nBe kind."), ("confirm", "shop")];
    let page = member.submit("/console/p/shop/cache/purge", &purge).await;
    assert_eq!(page.one(".note"), "1 entry deleted.");
}

#[tokio::test]
async fn a_text_of_several_lines_is_found_and_purged_as_browsers_send_it() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    world.entry_without_vector(&project, "m", "What is\na pen?", None).await;
    world.entry_without_vector(&project, "m", "What is ink?", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/shop/cache?q=is%0D%0Aa+pen").await;
    assert_eq!(page.all("tbody th a").len(), 1, "{}", page.text());
    assert_eq!(page.one("form textarea#q"), "is a pen");
    let page = member.get("/console/p/shop/cache/purge?q=is%0D%0Aa+pen").await;
    assert_eq!(page.one("form textarea#q"), "is a pen");
    assert_eq!(page.attributes("input[type=hidden][name=q]", "value"), ["is\na pen"]);
    let purge = [("q", "is\r\na pen"), ("confirm", "shop")];
    let page = member.submit("/console/p/shop/cache/purge", &purge).await;
    assert_eq!(page.one(".note"), "1 entry deleted.");
}

#[tokio::test]
async fn entries_are_found_by_text_and_by_meaning() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    world.entry(&project, "Which city is the seat of the French government?", "Paris too.", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let found = member.get("/console/p/furnished/cache?q=FRANCE").await;
    assert_eq!(found.all("tbody th a"), ["What is the capital of France?"]);
    let near = "/console/p/furnished/cache?q=What's+the+capital+of+France%3F&by=meaning";
    let page = member.get(near).await;
    let found = page.all("tbody th a");
    assert_eq!((found.len(), found[0].as_str()), (3, "What is the capital of France?"), "of all contexts");
    let told = "The nearest entries of all models";
    assert!(page.text().contains(told), "{}", page.text());
    let page = member.get("/console/p/furnished/cache?q=+&by=meaning").await;
    assert!(!page.text().contains(told), "to nothing: {}", page.text());
    let page = member.get(&format!("{near}&context=%3DBe+brief.")).await;
    assert_eq!(page.all("tbody th a"), ["How do I reset my password?"]);
    let long = format!("/console/p/furnished/cache?q={}&by=meaning", "too+long+".repeat(400));
    assert!(member.get(&long).await.one("[role=alert]").contains("too long to be searched by meaning"));
    let page = member.get(&format!("{near}&model=gpt-4o-mini&context=-")).await;
    assert_eq!(page.all("tbody th a").len(), 2, "of this context only");
    let similarities: Vec<f32> =
        page.all("tbody td[data-label=Similarity]").iter().map(|text| text.parse().unwrap()).collect();
    assert!(similarities[0] > 0.9 && similarities[1] < similarities[0], "{similarities:?}");
    let link = page.attributes("tbody th a", "href").remove(0);
    assert!(link.starts_with(&format!("/console/p/furnished/cache/{entry}?asked=")), "{link}");
    assert_eq!(member.get(&link).await.one("textarea#asked"), "What's the capital of France?");
}

#[tokio::test]
async fn a_request_that_is_found_as_a_whole_is_shown_as_its_turns() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let prompt = r#"[["user","Hello <b>"],["assistant","Hi"],["user","What costs a pen?"]]"#;
    let entry = world.recorded(&project, Frame::exact(Kind::Chat, "m"), prompt).await;
    let turns = r#"[{"content":null,"role":"user"}]"#;
    let parameters =
        Parameters::from([("temperature".into(), "0.20".into()), ("messages".into(), turns.into())]);
    let question = Frame::of_wire(Kind::Messages, "m", Some("be brief"), parameters);
    let question = world.recorded(&project, question, "What costs a pen?").await;
    let mut member = world.browser_of(Role::Member).await;
    let list = member.get("/console/p/shop/cache").await.text();
    assert!(list.contains("What costs a pen? (after 2 turns)") && list.contains("messages"), "{list}");
    let page = member.get(&format!("/console/p/shop/cache/{entry}")).await;
    assert_eq!(page.all("section[aria-labelledby=prompt] h3"), ["user", "assistant", "user"]);
    assert_eq!(page.all("section[aria-labelledby=prompt] pre")[0], "Hello <b>");
    assert!(page.all("textarea#asked").is_empty(), "it answers no other prompt");
    let page = member.get(&format!("/console/p/shop/cache/{question}")).await;
    assert_eq!(page.one("section[aria-labelledby=prompt] pre"), "What costs a pen?");
    assert_eq!(page.one("section[aria-labelledby=context] pre"), "be brief");
    assert_eq!(page.one("section[aria-labelledby=context] h2"), "Instructions");
    assert_eq!(
        page.all("section[aria-labelledby=same] dl > *"),
        ["temperature", "0.20"],
        "and no empty turns"
    );
    let whole = async |turns: &str| {
        world.recorded(&project, Frame::exact(Kind::Responses, "m"), turns).await;
    };
    whole(r#"[["system","Be brief."],["user","What is a pen?"]]"#).await;
    whole(r#"[["developer","Be brief."],["user","A?"],["assistant","B."],["user","And a pencil?"]]"#).await;
    whole(r#"[["assistant","B."],["user","And an ink?"]]"#).await;
    let list = member.get("/console/p/shop/cache").await.all("tbody th a");
    for line in ["What is a pen?", "And a pencil? (after 2 turns)", "And an ink? (after 1 turn)"] {
        assert!(list.contains(&line.to_owned()), "{list:?}");
    }
}

#[tokio::test]
async fn export_is_every_entry_as_a_line_that_an_import_takes() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let page = member.get("/console/p/furnished/export").await;
    assert_eq!(page.headers["content-type"], "application/x-ndjson");
    assert_eq!(
        page.headers["content-disposition"], "attachment; filename=\"furnished.jsonl\"",
        "a file, not a page"
    );
    let records: Vec<_> = page.body.lines().map(|text| line::parse(text.as_bytes()).unwrap()).collect();
    let rows = world.changes(project.id).await;
    let row = rows.iter().find(|row| row.change.action == "cache.export").unwrap();
    assert_eq!(
        (row.change.actor.name(), row.change.detail.as_str()),
        ("member-0@example.com", "entries, settings, key hashes")
    );
    assert_eq!(member.get("/console/p/nobody/export").await.status, 404);

    let elsewhere = World::new().await;
    let batch = Batch { records, skip_bad: false, first: true, open: Open::default() };
    let imported = transfer::import(&elsewhere.acting(), batch).await.unwrap();
    assert!(imported.iter().all(|one| *one == Imported::Stored), "{imported:?}");
    let made = elsewhere.reload("furnished").await;
    assert_eq!((&made.name, &made.settings), (&project.name, &project.settings), "an empty deja has it");
    let project = made;
    let imported = elsewhere.wired.store.entry(project.id, entry).await.unwrap().unwrap();
    assert_eq!(
        (imported.entry.prompt.as_str(), imported.entry.answer.text.as_str(), imported.context),
        ("What is the capital of France?", "Paris.", None)
    );
}

#[tokio::test]
async fn entries_that_could_not_be_embedded_are_shown() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
    let stats = async || {
        let command = Command::CacheStats { project: "shop".into() };
        match execute(&world.acting(), command).await.unwrap() {
            Reply::Cache(view) => view.not_embedded.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    world.entry(&project, "Who wrote Faust?", "Goethe.", None).await;
    assert_eq!(stats().await, NotEmbeddedView { waiting: 0, failed: 0 });
    assert!(member.get("/console/p/shop/settings").await.all("[aria-labelledby=embeddings]").is_empty());

    let bad = world.entry_without_vector(&project, "m", "A text that fails.", None).await;
    world.entry_without_vector(&project, "m", "Another text.", None).await;
    let page = member.get("/console/p/shop/settings").await;
    assert_eq!(page.all("[aria-labelledby=embeddings] dt"), ["Waiting"]);
    let (embedder, until) =
        (world.wired.embedder.id(), world.wired.admin.clock.now().plus(Duration::from_hours(24)));
    assert!(world.wired.store.set_aside(project.id, bad, embedder, until).await.unwrap());
    let page = member.get("/console/p/shop/settings").await;
    assert_eq!(page.all("[aria-labelledby=embeddings] dd"), ["1", "1"], "{}", page.text());
    assert_eq!(stats().await, NotEmbeddedView { waiting: 1, failed: 1 });
}

#[tokio::test]
async fn filters_say_what_they_do_not_offer_and_count_all_or_nothing() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let put = async |entries: Range<usize>, contexts: usize| {
        let one = |number: usize| {
            let (prompt, context) = (format!("Prompt {number}"), format!("context {}", number % contexts));
            let (world, project) = (&world, &project);
            async move { world.entry_without_vector(project, "m", &prompt, Some(&context)).await }
        };
        futures::future::join_all(entries.map(one)).await;
    };
    let pages = ["/console/p/shop/cache", "/console/p/shop/cache/purge"];
    for (entries, contexts, offered, model, told) in [
        (0..100, 100, 101, "m (100)", false),
        (100..101, 101, 101, "m (101)", true),
        (101..10_000, 50, 101, "m (10,000)", true),
        (10_000..10_001, 50, 101, "m", true),
    ] {
        put(entries, contexts).await;
        for page in pages {
            let page = member.get(page).await;
            assert_eq!(page.all("#context option").len(), offered, "with All");
            assert_eq!(page.all("#model option")[1], model);
            assert_eq!(page.all("#offered").len(), usize::from(told), "{}", page.text());
        }
    }
}
