//! Section 8 and 429 of section 7: the rate limit and its headers.

use serde_json::json;

use crate::util::tenant::{MODEL, PATH, Tenant};
use crate::util::{Response, World};

#[track_caller]
fn limits(response: &Response) -> (i64, i64, i64) {
    let number = |name| response.number(name);
    (number("x-ratelimit-limit"), number("x-ratelimit-remaining"), number("x-ratelimit-reset"))
}

/// The server's clock, from the `Date` header, in seconds since the epoch.
fn now(response: &Response) -> i64 {
    let date = response.header("date").expect("a Date header");
    let since = httpdate::parse_http_date(date).unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_secs() as i64
}

#[test]
fn tiers_have_the_published_limits() {
    let deja = &World::shared().deja;
    for (options, limit) in [
        (&[][..], 100),
        (&["--tier", "free"], 100),
        (&["--tier", "pro"], 1000),
        (&["--tier", "enterprise", "--rpm", "4321", "--burst", "5000"], 4321),
    ] {
        let tenant = Tenant::create(deja, "tier", options);
        let response = tenant.post(b"{}");
        // Remaining never shows more than the limit, though the burst is larger.
        let (shown, remaining, _) = limits(&response);
        assert_eq!((shown, remaining), (limit, limit), "{options:?}");
    }
}

#[test]
fn a_burst_passes_and_one_more_is_429() {
    // One request a minute comes back: however slow the machine, none does while this test runs.
    let tenant = World::shared().limited("burst", "1", "12");
    let query = json!({"prompt": "Who wrote Faust?", "model": MODEL});
    for n in 1..=12 {
        assert_eq!(tenant.send(&query).status, 200, "request {n}");
    }
    let refused = tenant.send(&query);
    assert_eq!(refused.detail(429), "Rate limit exceeded. Please try again later.");
    let (limit, remaining, reset) = limits(&refused);
    assert_eq!((limit, remaining), (1, 0));
    let (retry_after, now) = (refused.number("retry-after"), now(&refused));
    assert!((1..=60).contains(&retry_after), "{retry_after}");
    // Full again after twelve minutes; the clock has gone on since the first request.
    assert!((now + 600..=now + 722).contains(&reset), "now {now}, reset {reset}");
    // A refused request takes nothing: the next one would not come later.
    let again = tenant.send(&query);
    assert!(again.number("retry-after") <= retry_after);
    assert_eq!(limits(&again).2, reset);
}

#[test]
fn remaining_counts_down_and_reset_moves_away() {
    let tenant = World::shared().limited("countdown", "10", "8");
    let mut seen: Vec<(i64, i64, i64)> = Vec::new();
    for _ in 0..5 {
        seen.push(limits(&tenant.post(b"{}")));
    }
    assert_eq!(seen[0].1, 7, "the first of eight");
    for pair in seen.windows(2) {
        // A new request comes every six seconds: on a slow machine one may have.
        assert!(pair[1].1 < pair[0].1 || pair[1].2 > pair[0].2, "{seen:?}");
        assert!(pair[1].2 > pair[0].2, "each request puts the reset six seconds off: {seen:?}");
    }
}

#[test]
fn every_authenticated_answer_tells_the_limit() {
    let world = World::shared();
    let tenant = world.tenant("headers");
    let other = world.tenant("headers-other");
    world
        .provider
        .on("spec-headers-500", crate::util::Reaction::Json(401, json!({"error": {"message": "no"}})));
    let ask = |prompt: &str| tenant.send(&json!({"prompt": prompt, "model": MODEL}));
    let answers = [
        (200, ask("Who wrote Faust?")),
        (200, ask("Who wrote Faust?")),
        (400, tenant.post(b"")),
        (400, tenant.send(&json!({"prompt": "x", "model": "no-such-model"}))),
        (403, tenant.post_as(&tenant.key, &format!("/p/{}/v1/cache/query", other.slug), b"{}")),
        (500, ask("spec-headers-500")),
    ];
    for (status, response) in &answers {
        assert_eq!(response.status, *status, "{}", response.text());
        let (limit, remaining, reset) = limits(response);
        assert_eq!(limit, 100_000, "{status}");
        assert!((0..=limit).contains(&remaining) && reset >= now(response) - 1, "{status}: {response:?}");
    }
}

#[test]
fn a_400_counts_and_a_401_does_not() {
    let tenant = World::shared().limited("counts", "1", "3");
    for _ in 0..10 {
        assert_eq!(tenant.post_as("dj_00000000000000000000000000000000", PATH, b"{}").status, 401);
    }
    for _ in 0..3 {
        assert_eq!(tenant.post(b"{}").status, 400);
    }
    assert_eq!(tenant.post(b"{}").status, 429);
}

#[test]
fn the_limit_is_checked_before_permission_and_shape() {
    let tenant = World::shared().limited("order-429", "1", "1");
    assert_eq!(tenant.post(b"{}").status, 400);
    for path in [PATH, "/p/no-such-project/v1/cache/query"] {
        tenant.post_as(&tenant.key, path, b"{}").detail(429);
    }
}

#[test]
fn keys_of_one_project_share_its_limit_and_other_projects_do_not() {
    let deja = &World::shared().deja;
    let options = ["--tier", "enterprise", "--rpm", "1", "--burst", "2"];
    let (one, two) =
        (Tenant::create(deja, "bucket-one", &options), Tenant::create(deja, "bucket-two", &options));
    let second_key = one.new_key(&[]);
    assert_eq!(one.post(b"{}").status, 400);
    assert_eq!(one.post_as(&second_key, PATH, b"{}").status, 400);
    assert_eq!(one.post_as(&second_key, PATH, b"{}").status, 429);
    assert_eq!(one.post(b"{}").status, 429);
    assert_eq!(two.post(b"{}").status, 400);
}

#[test]
fn concurrent_requests_never_get_more_than_the_burst() {
    let tenant = World::shared().limited("race", "1", "20");
    let query = json!({"similarity_threshold": 5});
    let mut connections: Vec<_> = (0..60).map(|_| tenant.begin(&query)).collect();
    let statuses: Vec<u16> = connections.iter_mut().map(|c| c.receive().unwrap().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 20);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 40);
}
