//! A project's own providers: added, changed, told what is wrong.

use std::sync::Arc;

use deja_core::admin::providers::{self, ProviderPatch};
use deja_core::embedding::Threshold;
use deja_core::engine::Query;
use deja_core::operator::Role;
use deja_core::provider::ProviderKind;
use deja_core::store::Admission;

use crate::util::{Page, World};

#[tokio::test]
async fn what_is_wrong_with_a_provider_is_said_at_its_field_and_its_secret_is_kept() {
    let (world, project, mut owner) = World::with_project("Shop", Role::Owner).await;
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
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
    for (number, (kind, typed, kept)) in [
        ("openai", "https://llm.example.com/v1/chat/completions", "https://llm.example.com/v1"),
        ("openai", "https://llm.example.com/a/v1/responses/", "https://llm.example.com/a/v1"),
        ("openai", "https://llm.example.com/embeddings", "https://llm.example.com"),
        ("openai", "https://llm.example.com/v1/", "https://llm.example.com/v1"),
        ("anthropic", "https://llm.example.com/v1/messages/", "https://llm.example.com"),
        ("gemini", "https://llm.example.com/v1beta/models", "https://llm.example.com"),
        // What another kind puts behind is a part of it.
        ("openai", "https://llm.example.com/api/models", "https://llm.example.com/api/models"),
        ("openai", "https://llm.example.com/completions", "https://llm.example.com/completions"),
        ("anthropic", "https://llm.example.com/responses", "https://llm.example.com/responses"),
    ]
    .into_iter()
    .enumerate()
    {
        let (name, model) = (format!("p{number}"), format!("m{number}"));
        let form = [("name", name.as_str()), ("kind", kind), ("base_url", typed), ("models", &model)];
        let page = member.submit("/console/p/shop/providers/new", &form).await;
        let providers = world.wired.store.providers(project.id).await.unwrap();
        let stored = providers.into_iter().find(|provider| provider.name == name).unwrap();
        assert_eq!(stored.base_url, kept);
        let told = page.one("[role=status].note");
        let mended = typed.trim_end_matches('/') != kept;
        assert_eq!(told.contains(&format!("Its base URL is {kept}:")), mended, "{told}");
    }
    let form = [("base_url", "https://llm.example.com/v1/embeddings"), ("models", "gpt-4o\nblend")];
    let page = member.submit("/console/p/shop/providers/own/p0", &form).await;
    let told = page.one("[role=status].note");
    assert!(told.contains("Its base URL is https://llm.example.com/v1:"), "{told}");
    assert!(told.contains("it answers for gpt-4o in place of the built-in provider"), "{told}");
}

