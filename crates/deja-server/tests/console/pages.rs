//! Every page, empty and with data: it is whole, titled, labelled, and free of what the policy forbids.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::admin::{keys, tokens};
use deja_core::analytics::{EntryHits, UsageBatch};
use deja_core::audit::{Actor, Change};
use deja_core::id::EntryId;
use deja_core::member::Rank;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_server::console::listed;
use scraper::{Html, Selector};

use crate::util::{Page, World, key};

/// What holds for every page.
#[track_caller]
fn sound(page: &Page, path: &str) {
    assert!(page.body.trim_start().starts_with("<!doctype html>"), "{path}");
    assert_eq!(page.all("h1").len(), 1, "{path}");
    assert!(page.one("title").ends_with("· deja"), "{path}");
    assert_eq!(page.attributes("html", "lang"), ["en"], "{path}");
    assert_eq!(page.attributes("a.skip", "href"), ["#main"], "{path}");
    // The policy forbids them; the browser would drop them and the page would not be what was meant.
    assert_eq!(page.attributes("[style]", "style"), [""; 0], "{path}");
    assert_eq!(page.all("style").len(), 0, "{path}");
    assert!(page.all("script").iter().all(String::is_empty), "{path}");
    let html = Html::parse_document(&page.body);
    let all = |selector: &str| html.select(&Selector::parse(selector).unwrap()).collect::<Vec<_>>();
    for element in all("*") {
        assert!(
            !element.value().attrs().any(|(name, _)| name.starts_with("on")),
            "{path}: {}",
            element.html()
        );
    }
    // Tables do not scroll: they have a name, and are no stop of the keyboard.
    for table in all("table") {
        let named = table.attr("aria-label").is_some() || table.html().contains("<caption>");
        assert!(named && all(".table[tabindex]").is_empty(), "{path}: {}", table.html());
    }
    let mut ids = std::collections::HashSet::new();
    for element in all("[id]") {
        assert!(
            ids.insert(element.attr("id").unwrap().to_owned()),
            "{path}: two of {:?}",
            element.attr("id")
        );
    }
    for field in all("input:not([type=hidden]), select, textarea") {
        let id = field.attr("id");
        let labelled = id.is_some_and(|id| !all(&format!("label[for='{id}']")).is_empty())
            || field
                .ancestors()
                .any(|node| scraper::ElementRef::wrap(node).is_some_and(|e| e.value().name() == "label"));
        assert!(labelled, "{path}: {}", field.html());
    }
    // On a phone a row is a card: each cell says what its column is.
    for table in all(".table table") {
        let select = |selector: &str| Selector::parse(selector).unwrap();
        let text = |element: scraper::ElementRef<'_>| element.text().collect::<String>().trim().to_owned();
        let heads: Vec<String> = table.select(&select("thead th")).map(text).collect();
        for cell in table.select(&select("tbody td:not(.do):not(.pick)")) {
            let label = cell.attr("data-label").map(str::to_owned);
            let said = text(cell).is_empty() || label.as_ref().is_some_and(|label| heads.contains(label));
            assert!(said, "{path}: {heads:?} {}", cell.html());
        }
    }
    for link in page.attributes("a[href], link[href], script[src]", "href") {
        assert!(link.starts_with(['/', '#', '?']), "{path}: {link}");
    }
    for action in page.attributes("form[action]", "action") {
        assert!(action.starts_with("/console/"), "{path}: {action}");
    }
}

