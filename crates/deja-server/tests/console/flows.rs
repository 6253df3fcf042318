//! What people do in the console, and what comes of it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::admin::transfer::{self, Batch, Imported, line};
use deja_core::admin::{operators, providers, tokens};
use deja_core::api_key::{KeyHash, PlainKey};
use deja_core::cache::{Frame, Kind, LabelSource, Met, Parameters};
use deja_core::embedding::{Similarity, Threshold};
use deja_core::engine::Query;
use deja_core::id::KeyId;
use deja_core::operator::Role;
use deja_core::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn};
use deja_core::provider::ProviderKind;
use deja_core::store::{Admission, NewLabel};

use deja_wire::{Asked, Endpoint, Identity};

use deja_server::admin::{Command, NotEmbeddedView, Reply, execute};

use crate::util::{Page, World};

const DAY: std::time::Duration = std::time::Duration::from_hours(24);

#[tokio::test]
async fn a_key_is_shown_once_and_revoked_after_a_question() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let refused = member.post("/console/p/shop/keys", &[("name", " "), ("models", "a b")]).await;
    assert_eq!(refused.status, 422);
    let shown =
        member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, gpt-4o-mini")]).await;
    let key = PlainKey::parse(&shown.one("dialog #key")).unwrap();
    assert_eq!(shown.one("#export"), format!("export DEJA_KEY={}", key.reveal()), "beside the snippets");
    assert!(!member.get("/console/p/shop").await.body.contains(key.reveal()), "once");
    assert!(shown.one("dialog").contains("cannot be shown again"));
    let page = member.get("/console/p/shop/keys").await;
    assert!(page.all("dialog").is_empty() && !page.body.contains(key.reveal()));
    assert!(page.one("tbody tr").contains("gpt-4o, gpt-4o-mini") && page.one("tbody .badge") == "Active");
    assert!(world.wired.store.admit(&key.hash()).await.unwrap().is_some());
    let revoke = page.attributes("td.do a", "href").remove(0);
    let asked = member.get(&revoke).await;
    assert!(asked.text().contains("very next request"));
    assert!(world.wired.store.admit(&key.hash()).await.unwrap().is_some(), "asking revokes nothing");
    let page = member.submit(&revoke, &[]).await;
    assert_eq!(page.one("tbody .badge"), "Revoked");
    assert!(page.all("td.do a").is_empty(), "there is no way back");
    assert!(world.wired.store.admit(&key.hash()).await.unwrap().is_none());
    let rows = world.wired.store.changes(Some(project.id), None, std::num::NonZeroUsize::MAX).await.unwrap();
    let row = rows.iter().find(|row| row.change.action == "key.revoke").unwrap();
    assert_eq!(row.change.actor.name(), "member-0@example.com");
    assert!(!format!("{rows:?}").contains(key.reveal()));
}

#[tokio::test]
async fn a_key_has_an_end_and_a_limit_of_its_own() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let wish = |days: &'static str, per_minute: &'static str| {
        [("name", "ci"), ("days", days), ("per_minute", per_minute), ("burst", "")]
    };
    for (days, per_minute, says) in
        [("0", "", "36500 days"), ("soon", "", "days until it expires"), ("", "101", "100 requests a minute")]
    {
        let page = member.post("/console/p/shop/keys", &wish(days, per_minute)).await;
        assert_eq!(page.status, 422);
        assert!(page.one("[role=alert]").contains(says), "{}", page.text());
        assert_eq!(page.attributes("#expires", "value"), [days]);
        let field = if days.is_empty() { "per_minute" } else { "expires" };
        assert!(page.one(&format!("#{field}-problem")).contains(says), "said at the field: {}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "id"), [field]);
    }
    member.submit("/console/p/shop/keys", &wish("90", "20")).await;
    let odd = [("name", "ci"), ("models", "nobody-has-it, gpt-4o"), ("days", "1,5")];
    let page = member.post("/console/p/shop/keys", &odd).await;
    assert!(page.one("#expires-problem").contains("with a point: 1.5"), "{}", page.text());
    let page = member.get("/console/p/shop/keys").await;
    assert!(page.one("tbody tr").contains("20 a minute, 24 at once"), "{}", page.one("tbody tr"));
    assert!(page.one("tbody tr").contains("in 89 days") || page.one("tbody tr").contains("in 90 days"));
    let mut brief = world.wired.store.keys(project.id).await.unwrap().remove(0).0;
    brief.id = KeyId::from_bytes([9; 16]);
    brief.hash = KeyHash([9; 32]);
    brief.expires = Some(brief.created);
    world.wired.store.create_key(&brief, &deja_core::testing::change()).await.unwrap();
    let page = member.get("/console/p/shop/keys").await;
    assert_eq!(page.all("tbody .badge"), ["Active", "Expired"], "those that work come first");
    let revoke = page.attributes("td.do a", "href").remove(1);
    let page = member.submit(&revoke, &[]).await;
    assert_eq!(page.all("tbody .badge"), ["Active", "Revoked"]);
}

#[tokio::test]
async fn an_operator_has_no_more_tokens_than_the_bound_however_they_are_asked_for() {
    let world = World::new().await;
    let (ada, _) = world.operator(Role::Owner).await;
    let by = world.acting();
    let make = || tokens::create(&by, ada.email.as_str(), "ci", None);
    for _ in 0..45 {
        make().await.unwrap();
    }
    let made = futures::future::join_all((0..20).map(|_| make())).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 5);
    assert_eq!(world.wired.store.access_tokens(ada.id).await.unwrap().len(), 50);
}

