//! The second step of signing in.

use deja_core::admin::operators;
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::operator::Role;
use totp_rs::{Builder, Secret};

use crate::util::{Browser, Page, World};

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "correct horse battery staple";
const ACCOUNT: &str = "/console/account";

/// The app on ada's phone.
struct App(Secret);

impl App {
    /// That was told the key on the page.
    fn told(page: &Page) -> Self {
        Self(Secret::try_from_base32(page.one("form .copy code").replace(' ', "")).unwrap())
    }

    /// What it shows, or showed or will show so many steps of 30 seconds away.
    fn code(&self, steps: i64) -> String {
        let at = u64::try_from(SystemClock.now().as_secs() + 30 * steps).unwrap();
        Builder::new().with_secret(self.0.clone()).build().unwrap().generate(at).to_string()
    }
}

async fn world_with_ada() -> (World, Browser) {
    let world = World::new().await;
    operators::create(&world.acting(), EMAIL, Some(Role::Owner), PASSWORD.into()).await.unwrap();
    let mut ada = world.stranger();
    assert_eq!(password(&mut ada).await.one("h1"), "Projects");
    (world, ada)
}

async fn password(browser: &mut Browser) -> Page {
    let form = [("email", EMAIL), ("password", PASSWORD), ("next", ACCOUNT)];
    let page = browser.post("/console/sign-in", &form).await;
    if page.status == 303 { browser.get("/console/projects").await } else { page }
}

/// Turns it on. Gives the app, the code that was used, and the recovery codes.
async fn turn_on(browser: &mut Browser) -> (App, String, Vec<String>) {
    let page = browser.post("/console/account/second-factor", &[("current", PASSWORD)]).await;
    assert_eq!(page.attributes(".qr svg", "width").len(), 1, "{}", page.text());
    let app = App::told(&page);
    let ticket = page.attributes("input[name=ticket]", "value").remove(0);
    let used = app.code(0);
    let form = [("ticket", ticket.as_str()), ("code", &used)];
    let page = browser.submit("/console/account/second-factor/on", &form).await;
    assert!(page.text().contains("10 recovery codes left"), "{}", page.text());
    (app, used, page.one("#recovery").split_whitespace().map(str::to_owned).collect())
}

/// The second step, with this code.
async fn second(browser: &mut Browser, page: &Page, code: &str) -> Page {
    let ticket = page.attributes("input[name=ticket]", "value").remove(0);
    browser.post("/console/sign-in/code", &[("ticket", &ticket), ("code", code)]).await
}

#[tokio::test]
async fn a_password_is_half_the_way_and_each_code_works_once() {
    let (world, mut ada) = world_with_ada().await;
    let mut elsewhere = world.stranger();
    password(&mut elsewhere).await;
    let (app, used, recovery) = turn_on(&mut ada).await;
    assert_eq!(elsewhere.get(ACCOUNT).await.status, 303, "other sessions end");
    let page = ada.get(ACCOUNT).await;
    assert_eq!(page.status, 200, "the one that turned it on stays");
    assert!(recovery.iter().all(|code| !page.body.contains(code)), "they are shown once");

    let mut browser = world.stranger();
    let page = password(&mut browser).await;
    assert_eq!(page.one("h1"), "Second step");
    assert_eq!(browser.get(ACCOUNT).await.status, 303, "a password alone begins no session");
    for wrong in [used, app.code(-2), app.code(9), "000000".into(), "x".into(), String::new()] {
        let again = second(&mut browser, &page, &wrong).await;
        assert_eq!((again.status, again.one("h1").as_str()), (422, "Second step"), "{wrong}");
        assert!(again.one("#code-problem").contains("does not work"));
    }
    let used = app.code(1);
    let page = second(&mut browser, &page, &used).await;
    assert_eq!((page.status, page.location()), (303, ACCOUNT));
    assert_eq!(browser.get(ACCOUNT).await.status, 200);

    let mut browser = world.stranger();
    let page = password(&mut browser).await;
    assert_eq!(second(&mut browser, &page, &used).await.status, 422, "it was used");
    let typed = recovery[0].to_uppercase().replace('-', " ");
    assert_eq!(second(&mut browser, &page, &typed).await.status, 303);
    assert!(browser.get(ACCOUNT).await.text().contains("9 recovery codes left"));
    let page = password(&mut browser).await;
    assert_eq!(second(&mut browser, &page, &recovery[0]).await.status, 422, "it was used");
    let audit = browser.get("/console/audit").await.text();
    for said in ["operator.second-factor", "operator.recovery-code", "wrong code, from"] {
        assert!(audit.contains(said), "{said}: {audit}");
    }
}