#[tokio::test]
async fn every_page_is_sound_with_and_without_data() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    let empty = owner.get("/console/projects").await;
    sound(&empty, "/console/projects");
    assert_eq!(empty.one(".empty h2"), "Make your first project");
    let (_, entry) = world.furnished().await;
    world.project("Bare").await;
    owner
        .submit(
            "/console/p/furnished/providers/new",
            &[("name", "own"), ("base_url", "https://example.com/v1"), ("models", "m")],
        )
        .await;
    owner
        .submit(
            "/console/p/furnished/providers/prices",
            &[("model", "m"), ("input", "1.5"), ("output", "$2")],
        )
        .await;
    owner.submit("/console/operators/invite", &[("email", "new@example.com"), ("role", "member")]).await;
    let key = world.wired.store.keys(world.reload("furnished").await.id).await.unwrap().remove(0).0.id;
    tokens::create(&world.acting(), "owner-0@example.com", "ci", None).await.unwrap();
    let revoke = owner.get("/console/account").await.attributes("td.do a", "href").remove(0);
    let token = revoke.split('/').nth(4).unwrap();
    for slug in ["furnished", "bare"] {
        for (_, path, _) in
            listed().into_iter().filter(|(method, path, _)| *method == "GET" && !path.contains("{chart}"))
        {
            let not_pages = [
                "/console/static/{name}",
                "/console",
                "/console/p/{slug}/export",
                "/console/p/{slug}/requests/log.csv",
                "/console/audit/log.csv",
            ];
            if not_pages.contains(&path.as_str()) {
                continue;
            }
            let path = path.replace("{slug}", slug).replace("{entry}", &entry.to_string());
            let path =
                path.replace("{key}", &key.to_string()).replace("{name}", "own").replace("{token}", token);
            let path = path
                .replace("/prices/remove", "/prices/remove?model=m")
                .replace("/members/own", "/members/own?do=viewer")
                .replace("/operators/change", "/operators/change?email=ada@example.com&do=disable")
                .replace("/second-factor", "/second-factor?email=ada@example.com");
            let page = if path == "/console/sign-in" {
                world.stranger().get(&path).await
            } else {
                owner.get(&path).await
            };
            assert!(page.status < 500, "{path}: {}", page.text());
            let there = slug == "furnished"
                || !["/own/", "model=m", &entry.to_string(), &key.to_string()]
                    .iter()
                    .any(|part| path.contains(*part));
            let link = ["/console/setup", "/console/join", "/console/reset"].contains(&path.as_str());
            assert_eq!(
                page.status,
                if link {
                    410
                } else if there {
                    200
                } else {
                    404
                },
                "{path}"
            );
            sound(&page, &path);
        }
    }
    for range in ["1h", "24h", "7d", "30d", "custom&from=2026-01-01T00:00&until=2026-02-01T00:00", "nonsense"]
    {
        let path = format!("/console/p/furnished/analytics?range={range}&key=x&model=%3Cb%3E&context=-1");
        sound(&owner.get(&path).await, &path);
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_page_that_says_so() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    for path in [
        "/console/nowhere",
        "/console/p/nobody",
        "/console/p/nobody/analytics/requests.csv",
        "/console/static/x",
    ] {
        let page = owner.get(path).await;
        assert_eq!((page.status, page.one("h1").as_str()), (404, "Not found"), "{path}");
    }
    let page = owner.post("/console/audit", &[]).await;
    assert_eq!(page.status, 405);
    world.project("Shop").await;
    assert_eq!(owner.get("/console").await.location(), "/console/projects");
    assert_eq!(owner.get("/console/").await.location(), "/console");
    let page = owner.get("/console/audit?project=gone").await;
    assert!(page.one("[role=alert]").contains("There is no project “gone”"), "{}", page.text());
    assert!(page.all("tbody tr").is_empty(), "and not the rows of all");
    // One that is gone is asked for by its id, which stands in its rows.
    let gone = world.project("Gone").await;
    let change = Change::new(gone.created, Actor::Cli, "project.delete").within(gone.id).of("gone");
    world.wired.store.delete_project(gone.id, &change).await.unwrap();
    let row = format!("a[href='/console/audit?project={}']", gone.id);
    assert!(!owner.get("/console/audit").await.all(&row).is_empty());
    let page = owner.get(&format!("/console/audit?project={}", gone.id)).await;
    assert_eq!(page.all(&row).len(), page.all("tbody tr").len());
    assert_eq!(page.one("#project option[selected]"), format!("{} (deleted)", gone.id));
    // The API's errors stay JSON.
    let page = owner.get("/nowhere").await;
    assert_eq!((page.status, page.body.as_str()), (404, r#"{"detail":"Not found"}"#));
}

#[tokio::test]
async fn a_page_of_an_error_has_the_navigation_of_who_is_signed_in() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let mut viewer = world.member(&project, Some(Rank::Viewer)).await;
    let links = |page: &Page| page.attributes(".side nav a", "href");
    let inside = links(&viewer.get("/console/p/furnished").await);
    let outside = links(&viewer.get("/console/projects").await);
    let entry = format!("/console/p/furnished/cache/{entry}");
    for (path, status, expected) in [
        ("/console/p/furnished/nowhere", 404, &inside),
        (&entry, 403, &inside),
        ("/console/p/furnished/analytics?range=1h&range=7d", 400, &inside),
        ("/console/p/nobody", 404, &outside),
        ("/console/nowhere", 404, &outside),
        ("/console/audit", 403, &outside),
    ] {
        let page = viewer.get(path).await;
        assert_eq!((page.status, &links(&page)), (status, expected), "{path}");
        sound(&page, path);
        let page = world.stranger().get(path).await;
        assert!(page.status == 303 || links(&page).is_empty(), "{path} as a stranger");
    }
    // A form of another site learns nothing of who is signed in.
    let foreign =
        Request::post("/console/projects").header("sec-fetch-site", "cross-site").body(Body::empty());
    let page = viewer.send(foreign.unwrap()).await;
    assert_eq!((page.status, links(&page).len()), (403, 0));
}

#[tokio::test]
async fn a_page_that_failed_names_its_request_and_no_cause() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    world.wired.store.close().await.unwrap();
    let request = Request::get("/console/p/shop").header("x-request-id", "mine-7").body(Body::empty());
    let page = owner.send(request.unwrap()).await;
    assert_eq!((page.status, page.one("h1").as_str()), (500, "Something failed"));
    assert!(page.text().contains("It is the request mine-7 there."), "{}", page.text());
    assert!(!page.text().contains("closed"), "a cause is for the log: {}", page.text());
    sound(&page, "/console/p/shop");
}

