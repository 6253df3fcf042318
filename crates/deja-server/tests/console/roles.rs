//! Who may do what: every address of the console, as a stranger, as members of each rank and of none, and as an owner.

use std::collections::BTreeSet;

use deja_core::member::Rank;
use deja_core::operator::Role;
use deja_server::console::{Access, listed};

use crate::util::{Browser, Page, World};

/// What only owners of deja may do.
const OWNERS: [(&str, &str); 11] = [
    ("POST", "/console/p/{slug}/settings/limits"),
    ("POST", "/console/p/{slug}/settings/prices"),
    ("GET", "/console/audit"),
    ("GET", "/console/audit/log.csv"),
    ("GET", "/console/operators"),
    ("POST", "/console/operators/invite"),
    ("GET", "/console/operators/change"),
    ("POST", "/console/operators/change"),
    ("GET", "/console/operators/second-factor"),
    ("POST", "/console/operators/second-factor"),
    ("POST", "/console/operators/revoke"),
];
/// What only owners of a project may do.
const PROJECT_OWNERS: [(&str, &str); 7] = [
    ("POST", "/console/p/{slug}/members"),
    ("GET", "/console/p/{slug}/members/own"),
    ("POST", "/console/p/{slug}/members/own"),
    ("GET", "/console/p/{slug}/settings/state"),
    ("POST", "/console/p/{slug}/settings/state"),
    ("GET", "/console/p/{slug}/delete"),
    ("POST", "/console/p/{slug}/delete"),
];
/// What viewers of a project may open. Everything else of a project is for its editors.
const VIEWERS: [(&str, &str); 8] = [
    ("GET", "/console/p/{slug}"),
    ("GET", "/console/p/{slug}/keys"),
    ("GET", "/console/p/{slug}/analytics"),
    ("GET", "/console/p/{slug}/analytics/{chart}"),
    ("GET", "/console/p/{slug}/quality"),
    ("GET", "/console/p/{slug}/quality/{chart}"),
    ("GET", "/console/p/{slug}/requests"),
    ("GET", "/console/p/{slug}/requests/log.csv"),
];
const PUBLIC: [&str; 6] = [
    "/console/static/{name}", "/console/sign-in", "/console/sign-in/code", "/console/setup", "/console/join",
    "/console/reset",
];

/// An address, of the project `slug`.
pub fn filled(path: &str, slug: &str, entry: &str) -> String {
    path.replace("{slug}", slug)
        .replace("{entry}", entry)
        .replace("{key}", "no-such-key")
        .replace("{token}", "no-such-token")
        .replace("{number}", "7")
        .replace("{chart}", "requests.csv")
        .replace("{name}", "nobody")
}

/// A form with what many of them want, and nothing that any of them takes for a confirmation.
const FORM: [(&str, &str); 10] = [
    ("name", "x"),
    ("state", "suspended"),
    ("tier", "enterprise"),
    ("email", "x@example.com"),
    ("role", "owner"),
    ("do", "owner"),
    ("model", "m"),
    ("input", "1"),
    ("output", "1"),
    ("prompt", "What is the capital of France?"),
];

async fn open(browser: &mut Browser, method: &str, path: &str) -> Page {
    if method == "GET" { browser.get(path).await } else { browser.post(path, &FORM).await }
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
    let table = |promised: &[(&'static str, &str)]| -> BTreeSet<(&str, String)> {
        promised.iter().map(|(m, path)| (*m, (*path).to_owned())).collect()
    };
    assert_eq!(of(Access::Owner), table(&OWNERS));
    assert_eq!(of(Access::In(Rank::Owner)), table(&PROJECT_OWNERS));
    assert_eq!(of(Access::In(Rank::Viewer)), table(&VIEWERS));
    let public: BTreeSet<String> = of(Access::Public).into_iter().map(|(_, path)| path).collect();
    assert_eq!(public, PUBLIC.map(str::to_owned).into());
    for (method, path, access) in listed() {
        let of_project = matches!(access, Access::In(_) | Access::Owner);
        assert!(of_project || !path.contains("/p/"), "{method} {path} asks for no rank");
    }
}

#[tokio::test]
async fn a_stranger_sees_nothing_and_changes_nothing() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    for (method, path, access) in listed() {
        if access == Access::Public {
            continue;
        }
        let path = filled(&path, "furnished", &entry.to_string());
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

/// What there is of a project, as far as somebody might have changed it.
async fn state(world: &World) -> String {
    let project = world.reload("furnished").await;
    let (store, id) = (&world.wired.store, project.id);
    let keys: Vec<_> = store.keys(id).await.unwrap().into_iter().map(|(key, _)| key).collect();
    let (providers, members) = (store.providers(id).await.unwrap(), store.members(id).await.unwrap());
    let entries = store.count(id).await.unwrap();
    format!("{project:?} {keys:?} {providers:?} {members:?} {entries}")
}

#[tokio::test]
async fn each_address_is_open_to_those_of_its_rank_and_to_nobody_below() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let (_, mut owner) = world.operator(Role::Owner).await;
    let mut members = Vec::new();
    for rank in [None, Some(Rank::Viewer), Some(Rank::Editor), Some(Rank::Owner)] {
        members.push((rank, world.member(&project, rank).await));
    }
    let before = state(&world).await;
    for (method, path, access) in listed() {
        let at = |slug: &str| filled(&path, slug, &entry.to_string());
        for (rank, browser) in &mut members {
            let told = format!("{method} {path} as {rank:?}");
            let refused = match access {
                Access::Public | Access::Member => continue,
                Access::In(_) | Access::Owner if path.contains("{slug}") && rank.is_none() => 404,
                Access::In(least) if *rank >= Some(least) => {
                    let allowed =
                        if method == "GET" { browser.get(&at("furnished")).await } else { continue };
                    assert!(allowed.status != 403 && allowed.status < 500, "{told}: {}", allowed.status);
                    continue;
                }
                Access::In(_) | Access::Owner => 403,
            };
            let page = open(browser, method, &at("furnished")).await;
            assert_eq!(page.status, refused, "{told}: {}", page.text());
            let nowhere = open(browser, method, &at("no-such-project")).await;
            if path.contains("{slug}") {
                assert_eq!(nowhere.status, 404, "{told}, where no project is");
            }
            if refused == 404 {
                assert_eq!(page.body, nowhere.body, "{told}: a project of others looks as none");
                assert_eq!(page.headers.get("location"), None, "{told}");
            }
        }
        if method == "GET" {
            let page = owner.get(&at("furnished")).await;
            assert!(page.status != 403 && page.status < 500, "{path} as an owner of deja: {}", page.status);
        }
    }
    assert_eq!(state(&world).await, before, "what was refused changed nothing");
    // Of what is allowed each address does something, or says what is missing.
    for (method, path, access) in listed().into_iter().filter(|(method, ..)| *method == "POST") {
        let Access::In(least) = access else { continue };
        let (_, browser) = members.iter_mut().find(|(rank, _)| *rank == Some(least)).unwrap();
        let page = open(browser, method, &filled(&path, "furnished", &entry.to_string())).await;
        assert!(page.status != 403 && page.status < 500, "{path} as {least}: {}", page.status);
    }
}

#[tokio::test]
async fn a_members_form_cannot_smuggle_in_what_is_an_owners() {
    let world = World::new().await;
    let (_, mut member) = world.operator(Role::Member).await;
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
