//! Claims on flights, for stores that several processes share.

use std::time::Duration;

use super::Subject;
use super::fixtures::project_id;
use crate::cache::{Frame, PromptHash, Scope};
use crate::id::FlightId;
use crate::store::FlightKey;

super::register!("claims":
    one_owner_at_a_time,
    a_claim_that_ran_out_is_taken_over,
    only_the_owner_releases,
    flights_are_apart,
    who_waits_is_woken,
);

const LONG: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(100);

fn flight(project: u32, prompt: &str) -> FlightKey {
    let project = project_id(project);
    FlightKey {
        project,
        scope: Scope::new(project, Frame::query(Some("m"), None)).key(),
        prompt: PromptHash::of(prompt),
    }
}

fn owner(number: u8) -> FlightId {
    FlightId::from_bytes([number; 16])
}

async fn one_owner_at_a_time(subject: Subject) {
    let store = subject.store();
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claims.claim(&flight, owner(1), LONG).await.unwrap());
    assert!(!claims.claim(&flight, owner(2), LONG).await.unwrap());
    assert!(claims.claim(&flight, owner(1), LONG).await.unwrap(), "one's own claim is prolonged");
    assert!(!claims.claim(&flight, owner(2), LONG).await.unwrap());
    claims.release(&flight, owner(1)).await.unwrap();
    assert!(claims.claim(&flight, owner(2), LONG).await.unwrap());
    assert!(!claims.claim(&flight, owner(1), LONG).await.unwrap());
}

async fn a_claim_that_ran_out_is_taken_over(subject: Subject) {
    let store = subject.store();
    let claims = store.claims().unwrap();
    let (left, prolonged) = (flight(1, "p"), flight(1, "q"));
    for flight in [&left, &prolonged] {
        assert!(claims.claim(flight, owner(1), SHORT).await.unwrap());
    }
    assert!(claims.claim(&prolonged, owner(1), LONG).await.unwrap());
    tokio::time::sleep(2 * SHORT).await;
    assert!(!claims.claim(&prolonged, owner(2), LONG).await.unwrap(), "it was prolonged");
    assert!(claims.claim(&left, owner(2), LONG).await.unwrap());
    assert!(!claims.claim(&left, owner(1), LONG).await.unwrap(), "it was taken over");
}

async fn only_the_owner_releases(subject: Subject) {
    let store = subject.store();
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claims.claim(&flight, owner(1), LONG).await.unwrap());
    claims.release(&flight, owner(2)).await.unwrap();
    assert!(!claims.claim(&flight, owner(3), LONG).await.unwrap());
    claims.release(&self::flight(1, "nobody's"), owner(1)).await.unwrap();
}

async fn flights_are_apart(subject: Subject) {
    let store = subject.store();
    let claims = store.claims().unwrap();
    for (number, flight) in [flight(1, "p"), flight(1, "q"), flight(2, "p")].iter().enumerate() {
        assert!(claims.claim(flight, owner(number as u8), LONG).await.unwrap());
    }
}

async fn who_waits_is_woken(subject: Subject) {
    let store = subject.store();
    let claims = store.claims().unwrap();
    let flight = flight(1, "p");
    assert!(claims.claim(&flight, owner(1), LONG).await.unwrap());
    let release = async {
        // Whether the other waits already or not: released is released.
        tokio::time::sleep(Duration::from_millis(100)).await;
        claims.release(&flight, owner(1)).await.unwrap();
    };
    let woken =
        tokio::time::timeout(Duration::from_secs(30), claims.released(&flight, Duration::from_mins(5)));
    assert!(tokio::join!(woken, release).0.is_ok(), "nobody wakes who waits");
    // With nobody in the way, or without a word, nobody waits for ever.
    claims.released(&flight, Duration::from_millis(50)).await;
}
