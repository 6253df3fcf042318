//! Looking up while a request is admitted: what was found counts if the request still asks for it, and for nobody else.

use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::analytics::{Outcome, Surface};
use deja_core::cache::{Labelled, PromptHash};
use deja_core::clock::Clock;
use deja_core::engine::{Admitted, Control, NotAdmitted, Query, QueryError, Relay, Relayed, Reply, Source};
use deja_core::project::{Project, ProjectSettings};
use deja_core::rate_limit::Quota;
use deja_core::store::{Keys, LookUp, Projects};
use deja_core::testing::change;

use crate::relay::relay;
use crate::util::{Bench, is_miss, query, unguarded};

impl Bench {
    /// What `query` looks up, by what this process takes the project to be; `None` if it does not know.
    fn wanted(&self, query: &Query) -> Option<LookUp> {
        let project = self.engine.guess(&self.caller.key.hash, None)?;
        let scope = project.scope(&query.model, query.context.as_deref());
        Some(LookUp::new(&scope, PromptHash::of(&query.prompt)))
    }

    async fn admit(&self, wanted: Option<LookUp>) -> Result<Admitted, NotAdmitted> {
        self.engine.admit(&self.caller.key.hash, None, Surface::Query, None, wanted).await
    }

    async fn after(&self, admitted: Admitted, query: Query) -> Result<Reply, QueryError> {
        let read = async { Ok::<_, QueryError>((query, ())) };
        Ok(self.engine.request(admitted.looked, &admitted.caller, "r", read, |_, ()| 0).await?.0)
    }

    /// Asks as the edge does. How often the store was asked for exactly this prompt, besides.
    async fn ask_ahead(&self, query: Query) -> (Result<Reply, QueryError>, usize) {
        let before = self.store.exact_calls.load(Ordering::SeqCst);
        let admitted = self.admit(self.wanted(&query)).await.unwrap();
        let reply = self.after(admitted, query).await;
        (reply, self.store.exact_calls.load(Ordering::SeqCst) - before)
    }

    async fn relay_ahead(&self, relay: Relay) -> Result<Relayed, QueryError> {
        let project = self.engine.guess(&self.caller.key.hash, None).unwrap();
        let admitted = self.admit(relay.look_up(project.id)).await.unwrap();
        self.engine.relay(admitted.looked, &admitted.caller, relay).await
    }

    async fn set(&self, project: Project) {
        assert!(self.store.update_project(&project, &change()).await.unwrap());
    }

    async fn share_models(&self, share_models: bool) {
        let project = (*self.caller.project).clone();
        let settings = ProjectSettings { share_models, ..project.settings.clone() };
        self.set(Project { settings, ..project }).await;
    }
}

#[tokio::test]
async fn what_was_found_at_admission_is_not_looked_up_again() {
    let bench = Bench::new().await.replica(2);
    assert_eq!(bench.wanted(&query("reset|1")), None, "nobody was let in yet");
    let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
    assert_eq!((is_miss(&reply.unwrap()), looked_up), (true, 1));
    // From now on its project is known: a hit, a similar one and a miss.
    let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
    assert_eq!((reply.unwrap().source, looked_up), (Source::Exact, 0));
    let (reply, looked_up) = bench.ask_ahead(query("reset|2")).await;
    assert_eq!((matches!(reply.unwrap().source, Source::Semantic(_)), looked_up), (true, 0));
    let (reply, looked_up) = bench.ask_ahead(query("weather|1")).await;
    assert_eq!((is_miss(&reply.unwrap()), looked_up), (true, 0));
    let counted = [Outcome::Miss, Outcome::ExactHit, Outcome::SemanticHit, Outcome::Miss];
    assert_eq!(bench.heard(), counted, "each once");
}

#[tokio::test]
async fn a_store_in_the_process_is_asked_nothing_ahead() {
    let bench = Bench::new().await;
    for source in [Source::Provider(Ok(())), Source::Exact] {
        assert_eq!(bench.wanted(&query("reset|1")), None);
        let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
        assert_eq!((reply.unwrap().source, looked_up > 0), (source, true));
    }
    // Though somebody names what to look up.
    let scope = crate::util::scope(bench.caller.project.id);
    let wanted = LookUp::new(&scope, PromptHash::of("reset|1"));
    assert!(bench.admit(Some(wanted)).await.unwrap().looked.is_none());
}

#[tokio::test]
async fn a_project_that_changed_meanwhile_is_asked_as_it_is() {
    let bench = Bench::new().await.replica(2);
    let dear = || Query { model: "dear".into(), ..query("reset|1") };
    let of_cheap = bench.ask_ahead(query("reset|1")).await.0.unwrap().entry;
    let of_dear = bench.ask_ahead(dear()).await.0.unwrap().entry;
    assert_ne!(of_cheap.id, of_dear.id);
    // Another process changes it: what this one takes it to be has an answer, and what it is has none.
    bench.share_models(true).await;
    let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
    let shared = reply.unwrap();
    assert_eq!((is_miss(&shared), looked_up), (true, 1));
    assert_eq!(bench.ask_ahead(dear()).await.0.unwrap().entry.id, shared.entry.id);
    bench.share_models(false).await;
    for (query, entry, looked_up) in [(dear(), &of_dear, 1), (query("reset|1"), &of_cheap, 0)] {
        let (reply, looked) = bench.ask_ahead(query).await;
        assert_eq!((reply.unwrap().entry.id, looked), (entry.id, looked_up));
    }
}

