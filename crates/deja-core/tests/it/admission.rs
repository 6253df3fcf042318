//! Who is let in: requests and feedback, each by its own bucket.

use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::{Outcome, Surface};
use deja_core::api_key::{ApiKey, KeyHash};
use deja_core::clock::Clock;
use deja_core::engine::{Admitted, NotAdmitted, NotAllowed};
use deja_core::id::KeyId;
use deja_core::project::Project;
use deja_core::rate_limit::Quota;
use deja_core::store::{Keys, Projects};
use deja_core::testing::change;

use crate::util::Bench;

/// How somebody is let in.
#[derive(Clone, Copy, Debug)]
enum As {
    Request,
    Feedback,
}

const BOTH: [As; 2] = [As::Request, As::Feedback];

async fn admit(bench: &Bench, who: As, key: &KeyHash, slug: Option<&str>) -> Result<Admitted, NotAdmitted> {
    match who {
        As::Request => bench.engine.admit(key, slug, Surface::Query, None, None).await,
        As::Feedback => bench.engine.admit_feedback(key, slug).await,
    }
}

/// The bench's project takes two requests at once, and one more in a minute.
async fn two_at_once(bench: &Bench) {
    let quota = Quota::new(1, 2).unwrap();
    let limited = Project { custom_quota: Some(quota), ..(*bench.caller.project).clone() };
    assert!(bench.store.update_project(&limited, &change()).await.unwrap());
}

#[tokio::test]
async fn what_the_limiter_says_is_done_and_feedback_has_a_bucket_of_its_own() {
    for (first, second) in [(As::Request, As::Feedback), (As::Feedback, As::Request)] {
        let bench = Bench::new().await;
        two_at_once(&bench).await;
        let key = &bench.caller.key.hash;
        for who in [first, second] {
            for left in [1, 0] {
                let admitted = admit(&bench, who, key, None).await.unwrap();
                assert!(admitted.limit.allowed, "{who:?}");
                assert_eq!((admitted.limit.remaining, admitted.caller.key.id), (left, bench.caller.key.id));
            }
            let refused = admit(&bench, who, key, None).await;
            let NotAdmitted::RateLimited(limit) = refused.unwrap_err() else { unreachable!("{who:?}") };
            assert_eq!((limit.allowed, limit.remaining), (false, 0));
        }
        bench.clock.advance(Duration::from_mins(1));
        for who in BOTH {
            assert!(admit(&bench, who, key, None).await.is_ok(), "{who:?}");
            assert!(
                matches!(admit(&bench, who, key, None).await, Err(NotAdmitted::RateLimited(_))),
                "{who:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_key_that_is_not_valid_and_a_project_that_is_not_open_let_nobody_in() {
    let bench = Bench::new().await;
    let (project, now) = ((*bench.caller.project).clone(), bench.clock.now());
    let ends = ApiKey {
        id: KeyId::from_bytes([7; 16]),
        hash: KeyHash([7; 32]),
        expires: Some(now.plus(Duration::from_secs(5))),
        ..(*bench.caller.key).clone()
    };
    bench.store.create_key(&ends, &change()).await.unwrap();
    for who in BOTH {
        assert!(matches!(admit(&bench, who, &KeyHash([0; 32]), None).await, Err(NotAdmitted::UnknownKey)));
        assert!(admit(&bench, who, &ends.hash, Some(project.slug.as_str())).await.is_ok(), "{who:?}");
        let other = admit(&bench, who, &ends.hash, Some("another")).await;
        assert!(matches!(other, Err(NotAdmitted::Forbidden(NotAllowed::OtherProject, _))), "{who:?}");
    }
    bench.clock.advance(Duration::from_secs(5));
    for who in BOTH {
        let expired = admit(&bench, who, &ends.hash, None).await;
        assert!(matches!(expired, Err(NotAdmitted::ExpiredKey)), "{who:?}: {expired:?}");
    }
    let suspended = Project { suspended: true, ..project };
    assert!(bench.store.update_project(&suspended, &change()).await.unwrap());
    for who in BOTH {
        let refused = admit(&bench, who, &bench.caller.key.hash, None).await;
        assert!(matches!(refused, Err(NotAdmitted::Forbidden(NotAllowed::Suspended, _))), "{who:?}");
    }
}

#[tokio::test]
async fn who_asks_at_the_console_takes_from_the_projects_limit() {
    let bench = Bench::new().await;
    two_at_once(&bench).await;
    let project = bench.store.project(bench.caller.project.slug.as_str()).await.unwrap().unwrap();
    let project = Arc::new(project);
    let key = &bench.caller.key.hash;
    let at_console = || bench.engine.admit_from_console(Arc::clone(&project), None);
    let caller = at_console().await.unwrap().unwrap();
    assert_eq!((caller.project.id, caller.key.id), (project.id, KeyId::from_bytes([0; 16])));
    assert!(admit(&bench, As::Request, key, None).await.is_ok());
    // Both are gone, for either.
    assert!(at_console().await.unwrap().is_none());
    assert!(matches!(admit(&bench, As::Request, key, None).await, Err(NotAdmitted::RateLimited(_))));
    assert_eq!(bench.heard(), [Outcome::RateLimited; 2]);
    bench.clock.advance(Duration::from_mins(1));
    assert!(at_console().await.unwrap().is_some());
}