#[tokio::test]
async fn an_access_token_is_shown_once_and_revoked_by_its_operator_alone() {
    let world = World::new().await;
    let (mut ada, mut bob) = (world.browser_of(Role::Owner).await, world.browser_of(Role::Member).await);
    for (name, days, says) in
        [(" ", "9", "the name"), ("ci", "0", "36500 days"), ("ci", "soon", "must be a number")]
    {
        let page = ada.submit("/console/account/tokens", &[("name", name), ("days", days)]).await;
        assert!(page.one("[role=alert]").contains(says), "{}", page.text());
    }
    let page = ada.submit("/console/account/tokens", &[("name", "terraform"), ("days", "30")]).await;
    let token = page.one("#token");
    assert!(token.starts_with("djt_") && token.len() == 68, "{token}");
    let page = ada.get("/console/account").await;
    assert!(!page.body.contains(&token), "once");
    let row = page.one("section[aria-labelledby=tokens] tbody tr");
    assert!(row.contains("terraform") && row.contains(&token[..8]) && row.contains("never"), "{row}");
    let asked = async || {
        let request = Request::get("/admin/v1/projects").header("authorization", format!("Bearer {token}"));
        world.stranger().send(request.body(Body::empty()).unwrap()).await.status
    };
    assert_eq!(asked().await, 200);
    let id = page.attributes("form[action='/console/account/tokens/revoke'] input", "value").remove(0);
    let page = bob.submit("/console/account/tokens/revoke", &[("token", &id)]).await;
    assert!(page.one("[role=alert]").contains("no token"), "{}", page.text());
    assert_eq!(asked().await, 200);
    let page = ada.submit("/console/account/tokens/revoke", &[("token", &id)]).await;
    assert!(page.all("section[aria-labelledby=tokens] tbody tr").is_empty());
    assert_eq!(asked().await, 401);
    let rows = world.wired.store.changes(None, None, std::num::NonZeroUsize::MAX).await.unwrap();
    let told: Vec<_> = rows.iter().filter(|row| row.change.action.starts_with("token.")).collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|row| row.change.actor.name() == "owner-0@example.com"));
    assert!(!format!("{rows:?}").contains(&token));
}

#[tokio::test]
async fn a_key_for_a_model_that_nobody_serves_is_told() {
    let world = World::new().await;
    world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let page =
        member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, blend, brew")]).await;
    let told =
        "Nobody serves “blend”, “brew”: requests for it are refused until a provider of this project has it.";
    assert_eq!((page.one(".note[role=status]").as_str(), page.all("dialog #key").len()), (told, 1));
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "blend\nbrew")];
    member.submit("/console/p/shop/providers/new", &own).await;
    let page =
        member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, blend, brew")]).await;
    assert!(page.all(".note[role=status]").is_empty(), "{}", page.text());
}

#[tokio::test]
async fn what_is_wrong_with_a_provider_is_said_at_its_field_and_its_secret_is_kept() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    let place = "/console/p/shop/providers/new";
    let good =
        [("name", "own"), ("base_url", "https://llm.example.com/v1"), ("models", "m"), ("secret", "sk-hush")];
    let with = |field: &'static str, value: &'static str| {
        let mut form = good.to_vec();
        form.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        form
    };
    for (field, value, told) in [
        ("name", "a b", "not allowed"),
        ("base_url", "nonsense", "cannot be read"),
        ("models", "a b", "without blanks"),
        ("secret", "a b", "printable ASCII"),
    ] {
        let page = owner.post(place, &with(field, value)).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{field}: {}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "name"), [field]);
        assert_eq!(page.all("#kept").len(), usize::from(field != "secret"), "{field}");
        assert!(!page.body.contains("sk-hush"));
    }
    // What allows a private network is named, to an owner and to a member.
    for url in ["http://10.1.2.3/v1", "https://127.0.0.1/v1", "http://llm.example.com/v1"] {
        let page = owner.post(place, &with("base_url", url)).await;
        let told = page.one("#base_url-problem");
        assert!(told.contains("Tick “May stand in a private network”"), "{told}");
        assert!(
            page.one("label.check:has([name=allow_private])").starts_with("May stand in a private network")
        );
        let mut member = world.browser_of(Role::Member).await;
        let page = member.post(place, &with("base_url", url)).await;
        assert!(page.one("#base_url-problem").contains("An owner can tick"), "{}", page.text());
    }
    // The secret goes along sealed: nobody else can use it, and it need not be typed again.
    let page = owner.post(place, &with("base_url", "http://10.1.2.3/v1")).await;
    let kept = page.attributes("input[name=kept]", "value").remove(0);
    let again = |secret| vec![good[0], good[1], good[2], ("secret", secret), ("kept", kept.as_str())];
    let mut other = world.browser_of(Role::Owner).await;
    other.submit(place, &again("")).await;
    let secret = async || world.wired.store.providers(project.id).await.unwrap().remove(0).sealed_secret;
    assert_eq!(secret().await, None, "of another session");
    other.submit("/console/p/shop/providers/own/own/remove", &[]).await;
    owner.submit(place, &again("")).await;
    assert!(secret().await.is_some());
}

