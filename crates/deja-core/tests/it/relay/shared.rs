//! Who shares a call, and what the same request is.

use std::sync::Arc;

use super::relay;
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
