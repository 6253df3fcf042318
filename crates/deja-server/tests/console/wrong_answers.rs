//! Wrong answers: said, taken back, listed; and entries in quarantine.

use deja_core::operator::Role;
use deja_core::testing::{change, wrong};

use crate::util::World;

#[tokio::test]
async fn a_wrong_answer_forbids_the_pair_and_the_entry_stays() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let place = format!("/console/p/furnished/cache/{entry}/wrong");
    let page = member.post(&place, &[("asked", " ")]).await;
    assert!(page.status == 422 && page.one("#asked-problem").contains("Say which prompt"));
    let asked = "What is the capital of\r\nFrench Guiana?";
    let page = member.post(&place, &[("asked", asked), ("delete", "1")]).await;
    assert!(page.one("#asked-problem").contains("Nothing like it was asked"), "{}", page.text());
    assert_eq!(page.one("#asked"), "What is the capital of French Guiana?", "what was typed stays");
    assert_eq!(page.attributes("[name=delete][checked]", "value"), ["1"]);
    world.answered(&project, entry, &["What is the capital of\nFrench Guiana?"]).await;
    let page = member.submit(&place, &[("asked", asked)]).await;
    assert!(page.text().contains("What is the capital of French Guiana?"));
    assert!(world.wired.store.entry(project.id, entry).await.unwrap().is_some());
    let pair = world
        .wired
        .store
        .wrong_answers(project.id, None, std::num::NonZeroUsize::MIN)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(pair.asked, "What is the capital of\nFrench Guiana?");
    assert!((0.3..0.99).contains(&pair.similarity.get()), "{}", pair.similarity.get());
    let own = member.post(&place, &[("asked", "What is the capital of France?")]).await;
    assert!(own.one("#asked-problem").contains("own prompt"), "{}", own.text());
    world.wired.store.delete(project.id, entry, &change()).await.unwrap();
    let again = member.submit(&place, &[("asked", "again")]).await;
    assert!(again.one("[role=alert]").contains("gone already"));
}

#[tokio::test]
async fn a_wrong_answer_is_taken_back_and_deletes_the_entry_only_if_asked_to() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let place = format!("/console/p/furnished/cache/{entry}/wrong");
    let cells = "[aria-label='Wrong answers'] tbody td";
    let asked = ["What is the capital of French Guiana?", "What is the capital of Ghana?"];
    world.answered(&project, entry, &asked).await;
    member.submit(&place, &[("asked", "What is the capital of French Guiana?")]).await;
    let page = member.get("/console/p/furnished/cache/wrong").await;
    assert_eq!(page.all(cells)[3], "Console");
    let undo = page.attributes("[aria-label='Wrong answers'] form", "action").remove(0);
    let page = member.submit(&undo, &[]).await;
    assert!(page.text().contains("may meet again"), "{}", page.text());
    assert!(page.all(cells).is_empty());
    assert!(member.submit(&undo, &[]).await.one("[role=alert]").contains("allowed already"));
    assert_eq!(member.post("/console/p/furnished/cache/wrong/x/undo", &[]).await.status, 404);
    // The pair stays forbidden, whatever becomes of the entry.
    let page = member.post(&place, &[("asked", "What is the capital of Ghana?"), ("delete", "1")]).await;
    assert!(page.text().contains("the entry is deleted"), "{}", page.text());
    assert_eq!(member.get("/console/p/furnished/cache/wrong").await.all(cells).len(), 6);
    assert!(world.wired.store.entry(project.id, entry).await.unwrap().is_none());
    let rows = world.changes(project.id).await;
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..4], ["entry.delete", "entry.wrong", "pair.allow", "entry.wrong"]);
}