#[tokio::test]
async fn the_address_of_a_form_leads_to_its_page() {
    let world = World::new().await;
    world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    for (form, page) in [
        ("/console/p/shop/settings/limits", "/console/p/shop/settings"),
        ("/console/p/shop/settings/wires?x=1", "/console/p/shop/settings"),
        ("/console/p/shop/providers/prices", "/console/p/shop/providers"),
        ("/console/operators/invite", "/console/operators"),
        ("/console/account/tokens", "/console/account"),
        ("/console/sign-in/code", "/console/sign-in"),
    ] {
        let answer = owner.get(form).await;
        assert_eq!((answer.status, answer.location()), (303, page));
    }
}

#[tokio::test]
async fn assets_are_kept_by_browsers_and_named_by_their_content() {
    let world = World::new().await;
    let mut stranger = world.stranger();
    let page = stranger.get("/console/sign-in").await;
    let style = page.attributes("link[rel=stylesheet]", "href").remove(0);
    assert!(style.starts_with("/console/static/console.css?"));
    let asset = stranger.get(&style).await;
    assert_eq!(asset.headers["content-type"], "text/css; charset=utf-8");
    assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"));
    for other in ["/console/static/console.css?0123456789ab", "/console/static/console.css"] {
        let asset = stranger.get(other).await;
        assert_eq!((asset.status, &asset.headers["cache-control"]), (200, &"no-store".parse().unwrap()));
    }
}

#[tokio::test]
async fn lists_page_stably_while_entries_are_added() {
    let world = World::new().await;
    let project = world.project("Long").await;
    for number in 0..120 {
        world.entry(&project, &format!("Question number {number}"), "An answer.", None).await;
    }
    let mut owner = world.browser_of(Role::Owner).await;
    let mut seen = Vec::new();
    let mut next = Some("/console/p/long/cache?q=question".to_owned());
    while let Some(path) = next {
        let page = owner.get(&path).await;
        seen.extend(page.all("tbody th a"));
        next = page.attributes("a[rel=next]", "href").pop();
        world.entry(&project, &format!("Question added {}", seen.len()), "Later.", None).await;
    }
    assert_eq!(seen.len(), 120);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 120, "none twice, none left out");
}

