//! Forms of other sites change nothing, and pages keep to themselves.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::CONTENT_TYPE;
use deja_core::operator::Role;
use deja_server::console::listed;

use crate::util::World;

#[tokio::test]
async fn only_our_own_pages_may_send_forms() {
    let world = World::new().await;
    let owner = world.browser_of(Role::Owner).await;
    let cases: [(&[(&str, &str)], bool); 8] = [
        (&[("sec-fetch-site", "same-origin")], true),
        (&[("origin", "http://deja.test")], true),
        (&[("sec-fetch-site", "cross-site"), ("origin", "http://deja.test")], false),
        (&[("sec-fetch-site", "same-site")], false),
        (&[("sec-fetch-site", "none")], false),
        (&[("origin", "http://evil.test")], false),
        (&[("origin", "null")], false),
        (&[], false),
    ];
    for (number, (headers, passes)) in cases.into_iter().enumerate() {
        let mut request =
            Request::post("/console/projects").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(format!("name=case-{number}"))).unwrap();
        let page = owner.clone().send(request).await;
        let made = world.wired.store.project(&format!("case-{number}")).await.unwrap().is_some();
        assert_eq!((page.status, made), if passes { (303, true) } else { (403, false) }, "{headers:?}");
    }
}

#[tokio::test]
async fn every_form_is_guarded() {
    let world = World::new().await;
    for (method, path, _) in listed().into_iter().filter(|(method, ..)| *method == "POST") {
        let path = path.replace(['{', '}'], "");
        let request =
            Request::post(&path).header("sec-fetch-site", "cross-site").body(Body::empty()).unwrap();
        let page = world.browser_of(Role::Owner).await.send(request).await;
        assert_eq!(page.status, 403, "{method} {path}");
        assert_eq!(page.one("h1"), "Refused");
    }
}

#[tokio::test]
async fn pages_carry_the_headers_that_keep_them_to_themselves() {
    let world = World::new().await;
    for path in ["/console/sign-in", "/console/nowhere", "/console/static/console.css", "/console/projects"] {
        let page = world.stranger().get(path).await;
        let header = |name: &str| {
            page.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert!(!header("x-request-id").is_empty(), "{path}");
    }
    let page = world.browser_of(Role::Owner).await.get("/console/projects").await;
    assert_eq!(page.headers["cache-control"], "private, no-store");
}
