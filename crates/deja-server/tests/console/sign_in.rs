//! Coming in and going out: links, passwords, throttling, sessions, cookies.

use axum::body::{Body, Bytes};
use axum::http::Request;
use deja_core::admin::{operators, tokens};
use deja_core::audit::Actor;
use deja_core::operator::Role;
use deja_server::listener::Peer;
use futures::{StreamExt as _, stream};

use crate::util::World;

const PASSWORD: &str = "correct horse battery staple";

/// The path of a link.
fn path(link: &str) -> String {
    link.split_once("//").unwrap().1.split_once('/').map(|(_, path)| format!("/{path}")).unwrap()
}

async fn with_ada() -> World {
    let world = World::new().await;
    add_ada(&world).await;
    world
}

async fn add_ada(world: &World) {
    operators::create(&world.acting(), "ada@example.com", None, PASSWORD.into()).await.unwrap();
}

#[tokio::test]
async fn what_a_stranger_sends_is_short() {
    let world = with_ada().await;
    let project = world.project("Shop").await;
    let long = "x".repeat(20_000);
    let door = world.stranger().post("/console/sign-in", &[("email", &long), ("password", PASSWORD)]).await;
    assert_eq!(door.status, 400);
    assert!(door.text().contains("It is too long"), "{}", door.text());
    let place = format!("/console/p/{}/cache/restore", project.slug);
    let inside = world.browser_of(Role::Owner).await.post(&place, &[("entry", &long)]).await;
    assert!(inside.text().contains("A field is wrong"), "{}", inside.text());
}

#[tokio::test]
async fn the_first_link_makes_the_first_owner_once() {
    let world = World::new().await;
    let setup = operators::set_up(&world.wired.admin).await.unwrap();
    let Some(operators::Setup::Link(link, _)) = setup else { panic!("{setup:?}") };
    let link = path(link.url.expose());
    let mut browser = world.stranger();
    assert_eq!(browser.get(&link).await.one("h1"), "Welcome to deja");
    let form = |password: &'static str, again| {
        [("email", "ada@example.com"), ("password", password), ("again", again)]
    };
    for (password, again, field, says) in [
        ("short", "short", "password", "12 characters"),
        (PASSWORD, "another password", "again", "not the same"),
    ] {
        let page = browser.post(&link, &form(password, again)).await;
        assert_eq!(page.status, 422);
        assert!(page.one(&format!("#{field}-problem")).contains(says), "{}", page.text());
        assert_eq!(page.attributes("[autofocus]", "id"), [field], "what is wrong has the focus");
        assert_eq!(page.attributes("#email", "value"), ["ada@example.com"], "what was typed stays");
        assert!(!page.body.contains(password), "a password is not sent back");
    }
    let made = browser.submit(&link, &form(PASSWORD, PASSWORD)).await;
    assert_eq!(made.one("h1"), "Projects");
    assert_eq!(world.wired.store.operators().await.unwrap()[0].role, Role::Owner);
    assert_eq!(browser.get(&link).await.status, 410);
    assert_eq!(world.stranger().post(&link, &form(PASSWORD, PASSWORD)).await.status, 410);
    for wrong in
        ["/console/setup", "/console/join?token=x", &format!("/console/setup?token={}", "0".repeat(64))]
    {
        assert_eq!(world.stranger().get(wrong).await.status, 410, "{wrong}");
    }
}

#[tokio::test]
async fn a_member_joins_by_a_link_that_can_be_withdrawn() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    let page =
        owner.submit("/console/operators/invite", &[("email", "Bob@Example.com"), ("role", "member")]).await;
    let link = path(&page.one("#invite"));
    assert!(!owner.get("/console/operators").await.body.contains(&link[link.len() - 64..]), "shown once");
    let mut bob = world.stranger();
    let joined =
        bob.submit(&link, &[("password", PASSWORD), ("again", PASSWORD), ("email", "owner@evil.test")]).await;
    assert_eq!(joined.one("h1"), "Projects");
    let operators = world.wired.store.operators().await.unwrap();
    let made = operators.iter().find(|operator| operator.email.as_str() == "bob@example.com").unwrap();
    assert_eq!(made.role, Role::Member);
    let new = "another fine password";
    let change = [("current", PASSWORD), ("password", new), ("again", new)];
    let page = bob.submit("/console/account/password", &change).await;
    assert!(page.one("[role=status].note").contains("changed"), "{}", page.text());

    let page =
        owner.submit("/console/operators/invite", &[("email", "eve@example.com"), ("role", "owner")]).await;
    let link = path(&page.one("#invite"));
    let id = page.attributes("form[action='/console/operators/revoke'] input", "value").remove(0);
    owner.submit("/console/operators/revoke", &[("invite", &id)]).await;
    assert_eq!(world.stranger().get(&link).await.status, 410);
    let page = owner.post("/console/operators/invite", &[("email", "nobody"), ("role", "owner")]).await;
    assert_eq!((page.status, page.attributes("#role [selected]", "value")), (422, vec!["owner".into()]));
    assert!(
        page.one("#email-problem").contains("nobody") && page.attributes("#email", "value") == ["nobody"]
    );
}