#[tokio::test]
async fn what_was_found_answers_nothing_else() {
    let bench = Bench::new().await.replica(2);
    for prompt in ["reset|1", "weather|1"] {
        bench.ask_ahead(query(prompt)).await.0.unwrap();
    }
    let with_context = Query { context: Some("c".into()), ..query("reset|1") };
    let of_another = Query { model: "dear".into(), ..query("reset|1") };
    for (other, is_hit) in [(query("weather|1"), true), (with_context, false), (of_another, false)] {
        let admitted = bench.admit(bench.wanted(&query("reset|1"))).await.unwrap();
        let reply = bench.after(admitted, other.clone()).await.unwrap();
        assert_eq!(reply.source == Source::Exact, is_hit, "{other:?}");
        assert_eq!((&reply.entry.prompt, &reply.entry.model), (&other.prompt, &other.model));
    }
}

#[tokio::test]
async fn who_was_not_let_in_is_a_stranger_again() {
    let bench = Bench::new().await.replica(2);
    let (project, key) = ((*bench.caller.project).clone(), &bench.caller.key);
    let known = || bench.engine.guess(&key.hash, None).is_some();
    let own = project.slug.as_str();
    for changed in [
        Project { suspended: true, ..project.clone() },
        Project { custom_quota: Quota::new(1, 1).ok(), ..project.clone() },
    ] {
        bench.admit(None).await.unwrap();
        assert!(known() && bench.engine.guess(&key.hash, Some(own)).is_some());
        assert!(bench.engine.guess(&key.hash, Some("another")).is_none());
        bench.set(changed).await;
        let wanted = bench.wanted(&query("reset|1"));
        while bench.admit(wanted).await.is_ok() {}
        assert!(!known());
        bench.clock.advance(Duration::from_mins(2));
        bench.set(project.clone()).await;
    }
    bench.admit(None).await.unwrap();
    let wanted = bench.wanted(&query("reset|1"));
    assert!(bench.store.revoke_key(project.id, key.id, &change()).await.unwrap());
    assert!(known());
    assert!(matches!(bench.admit(wanted).await, Err(NotAdmitted::UnknownKey)));
    assert!(!known());
}

#[tokio::test]
async fn what_cannot_be_looked_up_ahead_fails_as_a_look_up_does() {
    let bench = Bench::new().await.replica(2);
    bench.ask_ahead(query("reset|1")).await.0.unwrap();
    bench.store.fail_search.store(true, Ordering::SeqCst);
    let (refused, looked_up) = bench.ask_ahead(query("reset|1")).await;
    assert!(matches!(refused, Err(QueryError::Unavailable(_))), "{refused:?}");
    assert_eq!((looked_up, bench.heard()), (0, vec![Outcome::Miss, Outcome::Error]));
    // In a wire format the provider is asked.
    assert!(matches!(bench.relay_ahead(relay("reset|1")).await, Ok(Relayed::Live(_))));
}

#[tokio::test]
async fn a_request_in_a_wire_format_takes_what_was_found_if_it_wants_it() {
    let bench = Bench::with(unguarded(), 100).await.replica(2);
    bench.admit(None).await.unwrap();
    let Ok(Relayed::Live(live)) = bench.relay_ahead(relay("reset|1")).await else { unreachable!("a hit") };
    crate::relay::text(live).await;
    let before = bench.store.exact_calls.load(Ordering::SeqCst);
    assert!(matches!(bench.relay_ahead(relay("reset|1")).await, Ok(Relayed::Hit(..))));
    assert_eq!(bench.store.exact_calls.load(Ordering::SeqCst), before);

    // Not if it wants a fresh one, whatever was looked up.
    let wanted = relay("reset|1").look_up(bench.caller.project.id).unwrap();
    let on = Control::default();
    let refresh = Relay { control: Control { look_up: false, ..on }, ..relay("reset|1") };
    assert_eq!(refresh.look_up(bench.caller.project.id), None);
    let admitted = bench.admit(Some(wanted)).await.unwrap();
    let fresh = bench.engine.relay(admitted.looked, &admitted.caller, refresh).await;
    let Ok(Relayed::Live(live)) = fresh else { unreachable!("a hit") };
    crate::relay::text(live).await;
    // Nor if it is too old for it.
    bench.clock.advance(Duration::from_secs(10));
    for (age, is_hit) in [(11, true), (9, false)] {
        let control = Control { only: true, max_age: Some(Duration::from_secs(age)), ..on };
        let relayed = bench.relay_ahead(Relay { control, ..relay("reset|1") }).await;
        assert_eq!(relayed.is_ok(), is_hit, "{age}");
    }
}

#[tokio::test]
async fn what_has_expired_or_was_found_wrong_is_as_in_a_look_up() {
    let settings = ProjectSettings { ttl_seconds: Some(5), ..unguarded() };
    let bench = Bench::with(settings, 100).await.replica(2);
    let stored = bench.ask_ahead(query("reset|1")).await.0.unwrap().entry;
    assert_eq!(bench.caller.project.settings.expires(bench.clock.now()), stored.expires);
    // In quarantine it answers its own prompt.
    for wrong in ["reset|2", "reset|3"] {
        bench.found_wrong(stored.id, wrong).await;
    }
    assert_eq!(bench.label_wrong(stored.id, "reset|4").await, Some(Labelled::Quarantined));
    let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
    assert_eq!((reply.unwrap().entry.id, looked_up), (stored.id, 0));
    bench.clock.advance(Duration::from_secs(5));
    let (reply, looked_up) = bench.ask_ahead(query("reset|1")).await;
    assert_eq!((is_miss(&reply.unwrap()), looked_up), (true, 0));
}
