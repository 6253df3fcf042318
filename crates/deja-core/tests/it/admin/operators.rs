//! Links, passwords and sessions of operators.

use std::time::Duration;

use deja_core::admin::operators::{self, Link, Setup, accept, set_up};
use deja_core::admin::{Admin, AdminError, audit, sessions};
use deja_core::audit::{Actor, Change};
use deja_core::clock::Clock as _;
use deja_core::id::SystemEntropy;
use deja_core::operator::{Invite, PlainToken, Purpose, Role};
use deja_core::store::{Invites as _, Operators as _};
use secrecy::SecretString;

use super::world;

fn plain(link: &Link) -> PlainToken {
    let (_, token) = link.url.expose().split_once("?token=").unwrap();
    PlainToken::parse(token).unwrap()
}

async fn first_link(admin: &Admin) -> Link {
    let link = match set_up(admin).await.unwrap() {
        Some(Setup::Link(link, _)) => Some(link),
        _ => None,
    };
    link.expect("there is no operator yet")
}

#[tokio::test]
async fn the_setup_link_makes_the_first_owner_once() {
    let (store, _, admin) = world();
    let stale = first_link(&admin).await;
    let link = first_link(&admin).await;
    assert!(link.url.expose().starts_with("https://deja.example/console/setup?token="));
    let password = || SecretString::from("correct horse battery");
    let used = accept(&admin, &plain(&stale), "ada@x", password()).await;
    assert!(matches!(used, Err(AdminError::NotFound(_))), "a new link replaces the last one");
    let refused = accept(&admin, &plain(&link), "ada", password()).await;
    assert!(matches!(&refused, Err(AdminError::Setting { name, .. }) if name == "email"), "{refused:?}");
    for wrong in ["", "elevenchars", &"x".repeat(1025)] {
        let refused = accept(&admin, &plain(&link), "ada@x", wrong.into()).await;
        assert!(
            matches!(&refused, Err(AdminError::Setting { name, problem }) if name == "password" && problem.contains("12 characters")),
            "{refused:?}"
        );
    }
    let ada = accept(&admin, &plain(&link), "Ada@X", password()).await.unwrap();
    assert_eq!((ada.email.as_str(), ada.role), ("ada@x", Role::Owner));
    assert!(admin.passwords.verify(password(), Some(ada.password.clone())).await.unwrap());
    assert!(matches!(accept(&admin, &plain(&link), "bob@x", password()).await, Err(AdminError::NotFound(_))));
    assert!(set_up(&admin).await.unwrap().is_none());
    assert_eq!(store.operators().await.unwrap(), [ada]);
}

#[tokio::test]
async fn a_setup_link_is_useless_once_there_is_an_operator() {
    let (_, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let link = first_link(&admin).await;
    operators::create(&by, "ada@x", None, "correct horse battery".into()).await.unwrap();
    let late = accept(&admin, &plain(&link), "eve@x", "correct horse battery".into()).await;
    assert!(matches!(late, Err(AdminError::NotFound(_))));
}

#[tokio::test]
async fn links_join_and_reset_for_their_own_address_only() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let ada = operators::invite(&by, "ada@x", None).await.unwrap();
    let ada = accept(&admin, &plain(&ada), "ignored@x", "correct horse battery".into()).await.unwrap();
    assert_eq!(ada.email.as_str(), "ada@x");
    let revoked = operators::invite(&by, "bob@x", None).await.unwrap();
    operators::revoke_invite(&by, &plain(&revoked).hash().to_hex()).await.unwrap();
    let told = audit::list(&by, &audit::AuditQuery::default(), None, 1).await.unwrap().remove(0).row.change;
    assert_eq!((&*told.action, &*told.subject), ("operator.revoke-link", "bob@x"));
    let bob = operators::invite(&by, "bob@x", None).await.unwrap();
    let bob = accept(&admin, &plain(&bob), "", "correct horse battery".into()).await.unwrap();
    assert_eq!(bob.role, Role::Member, "after the first");
    let reset = operators::reset_password(&by, "bob@x").await.unwrap();
    let new = accept(&admin, &plain(&reset), "", "another long password".into()).await.unwrap();
    assert_eq!((new.id, new.role), (bob.id, bob.role));
    assert!(new.password != bob.password);
    let refused = operators::set(&by, "ada@x", None, Some(true)).await;
    assert!(matches!(refused, Err(AdminError::Conflict(_))), "the last owner stays");
    operators::set(&by, "bob@x", None, Some(true)).await.unwrap();
    let refused = operators::reset_password(&by, "bob@x").await.unwrap_err();
    assert!(refused.to_string().ends_with("is disabled: enable it first"), "{refused}");
    let token = PlainToken::generate(&SystemEntropy).unwrap();
    let invite = Invite {
        token: token.hash(),
        purpose: Purpose::ResetPassword { operator: bob.id },
        created_by: None,
        created: by.now(),
        expires: by.now().plus(Duration::from_hours(1)),
    };
    store.create_invite(&invite, &Change::new(by.now(), Actor::Cli, "test")).await.unwrap();
    let refused = accept(&admin, &token, "", "a third long password".into()).await;
    assert!(matches!(refused, Err(AdminError::NotFound(_))), "one that was made meanwhile");
}

#[tokio::test]
async fn a_session_ends_when_it_is_not_used_and_after_a_month_in_any_case() {
    let (_, clock, admin) = world();
    let password = || SecretString::from("correct horse battery");
    let by = admin.acting(Actor::Cli);
    let ada = operators::create(&by, "ada@x", None, password()).await.unwrap();
    for (email, wrong) in [("ada@x", "correct horse batterx"), ("eve@x", "correct horse battery"), ("", "")] {
        let refused = sessions::check(&admin, email, wrong.into(), "192.0.2.1").await.unwrap();
        assert!(refused.is_none(), "{email}");
    }
    let told = audit::list(&by, &audit::AuditQuery::default(), None, 1).await.unwrap().remove(0).row.change;
    assert_eq!((&*told.action, told.detail.as_str()), ("session.refuse", "from 192.0.2.1"));
    assert_eq!(sessions::check(&admin, "Ada@X", password(), "").await.unwrap(), Some(ada.clone()));

    let found = async |token| sessions::find(&admin, token).await.unwrap().map(|(_, operator)| operator.id);
    let seldom = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    clock.advance(sessions::IDLE.mul_f64(0.99));
    assert_eq!(found(&seldom).await, Some(ada.id), "which is a use");
    clock.advance(sessions::IDLE.mul_f64(0.99));
    assert_eq!(found(&seldom).await, Some(ada.id));
    clock.advance(sessions::IDLE);
    assert_eq!(found(&seldom).await, None);

    let daily = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let mut days = 0;
    while found(&daily).await.is_some() {
        days += 1;
        clock.advance(Duration::from_hours(24));
    }
    assert_eq!(days, 30);

    let early = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    clock.set(clock.now().minus(Duration::from_mins(4)));
    assert_eq!(found(&early).await, Some(ada.id), "clocks of replicas differ");
    clock.set(clock.now().minus(Duration::from_hours(24)));
    assert_eq!(found(&early).await, None, "the clock was set back");

    let ended = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let own = admin.acting_for(&ada);
    assert!(sessions::end(&own, &ada, &ended.hash()).await.unwrap());
    assert_eq!(found(&ended).await, None);
    assert!(!sessions::end(&own, &ada, &ended.hash()).await.unwrap(), "it was over");
}