#[tokio::test]
async fn links_name_their_maker_and_end_with_the_makers_rights() {
    let world = World::new().await;
    let (mut one, mut two) = (world.browser_of(Role::Owner).await, world.browser_of(Role::Owner).await);
    let (change, invite) = ("/console/operators/change", "/console/operators/invite");
    let page = one.submit(invite, &[("email", "eve@example.com"), ("role", "owner")]).await;
    let join = path(&page.one("#invite"));
    let page = one.submit(change, &[("email", "owner-1@example.com"), ("do", "reset")]).await;
    let reset = path(&page.one("#invite"));
    operators::invite(&world.acting(), "cy@example.com", Some(Role::Member)).await.unwrap();
    let page = two.get("/console/operators").await;
    let made_by = page.all("td[data-label='Made by']");
    assert_eq!(made_by, ["owner-0@example.com", "owner-0@example.com", "the server"]);
    for link in [&join, &reset] {
        assert_eq!(world.stranger().get(link).await.status, 200);
    }
    let page = two.submit(change, &[("email", "owner-0@example.com"), ("do", "member")]).await;
    assert_eq!(page.all("td[data-label='Made by']"), ["the server"]);
    for link in [&join, &reset] {
        let password = [("password", PASSWORD), ("again", PASSWORD)];
        assert_eq!(world.stranger().post(link, &password).await.status, 410);
    }
}

#[tokio::test]
async fn what_ends_something_of_an_operator_asks_first() {
    let world = World::new().await;
    let mut one = world.browser_of(Role::Owner).await;
    world.browser_of(Role::Owner).await;
    let page = one.get("/console/operators").await;
    let asked = page.attributes("td.do a", "href");
    let change = |what| format!("/console/operators/change?email=owner-1%40example.com&do={what}");
    assert_eq!(asked, [change("member"), change("disable")]);
    assert_eq!(page.attributes("td.do button", "value"), ["reset"]);
    for (what, title, told) in [
        ("member", "Make member", "links that they made end"),
        ("disable", "Disable account", "signed out everywhere"),
    ] {
        let page = one.get(&change(what)).await;
        assert_eq!(page.one("h1"), title);
        assert!(page.text().contains(told), "{}", page.text());
        let fields =
            ["email", "do"].map(|name| page.attributes(&format!("[name={name}]"), "value").remove(0));
        assert_eq!(fields, ["owner-1@example.com", what]);
    }
    assert_eq!(one.get(&change("enable")).await.status, 400);
    let done = one.submit(&change("disable"), &[("email", "owner-1@example.com"), ("do", "disable")]).await;
    assert_eq!(done.all(".badge.bad"), ["Disabled"]);
}

