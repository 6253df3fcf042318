//! Texts of strangers (prompts, answers, contexts, names) are text: whatever they hold, no page gets an element, an
//! attribute or a script from them, and no spreadsheet a formula.

use deja_core::operator::Role;

use crate::util::{Page, World};

const CORPUS: [&str; 9] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg/onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</pre><iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "javascript:alert(1)//",
    "{{ 7*7 }}{% raw %}&lt;script&gt;",
    "=HYPERLINK(\"http://evil.test\")",
];

#[track_caller]
fn harmless(page: &Page, path: &str) {
    assert_eq!(page.status, 200, "{path}: {}", page.text());
    for selector in ["script:not([src])", "img", "iframe", "[onerror]", "[onload]", "svg[onload]", "[srcdoc]"]
    {
        assert_eq!(page.all(selector).len(), 0, "{selector} in {path}");
    }
    let scripts = page.attributes("script", "src");
    assert!(scripts.len() == 1 && scripts[0].starts_with("/console/static/"), "{path}: {scripts:?}");
    for link in page.attributes("a", "href") {
        assert!(!link.to_ascii_lowercase().starts_with("javascript:"), "{path}: {link}");
    }
    assert!(!page.body.contains("49{%"), "{path}");
    // The break behind these is dropped, so that it must not be the text's.
    for opened in ["<textarea", "<pre class=\"text"] {
        let texts = page.body.split(opened).skip(1).map(|rest| rest.split_once('>').unwrap().1);
        assert!(texts.into_iter().all(|text| text.starts_with('\n')), "{path}: {opened}");
    }
}

#[tokio::test]
async fn no_text_of_a_stranger_becomes_markup() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    for (number, evil) in CORPUS.into_iter().enumerate() {
        // The slug needs a letter; the name is the text itself.
        let made = owner.post("/console/projects", &[("name", &format!("p{number} {evil}"))]).await;
        let slug = made.location().trim_start_matches("/console/p/").to_owned();
        let project = world.reload(&slug).await;
        let entry = world.entry(&project, evil, evil, Some(evil)).await;
        let at = |rest: &str| format!("/console/p/{slug}{rest}");
        assert_eq!(owner.post(&at("/keys"), &[("name", evil)]).await.status, 303);
        let query: String = url::form_urlencoded::byte_serialize(evil.as_bytes()).collect();
        let entry_page = owner.get(&at(&format!("/cache/{entry}?asked={query}"))).await;
        assert_eq!(
            entry_page.all("pre.text"),
            vec![evil.split_whitespace().collect::<Vec<_>>().join(" "); 3]
        );
        harmless(&entry_page, "entry");
        for path in [
            "", "/keys", "/analytics", "/cache", "/cache/purge", "/playground", "/playground/chat",
            "/providers", "/providers/new", "/settings", "/delete",
        ] {
            harmless(&owner.get(&at(path)).await, path);
        }
        for path in [
            format!("/cache?q={query}"),
            format!("/cache?q={query}&by=meaning&model=gpt-4o-mini&context=%3D{query}"),
            format!("/cache/purge?q={query}&context={query}"),
            format!("/analytics?model={query}&range={query}&from={query}"),
        ] {
            harmless(&owner.get(&at(&path)).await, &path);
        }
        let form = [
            ("prompt", evil),
            ("model", "gpt-4o-mini"),
            ("threshold", "0.5"),
            ("context", evil),
            ("ask", "cache"),
        ];
        let tried = owner.post(&at("/playground"), &form).await;
        assert_eq!(tried.one("#result .badge"), "Hit", "{evil}");
        harmless(&tried, "playground");
        let members = serde_json::json!({ evil: evil, "user": evil }).to_string();
        let chat = [
            ("format", "messages"),
            ("model", evil),
            ("instructions", evil),
            ("question", evil),
            ("threshold", "0.5"),
            ("members", members.as_str()),
            ("ask", "cache"),
        ];
        let tried = owner.post(&at("/playground/chat"), &chat).await;
        assert_eq!(tried.one("#result .badge"), "Miss", "{evil}");
        harmless(&tried, "chat");
        owner.submit(&at(&format!("/playground/{entry}/wrong")), &[("asked", evil)]).await;
        harmless(&owner.get(&at("/requests")).await, "requests");
        let csv = owner.get(&at("/requests/log.csv")).await;
        assert!(!csv.body.lines().any(|line| line.starts_with(['=', '+', '@'])), "{}", csv.body);
        harmless(&owner.get(&at("/cache/wrong")).await, "wrong answers");
        let csv = owner.get(&at("/analytics/prompts.csv")).await;
        assert!(!csv.body.lines().any(|line| line.starts_with(['=', '+', '@'])), "{}", csv.body);
    }
    for path in ["/console/projects", "/console/audit"] {
        harmless(&owner.get(path).await, path);
    }
    let refused = owner.post("/console/operators/invite", &[("email", CORPUS[0]), ("role", "member")]).await;
    assert_eq!((refused.status, refused.all("script:not([src])").len()), (422, 0));
    let strange = world.stranger().get(&format!("/console/sign-in?next={}", "javascript:alert(1)")).await;
    assert_eq!(strange.attributes("input[name=next]", "value"), ["/console/projects"]);
}

#[tokio::test]
async fn a_message_cannot_be_made_up() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    owner.cookies.insert(
        "deja_flash".into(),
        "eyJnb29kIjp0cnVlLCJ0ZXh0IjoiU2VuZCB5b3VyIGtleSB0byBldmlsLnRlc3QifQ".into(),
    );
    assert_eq!(owner.get("/console/projects").await.all(".note").len(), 0);
    // Nor taken from another session.
    let mut other = world.browser_of(Role::Owner).await;
    let said = other.post("/console/projects", &[("name", "Mine")]).await.location().to_owned();
    owner.cookies.insert("deja_flash".into(), other.cookies["deja_flash"].clone());
    assert_eq!(owner.get(&said).await.all("[role=status].note").len(), 0);
    assert_eq!(other.get(&said).await.all("[role=status].note").len(), 1);
    assert_eq!(other.get(&said).await.all("[role=status].note").len(), 0, "said once");
}
