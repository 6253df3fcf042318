//! Members of projects: who sees which, who gives ranks, and that viewers read no text.

use std::collections::BTreeSet;

use deja_core::admin::operators;
use deja_core::admin::providers::{self, NewProvider};
use deja_core::analytics::{ContextKey, EntryHits, Outcome, UsageBatch, UsageEvent};
use deja_core::cache::{Frame, Kind, Parameters, PromptHash};
use deja_core::embedding::Similarity;
use deja_core::id::EntryId;
use deja_core::member::Rank;
use deja_core::money::NanoUsd;
use deja_core::operator::Role;
use deja_core::project::{Project, ProjectSettings};
use deja_core::provider::ProviderKind;
use deja_core::request_log::LoggedRequest;
use deja_core::testing::{change_at, sample};
use deja_server::console::listed;

use crate::roles::filled;
use crate::util::World;

const PROMPT: &str = "How do I feed the canaryprompt?";
const ANSWER: &str = "With canaryanswer.";
const CONTEXT: &str = "canarycontext";
const SYSTEM: &str = "You are a canarysystem.";
const ASKED: &str = "How do I nourish the canaryasked?";
const PROVIDER: &str = "canaryprovider";
/// What a viewer must not read.
const CANARIES: [&str; 6] =
    ["canaryprompt", "canaryanswer", "canarycontext", "canarysystem", "canaryasked", PROVIDER];

/// A project that has texts wherever there may be some.
async fn with_canaries(world: &World) -> (Project, EntryId) {
    let (project, _) = world.furnished().await;
    let (store, now) = (&world.wired.store, world.wired.admin.clock.now());
    let settings = ProjectSettings { request_texts_days: 30, ..project.settings.clone() };
    let project = Project { settings, ..project };
    store.update_project(&project, &change_at(now)).await.unwrap();
    let entry = world.entry(&project, PROMPT, ANSWER, Some(CONTEXT)).await;
    let frame = Frame::of_wire(Kind::Chat, "m", Some(SYSTEM), Parameters::default());
    world.question(&project, frame, PROMPT).await;
    let url = format!("https://{PROVIDER}.example/v1");
    let new = NewProvider {
        project: "furnished".into(),
        name: "own".into(),
        kind: ProviderKind::OpenAi,
        base_url: url,
        models: vec!["m".into()],
        secret: None,
        allow_private: false,
    };
    providers::add(&world.acting(), new).await.unwrap();
    let similarity = Similarity::from_cosine(0.95);
    let key = store.keys(project.id).await.unwrap()[0].0.id;
    let mut batch = UsageBatch::default();
    assert!(batch.add(&UsageEvent {
        model: "m",
        context: Some(CONTEXT),
        entry: Some(entry),
        similarity: Some(similarity),
        ..UsageEvent::bare(project.id, key, Outcome::SemanticHit, now)
    }));
    let saved = NanoUsd::from_nanos(1_000_000_000);
    batch.entries.insert((project.id, entry), EntryHits { hits: 3, last_hit: now, saved });
    store.record(&batch).await.unwrap();
    let logged = LoggedRequest {
        request: Some("request-1".into()),
        model: "m".into(),
        context: ContextKey::of(Some(CONTEXT)),
        ..world.logged(&project, entry, ASKED)
    };
    store.log_requests(&[logged]).await.unwrap();
    let sample = sample(1, project.id, entry, ASKED, similarity, now);
    store.keep_samples(&[sample], now).await.unwrap();
    (project, entry)
}

