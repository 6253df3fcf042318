//! Who may do what: every address of the console, as a stranger, a member and an owner.

use std::collections::BTreeSet;
use std::sync::Arc;

use deja_core::operator::Role;
use deja_server::console::{Access, listed};

use crate::util::World;

/// What only owners may do. Everything else behind the sign-in is for members too.
const OWNERS: [(&str, &str); 9] = [
    ("POST", "/console/p/{slug}/settings/limits"),
    ("POST", "/console/p/{slug}/settings/state"),
    ("POST", "/console/p/{slug}/settings/prices"),
    ("GET", "/console/p/{slug}/delete"),
    ("POST", "/console/p/{slug}/delete"),
    ("GET", "/console/audit"),
    ("GET", "/console/operators"),
    ("POST", "/console/operators/invite"),
    ("POST", "/console/operators/change"),
];
const REVOKE: (&str, &str) = ("POST", "/console/operators/revoke");
const PUBLIC: [&str; 6] = [
    "/console/static/{name}",
    "/console/sign-in",
    "/console/sign-in/code",
    "/console/setup",
    "/console/join",
    "/console/reset",
];

fn filled(path: &str, entry: &str) -> String {
    path.replace("{slug}", "furnished")
        .replace("{entry}", entry)
        .replace("{key}", "no-such-key")
        .replace("{chart}", "requests.csv")
        .replace("{name}", "nobody")
}

#[test]
fn the_table_of_roles_is_the_one_that_is_promised() {
    let of = |wanted: Access| -> BTreeSet<(&str, String)> {
        listed()
            .into_iter()
            .filter(|(_, _, access)| *access == wanted)
            .map(|(m, path, _)| (m, path))
            .collect()
    };
    let owners: BTreeSet<_> =
        OWNERS.into_iter().chain([REVOKE]).map(|(m, path)| (m, path.to_owned())).collect();
    assert_eq!(of(Access::Owner), owners);
    let public: BTreeSet<String> = of(Access::Public).into_iter().map(|(_, path)| path).collect();
    assert_eq!(public, PUBLIC.map(str::to_owned).into());
}

#[tokio::test]
async fn a_stranger_sees_nothing_and_changes_nothing() {
    let world = Arc::new(World::new().await);
    let (project, entry) = world.furnished().await;
    for (method, path, access) in listed() {
        if access == Access::Public {
            continue;
        }
        let path = filled(&path, &entry.to_string());
        let mut stranger = world.stranger();
        let page = if method == "GET" {
            stranger.get(&path).await
        } else {
            stranger.post(&path, &[("confirm", "furnished")]).await
        };
        assert_eq!(page.status, 303, "{method} {path}");
        assert!(page.location().starts_with("/console/sign-in"), "{method} {path}: {}", page.location());
        assert!(page.body.is_empty(), "{method} {path}");
    }
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 2);
    let mut expired = world.stranger();
    expired.cookies.insert("deja_session".into(), "0".repeat(64));
    assert_eq!(expired.get("/console/projects").await.status, 303);
}

#[tokio::test]
async fn a_member_cannot_do_what_only_an_owner_may() {
    let world = Arc::new(World::new().await);
    let (_, entry) = world.furnished().await;
    let before = world.reload("furnished").await;
    for (method, path, access) in listed() {
        let path = filled(&path, &entry.to_string());
        let mut member = world.browser_of(Role::Member).await;
        let form = [
            ("confirm", "furnished"),
            ("state", "suspended"),
            ("tier", "enterprise"),
            ("email", "x@example.com"),
            ("role", "owner"),
            ("do", "owner"),
        ];
        if access == Access::Owner {
            let page =
                if method == "GET" { member.get(&path).await } else { member.post(&path, &form).await };
            assert_eq!(page.status, 403, "{method} {path}");
            assert_eq!(page.one("h1"), "Owners only", "{method} {path}");
        } else if method == "GET" {
            let page = member.get(&path).await;
            assert_ne!(page.status, 403, "{method} {path}");
            assert!(page.status < 500, "{method} {path}: {}", page.text());
        }
    }
    assert_eq!(world.reload("furnished").await, before);
}

#[tokio::test]
async fn a_members_form_cannot_smuggle_in_what_is_an_owners() {
    let world = Arc::new(World::new().await);
    let mut member = world.browser_of(Role::Member).await;
    member
        .submit("/console/projects", &[("name", "Cheap"), ("tier", "enterprise"), ("per_minute", "9000")])
        .await;
    let made = world.reload("cheap").await;
    assert_eq!((made.tier.as_str(), made.quota().per_minute()), ("free", 100));
    let private =
        [("name", "own"), ("base_url", "http://10.0.0.1/v1"), ("models", "m"), ("allow_private", "1")];
    assert_eq!(member.post("/console/p/cheap/providers/new", &private).await.status, 403);
    assert!(world.wired.store.providers(made.id).await.unwrap().is_empty());
    let mut owner = world.browser_of(Role::Owner).await;
    owner.submit("/console/p/cheap/providers/new", &private).await;
    assert_eq!(world.wired.store.providers(made.id).await.unwrap().len(), 1);
    // A member may save the rest of it without taking the permission away.
    member
        .submit(
            "/console/p/cheap/providers/own/own",
            &[("base_url", "http://10.0.0.1/v1"), ("models", "m\nn")],
        )
        .await;
    let saved = world.wired.store.providers(made.id).await.unwrap().remove(0);
    assert!(saved.allow_private && saved.models.len() == 2);
    // The permission is for that server: pointed elsewhere by a member, the provider has none.
    for elsewhere in ["http://10.0.0.2/v1", "http://10.0.0.1:8080/v1", "https://10.0.0.1/v1"] {
        let form = [("base_url", elsewhere), ("models", "m"), ("secret", "sk-1")];
        let page = member.post("/console/p/cheap/providers/own/own", &form).await;
        assert_eq!(page.status, 422, "{elsewhere}");
    }
    member
        .submit(
            "/console/p/cheap/providers/own/own",
            &[("base_url", "https://llm.example/v1"), ("models", "m")],
        )
        .await;
    let saved = world.wired.store.providers(made.id).await.unwrap().remove(0);
    assert_eq!((saved.base_url.as_str(), saved.allow_private), ("https://llm.example/v1", false));
}

#[tokio::test]
async fn navigation_offers_owners_pages_to_owners_only() {
    let world = World::new().await;
    let links = |page: &crate::util::Page| page.attributes(".side nav a", "href");
    let owner = links(&world.browser_of(Role::Owner).await.get("/console/projects").await);
    let member = links(&world.browser_of(Role::Member).await.get("/console/projects").await);
    assert!(owner.contains(&"/console/audit".to_owned()) && owner.contains(&"/console/operators".to_owned()));
    assert_eq!(member, ["/console/projects", "/console/account"]);
}