#[tokio::test]
async fn entries_are_sorted_over_all_pages() {
    let world = World::new().await;
    let project = world.project("Long").await;
    let mut hits = UsageBatch::default();
    for number in 0..120_u64 {
        let text = format!("Question number {number}");
        let entry = world.entry_without_vector(&project, "gpt-4o-mini", &text, None).await;
        let last_hit = world.wired.admin.clock.now().plus(Duration::from_secs(number * 7 % 30));
        let saved = NanoUsd::ZERO;
        if number % 5 > 0 {
            hits.entries.insert((project.id, entry), EntryHits { hits: number % 5, last_hit, saved });
        }
    }
    world.wired.store.record(&hits).await.unwrap();
    let mut owner = world.browser_of(Role::Owner).await;
    let page = owner.get("/console/p/long/cache?q=number").await;
    assert_eq!(page.all("thead a"), ["Hits", "Last used", "Created"]);
    assert_eq!(page.attributes("[aria-sort]", "aria-sort"), ["descending"]);
    let newest = page.all("tbody th a");
    let links = page.attributes("thead a", "href");
    for (at, name) in ["Hits", "Last used", "Created"].into_iter().enumerate() {
        let mut orders = Vec::new();
        // A click, and another one.
        let mut path = links[at].clone();
        for _ in 0..2 {
            let (mut texts, mut hits, mut next) = (Vec::new(), Vec::new(), Some(path.clone()));
            while let Some(path) = next {
                let page = owner.get(&path).await;
                texts.extend(page.all("tbody th a"));
                hits.extend(page.all("td[data-label=Hits]").iter().map(|hits| hits.parse::<u64>().unwrap()));
                assert_eq!(page.one("[aria-sort]"), name, "{path}");
                assert_eq!(page.attributes("input[name=sort]", "value").len(), 1, "a search keeps the order");
                next = page.attributes("a[rel=next]", "href").pop();
            }
            if name == "Hits" {
                let sorted =
                    |one: &u64, other: &u64| if orders.is_empty() { one >= other } else { one <= other };
                assert!(hits.is_sorted_by(sorted), "{hits:?}");
            }
            let page = owner.get(&path).await;
            assert_eq!(page.text().contains("were not used for longest"), name == "Last used");
            path = page.attributes("thead a", "href").remove(at);
            orders.push(texts);
        }
        let turned: Vec<_> = orders[1].iter().rev().cloned().collect();
        assert_eq!(orders[0], turned, "{name}");
        let mut all = orders.remove(0);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 120, "{name}: none twice, none left out");
    }
    let near = owner.get("/console/p/long/cache?q=number&by=meaning").await;
    assert!(near.all("thead a, [aria-sort]").is_empty(), "the nearest are in their own order");
    let odd = owner.get("/console/p/long/cache?sort=0&after=x").await;
    assert_eq!(odd.all("tbody th a"), newest, "what is no order and no place is left out");
}

#[tokio::test]
async fn projects_and_keys_are_paged() {
    let world = World::new().await;
    let project = world.project("Keys").await;
    for number in 0..101 {
        world.project(&format!("Other {number:03}")).await;
        keys::create(&world.acting(), "keys", key(&format!("key {number}"))).await.unwrap();
    }
    let all = world.wired.store.keys(project.id).await.unwrap();
    keys::revoke(&world.acting(), &all[40].0.id.to_string(), None).await.unwrap();
    let mut owner = world.browser_of(Role::Owner).await;
    for (path, rows, last) in [("/console/p/keys/keys", 101, "Revoked"), ("/console/projects", 102, "Active")]
    {
        let first = owner.get(path).await;
        let second = owner.get(&first.attributes("a[rel=next]", "href")[0]).await;
        let mut seen = [first.all("tbody th"), second.all("tbody th")].concat();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), second.all("a[rel=next]").len()), (rows, 0), "{path}");
        assert_eq!(second.all("tbody .badge").pop().unwrap(), last, "{path}");
    }
    // Sorted by name, over both pages.
    let page = owner.get("/console/p/keys/keys").await;
    let by_name = page.attributes("thead a", "href").remove(0);
    let first = owner.get(&by_name).await;
    let second = owner.get(&first.attributes("a[rel=next]", "href")[0]).await;
    let names = [first.all("tbody th"), second.all("tbody th")].concat();
    assert!(names.is_sorted() && names.len() == 101, "{names:?}");
    assert_eq!(second.attributes("[aria-sort]", "aria-sort"), ["ascending"], "the next page keeps the order");
    let turned = owner.get(&first.attributes("thead a", "href")[0]).await;
    assert_eq!(turned.all("tbody th")[0], *names.last().unwrap());
    for at in 1..5 {
        let link = page.attributes("thead a", "href").remove(at);
        let sorted = owner.get(&link).await;
        assert_eq!((sorted.all("tbody tr").len(), sorted.all("[aria-sort]").len()), (100, 1), "{link}");
    }
}

