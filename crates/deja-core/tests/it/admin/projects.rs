//! Names and limits of projects, what is counted of them, and what is added while they are deleted.

use std::sync::Arc;
use std::time::Duration;

use deja_core::admin::keys::{self, KeyWish};
use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::admin::{Admin, AdminError, providers};
use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::audit::Actor;
use deja_core::clock::Timestamp;
use deja_core::id::{Entropy, EntropyError, KeyId, SystemEntropy};
use deja_core::project::Tier;
use deja_core::store::{Projects as _, Usage as _};
use deja_core::testing::change;
use futures::FutureExt as _;

use super::{named, over, project, provider, world};
use crate::store::OddStore;

#[tokio::test]
async fn slugs_are_numbered_and_names_checked() {
    let (_, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    for slug in ["my-team", "my-team-2", "my-team-3"] {
        assert_eq!(project(&by, " My Team ").await, slug);
    }
    for name in ["", " ", "--", "\u{7}bell", &"x".repeat(101)] {
        let error = projects::create(&by, named(name)).await.unwrap_err();
        assert!(matches!(error, AdminError::Setting { name: about, .. } if about == "name"), "{name}");
    }
    assert_eq!(project(&by, "日本").await, "ri-ben", "a name of any script makes one");
}

/// Random bytes, for which a project is deleted.
struct Deletes(Arc<OddStore>);

impl Entropy for Deletes {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        let project = self.0.project("a").now_or_never().unwrap().unwrap();
        if let Some(project) = project {
            self.0.delete_project(project.id, &change()).now_or_never().unwrap().unwrap();
        }
        SystemEntropy.fill(buffer)
    }
}

#[tokio::test]
async fn what_is_added_to_a_project_while_it_is_deleted_finds_none() {
    let (store, clock, made) = world();
    let admin = Admin { entropy: Arc::new(Deletes(store.clone())), ..over(&store, &clock) };
    let (makes, by) = (made.acting(Actor::Cli), admin.acting(Actor::Cli));
    let wanted = AdminError::NotFound("the project 'a' was deleted meanwhile".into());
    let slug = project(&makes, "a").await;
    let wish = KeyWish { name: "ci".into(), ..KeyWish::default() };
    assert_eq!(keys::create(&by, &slug, wish).await.err(), Some(wanted.clone()));
    let slug = project(&makes, "a").await;
    let added = providers::add(&by, provider(&slug, "https://llm.example.com/v1")).await;
    assert_eq!(added.err(), Some(wanted));
}

#[tokio::test]
async fn limits_follow_tier_and_wishes() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let limit = async |patch: ProjectPatch| {
        let given = projects::set(&by, &slug, patch).await?;
        let quota = store.project(&slug).await?.unwrap().quota();
        assert_eq!(given.quota(), quota, "what is said is what is stored");
        Ok::<_, AdminError>((quota.per_minute(), quota.burst()))
    };
    let patch = ProjectPatch::default;
    assert_eq!(limit(ProjectPatch { per_minute: Some(50), ..patch() }).await, Ok((50, 60)));
    assert_eq!(limit(ProjectPatch { burst: Some(500), ..patch() }).await, Ok((50, 500)));
    assert_eq!(limit(ProjectPatch { per_minute: Some(60), ..patch() }).await, Ok((60, 500)));
    assert_eq!(limit(ProjectPatch { tier: Some(Tier::Pro), ..patch() }).await, Ok((1000, 1200)));
    for bad in [
        patch(),
        ProjectPatch { per_minute: Some(0), ..patch() },
        ProjectPatch { max_entries: Some(0), ..patch() },
        ProjectPatch { ttl: Some(Some(0).into()), ..patch() },
    ] {
        let wrong = limit(bad).await.unwrap_err();
        assert!(matches!(wrong, AdminError::Invalid(_) | AdminError::Setting { .. }), "{wrong:?}");
    }
    limit(ProjectPatch { ttl: Some(None.into()), share_models: Some(true), ..patch() }).await.unwrap();
    let settings = store.project(&slug).await.unwrap().unwrap().settings;
    assert!(settings.share_models && settings.ttl_seconds.is_none());
}

#[tokio::test]
async fn a_week_is_the_last_seven_days_with_the_hour_that_runs() {
    let (store, clock, admin) = world();
    let now = Timestamp::from_secs(1_000_000_000);
    clock.set(now);
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let id = store.project(&slug).await.unwrap().unwrap().id;
    let mut batch = UsageBatch::default();
    for hours in [0, 0, 167, 168, 1000] {
        let at = now.minus(Duration::from_hours(hours));
        batch.add(&UsageEvent::bare(id, KeyId::from_bytes([1; 16]), Outcome::Miss, at));
    }
    store.record(&batch).await.unwrap();
    let (listed, shown) = (projects::list(&by).await.unwrap(), projects::show(&by, &slug).await.unwrap());
    assert_eq!((listed[0].1.requests(), shown.1.requests()), (3, 3));
}
