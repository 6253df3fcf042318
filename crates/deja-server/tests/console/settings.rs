//! Settings of a project: checked, kept, shown, and in the audit log.

use std::num::NonZeroUsize;
use std::time::Duration;

use deja_core::embedding::{Similarity, Threshold};
use deja_core::operator::Role;
use deja_core::project::{ClientControl, Guard, HitUsage, OnHangup, OptIn, Tier};
use deja_core::request_log::{LogFilter, LoggedRequest};
use deja_core::store::LogOrder;
use deja_core::testing::sample;

use crate::util::{Browser, Page, World};

#[tokio::test]
async fn contradictions_of_settings_are_said() {
    let (world, (project, _), mut owner) = World::furnished_for(Role::Owner).await;
    let place = "/console/p/furnished/settings";
    let form = |threshold: &'static str, minimum, entries| {
        [("name", "Furnished"), ("max_entries", entries), ("threshold", threshold), ("minimum", minimum)]
    };
    let page = owner.post(place, &form("0.8", "0.9", "100")).await;
    assert!(page.one("#threshold-problem").contains("0.8 lies below the minimum 0.9"), "{}", page.text());
    let page = owner.post(place, &form("0,9", "", "100")).await;
    assert!(page.one("#threshold-problem").contains("with a point: 0.9, not 0,9"), "{}", page.text());
    owner.submit(place, &form("", "0.9", "100")).await;

    // A maximum below what is stored says how many go, and wants a tick.
    let page = owner.post(place, &form("", "", "1")).await;
    assert!(page.one("#max_entries-problem").contains("1 entry would go"), "{}", page.text());
    assert_eq!(world.reload("furnished").await.settings.max_entries, 100);
    assert!(page.one("label:has([name=let_go])").contains("Let 1 entry go"), "{}", page.text());
    // The tick is for this value. A lower one that is typed later is asked about anew.
    let other = [&form("", "", "1")[..], &[("let_go", "max_entries=2")]].concat();
    let page = owner.post(place, &other).await;
    assert_eq!((page.status, page.attributes("[name=let_go][checked]", "value").len()), (422, 0));
    let ticked = [&form("", "", "1")[..], &[("let_go", "max_entries=1")]].concat();
    let page = owner.submit(place, &ticked).await;
    assert_eq!(page.one("[role=status].note"), "Saved. These go: 1 entry.");
    assert_eq!(world.reload("furnished").await.settings.max_entries, 1);
    // Who raises it, or leaves it, is not asked.
    owner.submit(place, &form("", "", "2")).await;
    assert_eq!(world.wired.store.count(project.id).await.unwrap(), 2, "what is beyond is swept later");

    let limits = "/console/p/furnished/settings/limits";
    for (field, value, told) in [
        ("per_minute", "0", "between"),
        ("per_minute", "99999999999999", "between 1 and 1000000"),
        ("burst", "1,5", "a whole number"),
        ("burst", "0", "between 1 and 1000000"),
        ("per_minute", "x", "a whole number"),
    ] {
        let page = owner.post(limits, &[("tier", "pro"), (field, value)]).await;
        let problem = page.one(&format!("#{field}-problem"));
        assert!(page.status == 422 && problem.contains(told), "{problem}");
        assert_eq!(page.attributes(&format!("#{field}"), "value"), [value], "what was typed stays");
        let page = owner.post("/console/projects", &[("name", "New"), ("tier", "pro"), (field, value)]).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{}", page.text());
    }
    let page = owner.post("/console/projects", &[("name", " ")]).await;
    assert!(page.one("#name-problem").contains("not allowed"), "{}", page.text());
}

