//! Claims on flights, for stores that several processes share.

use std::time::Duration;

use super::Subject;
use super::fixtures::{NOW, entry, project, project_id, scope};
use crate::cache::{Inserted, PromptHash};
use crate::id::FlightId;
use crate::provider::{FailureClass, ProviderError};
use crate::store::{Claimed, Claims, FlightKey, Unanswered};
use crate::testing::change;

super::register!("claims":
    one_owner_at_a_time,
    a_claim_that_ran_out_is_taken_over,
    a_claim_that_is_gone_does_not_come_back,
    only_the_owner_releases,
    flights_are_apart,
    who_waits_is_woken,
    who_waited_is_told_how_it_ended_and_for_others_it_is_free,
    storing_releases_and_who_claims_next_sees_the_entry,
);

const LONG: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(100);

fn flight(project: u32, prompt: &str) -> FlightKey {
    let project = project_id(project);
    FlightKey { project, scope: scope(project).key(), prompt: PromptHash::of(prompt) }
}

fn owner(number: u8) -> FlightId {
    FlightId::from_bytes([number; 16])
}

/// Whether the flight is this owner's now.
async fn claim(claims: &dyn Claims, flight: &FlightKey, number: u8, lease: Duration) -> bool {
    let claimed = claims.claim(flight, owner(number), lease, None, NOW).await.unwrap();
    assert!(matches!(claimed, Claimed::Ours | Claimed::Theirs(_)), "{claimed:?}");
    matches!(claimed, Claimed::Ours)
}

fn failed() -> Unanswered {
    let failure = ProviderError {
        provider: "p".into(),
        class: FailureClass::RateLimit,
        retry_after: Some(Duration::from_secs(3)),
        code: Some("slow_down".into()),
        message: "may quote a prompt".into(),
        part: None,
    };
    Unanswered { model: "m".into(), failure: Some(failure) }
}

async fn one_owner_at_a_time(store: Subject) {
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claim(claims, &flight, 1, LONG).await);
    let theirs = claims.claim(&flight, owner(2), LONG, None, NOW).await.unwrap();
    assert!(matches!(theirs, Claimed::Theirs(by) if by == owner(1)), "{theirs:?}");
    assert!(claims.prolong(&flight, owner(1), LONG).await.unwrap());
    assert!(!claim(claims, &flight, 2, LONG).await);
    claims.release(&flight, owner(1), &failed()).await.unwrap();
    assert!(claim(claims, &flight, 2, LONG).await);
    assert!(!claim(claims, &flight, 1, LONG).await);
}

async fn a_claim_that_ran_out_is_taken_over(store: Subject) {
    let claims = store.claims().unwrap();
    let (left, prolonged) = (flight(1, "p"), flight(1, "q"));
    for flight in [&left, &prolonged] {
        assert!(claim(claims, flight, 1, SHORT).await);
    }
    assert!(claims.prolong(&prolonged, owner(1), LONG).await.unwrap());
    tokio::time::sleep(2 * SHORT).await;
    assert!(!claim(claims, &prolonged, 2, LONG).await, "it was prolonged");
    assert!(claim(claims, &left, 2, LONG).await);
    assert!(!claim(claims, &left, 1, LONG).await, "it was taken over");
}

async fn a_claim_that_is_gone_does_not_come_back(store: Subject) {
    let claims = store.claims().unwrap();
    let (never, released, lost) = (flight(1, "p"), flight(1, "q"), flight(1, "r"));
    assert!(claim(claims, &released, 1, LONG).await);
    claims.release(&released, owner(1), &failed()).await.unwrap();
    assert!(claim(claims, &lost, 1, SHORT).await);
    tokio::time::sleep(2 * SHORT).await;
    assert!(claim(claims, &lost, 2, LONG).await);
    for flight in [&never, &released, &lost] {
        assert!(!claims.prolong(flight, owner(1), LONG).await.unwrap());
    }
    assert!(claim(claims, &never, 3, LONG).await);
    assert!(claim(claims, &released, 3, LONG).await);
    assert!(!claim(claims, &lost, 3, LONG).await, "it is still the second owner's");
}