#[tokio::test]
async fn an_endpoint_is_taken_off_a_base_url_and_what_a_provider_takes_over_is_said() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    for (number, (typed, kept)) in [
        ("https://llm.example.com/v1/chat/completions", "https://llm.example.com/v1"),
        ("https://llm.example.com/v1/messages/", "https://llm.example.com/v1"),
        ("https://llm.example.com/a/v1/responses", "https://llm.example.com/a/v1"),
        ("https://llm.example.com/embeddings", "https://llm.example.com"),
        ("https://llm.example.com/v1/", "https://llm.example.com/v1"),
    ]
    .into_iter()
    .enumerate()
    {
        let (name, model) = (format!("p{number}"), format!("m{number}"));
        let form = [("name", name.as_str()), ("base_url", typed), ("models", &model)];
        let page = member.submit("/console/p/shop/providers/new", &form).await;
        let providers = world.wired.store.providers(project.id).await.unwrap();
        let stored = providers.into_iter().find(|provider| provider.name == name).unwrap();
        assert_eq!(stored.base_url, kept);
        let told = page.one("[role=status].note");
        let mended = !typed.trim_end_matches('/').ends_with("/v1");
        assert_eq!(told.contains(&format!("Its base URL is {kept}:")), mended, "{told}");
    }
    let form = [("base_url", "https://llm.example.com/v1/embeddings"), ("models", "gpt-4o\nblend")];
    let page = member.submit("/console/p/shop/providers/own/p0", &form).await;
    let told = page.one("[role=status].note");
    assert!(told.contains("Its base URL is https://llm.example.com/v1:"), "{told}");
    assert!(told.contains("it answers for gpt-4o in place of the built-in provider"), "{told}");
}

#[tokio::test]
async fn contradictions_of_settings_are_said() {
    let world = Arc::new(World::new().await);
    let (project, _) = world.furnished().await;
    let mut owner = world.browser_of(Role::Owner).await;
    let place = "/console/p/furnished/settings";
    let form = |threshold: &'static str, minimum, entries| {
        [("name", "Furnished"), ("max_entries", entries), ("threshold", threshold), ("minimum", minimum)]
    };
    let page = owner.post(place, &form("0.8", "0.9", "100")).await;
    assert!(page.one("#threshold-problem").contains("0.8 lies below the minimum 0.9"), "{}", page.text());
    let page = owner.post(place, &form("0,9", "", "100")).await;
    assert!(page.one("#threshold-problem").contains("with a point: 0.9, not 0,9"), "{}", page.text());
    owner.submit(place, &form("", "0.9", "100")).await;

    // A maximum below what is stored says how many go, and wants a tick.
    let page = owner.post(place, &form("", "", "1")).await;
    assert!(page.one("#max_entries-problem").contains("1 entry would go"), "{}", page.text());
    assert_eq!(world.reload("furnished").await.settings.max_entries, 100);
    assert!(page.one("label:has([name=let_go])").contains("Let 1 entry go"), "{}", page.text());
    let ticked = [&form("", "", "1")[..], &[("let_go", "1")]].concat();
    let page = owner.submit(place, &ticked).await;
    assert!(page.one("[role=status].note").contains("1 entry beyond the maximum go"), "{}", page.text());
    assert_eq!(world.reload("furnished").await.settings.max_entries, 1);
    // Who raises it, or leaves it, is not asked.
    owner.submit(place, &form("", "", "2")).await;
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 2, "what is beyond is swept later");

    let limits = "/console/p/furnished/settings/limits";
    for (field, value, told) in
        [("per_minute", "0", "between"), ("burst", "1,5", "with a point"), ("per_minute", "x", "a number")]
    {
        let page = owner.post(limits, &[("tier", "pro"), (field, value)]).await;
        let problem = page.one(&format!("#{field}-problem"));
        assert!(page.status == 422 && problem.contains(told), "{problem}");
        assert_eq!(page.attributes(&format!("#{field}"), "value"), [value], "what was typed stays");
        let page = owner.post("/console/projects", &[("name", "New"), ("tier", "pro"), (field, value)]).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{}", page.text());
    }
    let page = owner.post("/console/projects", &[("name", " ")]).await;
    assert!(page.one("#name-problem").contains("not allowed"), "{}", page.text());
}

#[tokio::test]
async fn a_purge_counts_first_and_wants_the_name_typed() {
    let world = Arc::new(World::new().await);
    let (project, _) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
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

#[tokio::test]
async fn entries_are_found_by_text_and_by_meaning() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    world.entry(&project, "Which city is the seat of the French government?", "Paris too.", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let found = member.get("/console/p/furnished/cache?q=FRANCE").await;
    assert_eq!(found.all("tbody th a"), ["What is the capital of France?"]);
    let near = "/console/p/furnished/cache?q=What's+the+capital+of+France%3F&by=meaning";
    let page = member.get(near).await;
    let found = page.all("tbody th a");
    assert_eq!((found.len(), found[0].as_str()), (3, "What is the capital of France?"), "of all contexts");
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
async fn a_wrong_answer_forbids_the_pair_and_the_entry_stays() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    let place = format!("/console/p/furnished/cache/{entry}/wrong");
    let page = member.submit(&place, &[("asked", " ")]).await;
    assert!(page.one("[role=alert]").contains("Say which prompt"));
    let asked = "What is the capital of\r\nFrench Guiana?";
    let page = member.submit(&place, &[("asked", asked)]).await;
    assert!(page.one("[role=alert]").contains("Nothing like it was asked"), "{}", page.text());
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
    let own = member.submit(&place, &[("asked", "What is the capital of France?")]).await;
    assert!(own.one("[role=alert]").contains("own prompt"), "{}", own.text());
    world.wired.store.delete(project.id, entry, &deja_core::testing::change()).await.unwrap();
    let again = member.submit(&place, &[("asked", "again")]).await;
    assert!(again.one("[role=alert]").contains("gone already"));
}

#[tokio::test]
async fn a_wrong_answer_is_taken_back_and_deletes_the_entry_only_if_asked_to() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
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
    let rows = world.wired.store.changes(Some(project.id), None, std::num::NonZeroUsize::MAX).await.unwrap();
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..4], ["entry.delete", "entry.wrong", "pair.allow", "entry.wrong"]);
}