#[tokio::test]
async fn long_lists_of_projects_and_keys_are_searched_by_name() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    let mut made = Vec::new();
    for number in 0..11 {
        world.project(&format!("École {number:02}")).await;
        assert_eq!(owner.get("/console/projects").await.all("#q").len(), usize::from(number == 10));
        made.push(keys::create(&world.acting(), "ecole-00", key(&format!("Key {number:02}"))).await.unwrap());
    }
    let keys = "/console/p/ecole-00/keys";
    let prefix = made[3].key.shown.as_str();
    for (list, asked, found) in [
        ("/console/projects", "éCOLE 07", "École 07"),
        ("/console/projects", " ecole-08 ", "École 08"),
        (keys, "key 10", "Key 10"),
        (keys, prefix, "Key 03"),
    ] {
        let search: String = url::form_urlencoded::byte_serialize(asked.as_bytes()).collect();
        let page = owner.get(&format!("{list}?q={search}")).await;
        assert_eq!(page.attributes("#q", "value"), [asked]);
        let rows = page.all("tbody th");
        assert!(rows.len() == 1 && rows[0].starts_with(found), "{rows:?}");
        let page = owner.get(&format!("{list}?q=nothing")).await;
        assert_eq!(
            (page.all("tbody tr").len(), page.attributes(".empty a", "href")),
            (0, vec![list.to_owned()])
        );
        sound(&page, list);
    }
    // The order and the pages keep it.
    let page = owner.get(&format!("{keys}?q=key&sort=-0")).await;
    assert!(page.attributes("thead a", "href").iter().all(|href| href.contains("q=key&")), "{}", page.body);
    assert_eq!(page.attributes("form.filters [name=sort]", "value"), ["-0"]);
    assert_eq!(page.all("tbody th")[0], "Key 10");
}

#[tokio::test]
async fn awkward_names_and_addresses_are_told_in_pages() {
    let (_world, _, mut owner) = World::with_project("Shop · prod", Role::Owner).await;
    assert_eq!(owner.get("/console/p/shop-prod/delete").await.one("h1"), "Delete Shop · prod");
    let page =
        owner.post("/console/p/shop-prod/settings", &[("name", "\u{200b}"), ("max_entries", "10")]).await;
    assert_eq!(page.status, 422, "a name that cannot be seen");
    let page = owner.post("/console/p/shop-prod/settings", &[("name", "Shop"), ("max_entries", "")]).await;
    assert!(page.status == 422 && page.one("[role=alert]").contains("Entries at most"));
    for (path, status) in [("/console/p/shop-prod/cache?q=a&q=b", 400), ("/console/p/%FF/keys", 404)] {
        let page = owner.get(path).await;
        assert_eq!((page.status, page.all("h1").len()), (status, 1), "{path}: {}", page.body);
    }
    for name in ["test", "new"] {
        let own = [("name", name), ("base_url", "https://example.com/v1"), ("models", name)];
        let page = owner.submit("/console/p/shop-prod/providers/new", &own).await;
        let links = page.attributes(&format!("a[aria-label='Edit {name}']"), "href");
        assert_eq!(owner.get(&links[0]).await.one("h1"), format!("Edit {name}"));
    }
    let dots = [("name", ".."), ("base_url", "https://example.com/v1"), ("models", "m")];
    assert_eq!(owner.post("/console/p/shop-prod/providers/new", &dots).await.status, 422);
    let price = [("model", "m"), ("input", "1,5"), ("output", "2")];
    let page = owner.post("/console/p/shop-prod/providers/prices", &price).await;
    assert!(page.one("#input-problem").contains("must be a number with a point: 1.5"), "{}", page.text());
    assert_eq!(page.attributes("#output", "value"), ["2"], "what was typed stays");
    for (field, value, told) in [
        ("model", "a b", "without blanks"),
        ("output", "1001", "and 1000 US dollars per million"),
        ("input", "", "such as 1.5"),
    ] {
        let mut odd = vec![("model", "m"), ("input", "1"), ("output", "2")];
        odd.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        let page = owner.post("/console/p/shop-prod/providers/prices", &odd).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{}", page.text());
    }
}