async fn only_the_owner_releases(store: Subject) {
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claim(claims, &flight, 1, LONG).await);
    claims.release(&flight, owner(2), &failed()).await.unwrap();
    assert!(!claim(claims, &flight, 3, LONG).await);
    for other in ["nobody's", "q"] {
        claims.release(&self::flight(1, other), owner(1), &failed()).await.unwrap();
    }
    assert!(claims.prolong(&flight, owner(1), LONG).await.unwrap());
    // Nor does who stores an answer without the claim.
    store.create_project(&project(1), &change()).await.unwrap();
    claims.store_and_release(entry(1, &scope(project_id(1)), "p"), owner(2)).await.unwrap();
    assert!(claims.prolong(&flight, owner(1), LONG).await.unwrap());
}

async fn flights_are_apart(store: Subject) {
    let claims = store.claims().unwrap();
    for (number, flight) in [flight(1, "p"), flight(1, "q"), flight(2, "p")].iter().enumerate() {
        assert!(claim(claims, flight, number as u8, LONG).await);
    }
}

async fn who_waits_is_woken(store: Subject) {
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claim(claims, &flight, 1, LONG).await);
    let release = async {
        // Whether the other waits already or not: released is released.
        tokio::time::sleep(Duration::from_millis(100)).await;
        claims.release(&flight, owner(1), &failed()).await.unwrap();
    };
    let waiting = claims.released(&flight, owner(1), Duration::from_mins(5));
    let woken = tokio::time::timeout(Duration::from_secs(30), waiting);
    assert!(tokio::join!(woken, release).0.is_ok(), "nobody wakes who waits");
    // With nobody in the way, or without a word, nobody waits for ever.
    claims.released(&flight, owner(1), Duration::from_millis(50)).await;
}

async fn who_waited_is_told_how_it_ended_and_for_others_it_is_free(store: Subject) {
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claim(claims, &flight, 1, LONG).await);
    claims.release(&flight, owner(1), &failed()).await.unwrap();
    for _ in 0..2 {
        let told = claims.claim(&flight, owner(2), LONG, Some(owner(1)), NOW).await.unwrap();
        let ended = if let Claimed::Unanswered(ended) = told { Some(ended) } else { None };
        let Unanswered { model, failure } = ended.unwrap();
        let failure = failure.unwrap();
        assert_eq!((model.as_str(), failure.class), ("m", FailureClass::RateLimit));
        assert_eq!((failure.provider.as_str(), failure.code.as_deref()), ("p", Some("slow_down")));
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
    }
    // Who waited for somebody else, or for nobody, asks anew; and from then on the old word is gone.
    let other = claims.claim(&flight, owner(3), LONG, Some(owner(9)), NOW).await.unwrap();
    assert!(matches!(other, Claimed::Ours), "{other:?}");
    let late = claims.claim(&flight, owner(2), LONG, Some(owner(1)), NOW).await.unwrap();
    assert!(matches!(late, Claimed::Theirs(by) if by == owner(3)), "{late:?}");
}

async fn storing_releases_and_who_claims_next_sees_the_entry(store: Subject) {
    store.create_project(&project(1), &change()).await.unwrap();
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claim(claims, &flight, 1, LONG).await);
    let scope = scope(project_id(1));
    let stored = claims.store_and_release(entry(1, &scope, "p"), owner(1)).await.unwrap();
    assert!(matches!(stored, Inserted::New));
    for awaited in [None, Some(owner(1))] {
        let answered = claims.claim(&flight, owner(2), LONG, awaited, NOW).await.unwrap();
        assert!(matches!(answered, Claimed::Answered), "{answered:?}");
    }
    // It left no claim behind, and a twin releases too.
    for number in [1, 2] {
        assert!(!claims.prolong(&flight, owner(number), LONG).await.unwrap());
    }
    let twin = claims.store_and_release(entry(2, &scope, "p"), owner(2)).await.unwrap();
    assert!(matches!(twin, Inserted::Twin(_)));
}