#[tokio::test]
async fn codes_cannot_be_guessed_from_anywhere() {
    let (world, mut ada) = world_with_ada().await;
    let (app, ..) = turn_on(&mut ada).await;
    let mut guesser = world.stranger();
    let page = password(&mut guesser).await;
    for _ in 0..10 {
        assert_eq!(second(&mut guesser, &page, "000000").await.status, 422);
    }
    let page = ada.post("/console/account/second-factor/off", &[("code", &app.code(1))]).await;
    assert!(page.one("#off-code-problem").starts_with("It was wrong too often."), "{}", page.text());
    let mut elsewhere = world.stranger();
    let page = password(&mut elsewhere).await;
    let waits = second(&mut elsewhere, &page, &app.code(1)).await;
    assert_eq!((waits.status, waits.one("h1").as_str()), (429, "Too many attempts"));
}

#[tokio::test]
async fn a_ticket_is_of_its_step_its_person_and_their_password() {
    let (world, mut ada) = world_with_ada().await;
    let (app, ..) = turn_on(&mut ada).await;
    let page = ada.post("/console/account/second-factor", &[("current", "guess")]).await;
    assert!(page.one("[role=alert]").contains("not right"), "{}", page.text());
    let offered = ada.post("/console/account/second-factor", &[("current", PASSWORD)]).await;
    let mut browser = world.stranger();
    let asked = password(&mut browser).await;

    for ticket in ["", "AAAA", &offered.attributes("input[name=ticket]", "value")[0]] {
        let form = [("ticket", ticket), ("code", &app.code(1))];
        let page = browser.submit("/console/sign-in/code", &form).await;
        assert!(page.one("[role=alert]").contains("begin again"), "{}", page.text());
    }
    let theirs = asked.attributes("input[name=ticket]", "value").remove(0);
    let form = [("ticket", theirs.as_str()), ("code", &App::told(&offered).code(0))];
    let page = ada.submit("/console/account/second-factor/on", &form).await;
    assert!(page.one("[role=alert]").contains("begin again"), "{}", page.text());
    let mut owner = world.browser_of(Role::Owner).await;
    let hers = offered.attributes("input[name=ticket]", "value").remove(0);
    let form = [("ticket", hers.as_str()), ("code", &App::told(&offered).code(0))];
    let page = owner.submit("/console/account/second-factor/on", &form).await;
    assert!(page.one("[role=alert]").contains("begin again"), "of another: {}", page.text());

    let email = EMAIL.parse().unwrap();
    operators::change_password(&world.acting(), &email, "another fine password".into()).await.unwrap();
    let page = second(&mut browser, &asked, &app.code(1)).await;
    assert_eq!(page.location(), "/console/sign-in", "the password is another");
}