#[tokio::test]
async fn an_entry_in_quarantine_is_listed_and_released() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    let place = format!("/console/p/furnished/cache/{entry}");
    let held = "section[aria-labelledby=quarantine] tbody";
    for asked in ["French Guiana", "Ghana", "Guinea"] {
        let page = member.get("/console/p/furnished/cache").await;
        assert!(page.all(held).is_empty(), "{asked}");
        let asked = format!("What is the capital of {asked}?");
        world.answered(&project, entry, &[&asked]).await;
        let page = member.submit(&format!("{place}/wrong"), &[("asked", &asked)]).await;
        assert!(!asked.contains("Guinea?") || page.text().contains("in quarantine"), "{}", page.text());
    }
    let page = member.get("/console/p/furnished/cache").await;
    assert!(page.one(&format!("{held} th")).contains("What is the capital of France?"));
    let release = page.attributes(&format!("{held} form"), "action").remove(0);
    assert!(member.get(&place).await.text().contains("This entry is in quarantine"));
    let page = member.submit(&release, &[]).await;
    assert!(page.text().contains("answers similar prompts again"), "{}", page.text());
    assert!(!page.text().contains("This entry is in quarantine"));
    assert!(member.submit(&release, &[]).await.one("[role=alert]").contains("in no quarantine"));
    let rows = world.wired.store.changes(Some(project.id), None, std::num::NonZeroUsize::MAX).await.unwrap();
    let actions: Vec<_> = rows.iter().map(|row| &*row.change.action).collect();
    assert_eq!(actions[..3], ["entry.release", "entry.quarantine", "entry.wrong"]);
}

#[tokio::test]
async fn wrong_answers_are_told_apart_and_paged() {
    let world = Arc::new(World::new().await);
    let project = world.project("Wrong").await;
    let mut member = world.browser_of(Role::Member).await;
    let entry = world.entry(&project, "What is two and two?", "Five.", None).await;
    let place = format!("/console/p/wrong/cache/{entry}/wrong");
    // What is too long for an embedding meets the same prompt only, so it cannot have met this one.
    let page = member.submit(&place, &[("asked", &"too long ".repeat(400))]).await;
    assert!(page.one("[role=alert]").contains("answered another prompt"), "{}", page.text());
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 1);
    // As versions kept it that took the entry's own prompt.
    let own = NewLabel {
        entry,
        asked: "What is two and two?",
        vector: None,
        similarity: Similarity::ONE,
        met: Met::Served,
        answers: false,
        source: LabelSource::Console,
        note: None,
    };
    world.wired.store.label(project.id, own, &deja_core::testing::change()).await.unwrap();
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

#[tokio::test]
async fn the_playground_shows_both_sides_of_the_threshold() {
    let world = Arc::new(World::new().await);
    let (project, _) = world.furnished().await;
    world.entry(&project, "How tall is the Eiffel tower?", "330 m.", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let form = |threshold| {
        [
            ("prompt", "What's the capital of France?"),
            ("model", "gpt-4o-mini"),
            ("threshold", threshold),
            ("context", ""),
            ("ask", "cache"),
        ]
    };
    let page = member.post("/console/p/furnished/playground", &form("0.9")).await;
    assert_eq!(page.one("#result .badge"), "Hit");
    assert_eq!(page.one("#result pre"), "Paris.");
    assert_eq!(page.all("section[aria-labelledby=near] .badge"), ["Hit", "Miss"]);
    assert!(page.all("#result dt").contains(&"Embedding".to_owned()));
    let would = "a query would get 500, as the server has no key for openai";
    assert_eq!(page.attributes("#result", "data-at-others"), [would], "what the slider's script tells");
    let page = member.post("/console/p/furnished/playground", &form("1")).await;
    assert_eq!(page.one("#result .badge"), "Miss");
    assert!(page.one("#result p").contains(would), "{}", page.text());
    assert_eq!(page.all("section[aria-labelledby=near] .badge"), ["Miss", "Miss"]);
    // A model that nobody serves is refused, whatever is near.
    let mut unknown = form("0.9");
    unknown[1] = ("model", "nobody-serves");
    let page = member.post("/console/p/furnished/playground", &unknown).await;
    assert_eq!(
        (page.one("#result h2"), page.one("#result .badge")),
        ("A query would be refused".into(), "Miss".into())
    );
    assert!(page.one("#result p").contains("Nobody serves this model: a query gets 400"), "{}", page.text());
    assert_eq!(member.post("/console/p/furnished/playground", &form("1.1")).await.status, 422);
    for (at, field, told) in [(0, "prompt", "Type a prompt"), (1, "model", "Name a model")] {
        let mut empty = form("0.9");
        empty[at].1 = " ";
        let page = member.post("/console/p/furnished/playground", &empty).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "name"), [field]);
    }
    // A project's threshold is shown and sent in full.
    let patch =
        ProjectPatch { default_threshold: Some(Threshold::new(0.975).into()), ..ProjectPatch::default() };
    projects::set(&world.acting(), "furnished", patch).await.unwrap();
    let page = member.get("/console/p/furnished/playground").await;
    assert_eq!(
        (page.one("output"), page.attributes("#threshold", "value")),
        ("0.975".into(), vec!["0.975".into()])
    );
    let mut long = form("0.9");
    let text = "too long ".repeat(400);
    long[0] = ("prompt", &text);
    let page = member.post("/console/p/furnished/playground", &long).await;
    assert!(page.one("section[aria-labelledby=near] p").contains("too long to be searched by meaning"));
    assert!(page.one("#result p").contains("The embedding model reads 256 tokens"), "{}", page.text());
    // What the project's minimum makes a miss with the API is one here.
    let minimum_threshold = Some(Threshold::new(0.999).into());
    let none = Some(None.into());
    let patch = ProjectPatch { default_threshold: none, minimum_threshold, ..ProjectPatch::default() };
    projects::set(&world.acting(), "furnished", patch).await.unwrap();
    let page = member.post("/console/p/furnished/playground", &form("0.9")).await;
    assert_eq!(page.one("#result .badge"), "Miss");
    assert_eq!(page.attributes("#threshold", "value"), ["0.999"]);
    assert_eq!(page.one("#threshold-hint"), "This project’s minimum is 0.999.");
    let patch = ProjectPatch { minimum_threshold: none, ..ProjectPatch::default() };
    projects::set(&world.acting(), "furnished", patch).await.unwrap();
    // Without credentials, asking says what is missing.
    let mut ask = form("1");
    ask[4] = ("ask", "provider");
    let page = member.post("/console/p/furnished/playground", &ask).await;
    assert!(page.status == 422 && page.one("[role=alert]").contains("no key for openai"), "{}", page.text());
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 3, "looking changes nothing");
}