#[tokio::test]
async fn settings_that_delete_samples_or_the_log_ask_first() {
    let world = World::new().await;
    let (project, entry) = world.furnished().await;
    let mut owner = world.browser_of(Role::Owner).await;
    let place = "/console/p/furnished/settings";
    let form = |samples, log, days| {
        [
            ("name", "Furnished"),
            ("max_entries", "100"),
            ("samples", samples),
            ("request_log", log),
            ("request_texts_days", days),
        ]
    };
    // Where nothing is stored nothing is asked.
    owner.submit(place, &form("0", "0", "0")).await;
    owner.submit(place, &form("1000", "100", "7")).await;
    let project = world.reload(project.slug.as_str()).await;
    let now = world.wired.admin.clock.now();
    let at = now.minus(Duration::from_hours(48));
    let old = LoggedRequest { at, ..world.logged(&project, entry, "What is the capital?") };
    world.wired.store.log_requests(&[old]).await.unwrap();
    world.answered(&project, entry, &["Which town is the capital of France?"]).await;
    let sample = sample(1, project.id, entry, "Which town?", Similarity::from_cosine(0.9), now);
    world.wired.store.keep_samples(&[sample], now).await.unwrap();
    let rows = async || {
        world
            .wired
            .store
            .logged(project.id, &LogFilter::default(), LogOrder::NEWEST, None, NonZeroUsize::MIN)
            .await
            .unwrap()
    };
    for (field, what, lower) in [
        ("samples", "1 sample", form("0", "100", "7")),
        ("request_log", "2 requests of the log", form("1000", "0", "7")),
        ("request_log", "1 request of the log", form("1000", "1", "7")),
        ("request_texts_days", "2 texts of the log", form("1000", "100", "0")),
        ("request_texts_days", "1 text of the log", form("1000", "100", "1")),
    ] {
        let page = owner.post(place, &lower).await;
        let said = format!("More is stored than that: {what} would go for good.");
        assert_eq!((page.status, page.one(&format!("#{field}-problem"))), (422, said));
        assert_eq!(page.one("label:has([name=let_go])"), format!("Let {what} go for good."));
        let value = lower.iter().find(|(name, _)| *name == field).unwrap().1;
        assert_eq!(page.attributes("[name=let_go]", "value"), [format!("{field}={value}")]);
    }
    assert_eq!(rows().await[0].logged.text.as_deref(), Some("Which town is the capital of France?"));
    // What one field may delete the other may not.
    let both = [&form("0", "0", "7")[..], &[("let_go", "samples=0")]].concat();
    let page = owner.post(place, &both).await;
    assert_eq!(page.attributes("[name=let_go][checked]", "value"), ["samples=0"]);
    assert_eq!(page.all("label:has([name=let_go])").len(), 2);
    let both = [&both[..], &[("let_go", "request_log=0")]].concat();
    let page = owner.submit(place, &both).await;
    assert_eq!(page.one("[role=status].note"), "Saved. These go: 1 sample, 2 requests of the log.");
    assert!(rows().await.is_empty());
}

#[tokio::test]
async fn settings_of_wire_formats_are_kept_shown_and_in_the_audit_log() {
    let (world, _, mut member) = World::with_project("Shop", Role::Member).await;
    let page = member.get("/console/p/shop/settings").await;
    assert_eq!(page.attributes("[name=control][checked]", "value").len(), ClientControl::ALL.len());
    assert_eq!(page.attributes("[name=opt_in][checked]", "value").len(), 0);
    let form = [("control", "cache"), ("control", "ttl"), ("opt_in", "semantic_json")];
    let form = [&form[..], &[("hit_usage", "zero"), ("on_hangup", "abort")]].concat();
    let page = member.submit("/console/p/shop/settings/wires", &form).await;
    assert_eq!(page.attributes("[name=control][checked]", "value"), ["cache", "ttl"]);
    assert_eq!(page.attributes("[name=opt_in][checked]", "value"), ["semantic_json"]);
    assert_eq!(page.attributes("[name=on_hangup][checked]", "value"), ["abort"]);
    let settings = world.reload("shop").await.settings;
    assert_eq!(settings.client_controls, [ClientControl::Cache, ClientControl::Ttl].into());
    assert_eq!(settings.opt_ins, [OptIn::SemanticJson].into());
    assert_eq!((settings.hit_usage, settings.on_hangup), (HitUsage::Zero, OnHangup::Abort));
    for (name, word) in [("opt_in", "all"), ("hit_usage", ""), ("on_hangup", "keep")] {
        let mut odd = form.clone();
        odd.retain(|(other, _)| *other != name);
        odd.push((name, word));
        let page = member.post("/console/p/shop/settings/wires", &odd).await;
        assert!(page.status == 422 && page.one("[role=alert]").contains("is not one of"), "{}", page.text());
        assert!(page.one(&format!("fieldset #{name}-problem")).contains("is not one of"));
        assert_eq!(
            page.attributes("[name=control][checked]", "value"),
            ["cache", "ttl"],
            "what was chosen stays"
        );
    }
    assert_eq!(world.reload("shop").await.settings, settings);
    let mut owner = world.browser_of(Role::Owner).await;
    let log = owner.get("/console/audit").await.text();
    assert!(log.contains("opt-ins: none -> semantic_json; hit usage: stored -> zero"), "{log}");
}