#[tokio::test]
async fn an_offer_ends_with_the_password_that_it_was_made_for() {
    const ANOTHER: &str = "another fine password";
    let (world, mut ada) = world_with_ada().await;
    let offered = ada.post("/console/account/second-factor", &[("current", PASSWORD)]).await;
    let ticket = offered.attributes("input[name=ticket]", "value").remove(0);
    let form = [("current", PASSWORD), ("password", ANOTHER), ("again", ANOTHER)];
    let page = ada.submit("/console/account/password", &form).await;
    assert!(page.one("[role=status].note").contains("changed"), "{}", page.text());
    let mut ada = world.stranger();
    ada.submit("/console/sign-in", &[("email", EMAIL), ("password", ANOTHER)]).await;

    let form = [("ticket", ticket.as_str()), ("code", &App::told(&offered).code(0))];
    let page = ada.submit("/console/account/second-factor/on", &form).await;
    assert!(page.one("[role=alert]").contains("begin again"), "{}", page.text());
}

#[tokio::test]
async fn a_link_for_a_new_password_asks_for_the_code_too() {
    let (world, mut ada) = world_with_ada().await;
    let (app, ..) = turn_on(&mut ada).await;
    let link = operators::reset_password(&world.acting(), EMAIL).await.unwrap();
    let link = link.url.expose().strip_prefix("http://deja.test").unwrap().to_owned();
    let mut browser = world.stranger();
    let new = "another fine password";
    let page = browser.post(&link, &[("password", new), ("again", new)]).await;
    assert_eq!(page.one("h1"), "Second step");
    assert_eq!(browser.get(ACCOUNT).await.status, 303);
    assert_eq!(second(&mut browser, &page, &app.code(1)).await.location(), "/console/projects");
}

#[tokio::test]
async fn it_is_turned_off_with_a_code_or_by_an_owner() {
    let (world, mut ada) = world_with_ada().await;
    let page = ada.post("/console/account/second-factor", &[("current", "guess")]).await;
    assert!(page.one("#second-current-problem").contains("not right"), "{}", page.text());
    let page = ada.post("/console/account/second-factor", &[("current", PASSWORD)]).await;
    let (app, ticket) = (App::told(&page), page.attributes("input[name=ticket]", "value").remove(0));
    let page = ada
        .post("/console/account/second-factor/on", &[("ticket", ticket.as_str()), ("code", "000000")])
        .await;
    assert_eq!(page.status, 422);
    assert!(page.one("#code-problem").contains("not the one that the app should show"));
    assert_eq!(App::told(&page).0, app.0, "the app need not be told another key");
    let (app, ..) = turn_on(&mut ada).await;
    let again = ada.post("/console/account/second-factor", &[("current", PASSWORD)]).await;
    let ticket = again.attributes("input[name=ticket]", "value").remove(0);
    let form = [("ticket", ticket.as_str()), ("code", &App::told(&again).code(0))];
    let page = ada.submit("/console/account/second-factor/on", &form).await;
    assert!(page.one("[role=alert]").contains("turn it off first"), "there is one: {}", page.text());

    let off = "/console/account/second-factor/off";
    assert!(ada.post(off, &[("code", "000000")]).await.one("#off-code-problem").contains("does not work"));
    let page = ada.submit(off, &[("code", &app.code(1))]).await;
    assert!(page.one("[role=status].note").contains("a password is enough"), "{}", page.text());
    assert_eq!(password(&mut world.stranger()).await.one("h1"), "Projects");

    turn_on(&mut ada).await;
    let mut owner = world.browser_of(Role::Owner).await;
    let asks = owner.get("/console/operators").await.attributes("td.do a[href*=second-factor]", "href");
    assert_eq!(asks.len(), 1, "of who has one");
    let page = owner.get(&asks[0]).await;
    assert_eq!(page.attributes("form input[name=email]", "value"), [EMAIL], "{}", page.text());
    assert_eq!(password(&mut world.stranger()).await.one("h1"), "Second step", "it only asked");
    let page = owner.submit(&asks[0], &[("email", EMAIL)]).await;
    assert!(page.one("[role=status].note").contains("is removed"), "{}", page.text());
    assert_eq!(password(&mut world.stranger()).await.one("h1"), "Projects");
    let page = owner.submit(&asks[0], &[("email", EMAIL)]).await;
    assert!(page.one("[role=alert]").contains("has no second factor"), "{}", page.text());
}