#[tokio::test]
async fn the_playground_says_what_the_guard_refuses_and_from_which_threshold_on() {
    let world = Arc::new(World::new().await);
    let project = world.project("Guarded").await;
    let entry = world.entry(&project, "How do I disable read receipts?", "Like that.", None).await;
    let mut member = world.browser_of(Role::Member).await;
    let place = "/console/p/guarded/playground";
    let form = |threshold, ask| {
        let prompt = "How do I enable read receipts?";
        [
            ("prompt", prompt),
            ("model", "gpt-4o-mini"),
            ("threshold", threshold),
            ("context", ""),
            ("ask", ask),
        ]
    };
    let row = "section[aria-labelledby=near] tr[data-similarity]";
    let verdict = format!("{row} .badge");
    let page = member.post(place, &form("0.8", "cache")).await;
    assert_eq!((page.one("#result .badge"), page.one(&verdict)), ("Miss".into(), "Miss: opposite".into()));
    assert!(page.one("#result p").contains("The guard did not let an entry pass"), "{}", page.text());
    // What the slider's script needs to tell the same.
    assert_eq!(page.attributes(row, "data-refused-from"), ["0.75"]);
    assert_eq!(page.attributes(row, "data-refused"), ["Miss: opposite"]);
    let page = member.post(place, &form("0.7", "cache")).await;
    assert_eq!((page.one("#result .badge"), page.one(&verdict)), ("Hit".into(), "Hit".into()));
    let wrong = format!("/console/p/guarded/playground/{entry}/wrong");
    member.submit(&wrong, &[("asked", "How do I enable read receipts?")]).await;
    let page = member.post(place, &form("0.7", "cache")).await;
    assert_eq!(
        (page.one("#result .badge"), page.attributes(row, "data-refused-from")),
        ("Miss".into(), vec!["0".into()])
    );
    assert_eq!(page.one(&verdict), "Miss: marked as a wrong answer");
    let patch = ProjectPatch { guard: Some(Guard::Off), ..ProjectPatch::default() };
    projects::set(&world.acting(), "guarded", patch).await.unwrap();
    world.entry(&project, "How do I enable read receipts on a phone?", "Like this.", None).await;
    let page = member.post(place, &form("0.8", "cache")).await;
    assert_eq!(page.all(&verdict)[0], "Hit", "{}", page.text());
}

/// A form of the playground's chat.
fn chat<'a>(form: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [("format", "chat"), ("model", "m"), ("threshold", "0.85"), ("ask", "cache")];
    let named = |name: &str| form.iter().any(|(other, _)| *other == name);
    usual.into_iter().filter(|(name, _)| !named(name)).chain(form.iter().copied()).collect()
}