#[tokio::test]
async fn an_entry_in_quarantine_is_listed_and_released() {
    let (world, (project, entry), mut member) = World::furnished_for(Role::Member).await;
    let place = format!("/console/p/furnished/cache/{entry}");
    let held = "section[aria-labelledby=quarantine] tbody";
    for asked in ["French Guiana", "Ghana", "Guinea"] {
        let page = member.get("/console/p/furnished/cache").await;
        assert!(page.all(held).is_empty(), "{asked}");
        let asked = format!("What is the capital of {asked}?");
        world.answered(&project, entry, &[&asked]).await;
        let form = [("asked", asked.as_str()), ("delete", "1")];
        if asked.contains("Guinea?") {
            // The third one brings it into quarantine, so from there on no Undo would help.
            let page = member.post(&format!("{place}/wrong"), &form).await;
            assert!(page.one("main form p").contains("The entry is in quarantine now"), "{}", page.text());
            assert_eq!(page.attributes("main form.danger", "action"), [format!("{place}/delete")]);
        } else {
            member.submit(&format!("{place}/wrong"), &form[..1]).await;
        }
    }
    let page = member.get("/console/p/furnished/cache").await;
    assert!(page.one(&format!("{held} th")).contains("What is the capital of France?"));
    let release = page.attributes(&format!("{held} form"), "action").remove(0);
    assert!(member.get(&place).await.text().contains("This entry is in quarantine"));
    // No Undo would bring it back, so it is asked first, wherever it is deleted.
    let id = entry.to_string();
    let wrong = format!("{place}/wrong");
    for (path, form) in [
        (format!("{place}/delete"), vec![]),
        ("/console/p/furnished/cache/delete".to_owned(), vec![("entry", id.as_str())]),
        (wrong, vec![("asked", "What is the capital of Ghana?"), ("delete", "1")]),
    ] {
        let page = member.post(&path, &form).await;
        assert!(page.one("main form p").contains("expired or in quarantine"), "{path}: {}", page.text());
        for field in form {
            assert_eq!(page.attributes(&format!("main form [name={}]", field.0), "value"), [field.1]);
        }
        assert_eq!(page.attributes("main form [name=sure]", "value"), ["1"]);
    }
    assert!(world.wired.store.entry(project.id, entry).await.unwrap().is_some(), "it only asked");
    let page = member.submit(&release, &[]).await;
    assert!(page.text().contains("answers similar prompts again"), "{}", page.text());
    assert!(!page.text().contains("This entry is in quarantine"));
    assert!(member.submit(&release, &[]).await.one("[role=alert]").contains("in no quarantine"));
    let rows = world.changes(project.id).await;
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..3], ["entry.release", "entry.quarantine", "entry.wrong"]);
}

#[tokio::test]
async fn all_entries_in_quarantine_can_be_reached() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
    for number in 0..25 {
        let prompt = format!("Prompt {number}");
        let entry = world.entry_without_vector(&project, "m", &prompt, None).await;
        for asked in ["One", "Another", "A third"] {
            world.wired.store.label(project.id, wrong(entry, asked), &change()).await.unwrap();
        }
    }
    let held = "section[aria-labelledby=quarantine]";
    let page = member.get("/console/p/shop/cache?q=prompt").await;
    let mut rows = page.all(&format!("{held} tbody th"));
    let links = page.attributes(&format!("{held} nav a"), "href");
    assert_eq!((rows.len(), links.len()), (20, 1));
    let page = member.get(links[0].split('#').next().unwrap()).await;
    assert_eq!(page.one("#q"), "prompt", "the list is the same");
    rows.extend(page.all(&format!("{held} tbody th")));
    assert_eq!(rows.iter().collect::<std::collections::BTreeSet<_>>().len(), 25, "{rows:?}");
    assert_eq!(page.all(&format!("{held} nav a")), ["Back to the latest"]);
}

#[tokio::test]
async fn wrong_answers_are_told_apart_and_paged() {
    let (world, project, mut member) = World::with_project("Wrong", Role::Member).await;
    let entry = world.entry(&project, "What is two and two?", "Five.", None).await;
    let place = format!("/console/p/wrong/cache/{entry}/wrong");
    // What is too long for an embedding meets the same prompt only, so it cannot have met this one.
    let page = member.post(&place, &[("asked", &"too long ".repeat(400))]).await;
    assert!(page.one("#asked-problem").contains("answered another prompt"), "{}", page.text());
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 1);
    // As versions kept it that took the entry's own prompt.
    let own = wrong(entry, "What is two and two?");
    world.wired.store.label(project.id, own, &change()).await.unwrap();
    let page = member.get("/console/p/wrong/cache/wrong").await;
    assert_eq!(page.one("[aria-label='Wrong answers'] td.num"), "same prompt");
    for number in 0..24 {
        let entry = world.entry(&project, &format!("Prompt {number}"), "An answer.", None).await;
        world.answered(&project, entry, &["Another prompt"]).await;
        member.submit(&format!("/console/p/wrong/cache/{entry}/wrong"), &[("asked", "Another prompt")]).await;
    }
    let row = "[aria-label='Wrong answers'] tbody tr";
    let page = member.get("/console/p/wrong/cache/wrong").await;
    assert_eq!(page.all(row).len(), 20);
    let older = page.attributes("main a[rel=next]", "href").remove(0);
    let page = member.get(&older).await;
    assert_eq!((page.all(row).len(), page.all("main a[rel=next]").len()), (5, 0));
}
