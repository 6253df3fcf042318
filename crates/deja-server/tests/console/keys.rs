//! Keys of projects and access tokens of operators: shown once, revoked after a question.

use axum::body::Body;
use axum::http::Request;
use deja_core::admin::{operators, tokens};
use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::api_key::{KeyHash, PlainKey};
use deja_core::audit::AuditFilter;
use deja_core::clock::Timestamp;
use deja_core::id::KeyId;
use deja_core::operator::Role;

use crate::util::World;

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "correct horse battery staple";

#[tokio::test]
async fn a_key_is_shown_once_and_revoked_after_a_question() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
    let refused = member.post("/console/p/shop/keys", &[("name", " "), ("models", "a b")]).await;
    assert_eq!(refused.status, 422);
    let made =
        member.post("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, gpt-4o-mini")]).await;
    let other = member.get("/console/p/shop/requests?live=1").await;
    assert!(!other.headers.contains_key("set-cookie"), "another tab does not take it");
    let shown = member.get(made.location()).await;
    let key = PlainKey::parse(&shown.one("dialog #key")).unwrap();
    assert_eq!(shown.one("#export"), format!("export DEJA_KEY={}", key.reveal()), "beside the snippets");
    assert!(!member.get("/console/p/shop").await.body.contains(key.reveal()), "once");
    assert!(shown.one("dialog").contains("cannot be shown again"));
    let page = member.get("/console/p/shop/keys").await;
    assert!(page.all("dialog").is_empty() && !page.body.contains(key.reveal()));
    let told = ["Prefix", "Created", "Last used", "Requests", "Models", "Expires", "Status"];
    assert_eq!(page.attributes("tbody td[data-label]", "data-label"), told);
    let cell = |name: &str| page.one(&format!("tbody td[data-label='{name}']"));
    assert_eq!((page.one("tbody th"), cell("Prefix")), ("ci".into(), format!("{}…", &key.reveal()[..7])));
    assert_eq!((cell("Last used"), cell("Requests")), ("never".into(), "0".into()));
    assert_eq!((cell("Models"), cell("Status")), ("gpt-4o, gpt-4o-mini".into(), "Active".into()));
    assert_eq!(page.all("tbody time").len(), 1, "when it was made: {}", page.text());
    let record = world.wired.store.key_by_hash(&key.hash()).await.unwrap().unwrap();
    let asked_at = Timestamp::from_secs(1_790_000_000);
    let mut counted = UsageBatch::default();
    counted.add(&UsageEvent::bare(project.id, record.key.id, Outcome::Miss, asked_at));
    world.wired.store.record(&counted).await.unwrap();
    let page = member.get("/console/p/shop/keys").await;
    let cell = |name: &str| page.one(&format!("tbody td[data-label='{name}']"));
    assert_eq!(cell("Requests"), "1");
    assert_eq!(page.attributes("td[data-label='Last used'] time", "datetime"), ["2026-09-21T14:13:20Z"]);
    let revoke = page.attributes("td.do a", "href").remove(0);
    let asked = member.get(&revoke).await;
    assert!(asked.text().contains("very next request"));
    assert!(world.wired.store.key_by_hash(&key.hash()).await.unwrap().is_some(), "asking revokes nothing");
    let page = member.submit(&revoke, &[]).await;
    assert_eq!(page.one("tbody .badge"), "Revoked");
    assert!(page.all("td.do a").is_empty(), "there is no way back");
    assert!(world.wired.store.key_by_hash(&key.hash()).await.unwrap().is_none());
    let rows = world.changes(project.id).await;
    let row = rows.iter().find(|row| row.change.action == "key.revoke").unwrap();
    assert_eq!(row.change.actor.name(), "member-0@example.com");
    assert!(!format!("{rows:?}").contains(key.reveal()));
}

#[tokio::test]
async fn a_key_has_an_end_and_a_limit_of_its_own() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
    let wish = |days: &'static str, per_minute: &'static str, burst: &'static str| {
        [("name", "ci"), ("days", days), ("per_minute", per_minute), ("burst", burst)]
    };
    for (days, per_minute, burst, field, says) in [
        ("0", "", "", "expires", "36500 days"),
        ("soon", "", "", "expires", "days until it expires"),
        ("", "101", "", "per_minute", "100 requests a minute"),
        ("", "99999999999999", "", "per_minute", "between 1 and 1000000"),
        ("", "", "121", "burst", "120 at once"),
        ("", "20", "0", "burst", "between 1 and 1000000"),
    ] {
        let page = member.post("/console/p/shop/keys", &wish(days, per_minute, burst)).await;
        assert_eq!(page.status, 422);
        assert!(page.one("[role=alert]").contains(says), "{}", page.text());
        assert_eq!(page.attributes("#expires", "value"), [days]);
        assert!(page.one(&format!("#{field}-problem")).contains(says), "said at the field: {}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "id"), [field]);
    }
    member.submit("/console/p/shop/keys", &wish("90", "20", "")).await;
    let odd = [("name", "ci"), ("models", "nobody-has-it, gpt-4o"), ("days", "1,5")];
    let page = member.post("/console/p/shop/keys", &odd).await;
    assert!(page.one("#expires-problem").contains("a whole number such as"), "{}", page.text());
    let page = member.get("/console/p/shop/keys").await;
    assert!(page.one("tbody tr").contains("20 requests a minute, 24 at once"), "{}", page.one("tbody tr"));
    assert!(page.one("tbody tr").contains("in 89 days") || page.one("tbody tr").contains("in 90 days"));
    let mut brief = world.wired.store.keys(project.id).await.unwrap().remove(0).0;
    brief.id = KeyId::from_bytes([9; 16]);
    brief.hash = KeyHash([9; 32]);
    brief.expires = Some(brief.created);
    world.wired.store.create_key(&brief, &deja_core::testing::change()).await.unwrap();
    let page = member.get("/console/p/shop/keys").await;
    assert_eq!(page.all("tbody .badge"), ["Active", "Expired"], "those that work come first");
    let revoke = page.attributes("td.do a", "href").remove(1);
    let asked = member.get(&revoke).await;
    assert!(asked.one("main form p").contains("was never used."), "{}", asked.text());
    let page = member.submit(&revoke, &[]).await;
    assert_eq!(page.all("tbody .badge"), ["Active", "Revoked"]);
}