/// Every address that a browser can open, with what may stand behind a question mark.
fn addresses(entry: EntryId) -> Vec<String> {
    let charts =
        ["prompts", "keys", "models", "contexts", "surfaces", "scopes", "refusals", "requests", "similarity"];
    let mut all = Vec::new();
    for (_, path, _) in listed().into_iter().filter(|(method, ..)| *method == "GET") {
        let files: Vec<String> = if path.contains("analytics/{chart}") {
            charts.map(|chart| path.replace("{chart}", &format!("{chart}.csv?range=24h"))).into()
        } else {
            vec![path.replace("{chart}", "curve.csv")]
        };
        all.extend(files.iter().map(|path| filled(path, "furnished", &entry.to_string())));
    }
    let context = ContextKey::of(Some(CONTEXT)).0;
    let below = [
        "/requests?live=1".to_owned(),
        "/requests?q=canaryasked".to_owned(),
        format!("/requests?q={}", ASKED.replace(' ', "+")),
        "/requests/log.csv?q=canaryasked".to_owned(),
        format!("/requests?context={context}"),
        format!("/requests?entry={entry}"),
        "/analytics?range=24h".to_owned(),
        format!("/analytics?range=24h&context={context}"),
        format!("/analytics/prompts.csv?range=24h&context={context}"),
        "/quality?guard=off".to_owned(),
        "/cache?q=canaryprompt&by=meaning".to_owned(),
        format!("/playground/chat?entry={entry}"),
    ];
    all.extend(below.iter().map(|below| format!("/console/p/furnished{below}")));
    all
}

/// Those of the canaries that are in some body.
fn found<'a>(bodies: &[(String, String)]) -> BTreeSet<&'a str> {
    let is_there = |canary: &&str| bodies.iter().any(|(_, body)| body.contains(*canary));
    CANARIES.into_iter().filter(is_there).collect()
}

#[tokio::test]
async fn a_viewer_finds_no_text_behind_any_address() {
    let world = World::new().await;
    let (project, entry) = with_canaries(&world).await;
    let mut bodies = Vec::new();
    for rank in [Rank::Viewer, Rank::Editor] {
        let mut browser = world.member(&project, Some(rank)).await;
        let mut read = Vec::new();
        for path in addresses(entry) {
            let page = browser.get(&path).await;
            assert!(page.status < 500, "{path} as {rank}: {}", page.text());
            read.push((path, format!("{:?} {}", page.headers, page.body)));
        }
        bodies.push(read);
    }
    for (path, body) in &bodies[0] {
        // What a viewer typed themselves comes back in the address of the form alone.
        let told = CANARIES.iter().find(|canary| body.contains(**canary));
        assert_eq!(told, None, "{path}: {body}");
    }
    assert_eq!(
        found(&bodies[1]),
        CANARIES.into(),
        "an editor reads all of them, so each is there to be found"
    );
}

#[tokio::test]
async fn a_viewer_sees_figures_and_hashes() {
    let world = World::new().await;
    let (project, _) = with_canaries(&world).await;
    let mut viewer = world.member(&project, Some(Rank::Viewer)).await;
    let page = viewer.get("/console/p/furnished/requests").await;
    let hash = &PromptHash::of(ASKED).0[..6];
    let hash = hash.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    assert!(page.one("tbody th").contains(&hash), "{}", page.text());
    let number = format!("context {:016x}", ContextKey::of(Some(CONTEXT)).0);
    assert!(page.one("tbody").contains(&number), "{}", page.text());
    assert_eq!(viewer.get("/console/p/furnished/requests?q=canaryasked").await.status, 403);
    let page = viewer.get("/console/p/furnished/analytics?range=24h").await;
    assert!(page.one("#contexts tbody").contains(&number), "{}", page.text());
    assert_eq!(page.all("#prompts").len(), 0);
    assert_eq!(viewer.get("/console/p/furnished/analytics/prompts.csv").await.status, 403);
    let csv = viewer.get("/console/p/furnished/requests/log.csv").await;
    assert!(csv.body.contains(&hash) && csv.body.contains("request-1"), "{}", csv.body);
    assert!(csv.body.contains(&format!(",{number},")), "{}", csv.body);
    assert!(viewer.get("/console/p/furnished/quality").await.text().contains("Wrong among hits"));
    assert!(viewer.get("/console/p/furnished/keys").await.one("tbody th").contains("first"));
}

#[tokio::test]
async fn a_viewer_is_not_sent_to_snippets_that_only_editors_see() {
    let world = World::new().await;
    let project = world.project("Quiet").await;
    for (rank, told) in [(Rank::Viewer, false), (Rank::Editor, true)] {
        let mut browser = world.member(&project, Some(rank)).await;
        for page in ["analytics", "requests"] {
            let page = browser.get(&format!("/console/p/quiet/{page}")).await;
            assert_eq!(page.one(".empty").contains("snippets"), told, "{rank}: {}", page.text());
        }
    }
}