#[tokio::test]
async fn a_chat_is_tried_as_an_application_would_send_it() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let place = "/console/p/shop/playground/chat";
    let page = member.get(place).await;
    assert_eq!(page.attributes("#threshold", "value"), ["0.85"]);
    assert_eq!(page.attributes("nav[aria-label=Form] [aria-current]", "href"), [place]);

    // What nobody serves is refused, whatever is near, in each format; what is passed on, too.
    let question = [("question", "What is the capital of France?")];
    for more in [("format", "chat"), ("format", "messages"), ("members", r#"{"n": 2}"#)] {
        let page = member.post(place, &chat(&[question[0], more])).await;
        assert_eq!(page.one("#result h2"), "A request would be refused", "{more:?}: {}", page.text());
        assert!(page.one("#result p").contains("Nobody serves this model in this format"), "{}", page.text());
    }
    let own = [("name", "own"), ("base_url", "https://llm.example.com/v1"), ("models", "m")];
    member.submit("/console/p/shop/providers/new", &own).await;
    let page = member.post(place, &chat(&question)).await;
    assert!(page.one("#result p").contains("a request would go to the provider"), "{}", page.text());
    let page = member.post(place, &chat(&[question[0], ("model", "gpt-4o")])).await;
    assert!(
        page.one("#result p").contains("would fail, as the server has no key for openai"),
        "{}",
        page.text()
    );

    // As an application with these instructions stored it.
    let body = r#"{"messages": [{"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the capital of France?"}], "model": "m", "stream": true}"#;
    let sent =
        Asked { endpoint: Endpoint::Chat, model: None, body: body.as_bytes(), headers: &[], query: None };
    let Identity { instructions, parameters, .. } =
        deja_wire::identify(&sent, &project.settings.identity_options(1000)).unwrap();
    let frame = Frame::of_wire(Kind::Chat, "m", instructions.as_deref(), parameters);
    let entry = world.question(&project, frame, "What is the capital of France?").await;
    let asked = ("question", "What's the capital of France?");
    let page = member.post(place, &chat(&[asked, ("instructions", "Be brief.")])).await;
    assert_eq!((page.status, page.one("#result .badge").as_str()), (200, "Hit"), "{}", page.text());
    assert_eq!(page.one("#result pre"), "An answer.");
    assert!(
        page.one("#identity").contains("By meaning")
            && page.one("#identity pre").starts_with("POST /v1/chat")
    );
    assert_eq!(page.all("section[aria-labelledby=near] .badge"), ["Hit"]);
    assert_eq!(
        page.attributes("#result form", "action"),
        [format!("/console/p/shop/playground/{entry}/wrong")]
    );
    let brief = ("instructions", "Be brief.");
    for other in [
        [asked, ("instructions", "Be kind."), ("version", "")],
        [asked, brief, ("format", "responses")],
        [asked, brief, ("members", "{\"temperature\": 0}")],
    ] {
        let page = member.post(place, &chat(&other)).await;
        assert_eq!(page.one("#result .badge"), "Miss", "{other:?}: {}", page.text());
        assert!(page.one("section[aria-labelledby=near] p").contains("There is no entry"), "{other:?}");
    }

    // What is compared as a whole says why; an opt-in changes that.
    let tools = r#"{"tools": [{"type": "function", "function": {"name": "f"}}], "seed": 7}"#;
    let page = member.post(place, &chat(&[asked, ("members", tools)])).await;
    assert_eq!(page.all("#identity dt"), ["Compared", "sampling", "tools"]);
    assert!(page.one("#identity dl").contains("Byte for byte") && page.text().contains("semantic_tools"));
    assert_eq!(
        (page.one("#result h2").as_str(), page.all("#near").len()),
        ("The same request is not in the cache", 0)
    );
    let page = member.post(place, &chat(&[asked, ("members", r#"{"n": 2}"#)])).await;
    assert_eq!(page.all("#identity dt"), ["Compared", "several_answers"]);
    assert!(page.one("#identity dl").contains("Not at all"), "{}", page.text());
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 1, "looking changes nothing");

    for (wrong, field) in [
        (("members", "{"), "members"),
        (("members", "{\"model\": 7}"), "members"),
        (("model", " "), "model"),
        (("question", " "), "question"),
    ] {
        let page =
            member.post(place, &chat(&[wrong, asked][..if wrong.0 == "question" { 1 } else { 2 }])).await;
        assert_eq!(
            (page.status, page.attributes("[aria-invalid]", "name")),
            (422, vec![field.into()]),
            "{wrong:?}"
        );
    }
    let page = member.post(place, &chat(&[asked, ("threshold", "2")])).await;
    assert!(page.status == 422 && page.one("[role=alert]").contains("between 0 and 1"));
    let page = member.post(place, &chat(&[asked, ("ask", "provider"), ("model", "gpt-4o")])).await;
    assert!(page.status == 422 && page.one("[role=alert]").contains("no key for openai"), "{}", page.text());
}

#[tokio::test]
async fn a_providers_key_goes_in_and_never_out() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let new = |url: &'static str| {
        [
            ("name", "own"),
            ("kind", "anthropic"),
            ("base_url", url),
            ("models", "big\nsmall"),
            ("secret", "sk-hush-hush"),
        ]
    };
    for url in [
        "http://127.0.0.1/v1",
        "http://169.254.169.254/v1",
        "http://10.1.2.3/v1",
        "ftp://example.com",
        "nonsense",
    ] {
        let page = member.post("/console/p/shop/providers/new", &new(url)).await;
        assert_eq!(page.status, 422, "{url}");
        assert!(!page.body.contains("sk-hush-hush"), "{url}");
        assert_eq!(page.attributes("[name=kind][checked]", "value"), ["anthropic"], "what was chosen stays");
    }
    let page = member.submit("/console/p/shop/providers/new", &new("https://llm.example.com/v1")).await;
    assert!(page.text().contains("Stored") && !page.body.contains("sk-hush-hush"));
    let row = page.one("section[aria-labelledby=own] tbody tr");
    assert!(row.starts_with("own Anthropic https://llm.example.com/v1"), "{row}");
    let unpriced = |page: &Page| page.one("section[aria-labelledby=own] td:has(.badge.warn)");
    assert_eq!(unpriced(&page), "big, smallNo price big, small");
    let price = [("model", "big"), ("input", "1"), ("output", "2")];
    let page = member.submit("/console/p/shop/prices", &price).await;
    assert_eq!(unpriced(&page), "big, smallNo price small");
    let page = member.get("/console/p/shop/providers/own/own").await;
    assert!(!page.body.contains("hush") && page.one("textarea#models") == "big small");
    let moved = [("base_url", "https://elsewhere.example.com/v1"), ("models", "big"), ("secret", "")];
    let page = member.post("/console/p/shop/providers/own/own", &moved).await;
    assert!(page.status == 422 && page.one("[role=alert]").contains("bound to its host"), "{}", page.text());
    let kept = [("base_url", "https://llm.example.com/v1"), ("models", "big"), ("secret", "")];
    member.submit("/console/p/shop/providers/own/own", &kept).await;
    let stored = world.wired.store.providers(project.id).await.unwrap().remove(0);
    assert!(stored.models == ["big"] && stored.sealed_secret.is_some());
    assert_eq!(stored.kind, ProviderKind::Anthropic, "a form without a kind keeps it");
    let other = [("kind", "gemini"), ("base_url", "https://llm.example.com"), ("models", "big")];
    member.submit("/console/p/shop/providers/own/own", &other).await;
    let stored = world.wired.store.providers(project.id).await.unwrap().remove(0);
    assert_eq!((stored.kind, stored.base_url.as_str()), (ProviderKind::Gemini, "https://llm.example.com"));
    let odd = [("kind", "cohere"), ("base_url", "https://llm.example.com"), ("models", "big")];
    assert_eq!(member.post("/console/p/shop/providers/own/own", &odd).await.status, 400);
    let page = member.submit("/console/p/shop/providers/own/own/remove", &[]).await;
    assert!(page.text().contains("Bring a provider of your own"));
}

#[tokio::test]
async fn settings_of_wire_formats_are_kept_shown_and_in_the_audit_log() {
    let world = World::new().await;
    world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/shop/settings").await;
    assert_eq!(page.attributes("[name=control][checked]", "value").len(), ClientControl::ALL.len());
    assert_eq!(page.attributes("[name=opt_in][checked]", "value").len(), 0);
    let form = [("control", "cache"), ("control", "ttl"), ("opt_in", "semantic_json")];
    let form = [&form[..], &[("hit_usage", "zero"), ("on_hangup", "abort")]].concat();
    let page = member.submit("/console/p/shop/settings/wires", &form).await;
    assert_eq!(page.attributes("[name=control][checked]", "value"), ["cache", "ttl"]);
    assert_eq!(page.attributes("[name=opt_in][checked]", "value"), ["semantic_json"]);
    assert_eq!(page.attributes("[name=on_hangup][checked]", "value"), ["abort"]);
    let settings = world.reload("shop").await.settings;
    assert_eq!(settings.client_controls, [ClientControl::Cache, ClientControl::Ttl].into());
    assert_eq!(settings.opt_ins, [OptIn::SemanticJson].into());
    assert_eq!((settings.hit_usage, settings.on_hangup), (HitUsage::Zero, OnHangup::Abort));
    for (name, word) in [("opt_in", "all"), ("hit_usage", ""), ("on_hangup", "keep")] {
        let mut odd = form.clone();
        odd.retain(|(other, _)| *other != name);
        odd.push((name, word));
        let page = member.post("/console/p/shop/settings/wires", &odd).await;
        assert!(page.status == 422 && page.one("[role=alert]").contains("is not one of"), "{}", page.text());
        assert!(page.one(&format!("fieldset #{name}-problem")).contains("is not one of"));
        assert_eq!(
            page.attributes("[name=control][checked]", "value"),
            ["cache", "ttl"],
            "what was chosen stays"
        );
    }
    assert_eq!(world.reload("shop").await.settings, settings);
    let mut owner = world.browser_of(Role::Owner).await;
    let log = owner.get("/console/audit").await.text();
    assert!(log.contains("opt-ins: none -> semantic_json; hit usage: stored -> zero"), "{log}");
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
async fn settings_are_checked_kept_and_shown() {
    let world = World::new().await;
    world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    let form = |threshold: &'static str, ttl| {
        [
            ("name", "The shop"),
            ("ttl", ttl),
            ("max_entries", "500"),
            ("threshold", threshold),
            ("minimum", "0.8"),
            ("guard", "strict"),
            ("guard_model", " gpt-4o "),
            ("guard_budget", "0.25"),
            ("share_models", "1"),
        ]
    };
    for (threshold, ttl) in [("1.5", "1"), ("x", "1"), ("0.9", "x"), ("0.9", "0")] {
        let page = owner.post("/console/p/shop/settings", &form(threshold, ttl)).await;
        assert_eq!(page.status, 422, "{threshold} {ttl}");
        assert_eq!(page.attributes("#threshold", "value"), [threshold], "what was typed stays");
    }
    // What is wrong is said at the field, which gets the focus.
    let whole = form("0.9", "1.5");
    for (field, value, told) in [
        ("ttl", "0", "between 1 second"),
        ("max_entries", "0", "at most must lie between"),
        ("samples", "7", "0 to keep none"),
        ("guard_budget", "-1", "amount of US dollars"),
        ("guard_model", &*"x".repeat(300), "longer than the limit"),
        ("minimum", "2", "between 0 and 1"),
        ("name", " ", "not allowed"),
    ] {
        let mut odd: Vec<_> = whole.iter().copied().filter(|(name, _)| *name != field).collect();
        odd.push((field, value));
        let page = owner.post("/console/p/shop/settings", &odd).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{field}: {}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "name"), [field]);
        assert_eq!(page.attributes("[autofocus]", "name"), [field]);
        assert!(
            page.attributes("[aria-invalid]", "aria-describedby")[0]
                .starts_with(&format!("{field}-problem "))
        );
        assert_eq!(page.all(".problem").len(), 1);
    }
    owner.submit("/console/p/shop/settings", &form("0.9", "1.5")).await;
    let settings = world.reload("shop").await.settings;
    assert_eq!((settings.ttl_seconds, settings.max_entries, settings.share_models), (Some(5400), 500, true));
    assert_eq!((settings.default_threshold, settings.guard), (Threshold::new(0.9), Guard::Strict));
    assert_eq!(
        owner.get("/console/p/shop/settings").await.attributes("#guard [selected]", "value"),
        ["strict"]
    );
    assert_eq!((settings.guard_model.as_deref(), settings.guard_budget.as_dollars()), (Some("gpt-4o"), 0.25));
    let page = owner.get("/console/p/shop/settings").await;
    assert!(page.one("#budget-hint").contains("Asked 0 today"));
    assert!(page.one("#model-hint strong").contains("no credentials for openai"), "{}", page.text());
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "gpt-4o\nblend")];
    owner.submit("/console/p/shop/providers/new", &own).await;
    let page = owner.get("/console/p/shop/settings").await;
    assert!(page.all("#model-hint strong").is_empty(), "it has a provider and a price");
    let mut loose = form("0.9", "1.5");
    loose[7] = ("guard_budget", "-1");
    let page = owner.post("/console/p/shop/settings", &loose).await;
    assert!(page.one("[role=alert]").contains("amount of US dollars"), "{}", page.text());
    loose[6] = ("guard_model", "");
    loose[7] = ("guard_budget", "");
    loose[5] = ("guard", "loose");
    let page = owner.post("/console/p/shop/settings", &loose).await;
    assert!(page.one("[role=alert]").contains("use off, standard or strict"), "{}", page.text());
    loose[5] = ("guard", "");
    owner.submit("/console/p/shop/settings", &loose).await;
    let kept = world.reload("shop").await.settings;
    assert_eq!(
        (kept.guard, kept.guard_budget.as_dollars()),
        (Guard::Strict, 0.25),
        "what is not sent is kept"
    );
    assert_eq!(kept.guard_model, None);
    let page = owner.get("/console/p/shop/settings").await;
    assert_eq!(
        (page.attributes("#ttl", "value"), page.attributes("#minimum", "value")),
        (vec!["1.5".into()], vec!["0.8".into()])
    );
    owner.submit("/console/p/shop/settings/limits", &[("tier", "pro"), ("per_minute", "2,000")]).await;
    let quota = world.reload("shop").await.quota();
    assert_eq!((quota.per_minute(), quota.burst()), (2000, 2400));
    owner.submit("/console/p/shop/settings/state", &[("state", "suspended")]).await;
    assert!(world.reload("shop").await.suspended);
    assert!(owner.get("/console/p/shop").await.text().contains("refused with 403"));
    let page = owner.submit("/console/p/shop/delete", &[("confirm", "no")]).await;
    assert!(page.one("[role=alert]").contains("Nothing was deleted"));
    owner.submit("/console/p/shop/delete", &[("confirm", "shop")]).await;
    assert!(world.wired.store.project("shop").await.unwrap().is_none());
}