#[tokio::test]
async fn a_key_for_a_model_that_nobody_serves_is_told() {
    let (_world, _, mut member) = World::with_project("Shop", Role::Member).await;
    let page =
        member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, blend, brew")]).await;
    let told = "Nobody serves “blend”, “brew”: requests for them are refused until a provider of this project has \
                them.";
    assert_eq!((page.one(".note[role=status]").as_str(), page.all("dialog #key").len()), (told, 1));
    let page = member.submit("/console/p/shop/keys", &[("name", "one"), ("models", "blend")]).await;
    let told = "Nobody serves “blend”: requests for it are refused until a provider of this project has it.";
    assert_eq!(page.one(".note[role=status]"), told);
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "blend\nbrew")];
    member.submit("/console/p/shop/providers/new", &own).await;
    let page =
        member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", "gpt-4o, blend, brew")]).await;
    assert!(page.all(".note[role=status]").is_empty(), "{}", page.text());
}

#[tokio::test]
async fn a_key_for_many_models_that_nobody_serves_is_shown() {
    let (_world, _, mut member) = World::with_project("Shop", Role::Member).await;
    let models: Vec<String> = (0..90).map(|n| format!("{}-{n:02}", "long".repeat(40))).collect();
    let page = member.submit("/console/p/shop/keys", &[("name", "ci"), ("models", &models.join("\n"))]).await;
    assert_eq!(page.all("dialog #key").len(), 1, "{}", page.text());
    let told = page.one(".note[role=status]");
    assert!(told.contains("and 85 more") && told.ends_with("has them."), "{told}");
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
    let mut bob = world.browser_of(Role::Member).await;
    operators::create(&world.acting(), EMAIL, Some(Role::Owner), PASSWORD.into()).await.unwrap();
    let mut ada = world.stranger();
    ada.submit("/console/sign-in", &[("email", EMAIL), ("password", PASSWORD)]).await;
    for (name, days, field, says) in [
        (" ", "9", "name", "The name"),
        ("ci", "0", "expires", "36500 days"),
        ("ci", "soon", "expires", "must be a whole number"),
    ] {
        let form = [("name", name), ("days", days), ("current", PASSWORD)];
        let page = ada.post("/console/account/tokens", &form).await;
        let said = page.one(&format!("#{field}-problem"));
        assert!(page.status == 422 && said.contains(says), "{}", page.text());
        let typed = page.attributes("form[action='/console/account/tokens'] input", "value");
        assert_eq!(typed, [name, days], "what was typed stays");
    }
    // Whoever has the session alone makes none.
    for current in ["", "guess"] {
        let form = [("name", "terraform"), ("days", "30"), ("current", current)];
        let page = ada.post("/console/account/tokens", &form).await;
        assert!(page.one("#token-current-problem").contains("is not right"), "{}", page.text());
        assert_eq!(page.attributes("#name", "value"), ["terraform"]);
    }
    let form = [("name", "terraform"), ("days", "30"), ("current", PASSWORD)];
    let page = ada.submit("/console/account/tokens", &form).await;
    let token = page.one("#token");
    assert!(token.starts_with("djt_") && token.len() == 68, "{token}");
    let page = ada.get("/console/account").await;
    assert!(!page.body.contains(&token), "once");
    let row = page.one("section[aria-labelledby=tokens] tbody tr");
    assert!(row.contains("terraform") && row.contains(&token[..8]) && row.contains("never"), "{row}");
    assert!(row.contains("in 29 days") || row.contains("in 30 days"), "{row}");
    let asked = async || {
        let request = Request::get("/admin/v1/projects").header("authorization", format!("Bearer {token}"));
        world.stranger().send(request.body(Body::empty()).unwrap()).await.status
    };
    let last_used = "section[aria-labelledby=tokens] tbody td[data-label='Last used']";
    assert_eq!(page.one(last_used), "never");
    assert_eq!(asked().await, 200);
    let used = ada.get("/console/account").await.one(last_used);
    assert!(used.contains("UTC"), "{used}");
    let revoke = page.attributes("section[aria-labelledby=tokens] td a", "href").remove(0);
    assert_eq!(bob.get(&revoke).await.status, 404);
    let page = bob.submit(&revoke, &[]).await;
    assert!(page.one("[role=alert]").contains("no token"), "{}", page.text());
    let page = ada.get(&revoke).await;
    for said in ["terraform", &token[..8], "was last used ", "cannot be undone"] {
        assert!(page.one("main form p").contains(said), "{}", page.text());
    }
    assert_eq!(asked().await, 200, "it is asked first");
    let page = ada.submit(&revoke, &[]).await;
    assert!(page.all("section[aria-labelledby=tokens] tbody tr").is_empty());
    assert_eq!(asked().await, 401);
    let rows =
        world.wired.store.changes(&AuditFilter::default(), None, std::num::NonZeroUsize::MAX).await.unwrap();
    let told: Vec<_> = rows.iter().filter(|row| row.change.action.starts_with("token.")).collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|row| row.change.actor.name() == EMAIL));
    assert!(!format!("{rows:?}").contains(&token));
}