#[tokio::test]
async fn a_password_opens_and_everything_else_says_the_same() {
    let world = with_ada().await;
    assert!(world.stranger().get("/console/sign-in").await.all("#first").is_empty());
    let mut refused = Vec::new();
    for (email, password) in
        [("ada@example.com", "wrong"), ("nobody@example.com", PASSWORD), ("no address", "x")]
    {
        let page =
            world.stranger().post("/console/sign-in", &[("email", email), ("password", password)]).await;
        assert_eq!(page.status, 422);
        assert_eq!(page.attributes("input[name=email]", "value"), [email]);
        assert_eq!(page.attributes("[autofocus]", "id"), ["password"], "the email is typed already");
        refused.push(page.one("[role=alert]"));
    }
    refused.dedup();
    assert_eq!(refused.len(), 1, "{refused:?}");
    let mut ada = world.stranger();
    let form = [("email", "ADA@example.com"), ("password", PASSWORD), ("next", "/console/account")];
    let page = ada.submit("/console/sign-in", &form).await;
    assert_eq!(page.one("h1"), "Account");
    assert_eq!(ada.get("/console/sign-in").await.location(), "/console/projects");
    let audit = ada.get("/console/audit").await;
    assert_eq!(audit.all("td.mono").iter().filter(|action| *action == "session.refuse").count(), 3);
    let by = world.acting();
    operators::create(&by, "b@example.com", Some(Role::Owner), PASSWORD.into()).await.unwrap();
    operators::set(&by, "ada@example.com", None, Some(true)).await.unwrap();
    assert_eq!(ada.get("/console/account").await.status, 303, "a disabled operator's sessions end");
    assert_eq!(world.stranger().post("/console/sign-in", &form).await.status, 422);
}

#[tokio::test]
async fn a_long_word_of_a_browser_wraps() {
    let world = World::new().await;
    let page = world.browser_of(Role::Member).await.get("/console/account").await;
    // A cell without a width grows with its longest word.
    assert_eq!(page.attributes("table[aria-label=Sessions] tbody th", "class"), ["w40"]);
}

#[tokio::test]
async fn guessing_is_slowed_down_and_then_even_the_right_password_waits() {
    let world = with_ada().await;
    let mut guesser = world.stranger();
    for _ in 0..5 {
        let page =
            guesser.post("/console/sign-in", &[("email", "ada@example.com"), ("password", "guess")]).await;
        assert_eq!(page.status, 422);
    }
    let page =
        guesser.post("/console/sign-in", &[("email", "Ada@example.com "), ("password", PASSWORD)]).await;
    assert_eq!((page.status, page.one("h1").as_str()), (429, "Too many attempts"));
    assert!(page.text().contains("Try again in 15 minutes."), "{}", page.text());
    assert!(page.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 600);
    assert!(page.headers.get("set-cookie").is_none());
    let other =
        guesser.post("/console/sign-in", &[("email", "bob@example.com"), ("password", "guess")]).await;
    assert_eq!(other.status, 422, "others may still try");
}

#[tokio::test]
async fn behind_a_trusted_proxy_one_guesser_shuts_out_nobody_else() {
    let from = |sender: &str, password: &str| {
        let form = format!("email=ada%40example.com&password={}", password.replace(' ', "+"));
        let mut request = Request::post("/console/sign-in")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", "http://deja.test")
            .header("x-forwarded-for", sender)
            .body(Body::from(form))
            .unwrap();
        request.extensions_mut().insert(Peer(([10, 0, 0, 2], 4711).into()));
        request
    };
    for (proxies, status) in [("10.0.0.0/8", 303), ("", 429)] {
        let world = World::with(&[("DEJA_TRUSTED_PROXIES", proxies)]).await;
        add_ada(&world).await;
        for _ in 0..5 {
            assert_eq!(world.stranger().send(from("198.51.100.1", "guess")).await.status, 422);
        }
        assert_eq!(world.stranger().send(from("198.51.100.1", PASSWORD)).await.status, 429);
        assert_eq!(world.stranger().send(from("203.0.113.9", PASSWORD)).await.status, status, "{proxies}");
    }
}

#[tokio::test]
async fn a_form_after_the_session_ended_says_so() {
    let world = with_ada().await;
    let page = world.stranger().submit("/console/projects", &[("name", "Lost")]).await;
    assert!(page.one("[role=alert]").contains("nothing was changed"), "{}", page.text());
    assert_eq!(page.attributes("input[name=next]", "value"), ["/console/projects"]);
    // Whoever signs in comes back to the page of the form, and to no other host.
    for (page, next) in [
        ("http://deja.test/console/p/shop/keys?sort=2", "/console/p/shop/keys?sort=2"),
        ("http://evil.test/elsewhere", "/console/projects"),
        ("//evil.test", "/console/projects"),
    ] {
        let request = Request::post("/console/p/shop/keys")
            .header("sec-fetch-site", "same-origin")
            .header("referer", page)
            .body(Body::empty());
        let mut browser = world.stranger();
        let to = browser.send(request.unwrap()).await.location().to_owned();
        assert_eq!(browser.get(&to).await.attributes("input[name=next]", "value"), [next]);
    }
}