#[tokio::test]
async fn what_a_page_offers_is_open_to_who_sees_it() {
    let world = World::new().await;
    let (project, _) = with_canaries(&world).await;
    let mut tabs = Vec::new();
    for rank in Rank::ALL {
        let mut browser = world.member(&project, Some(rank)).await;
        let pages = browser.get("/console/p/furnished").await.attributes("nav[aria-label=Project] a", "href");
        tabs.push(pages.len());
        for page in pages {
            let shown = browser.get(&page).await;
            for link in shown.attributes("main a[href^=\"/console/\"]", "href") {
                let status = browser.get(&link).await.status;
                assert!(status < 400, "{page} offers {link} to {rank}: {status}");
            }
            if rank == Rank::Viewer {
                assert_eq!(shown.all("main form[method=post]").len(), 0, "{page} offers a form to {rank}");
            }
        }
    }
    assert_eq!(tabs, [5, 10, 10]);
}

#[tokio::test]
async fn whoever_makes_a_project_owns_it_and_others_do_not_see_it() {
    let world = World::new().await;
    let (ada, mut hers) = world.operator(Role::Member).await;
    let (_, mut his) = world.operator(Role::Member).await;
    hers.submit("/console/projects", &[("name", "Secret")]).await;
    let id = world.reload("secret").await.id;
    assert_eq!(world.wired.store.rank(id, ada.id).await.unwrap(), Some(Rank::Owner));
    assert!(hers.get("/console/projects").await.text().contains("Secret"));
    assert!(!his.get("/console/projects").await.text().contains("Secret"));
    assert_eq!(his.get("/console/p/secret").await.status, 404);
    // The project's owner may what is an owner's of it, and not what owners of deja pay for.
    let page = hers.submit("/console/p/secret/settings/state", &[("state", "suspended")]).await;
    assert!(page.text().contains("suspended"), "{}", page.text());
    let limits = [("tier", "pro"), ("per_minute", ""), ("burst", "")];
    assert_eq!(hers.post("/console/p/secret/settings/limits", &limits).await.status, 403);
    hers.submit("/console/p/secret/delete", &[("confirm", "secret")]).await;
    assert!(world.wired.store.project("secret").await.unwrap().is_none());
}