#[tokio::test]
async fn settings_are_checked_kept_and_shown() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    let form = |threshold: &'static str, ttl| {
        [
            ("name", "The shop"),
            ("ttl", ttl),
            ("max_entries", "500"),
            ("threshold", threshold),
            ("minimum", "0.8"),
            ("guard", "strict"),
            ("guard_model", " gpt-4o "),
            ("guard_budget", "0.25"),
            ("share_models", "1"),
        ]
    };
    for (threshold, ttl) in [("1.5", "1"), ("x", "1"), ("0.9", "x"), ("0.9", "0")] {
        let page = owner.post("/console/p/shop/settings", &form(threshold, ttl)).await;
        assert_eq!(page.status, 422, "{threshold} {ttl}");
        assert_eq!(page.attributes("#threshold", "value"), [threshold], "what was typed stays");
    }
    // What is wrong is said at the field, which gets the focus.
    let whole = form("0.9", "1.5");
    for (field, value, told) in [
        ("ttl", "0", "between 1 second"),
        ("max_entries", "0", "at most must lie between"),
        ("samples", "7", "0 to keep none"),
        ("guard_budget", "-1", "amount of US dollars"),
        // Emptied is not left out.
        ("samples", "", "must be a number"),
        ("request_log", " ", "must be a number"),
        ("request_texts_days", "", "must be a number"),
        ("guard_budget", "", "must be a number"),
        ("guard_model", &*"x".repeat(300), "longer than the limit"),
        ("minimum", "2", "must be a number from 0 to 1, or empty"),
        ("threshold", "much", "must be a number from 0 to 1, or empty"),
        ("name", " ", "not allowed"),
    ] {
        let mut odd: Vec<_> = whole.iter().copied().filter(|(name, _)| *name != field).collect();
        odd.push((field, value));
        let page = owner.post("/console/p/shop/settings", &odd).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{field}: {}", page.text());
        assert_eq!(page.attributes("[aria-invalid]", "name"), [field]);
        assert_eq!(page.attributes("[autofocus]", "name"), [field]);
        assert!(
            page.attributes("[aria-invalid]", "aria-describedby")[0]
                .starts_with(&format!("{field}-problem "))
        );
        assert_eq!(page.all(".problem").len(), 1);
    }
    owner.submit("/console/p/shop/settings", &form("0.9", "1.5")).await;
    let settings = world.reload("shop").await.settings;
    assert_eq!((settings.ttl_seconds, settings.max_entries, settings.share_models), (Some(5400), 500, true));
    assert_eq!((settings.default_threshold, settings.guard), (Threshold::new(0.9), Guard::Strict));
    assert_eq!(
        owner.get("/console/p/shop/settings").await.attributes("#guard [selected]", "value"),
        ["strict"]
    );
    assert_eq!((settings.guard_model.as_deref(), settings.guard_budget.as_dollars()), (Some("gpt-4o"), 0.25));
    let page = owner.get("/console/p/shop/settings").await;
    assert!(page.one("#budget-hint").contains("Asked 0 today"));
    assert!(page.one("#model-hint strong").contains("the server has no key for openai"), "{}", page.text());
    let own = [("name", "own"), ("base_url", "https://example.com/v1"), ("models", "gpt-4o\nblend")];
    owner.submit("/console/p/shop/providers/new", &own).await;
    let page = owner.get("/console/p/shop/settings").await;
    assert!(page.all("#model-hint strong").is_empty(), "it has a provider and a price");
    let mut loose = form("0.9", "1.5").to_vec();
    loose[7] = ("guard_budget", "-1");
    let page = owner.post("/console/p/shop/settings", &loose).await;
    assert!(page.one("[role=alert]").contains("amount of US dollars"), "{}", page.text());
    loose[6] = ("guard_model", "");
    loose.remove(7);
    loose[5] = ("guard", "loose");
    let page = owner.post("/console/p/shop/settings", &loose).await;
    assert!(page.one("[role=alert]").contains("use off, standard, strict or thorough"), "{}", page.text());
    loose[5] = ("guard", "");
    owner.submit("/console/p/shop/settings", &loose).await;
    let kept = world.reload("shop").await.settings;
    assert_eq!(
        (kept.guard, kept.guard_budget.as_dollars()),
        (Guard::Strict, 0.25),
        "what is not sent is kept"
    );
    assert_eq!(kept.guard_model, None);
    let page = owner.get("/console/p/shop/settings").await;
    assert_eq!(
        (page.attributes("#ttl", "value"), page.attributes("#minimum", "value")),
        (vec!["1.5".into()], vec!["0.8".into()])
    );
    owner.submit("/console/p/shop/settings/limits", &[("tier", "pro"), ("per_minute", "2,000")]).await;
    let quota = world.reload("shop").await.quota();
    assert_eq!((quota.per_minute(), quota.burst()), (2000, 2400));
    let state = page.attributes("#danger ~ .row a[href$=state]", "href").remove(0);
    let asks = owner.get(&state).await;
    assert_eq!((asks.one("h1").as_str(), world.reload("shop").await.suspended), ("Suspend The shop", false));
    let word = asks.attributes("form input[name=state]", "value").remove(0);
    owner.submit(&state, &[("state", &word)]).await;
    assert!(world.reload("shop").await.suspended);
    assert!(owner.get("/console/p/shop").await.text().contains("refused with 403"));
    for place in ["", "/keys", "/analytics", "/requests"] {
        let page = owner.get(&format!("/console/p/shop{place}")).await;
        assert_eq!(page.one(".side .what .badge"), "Suspended", "{place}");
    }
}