/// A body whose sender is disabled after its first five bytes. The rest of it comes afterwards.
fn disabled_meanwhile(world: &World, email: &str, body: &str) -> Body {
    let (first, rest) = body.split_at(5);
    let (first, rest) = (Bytes::copy_from_slice(first.as_bytes()), Bytes::copy_from_slice(rest.as_bytes()));
    let (admin, email) = (world.wired.admin.clone(), email.to_owned());
    let rest = async move {
        operators::set(&admin.acting(Actor::Cli), &email, None, Some(true)).await.unwrap();
        Ok::<_, std::io::Error>(rest)
    };
    Body::from_stream(stream::iter([Ok(first)]).chain(stream::once(rest)))
}

#[tokio::test]
async fn what_was_begun_before_its_sender_was_disabled_changes_nothing() {
    let world = with_ada().await;
    let shop = world.project("Shop").await;
    let by = world.acting();
    let changed = async || {
        let (store, now) = (&world.wired.store, world.wired.admin.clock.now());
        let keys = store.keys(shop.id).await.unwrap();
        (store.projects().await.unwrap(), keys, store.invites(now).await.unwrap())
    };
    let before = changed().await;
    for (place, form) in [
        ("/console/operators/change", "do=enable&email=SELF"),
        ("/console/operators/invite", "role=owner&email=friend%40example.com"),
        ("/console/projects", "name=Mine"),
        ("/console/p/shop/keys", "name=mine"),
        ("/console/p/shop/delete", "confirm=shop"),
    ] {
        let (operator, mut browser) = world.operator(Role::Owner).await;
        let email = operator.email.as_str();
        let form = form.replace("SELF", &email.replace('@', "%40"));
        let request = Request::post(place)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(disabled_meanwhile(&world, email, &form))
            .unwrap();
        assert!(browser.send(request).await.location().starts_with("/console/sign-in"), "{place}");
        let found = world.wired.store.operator(&operator.email).await.unwrap().unwrap();
        assert!(found.disabled.is_some(), "{place}");
        assert_eq!(changed().await, before, "{place}");
    }
    // The same in the admin API.
    let token = tokens::create(&by, "ada@example.com", "ci", None).await.unwrap().plain;
    operators::create(&by, "b@example.com", Some(Role::Owner), PASSWORD.into()).await.unwrap();
    let request = Request::post("/admin/v1/projects/shop/keys")
        .header("authorization", format!("Bearer {}", token.reveal()))
        .header("content-type", "application/json")
        .body(disabled_meanwhile(&world, "ada@example.com", r#"{"name": "mine"}"#))
        .unwrap();
    assert_eq!(world.stranger().send(request).await.status, 401);
    assert_eq!(changed().await, before);
}

#[tokio::test]
async fn a_form_from_before_signing_in_anew_leaves_what_somebody_else_changed() {
    let world = with_ada().await;
    world.project("Shop").await;
    let [mut before, mut anew] = [world.stranger(), world.stranger()];
    for browser in [&mut before, &mut anew] {
        browser.submit("/console/sign-in", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    }
    let place = "/console/p/shop/settings";
    let filled = before.get(place).await.attributes("form:not([id]) [name=before]", "value").remove(0);
    anew.submit(place, &[("name", "Shop"), ("max_entries", "500")]).await;
    let form = [("name", "Shop"), ("max_entries", "100000"), ("threshold", "0.9"), ("before", &filled)];
    anew.submit(place, &form).await;
    let settings = world.reload("shop").await.settings;
    assert_eq!(
        (settings.max_entries, settings.default_threshold.map(deja_core::embedding::Threshold::get)),
        (500, Some(0.9))
    );
    // Nobody else saw what it was filled with, so that they mean all that they send.
    world.browser_of(Role::Owner).await.submit(place, &form).await;
    assert_eq!(world.reload("shop").await.settings.max_entries, 100_000);
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_or_all() {
    let world = with_ada().await;
    let form = [("email", "ada@example.com"), ("password", PASSWORD)];
    let mut browsers = [world.stranger(), world.stranger(), world.stranger()];
    for browser in &mut browsers {
        browser.submit("/console/sign-in", &form).await;
    }
    let [mut here, mut there, mut elsewhere] = browsers;
    let page = here.get("/console/account").await;
    assert_eq!(page.all("tbody tr").len(), 3);
    assert_eq!(page.all("tbody .badge"), ["This one"]);
    let id = page.attributes("form[action='/console/account/end-session'] input", "value").remove(0);
    here.submit("/console/account/end-session", &[("session", &id)]).await;
    let left = [there.get("/console/account").await.status, elsewhere.get("/console/account").await.status];
    assert_eq!(left.iter().filter(|status| **status == 303).count(), 1);
    let page = here.submit("/console/account/sign-out-everywhere", &[]).await;
    assert_eq!(page.one("[role=status].note"), "You are signed out everywhere.");
    for browser in [&mut here, &mut there, &mut elsewhere] {
        assert_eq!(browser.get("/console/account").await.status, 303);
    }
}

#[tokio::test]
async fn a_new_password_ends_all_sessions() {
    let world = with_ada().await;
    let mut ada = world.stranger();
    ada.submit("/console/sign-in", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    let mut other = ada.clone();
    let change = |current, new: &'static str| [("current", current), ("password", new), ("again", new)];
    let place = "/console/account/password";
    let page = ada.post(place, &change("wrong", "another fine password")).await;
    assert!(page.status == 422 && page.one("#current-problem").contains("not right"), "{}", page.text());
    let page = ada.post(place, &change(PASSWORD, "short")).await;
    assert!(page.one("#password-problem").contains("12 characters"), "{}", page.text());
    let unlike = [("current", PASSWORD), ("password", "another fine password"), ("again", "another")];
    assert!(ada.post(place, &unlike).await.one("#again-problem").contains("not the same"));
    assert!(ada.get("/console/account").await.text().contains("Access tokens go on working"));
    ada.submit("/console/account/password", &change(PASSWORD, "another fine password")).await;
    assert_eq!(other.get("/console/account").await.status, 303);
    let form = [("email", "ada@example.com"), ("password", "another fine password")];
    assert_eq!(ada.submit("/console/sign-in", &form).await.one("h1"), "Projects");
}

#[tokio::test]
async fn who_is_signed_in_and_guesses_too_often_stays_on_the_page() {
    let world = with_ada().await;
    let mut ada = world.stranger();
    ada.submit("/console/sign-in", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    let new = [("current", "guess"), ("password", PASSWORD), ("again", PASSWORD)];
    for _ in 0..5 {
        assert_eq!(ada.post("/console/account/password", &new).await.status, 422);
    }
    for (place, field) in
        [("password", "current"), ("second-factor", "second-current"), ("tokens", "token-current")]
    {
        let form = [&new[..], &[("name", "ci")]].concat();
        let page = ada.post(&format!("/console/account/{place}"), &form).await;
        let told = page.one(&format!("#{field}-problem"));
        assert_eq!((page.status, told.as_str()), (422, "It was wrong too often. Try again in 15 minutes."));
    }
    assert_eq!(ada.get("/console/account").await.status, 200);
}

#[tokio::test]
async fn cookies_are_bound_to_the_host_over_https() {
    let world = World::at("https://deja.test").await;
    add_ada(&world).await;
    let mut ada = world.stranger();
    let page = ada.post("/console/sign-in", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-deja_session="), "{cookie}");
    for part in ["HttpOnly", "SameSite=Lax", "Secure", "Path=/"] {
        assert!(cookie.split("; ").any(|p| p == part), "{part} in {cookie}");
    }
    assert_eq!(ada.get("/console/projects").await.status, 200);
    let token = ada.cookies.remove("__Host-deja_session").unwrap();
    ada.cookies.insert("deja_session".into(), token);
    assert_eq!(ada.get("/console/projects").await.status, 303, "the plain name does not count");
}

#[tokio::test]
async fn before_there_is_an_operator_the_door_says_where_the_first_link_is() {
    let world = World::new().await;
    let mut stranger = world.stranger();
    assert_eq!(stranger.get("/").await.location(), "/console");
    let page = stranger.get("/console/sign-in").await;
    assert!(page.one("#first").contains("wrote a link to its standard output"), "{}", page.text());
}
