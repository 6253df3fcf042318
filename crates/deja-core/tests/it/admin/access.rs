//! Who asks, and what they may do. A session and a token are read though nothing can be written, and their use is noted if it can be.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::admin::audit::{self, AuditQuery};
use deja_core::admin::keys::Expiry;
use deja_core::admin::tokens::Shown;
use deja_core::admin::{Acting, AdminError, cache, operators, projects, sessions, tokens};
use deja_core::audit::{Actor, AuditFilter};
use deja_core::clock::Clock as _;
use deja_core::id::SystemEntropy;
use deja_core::operator::{Invite, PlainToken, Purpose, Role};
use deja_core::store::{Audit as _, EntryFilter, Invites as _};
use deja_core::testing::change;

use super::{named, world};

#[tokio::test]
async fn the_use_of_a_token_is_noted_once_a_minute_until_it_ends() {
    let (_, clock, admin) = world();
    let by = admin.acting(Actor::Cli);
    operators::create(&by, "ada@example.com", None, "a password that is long".into()).await.unwrap();
    let until = Some(Expiry::In(600));
    let token = tokens::create(&by, "ada@example.com", "ci", until).await.unwrap().plain;
    tokens::create(&by, "ada@example.com", "other", until).await.unwrap();
    let made = clock.now();
    // Seconds after it was made: when it is used, and what is noted then.
    for (at, noted) in [(5, 5), (64, 5), (65, 65), (100, 65), (599, 599), (660, 599)] {
        clock.set(made.plus(Duration::from_secs(at)));
        let shown = tokens::find(&admin, &token).await.unwrap();
        assert_eq!(matches!(shown, Shown::Of(_)), at < 600, "{at}: {shown:?}");
        let listed = tokens::list(&by, "ada@example.com").await.unwrap();
        let last_used = |name: &str| listed.iter().find(|token| token.name == name).unwrap().last_used;
        assert_eq!(last_used("ci"), Some(made.plus(Duration::from_secs(noted))), "{at}");
        assert_eq!(last_used("other"), None);
    }
}

#[tokio::test]
async fn who_asks_is_known_though_their_use_cannot_be_noted() {
    let (store, clock, admin) = world();
    let by = admin.acting(Actor::Cli);
    let ada =
        operators::create(&by, "ada@example.com", None, "a password that is long".into()).await.unwrap();
    let cookie = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let token = tokens::create(&by, "ada@example.com", "ci", None).await.unwrap().plain;
    clock.advance(Duration::from_mins(2));
    store.fail_touch.store(true, Ordering::SeqCst);
    let (_, who) = sessions::find(&admin, &cookie).await.unwrap().unwrap();
    assert_eq!(who, ada);
    assert!(matches!(tokens::find(&admin, &token).await.unwrap(), Shown::Of(who) if who == ada));
}

async fn make_two_owners(by: &Acting<'_>) {
    for email in ["boss@example.com", "fired@example.com"] {
        operators::create(by, email, Some(Role::Owner), "a password that is long".into()).await.unwrap();
    }
}

#[tokio::test]
async fn who_was_read_before_being_disabled_or_made_a_member_changes_nothing_for_owners() {
    let (store, clock, admin) = world();
    let by = admin.acting(Actor::Cli);
    make_two_owners(&by).await;
    let listed = operators::list(&by).await.unwrap();
    let fired = listed.iter().find(|operator| operator.email.as_str() == "fired@example.com").unwrap();
    let early = admin.acting_for(fired);
    for (role, disabled, refused) in
        [(None, Some(true), AdminError::Disabled), (Some(Role::Member), Some(false), AdminError::OwnersOnly)]
    {
        operators::set(&by, "fired@example.com", role, disabled).await.unwrap();
        let back = operators::set(&early, "fired@example.com", Some(Role::Owner), Some(false)).await;
        assert_eq!(back.unwrap_err(), refused);
        let link = operators::invite(&early, "friend@example.com", Some(Role::Owner)).await;
        assert_eq!(link.unwrap_err(), refused);
        let link = operators::reset_password(&early, "boss@example.com").await;
        assert_eq!(link.unwrap_err(), refused);
    }
    assert_eq!(store.invites(clock.now()).await.unwrap(), []);
}

#[tokio::test]
async fn a_link_that_was_stored_after_its_maker_was_disabled_does_not_work() {
    let (store, clock, admin) = world();
    let by = admin.acting(Actor::Cli);
    make_two_owners(&by).await;
    let fired = operators::set(&by, "fired@example.com", None, Some(true)).await.unwrap();
    let token = PlainToken::generate(&SystemEntropy).unwrap();
    let friend = "friend@example.com".parse().unwrap();
    let invite = Invite {
        token: token.hash(),
        purpose: Purpose::Join { role: Role::Owner, email: Some(friend) },
        created_by: Some(fired.id),
        created: clock.now(),
        expires: clock.now().plus(Duration::from_hours(1)),
    };
    store.create_invite(&invite, &change()).await.unwrap();
    let accept = || operators::accept(&admin, &token, "", "a password that is long".into());
    assert!(matches!(accept().await, Err(AdminError::NotFound(_))));
    operators::set(&by, "fired@example.com", None, Some(false)).await.unwrap();
    assert_eq!(accept().await.unwrap().role, Role::Owner);
}

#[tokio::test]
async fn what_cannot_be_counted_in_time_is_purged_all_the_same() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let shop = projects::create(&by, named("Shop")).await.unwrap();
    store.fail_count.store(true, Ordering::SeqCst);
    let filter = EntryFilter { model: Some("m".into()), ..EntryFilter::default() };
    assert_eq!(cache::purge(&by, "shop", &filter).await.unwrap(), 0);
    let changes = store.changes(&AuditFilter::of(shop.id), None, NonZeroUsize::MIN).await.unwrap();
    assert_eq!(
        (&*changes[0].change.action, &*changes[0].change.detail),
        ("cache.purge", "model m; not counted")
    );
    assert!(cache::may_have_purged(&changes[0].change.detail, "m", None));
    // The search by text would not end in time either.
    let filter = EntryFilter { text: Some("text".into()), ..filter };
    assert!(cache::purge(&by, "shop", &filter).await.is_err());
}

#[tokio::test]
async fn a_search_of_the_audit_log_that_does_not_end_says_how_to_narrow_it() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    projects::create(&by, named("Shop")).await.unwrap();
    store.fail_changes.store(true, Ordering::SeqCst);
    for (project, told) in [(None, "choose a project as well, or raise"), (Some("shop"), "too long: raise")] {
        let query = AuditQuery { project: project.map(str::to_owned), ..AuditQuery::default() };
        let refused = audit::list(&by, &query, None, 1).await.unwrap_err();
        assert!(matches!(&refused, AdminError::TookTooLong(why) if why.contains(told)), "{refused:?}");
    }
}