#[tokio::test]
async fn deleting_a_project_names_what_goes_and_asks_for_its_name() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    owner.submit("/console/p/shop/keys", &[("name", "ci")]).await;
    let told = owner.get("/console/p/shop/delete").await.one("main form p");
    assert!(
        told.starts_with("0 entries, 1 active API key, the project’s providers, its log of requests"),
        "{told}"
    );
    let page = owner.submit("/console/p/shop/delete", &[("confirm", "no")]).await;
    assert!(page.one("[role=alert]").contains("Nothing was deleted"));
    owner.submit("/console/p/shop/delete", &[("confirm", "shop")]).await;
    assert!(world.wired.store.project("shop").await.unwrap().is_none());
}

#[tokio::test]
async fn settings_of_a_stale_form_leave_what_somebody_else_changed() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    let place = "/console/p/shop/settings";
    let before = owner.get(place).await.attributes("form:not([id]) [name=before]", "value").remove(0);
    // Somebody else, with a form of their own.
    owner.submit(place, &[("name", "Shop"), ("max_entries", "500"), ("request_texts_days", "0")]).await;
    let form = |threshold| {
        [("name", "Shop"), ("max_entries", "100000"), ("request_texts_days", "0"), ("threshold", threshold)]
    };
    let stale = |threshold| [&form(threshold)[..], &[("before", before.as_str())]].concat();
    let page = owner.post(place, &stale("2")).await;
    assert_eq!(
        page.attributes("form:not([id]) [name=before]", "value"),
        [before.as_str()],
        "until it is saved"
    );
    owner.submit(place, &stale("0.9")).await;
    let settings = world.reload("shop").await.settings;
    assert_eq!((settings.max_entries, settings.default_threshold), (500, Threshold::new(0.9)));
    let page = owner.submit(place, &stale("")).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.");
    assert_eq!(world.reload("shop").await.settings, settings, "nothing was touched");
    // Nor is anything saved that is so already.
    let page = owner.submit(place, &[("name", "Shop"), ("max_entries", "500"), ("threshold", "0.9")]).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.");
    let page = owner.submit(place, &[("name", "Shop"), ("max_entries", "501"), ("threshold", "0.9")]).await;
    assert_eq!(page.one("[role=status].note"), "Saved.");
}