#[tokio::test]
async fn export_is_every_entry_as_a_line_that_an_import_takes() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/furnished/export").await;
    assert_eq!(page.headers["content-type"], "application/x-ndjson");
    assert_eq!(
        page.headers["content-disposition"], "attachment; filename=\"furnished.jsonl\"",
        "a file, not a page"
    );
    let records: Vec<_> = page.body.lines().map(|text| line::parse(text.as_bytes()).unwrap()).collect();
    let rows = world.wired.store.changes(Some(project.id), None, std::num::NonZeroUsize::MAX).await.unwrap();
    let row = rows.iter().find(|row| row.change.action == "cache.export").unwrap();
    assert_eq!(
        (row.change.actor.name(), row.change.detail.as_str()),
        ("member-0@example.com", "entries, settings, key hashes")
    );
    assert_eq!(member.get("/console/p/nobody/export").await.status, 404);

    let elsewhere = World::new().await;
    let batch = Batch { records, skip_bad: false, first: true };
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
async fn the_last_owner_stays_one() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    world.browser_of(Role::Member).await;
    let page = owner
        .submit("/console/operators/change", &[("email", "owner-0@example.com"), ("do", "member")])
        .await;
    assert_eq!(page.all("[role=alert]").len(), 1, "{}", page.text());
    owner.submit("/console/operators/change", &[("email", "member-1@example.com"), ("do", "owner")]).await;
    let roles: Vec<Role> =
        world.wired.store.operators().await.unwrap().iter().map(|operator| operator.role).collect();
    assert_eq!(roles, [Role::Owner, Role::Owner]);
    operators::set(&world.acting(), "owner-0@example.com", Some(Role::Member), None).await.unwrap();
    assert_eq!(owner.get("/console/operators").await.status, 403, "a role is looked up with every request");
}

