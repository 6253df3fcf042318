//! Who shares a call, and what the same request is.

use std::sync::Arc;

use deja_core::analytics::Outcome;
use deja_core::engine::Source;
use deja_core::project::ProjectSettings;

use super::{as_stream, chunk, done, exact, relay, text};
use crate::util::{Bench, chat_completion, plain, settle};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_cannot_read_along_waits_for_one_answer_that_is_not_stored_and_no_more() {
    let bench = Bench::new().await;
    *bench.provider.passing.lock().unwrap() =
        Arc::new(|_| Ok(plain(200, &chat_completion("cheap", "half", "length"))));
    let labelled = |label| {
        let mut relay = relay("reset|1");
        relay.identity.labels = Some([label; 32]);
        bench.begin_reading(relay)
    };
    let gate = bench.provider.hold();
    let first = labelled(1);
    bench.until("the call", |bench| bench.provider.count() == 1).await;
    let others = [2, 2, 3, 3].map(labelled);
    settle().await;
    assert_eq!(bench.provider.count(), 1, "it may be stored");
    gate.add_permits(1);
    first.await.unwrap();
    // Neither of these is answered yet: a second wait would never end.
    bench.until("a call for each label", |bench| bench.provider.count() == 3).await;
    settle().await;
    gate.add_permits(100);
    for other in others {
        assert!(other.await.unwrap().contains("half"));
    }
    assert_eq!((bench.provider.count(), bench.entries().await), (3, 0));
}

/// How much of a whole request people see depends on settings, which may change, and the guard would take it for another question.
#[tokio::test]
async fn the_same_request_is_an_exact_hit_however_much_of_it_is_shown() {
    let bench = Bench::with(ProjectSettings::default(), 10).await;
    let shown = |day: u8| {
        let mut relay = exact(&format!("|Which trains run on day {day}?"));
        relay.identity.hash = [7; 32];
        relay
    };
    let (feed, _) = bench.streams();
    let leader = bench.live(as_stream(shown(1))).await;
    let along = bench.live(as_stream(shown(2))).await;
    let plain = bench.begin_hit(shown(3));
    settle().await;
    for piece in [chunk("One", ""), chunk("", "stop"), done()] {
        feed.unbounded_send(Ok(piece)).unwrap();
    }
    drop(feed);
    assert_eq!(text(leader).await, text(along).await);
    assert_eq!(plain.await.unwrap().source, Source::Exact);
    assert_eq!(bench.hit(shown(4)).await.source, Source::Exact);
    bench.until("all are counted", |bench| bench.heard().len() == 4).await;
    let hits = bench.heard().iter().filter(|outcome| **outcome == Outcome::ExactHit).count();
    assert_eq!((hits, bench.provider.count()), (3, 1));
}