#[tokio::test]
async fn ranks_are_given_and_taken_on_the_page_of_members() {
    let world = World::new().await;
    let project = world.project("Shared").await;
    let (ada, mut hers) = world.operator(Role::Member).await;
    let mut owner = world.member(&project, Some(Rank::Owner)).await;
    let place = "/console/p/shared/members";
    let email = ada.email.as_str();
    assert_eq!(hers.get("/console/p/shared").await.status, 404);
    let page = owner.submit(place, &[("email", email), ("do", "viewer")]).await;
    assert!(page.one(".note").contains("viewer"), "{}", page.text());
    assert_eq!(hers.get("/console/p/shared").await.status, 200, "from the very next request on");
    assert_eq!((hers.get(place).await.status, hers.get("/console/p/shared/cache").await.status), (403, 403));
    owner.submit(place, &[("email", &format!(" {} ", email.to_uppercase())), ("do", "editor")]).await;
    let page = hers.get(place).await;
    assert!(page.text().contains(email) && page.all("main form").is_empty(), "an editor changes no rank");
    assert_eq!(hers.post(place, &[("email", email), ("do", "owner")]).await.status, 403);
    let page = owner.submit(place, &[("email", email), ("do", "remove")]).await;
    assert!(!page.one("tbody").contains(email), "{}", page.text());
    assert_eq!(hers.get("/console/p/shared").await.status, 404);

    for (who, problem) in [("eve@example.com", "There is no operator"), ("nobody", "not an email address")] {
        let page = owner.post(place, &[("email", who), ("do", "editor")]).await;
        assert_eq!(page.status, 422);
        assert!(page.one("#email-problem").contains(problem), "{}", page.text());
        assert_eq!(page.attributes("#email", "value"), [who]);
        assert_eq!(page.attributes("#do [selected]", "value"), ["editor"], "what was chosen stays");
    }
    assert_eq!(owner.post(place, &[("email", email), ("do", "king")]).await.status, 400);
    let rows = world.changes(project.id).await;
    let told = rows.iter().filter(|row| row.change.action.starts_with("member."));
    let told: Vec<_> = told.map(|row| format!("{} {}", row.change.action, row.change.detail)).collect();
    assert_eq!(told, ["member.remove ", "member.set viewer -> editor", "member.set viewer"]);
    assert!(rows.iter().all(|row| row.change.subject != "eve@example.com"));
    // Who takes their own rank is asked first, and led where they still may be.
    let own = world.wired.store.members(project.id).await.unwrap().remove(0).email;
    let asks = owner.get(place).await.attributes("tbody td.do a.danger", "href").remove(0);
    let asked = owner.get(&asks).await;
    assert!(asked.one("main form p").starts_with("You leave Shared."), "{}", asked.text());
    for (rank, told) in
        [("viewer", "You become a viewer of Shared."), ("editor", "You become an editor of Shared.")]
    {
        let asked = owner.get(&format!("{place}/own?do={rank}")).await;
        assert!(asked.one("main form p").starts_with(told), "{}", asked.text());
    }
    let form =
        ["email", "do"].map(|name| asked.attributes(&format!("main [name={name}]"), "value").remove(0));
    assert_eq!(form, [own.as_str(), "remove"]);
    let page = owner.submit(&asks, &[("email", &form[0]), ("do", &form[1])]).await;
    assert_eq!((page.status, page.one("h1")), (200, "Projects".into()));
    assert_eq!(owner.get(place).await.status, 404);
}

#[tokio::test]
async fn adding_a_member_changes_nobodys_rank() {
    let world = World::new().await;
    let project = world.project("Shared").await;
    let (ada, _) = world.operator(Role::Member).await;
    let mut owner = world.member(&project, Some(Rank::Owner)).await;
    let own = world.wired.store.members(project.id).await.unwrap().remove(0);
    let place = "/console/p/shared/members";
    assert_eq!(owner.get(place).await.attributes("form.card [type=hidden]", "name"), ["new"]);
    owner.submit(place, &[("email", ada.email.as_str()), ("do", "editor"), ("new", "true")]).await;
    for (email, kept) in [(ada.email.as_str(), Rank::Editor), (own.email.as_str(), Rank::Owner)] {
        let typed = format!(" {} ", email.to_uppercase());
        let page = owner.post(place, &[("email", &typed), ("do", "viewer"), ("new", "true")]).await;
        let told = page.one("#email-problem");
        assert!(page.status == 422 && told.contains("is a member already"), "{} {told}", page.status);
        let members = world.wired.store.members(project.id).await.unwrap();
        let member = members.iter().find(|member| member.email.as_str() == email).unwrap();
        assert_eq!(member.rank, kept, "{email}");
    }
}

#[tokio::test]
async fn the_last_owner_stays_one() {
    let world = World::new().await;
    let mut owner = world.browser_of(Role::Owner).await;
    world.browser_of(Role::Member).await;
    let page = owner
        .submit("/console/operators/change", &[("email", "owner-0@example.com"), ("do", "member")])
        .await;
    let told = page.one("[role=alert]");
    assert_eq!(told, "This is the last owner who may sign in: make somebody else an owner first.");
    owner.submit("/console/operators/change", &[("email", "member-1@example.com"), ("do", "owner")]).await;
    let roles: Vec<Role> =
        world.wired.store.operators().await.unwrap().iter().map(|operator| operator.role).collect();
    assert_eq!(roles, [Role::Owner, Role::Owner]);
    operators::set(&world.acting(), "owner-0@example.com", Some(Role::Member), None).await.unwrap();
    assert_eq!(owner.get("/console/operators").await.status, 403, "a role is looked up with every request");
}