#[tokio::test]
async fn who_answers_for_models_that_a_provider_no_longer_has_is_said() {
    let world = World::with(&[("OPENAI_API_KEY", "sk-1")]).await;
    world.project("Shop").await;
    let mut member = world.browser_of(Role::Member).await;
    let form = |models| [("name", "own"), ("base_url", "https://llm.example.com/v1"), ("models", models)];
    let all = "gpt-4o\ntext-embedding-3-small\nclaude-x\nblend";
    member.submit("/console/p/shop/providers/new", &form(all)).await;
    let told = member.get("/console/p/shop/providers/own/own/remove").await.text();
    for part in [
        "Queries for gpt-4o, text-embedding-3-small that miss the cache are answered by OpenAI from then on.",
        // There is no key for Anthropic.
        "Queries for claude-x, blend that miss the cache are refused from then on.",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let page = member.submit("/console/p/shop/providers/own/own", &form("claude-x\nblend")).await;
    let told = page.one("[role=status].note");
    assert!(
        told.starts_with("Saved. Queries for gpt-4o, text-embedding-3-small that miss the cache are"),
        "{told}"
    );
    assert!(told.contains("answered by OpenAI from now on.") && !told.contains("refused"), "{told}");
    let page = member.submit("/console/p/shop/providers/own/own", &form("claude-x\nblend")).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.");
}

#[tokio::test]
async fn a_providers_key_goes_in_and_never_out() {
    let (world, project, mut member) = World::with_project("Shop", Role::Member).await;
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
        "http://127.0.0.1/v1", "http://169.254.169.254/v1", "http://10.1.2.3/v1", "ftp://example.com",
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
    let page = member.submit("/console/p/shop/providers/prices", &price).await;
    assert_eq!(unpriced(&page), "big, smallNo price small");
    let remove = page.attributes("a[aria-label='Remove the price of big']", "href").remove(0);
    let asks = member.get(&remove).await;
    assert!(asks.one("main form p").starts_with("big costs $1.00 in and $2.00 out here"), "{}", asks.text());
    let model = asks.attributes("form input[name=model]", "value").remove(0);
    let page = member.submit(&remove, &[("model", &model)]).await;
    assert_eq!(unpriced(&page), "big, smallNo price big, small");
    assert_eq!(member.get(&remove).await.status, 404, "it is gone");
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
            room: None,
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

#[tokio::test]
async fn the_form_of_a_provider_leaves_what_somebody_else_changed() {
    let (world, project, mut owner) = World::with_project("Shop", Role::Owner).await;
    let url = "https://llm.example.com/v1";
    let new = [("name", "own"), ("base_url", url), ("models", "m"), ("allow_private", "1")];
    owner.submit("/console/p/shop/providers/new", &new).await;
    let place = "/console/p/shop/providers/own/own";
    let before_of = |page: &Page| page.attributes("[name=before]", "value").remove(0);
    let before = before_of(&owner.get(place).await);
    let form = |models, before| {
        [
            ("kind", "openai"),
            ("base_url", url),
            ("models", models),
            ("before", before),
            ("allow_private", "1"),
        ]
    };
    let stored = async || world.wired.store.providers(project.id).await.unwrap().remove(0);
    // Somebody else withdraws the private network meanwhile.
    let withdrawn = ProviderPatch { allow_private: Some(false), ..ProviderPatch::default() };
    providers::set(&world.acting(), "shop", "own", withdrawn).await.unwrap();
    let page = owner.submit(place, &form("m", &before)).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.");
    owner.submit(place, &form("m\nn", &before)).await;
    assert_eq!((stored().await.models, stored().await.allow_private), (vec!["m".into(), "n".into()], false));
    // What both changed is told, and saved once it was seen.
    let page = owner.post(place, &form("o", &before)).await;
    assert!(page.one("#models-problem").contains("models (now m, n). Nothing was saved."), "{}", page.text());
    assert_eq!(page.one("textarea#models"), "o", "what was typed");
    assert!(page.all("[name=allow_private][checked]").is_empty(), "what somebody else saved");
    assert_eq!(stored().await.models, ["m", "n"]);
    let seen = before_of(&page);
    owner.submit(place, &form("o", &seen)[..4]).await;
    assert_eq!((stored().await.models, stored().await.allow_private), (vec!["o".into()], false));
    // A key is for the host that was seen when it was typed.
    let before = before_of(&owner.get(place).await);
    let moved =
        ProviderPatch { base_url: Some("https://other.example/v1".into()), ..ProviderPatch::default() };
    providers::set(&world.acting(), "shop", "own", moved).await.unwrap();
    let with_key = [&form("o", &before)[..4], &[("secret", "sk-typed")]].concat();
    let page = owner.post(place, &with_key).await;
    let problem = page.one("#base_url-problem");
    assert!(problem.contains("the base URL is https://other.example/v1 now"), "{problem}");
    assert_eq!(page.attributes("#base_url", "value"), ["https://other.example/v1"]);
    assert!(stored().await.sealed_secret.is_none());
    let before = before_of(&page);
    let url = ("base_url", "https://other.example/v1");
    let seen = [("kind", "openai"), url, ("models", "o"), ("before", &before), ("secret", "sk-typed")];
    owner.submit(place, &seen).await;
    assert!(stored().await.sealed_secret.is_some(), "seen and sent");
}

#[tokio::test]
async fn a_test_asks_the_provider_whose_row_it_stands_in() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nobody}/v1");
    let world = World::with(&[
        ("OPENAI_API_KEY", "sk-1"),
        ("OPENAI_BASE_URL", &url),
        ("DEJA_UPSTREAM_MAX_ATTEMPTS", "1"),
    ])
    .await;
    world.project("Shop").await;
    let mut owner = world.browser_of(Role::Owner).await;
    let own = [("name", "house"), ("base_url", &url), ("models", "gpt-4o-mini"), ("allow_private", "1")];
    owner.submit("/console/p/shop/providers/new", &own).await;
    let page = owner.get("/console/p/shop/providers").await;
    let rows = page.attributes("[name=provider]", "value");
    assert_eq!(rows, ["openai", "house"]);
    for name in rows {
        let page = owner.submit("/console/p/shop/providers/test", &[("provider", &name)]).await;
        let told = page.one("[role=alert]");
        assert!(told.starts_with(&format!("{name} does not work")), "{told}");
    }
}