#[tokio::test]
async fn what_was_changed_meanwhile_is_not_overwritten_before_it_was_seen() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    let place = "/console/p/shop/settings";
    let send = async |owner: &mut Browser, before: &str, [threshold, most]: [&str; 2], share: bool| {
        let mut form =
            vec![("name", "Shop"), ("threshold", threshold), ("max_entries", most), ("before", before)];
        form.extend(share.then_some(("share_models", "1")));
        owner.post(place, &form).await
    };
    let before_of = |page: &Page| page.attributes("form:not([id]) [name=before]", "value").remove(0);
    let before = before_of(&owner.get(place).await);
    // In another window.
    assert_eq!(send(&mut owner, &before, ["0.8", "500"], false).await.status, 303);
    let page = send(&mut owner, &before, ["0.9", "100000"], true).await;
    assert_eq!(page.status, 422);
    let told = page.one("#threshold-problem");
    assert!(told.contains("default threshold (now 0.8). Nothing was saved."), "{told}");
    assert!(!told.contains("entries") && !told.contains("sharing"), "what one window alone touched: {told}");
    let settings = world.reload("shop").await.settings;
    assert_eq!(
        (settings.default_threshold, settings.max_entries, settings.share_models),
        (Threshold::new(0.8), 500, false)
    );
    assert_eq!(page.attributes("#threshold", "value"), ["0.9"], "what was typed");
    assert_eq!(page.attributes("#max_entries", "value"), ["500"], "what the other window saved");
    assert_eq!(page.attributes("[name=share_models][checked]", "value"), ["1"]);
    // It was seen: saved again, it holds.
    assert_eq!(send(&mut owner, &before_of(&page), ["0.9", "500"], true).await.status, 303);
    let settings = world.reload("shop").await.settings;
    assert_eq!(
        (settings.default_threshold, settings.max_entries, settings.share_models),
        (Threshold::new(0.9), 500, true)
    );
    // Two windows that ask for the same do not differ.
    assert_eq!(send(&mut owner, &before, ["0.9", "100000"], true).await.status, 303);

    let page = owner.get(place).await;
    let (usage, hangup) = (settings.hit_usage.to_string(), settings.on_hangup.to_string());
    let wires = [("hit_usage", usage.as_str()), ("on_hangup", &hangup)];
    for (below, field, [first, second], rest, told) in [
        ("wires", "opt_in", ["semantic_json", "semantic_tools"], &wires[..], "more hits (now semantic_json)"),
        ("limits", "per_minute", ["50", "60"], &[("tier", "free")], "requests a minute (now 50)"),
    ] {
        let place = format!("{place}/{below}");
        let before_of = |page: &Page| page.attributes(&format!("#{below} [name=before]"), "value").remove(0);
        let before = before_of(&page);
        let form = |value, before| [rest, &[(field, value), ("before", before)]].concat();
        owner.submit(&place, &form(first, &before)).await;
        let page = owner.post(&place, &form(second, &before)).await;
        assert!(page.one(&format!("#{field}-problem")).contains(told), "{}", page.text());
        owner.submit(&place, &form(second, &before_of(&page))).await;
    }
    let project = world.reload("shop").await;
    let opt_ins: Vec<_> = project.settings.opt_ins.iter().map(|it| it.as_str()).collect();
    assert_eq!((opt_ins, project.quota().per_minute()), (vec!["semantic_tools"], 60));
}