#[tokio::test]
async fn entries_that_could_not_be_embedded_are_shown() {
    let world = World::new().await;
    let project = world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
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
    let (embedder, until) = (world.wired.embedder.id(), world.wired.admin.clock.now().plus(DAY));
    assert!(world.wired.store.set_aside(project.id, bad, embedder, until).await.unwrap());
    let page = member.get("/console/p/shop/settings").await;
    assert_eq!(page.all("[aria-labelledby=embeddings] dd"), ["1", "1"], "{}", page.text());
    assert_eq!(stats().await, NotEmbeddedView { waiting: 1, failed: 1 });
}

#[tokio::test]
async fn the_page_of_providers_says_which_has_no_answer() {
    let world = World::with(&[("DEJA_UPSTREAM_MAX_ATTEMPTS", "1")]).await;
    let project = Arc::new(world.project("Shop").await);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let own = providers::NewProvider {
        project: "shop".into(),
        name: "house".into(),
        kind: ProviderKind::OpenAi,
        base_url: format!("http://{nobody}/v1"),
        models: vec!["blend".into()],
        secret: None,
        allow_private: true,
    };
    providers::add(&world.acting(), own).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    let page = member.get("/console/p/shop/providers").await;
    assert!(!page.text().contains("No answer"), "{}", page.text());
    let caller = Admission::of_console(project);
    for number in 0..10 {
        let query = Query {
            prompt: format!("What is {number}?"),
            model: "blend".into(),
            threshold: Threshold::DEFAULT,
            context: None,
            request: None,
            wire: None,
        };
        world.wired.app.engine().query(&caller, query).await.unwrap_err();
    }
    let page = member.get("/console/p/shop/providers").await;
    let row = page.one("section[aria-labelledby=own] tbody tr");
    assert!(row.contains("No answer") && row.contains("asked again"), "{row}");
    world.project("Other").await;
    let page = member.get("/console/p/other/providers").await;
    assert!(!page.text().contains("No answer"), "another project asked nothing");
}