#[tokio::test]
async fn snippets_name_the_address_of_the_browser_and_a_model_that_can_be_asked_for() {
    // What the settings say of the host does not matter: the browser came by deja.test.
    let world = World::at("https://deja.example").await;
    world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    let page = owner.get("/console/p/shop").await;
    let base = "https://deja.test/p/shop";
    assert_eq!(page.one("#base-url"), base);
    assert!(page.one(".note.warn").contains("No provider can be asked yet"));
    let bases = ["openai", "anthropic", "gemini", "query"].map(|who| page.one(&format!("#base-{who}")));
    assert_eq!(bases, ["/v1", "", "", "/v1/cache/query"].map(|below| format!("{base}{below}")));
    assert!(page.one("table").contains("https://deja.test/v1"), "and without the project's name");
    let libraries = [
        ("openai-python", "OpenAI(base_url=\"https://deja.test/p/shop/v1\","),
        ("openai-node", "baseURL: \"https://deja.test/p/shop/v1\""),
        ("anthropic-python", "Anthropic(base_url=\"https://deja.test/p/shop\","),
        ("google-genai", "HttpOptions(base_url=\"https://deja.test/p/shop\")"),
        ("langchain", "base_url=\"https://deja.test/p/shop/v1\""),
        ("ai-sdk", "createOpenAI({ baseURL: \"https://deja.test/p/shop/v1\""),
        ("curl", "curl https://deja.test/p/shop/v1/cache/query "),
        ("python", "\"https://deja.test/p/shop/v1/cache/query\""),
    ];
    for (id, part) in libraries {
        let text = page.one(&format!("#{id}"));
        assert!(text.contains(part) && !text.contains("127.0.0.1") && !text.contains("dj_"), "{text}");
        assert_eq!(page.all(&format!("[data-copy={id}]")).len(), 1);
    }
    assert_eq!(page.one("#export"), "export DEJA_KEY=dj_...");
    assert!(page.one("#curl").contains("\"model\": \"gpt-4o-mini\""));
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "it's-\"x\"")];
    owner.submit("/console/p/shop/providers/new", &own).await;
    let page = owner.get("/console/p/shop").await;
    assert_eq!(page.all(".note.warn").len(), 0);
    assert!(page.one("#curl").ends_with(r#""model": "it'\''s-\"x\""}'"#), "{}", page.one("#curl"));
    assert!(page.one("#python").contains(r#""model": "it's-\"x\""})"#), "{}", page.one("#python"));
    assert!(page.one("#openai-python").contains(r#"model="it's-\"x\"", messages"#));
    assert!(page.one("#anthropic-python").contains("claude"), "of another kind");
}

#[tokio::test]
async fn snippets_keep_the_documented_models_where_the_maker_can_be_asked() {
    let world = World::with(&[("OPENAI_API_KEY", "sk-1")]).await;
    world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "mine")];
    owner.submit("/console/p/shop/providers/new", &own).await;
    let page = owner.get("/console/p/shop").await;
    assert!(page.one("#ai-sdk").contains("\"gpt-4.1-mini\"") && !page.one("#ai-sdk").contains("mine"));
}

#[tokio::test]
async fn a_search_by_text_that_takes_too_long_says_what_to_do() {
    let world = World::with(&[("DEJA_SEARCH_TIMEOUT_MS", "1")]).await;
    let project = world.project("Shop").await;
    for number in 0..20 {
        world.entry(&project, &number.to_string(), &"long ".repeat(100_000), None).await;
    }
    let mut owner = world.browser_of(Role::Owner).await;
    let days = ProjectPatch { request_texts_days: Some(7), ..ProjectPatch::default() };
    let project = projects::set(&world.acting(), "shop", days).await.unwrap();
    let entry = EntryId::from_bytes([1; 16]);
    let rows: Vec<_> = (0..20).map(|_| world.logged(&project, entry, &"long ".repeat(100_000))).collect();
    world.wired.store.log_requests(&rows).await.unwrap();
    for (place, told) in [
        ("cache", "Choose a model or a context"),
        ("cache/purge", "Choose a model or a context"),
        ("requests", "Choose a model or a key"),
    ] {
        let page = owner.get(&format!("/console/p/shop/{place}?q=nowhere")).await;
        assert_eq!((page.status, page.one("#q").as_str()), (200, "nowhere"), "what was typed stays");
        assert!(page.one("[role=alert]").contains(told), "{}", page.text());
        assert_eq!(page.all("nav[aria-label=Project] a").len(), 10, "{place} is a page as others are");
        assert!(page.all(".empty, form.danger").is_empty(), "nothing is said of what was not found");
    }
    let purge = [("q", "nowhere"), ("confirm", "shop")];
    let page = owner.submit("/console/p/shop/cache/purge", &purge).await;
    assert!(page.one("[role=alert]").contains("Choose a model or a context"), "{}", page.text());
    assert_eq!(owner.get("/console/p/shop/cache").await.all("[role=alert]").len(), 0);
}