#[tokio::test]
async fn endpoints_of_a_stale_form_leave_what_somebody_else_changed() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    let page = owner.get("/console/p/shop/settings").await;
    let before = page.attributes("#wires [name=before]", "value").remove(0);
    let place = "/console/p/shop/settings/wires";
    let kept = world.reload("shop").await.settings;
    let (usage, hangup) = (kept.hit_usage.to_string(), kept.on_hangup.to_string());
    // Somebody else, with a form of their own.
    let theirs = [("control", "cache"), ("hit_usage", "zero"), ("on_hangup", &hangup)];
    owner.submit(place, &theirs).await;
    let own = [("opt_in", "semantic_history"), ("hit_usage", &usage), ("on_hangup", &hangup)];
    let controls = kept.client_controls.iter().map(|it| ("control", it.as_str()));
    let stale: Vec<_> = own.into_iter().chain(controls).chain([("before", before.as_str())]).collect();
    owner.submit(place, &stale).await;
    let settings = world.reload("shop").await.settings;
    let words: Vec<_> = settings.client_controls.iter().map(|it| it.as_str()).collect();
    assert_eq!((words, settings.hit_usage.as_str()), (vec!["cache"], "zero"));
    assert!(
        settings.opt_ins.iter().any(|it| it.as_str() == "semantic_history"),
        "and takes what was touched"
    );
    let page = owner.submit(place, &stale).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.", "where nothing is touched any more");
}

#[tokio::test]
async fn limits_of_a_stale_form_leave_what_somebody_else_changed() {
    let (world, _, mut owner) = World::with_project("Shop", Role::Owner).await;
    let place = "/console/p/shop/settings/limits";
    owner.submit(place, &[("tier", "pro"), ("per_minute", "2,000"), ("burst", "3000")]).await;
    let page = owner.get("/console/p/shop/settings").await;
    let before = page.attributes("#limits [name=before]", "value").remove(0);
    // Somebody else, with a form of their own.
    let page = owner.submit(place, &[("tier", "pro"), ("per_minute", "1500"), ("burst", "3000")]).await;
    assert_eq!(page.one("[role=status].note"), "The limits hold from the next request on.");
    let stale =
        |tier, burst| [("tier", tier), ("per_minute", "2000"), ("burst", burst), ("before", before.as_str())];
    let page = owner.post(place, &stale("pro", "x")).await;
    assert_eq!(page.attributes("#limits [name=before]", "value"), [before.as_str()], "until it is saved");
    owner.submit(place, &stale("enterprise", "4000")).await;
    let project = world.reload("shop").await;
    let quota = project.quota();
    assert_eq!((project.tier, quota.per_minute(), quota.burst()), (Tier::Enterprise, 1500, 4000));
    let page = owner.submit(place, &stale("pro", "3000")).await;
    assert_eq!(page.one("[role=status].note"), "Nothing was changed.");
    assert_eq!(world.reload("shop").await, project);
    // Emptied is touched.
    let empty = [("tier", "pro"), ("per_minute", ""), ("burst", ""), ("before", before.as_str())];
    let page = owner.post(place, &empty).await;
    assert!(page.one("#per_minute-problem").contains("requests a minute (now 1500)"), "{}", page.text());
    let before = page.attributes("#limits [name=before]", "value").remove(0);
    let empty = [("tier", "enterprise"), ("per_minute", ""), ("burst", ""), ("before", before.as_str())];
    owner.submit(place, &empty).await;
    let project = world.reload("shop").await;
    assert_eq!((project.tier, project.custom_quota), (Tier::Enterprise, None));
}

#[tokio::test]
async fn a_maximum_of_none_is_refused_whatever_is_stored() {
    let (world, shop, mut owner) = World::with_project("Shop", Role::Owner).await;
    world.entry_without_vector(&shop, "m", "How?", None).await;
    let page = owner.post("/console/p/shop/settings", &[("name", "Shop"), ("max_entries", "0")]).await;
    assert!(page.one("#max_entries-problem").contains("must lie between"));
}
