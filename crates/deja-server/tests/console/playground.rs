//! The playground: a prompt or a chat is tried, and the page says what the cache would do.

use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::cache::{Frame, Kind};
use deja_core::embedding::Threshold;
use deja_core::operator::Role;
use deja_core::project::Guard;
use deja_wire::{Asked, Endpoint, Identity};

use crate::util::World;

#[tokio::test]
async fn the_playground_shows_both_sides_of_the_threshold() {
    let world = World::new().await;
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
    assert_eq!(page.one("title"), format!("{} · Playground · Furnished · deja", page.one("#result h2")));
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
    // So is everything in a project that is suspended.
    projects::set_suspended(&world.acting(), "furnished", true).await.unwrap();
    let page = member.post("/console/p/furnished/playground", &form("0.9")).await;
    assert_eq!(
        (page.one("#result h2"), page.one("#result .badge")),
        ("The project is suspended".into(), "Miss".into())
    );
    assert!(page.attributes("#result", "data-at-others").is_empty(), "at every threshold");
    let request = [("model", "gpt-4o-mini"), ("threshold", "0.9"), ("question", "What?"), ("ask", "cache")];
    let page = member.post("/console/p/furnished/playground/chat", &request).await;
    assert_eq!(page.one("title"), "The project is suspended · Playground: chat · Furnished · deja");
    projects::set_suspended(&world.acting(), "furnished", false).await.unwrap();
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
async fn a_list_of_models_that_is_not_all_says_so() {
    let (world, project, mut member) = World::with_project("Many", Role::Member).await;
    for (number, told) in [(100, false), (101, true)] {
        for model in (0..number).map(|model| format!("model-{model}")) {
            world.entry_without_vector(&project, &model, "What?", None).await;
        }
        for place in ["playground", "playground/chat"] {
            let page = member.get(&format!("/console/p/many/{place}")).await;
            assert_eq!(page.all("datalist option").len(), 100, "{place}");
            assert_eq!(page.all("#more-models").len(), usize::from(told), "{place}: {number} models");
        }
    }
}

#[tokio::test]
async fn the_playground_says_what_the_guard_refuses_and_from_which_threshold_on() {
    let world = World::new().await;
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

#[tokio::test]
async fn asking_at_the_console_takes_from_the_limit_of_the_project() {
    let world = World::new().await;
    world.project("Shop").await;
    let once = ProjectPatch { per_minute: Some(1), burst: Some(1), ..ProjectPatch::default() };
    projects::set(&world.acting(), "shop", once).await.unwrap();
    let mut member = world.browser_of(Role::Member).await;
    let ask = |ask| [("prompt", "Why?"), ("model", "gpt-4o"), ("threshold", "1"), ("ask", ask)];
    let chat = chat(&[("question", "Why?"), ("ask", "provider"), ("model", "gpt-4o")]);
    let place = "/console/p/shop/playground";
    let page = member.post(place, &ask("provider")).await;
    assert!(page.one("[role=alert]").contains("no key for openai"), "{}", page.text());
    for page in
        [member.post(place, &ask("provider")).await, member.post(&format!("{place}/chat"), &chat).await]
    {
        assert!(page.status == 422 && page.one("[role=alert]").contains("Rate limit"), "{}", page.text());
    }
    assert_eq!(member.post(place, &ask("cache")).await.status, 200, "looking takes nothing");
}

#[tokio::test]
async fn what_is_asked_at_the_console_has_a_name_in_the_log_of_requests() {
    let (world, _, mut member) = World::with_project("Shop", Role::Member).await;
    let query = [("prompt", "Why?"), ("model", "gpt-4o"), ("threshold", "1"), ("ask", "provider")];
    let chat = chat(&[("question", "Why?"), ("model", "gpt-4o"), ("ask", "provider")]);
    member.post("/console/p/shop/playground", &query).await;
    member.post("/console/p/shop/playground/chat", &chat).await;
    world.wired.app.engine().flush_counts().await.unwrap();
    let csv = member.get("/console/p/shop/requests/log.csv").await;
    let place = csv.body.lines().next().unwrap().split(',').position(|name| name == "request").unwrap();
    let names: Vec<_> = csv.body.lines().skip(1).map(|row| row.split(',').nth(place).unwrap()).collect();
    assert!(names.len() == 2 && names.iter().all(|name| !name.is_empty()), "{}", csv.body);
}

/// A form of the playground's chat.
fn chat<'a>(form: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let usual = [("format", "chat"), ("model", "m"), ("threshold", "0.85"), ("ask", "cache")];
    let named = |name: &str| form.iter().any(|(other, _)| *other == name);
    usual.into_iter().filter(|(name, _)| !named(name)).chain(form.iter().copied()).collect()
}

#[tokio::test]
async fn a_chat_is_tried_as_an_application_would_send_it() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
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
