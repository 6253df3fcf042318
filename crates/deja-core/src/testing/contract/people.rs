//! Operators, one-time links and sessions.

use tokio::task::JoinSet;

use super::fixtures::{NOW, bytes, later};
use super::{Subject, register};
use crate::id::OperatorId;
use crate::operator::{Invite, Operator, PasswordHash, Purpose, Role, Session, TokenHash};
use crate::second_factor::SecondFactor;
use crate::store::{Store, StoreError};
use crate::testing::{self, change, change_at};

register!["people":
    operators_come_back_by_address_and_by_id,
    addresses_are_unique,
    an_update_keeps_address_and_creation,
    the_last_owner_stays,
    a_new_password_or_disablement_ends_sessions,
    links_work_until_they_expire,
    later_links_replace_earlier_ones,
    a_link_to_join_makes_one_operator,
    a_taken_address_leaves_the_link,
    a_link_to_reset_sets_the_password,
    a_revoked_link_is_gone,
    links_end_with_the_rights_of_their_maker,
    a_link_works_once_under_concurrency,
    sessions_come_with_their_operator,
    sessions_need_an_operator_who_is_as_they_were_checked,
    sessions_outlive_no_change_that_ends_them,
    touched_sessions_live_on,
    sessions_end_one_by_one,
    sessions_end_all_but_one,
    sweep_removes_what_expired,
];

fn id(number: u32) -> OperatorId {
    OperatorId::from_bytes(bytes(number))
}

fn operator(number: u32, role: Role) -> Operator {
    let password = PasswordHash::from_phc(format!("$argon2id$hash {number}"));
    Operator { password, ..testing::operator(number, role, later(i64::from(number))) }
}

async fn with_operator(store: &dyn Store, number: u32, role: Role) -> Operator {
    let operator = operator(number, role);
    store.create_operator(&operator, &change()).await.unwrap();
    operator
}

fn token(number: u8) -> TokenHash {
    TokenHash([number; 32])
}

fn join(number: u8, email: Option<&str>) -> Invite {
    let email = email.map(|email| email.parse().unwrap());
    let purpose = Purpose::Join { role: Role::Member, email };
    Invite {
        token: token(number),
        purpose,
        created_by: None,
        created: later(i64::from(number)),
        expires: later(100),
    }
}

fn reset(number: u8, operator: u32) -> Invite {
    let purpose = Purpose::ResetPassword { operator: id(operator) };
    Invite { purpose, created_by: Some(id(operator)), ..join(number, None) }
}

fn session(number: u8, operator: u32) -> Session {
    Session {
        token: token(number),
        operator: id(operator),
        created: NOW,
        last_seen: later(i64::from(number)),
        expires: later(100),
        user_agent: "Müller's browser".to_owned(),
    }
}

async fn sign_in(store: &dyn Store, number: u8, operator: u32) -> Session {
    let session = session(number, operator);
    let password = store.operator_by_id(session.operator).await.unwrap().unwrap().password;
    assert!(store.create_session(&session, &password, false, &change()).await.unwrap());
    session
}

async fn signed_in(store: &dyn Store, number: u8) -> bool {
    store.session(&token(number), NOW).await.unwrap().is_some()
}

async fn operators_come_back_by_address_and_by_id(mut store: Subject) {
    let two = with_operator(&*store, 2, Role::Member).await;
    let one = Operator { disabled: Some(later(5)), ..operator(1, Role::Owner) };
    store.create_operator(&one, &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.operators().await.unwrap(), [one.clone(), two.clone()]);
    for whole in [one, two] {
        assert_eq!(store.operator_by_id(whole.id).await.unwrap().as_ref(), Some(&whole));
        assert_eq!(store.operator(&whole.email).await.unwrap(), Some(whole));
    }
    assert_eq!(store.operator(&"x@y".parse().unwrap()).await.unwrap(), None);
    assert_eq!(store.operator_by_id(id(3)).await.unwrap(), None);
}

async fn addresses_are_unique(store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    let twin = Operator { id: id(2), ..one.clone() };
    assert!(matches!(store.create_operator(&twin, &change()).await, Err(StoreError::Conflict(_))));
    assert_eq!(store.operators().await.unwrap(), [one]);
}

async fn an_update_keeps_address_and_creation(mut store: Subject) {
    with_operator(&*store, 1, Role::Owner).await;
    let two = with_operator(&*store, 2, Role::Member).await;
    let password = PasswordHash::from_phc("$new");
    let update = Operator { role: Role::Owner, password, ..two.clone() };
    let odd = Operator { email: "other@x".parse().unwrap(), created: NOW, ..update.clone() };
    assert!(store.update_operator(&odd, &change()).await.unwrap());
    assert!(!store.update_operator(&operator(9, Role::Owner), &change()).await.unwrap());
    store.reopen().await;
    assert_eq!(store.operator(&two.email).await.unwrap(), Some(update));
}

async fn the_last_owner_stays(store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    let two = with_operator(&*store, 2, Role::Owner).await;
    with_operator(&*store, 3, Role::Member).await;
    let gone = Operator { disabled: Some(NOW), ..two };
    assert!(store.update_operator(&gone, &change()).await.unwrap());
    for less in
        [Operator { disabled: Some(NOW), ..one.clone() }, Operator { role: Role::Member, ..one.clone() }]
    {
        assert!(matches!(store.update_operator(&less, &change()).await, Err(StoreError::Conflict(_))));
    }
    assert_eq!(store.operator(&one.email).await.unwrap(), Some(one));
}

async fn a_new_password_or_disablement_ends_sessions(mut store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    let two = with_operator(&*store, 2, Role::Owner).await;
    for (number, whose) in [(1, 1), (2, 1), (3, 2)] {
        sign_in(&*store, number, whose).await;
    }
    let same = Operator { role: Role::Member, ..two.clone() };
    store.update_operator(&same, &change()).await.unwrap();
    assert!(signed_in(&*store, 3).await, "a role ends nothing");
    let password = PasswordHash::from_phc("$new");
    store.update_operator(&Operator { password, ..one }, &change()).await.unwrap();
    store.update_operator(&Operator { disabled: Some(NOW), ..same }, &change()).await.unwrap();
    // Enabled again, they have to sign in again.
    store.update_operator(&two, &change()).await.unwrap();
    store.reopen().await;
    for number in 1..=3 {
        assert!(!signed_in(&*store, number).await, "{number}");
    }
}

async fn links_work_until_they_expire(mut store: Subject) {
    let (first, second) = (join(1, Some("a@b")), reset(2, 7));
    for invite in [&second, &first] {
        store.create_invite(invite, &change()).await.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.invites(NOW).await.unwrap(), [first.clone(), second]);
    assert_eq!(store.invite(&token(1), later(99)).await.unwrap(), Some(first));
    assert_eq!(store.invite(&token(1), later(100)).await.unwrap(), None);
    assert_eq!(store.invite(&token(9), NOW).await.unwrap(), None);
    assert_eq!(store.invites(later(100)).await.unwrap(), []);
    let late = change_at(later(100));
    assert!(!store.accept_invite(&token(1), &operator(1, Role::Member), &late).await.unwrap());
    assert_eq!(store.operators().await.unwrap(), []);
}

async fn later_links_replace_earlier_ones(store: Subject) {
    let (a, b) = (Some("a@b"), Some("b@b"));
    for invite in
        [join(1, None), reset(2, 7), reset(3, 8), join(4, a), join(5, b), join(6, None), reset(7, 7)]
    {
        store.create_invite(&invite, &change()).await.unwrap();
    }
    let left: Vec<TokenHash> = store.invites(NOW).await.unwrap().iter().map(|invite| invite.token).collect();
    assert_eq!(left, [token(3), token(4), token(5), token(6), token(7)]);
}

async fn a_link_to_join_makes_one_operator(mut store: Subject) {
    store.create_invite(&join(1, None), &change()).await.unwrap();
    let one = operator(1, Role::Member);
    assert!(store.accept_invite(&token(1), &one, &change_at(NOW)).await.unwrap());
    store.reopen().await;
    assert!(!store.accept_invite(&token(1), &operator(2, Role::Member), &change_at(NOW)).await.unwrap());
    assert_eq!(store.operators().await.unwrap(), [one]);
    assert_eq!(store.invites(NOW).await.unwrap(), []);
}

async fn a_taken_address_leaves_the_link(store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    store.create_invite(&join(1, None), &change()).await.unwrap();
    let twin = Operator { email: one.email.clone(), ..operator(2, Role::Member) };
    let refused = store.accept_invite(&token(1), &twin, &change_at(NOW)).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))));
    assert_eq!(store.operators().await.unwrap(), [one]);
    assert!(store.invite(&token(1), NOW).await.unwrap().is_some());
}

async fn a_link_to_reset_sets_the_password(mut store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    sign_in(&*store, 9, 1).await;
    store.create_invite(&reset(1, 1), &change()).await.unwrap();
    store.create_invite(&reset(2, 5), &change()).await.unwrap();
    let other = operator(5, Role::Owner);
    assert!(!store.accept_invite(&token(1), &other, &change_at(NOW)).await.unwrap(), "of another operator");
    assert!(!store.accept_invite(&token(2), &other, &change_at(NOW)).await.unwrap(), "of nobody");
    let changed = Operator { password: PasswordHash::from_phc("$new"), ..one.clone() };
    // Nothing but the password is taken.
    let more = Operator { role: Role::Member, ..changed.clone() };
    assert!(store.accept_invite(&token(1), &more, &change_at(NOW)).await.unwrap());
    store.reopen().await;
    assert_eq!(store.operators().await.unwrap(), [changed]);
    assert!(!signed_in(&*store, 9).await, "old sessions are over");
    assert!(!store.accept_invite(&token(1), &more, &change_at(NOW)).await.unwrap());
}

async fn a_revoked_link_is_gone(store: Subject) {
    store.create_invite(&join(1, None), &change()).await.unwrap();
    assert!(store.revoke_invite(&token(1), &change()).await.unwrap());
    assert!(!store.revoke_invite(&token(1), &change()).await.unwrap());
    assert!(!store.accept_invite(&token(1), &operator(1, Role::Owner), &change_at(NOW)).await.unwrap());
}

async fn links_end_with_the_rights_of_their_maker(mut store: Subject) {
    let [one, two, three] = [1, 2, 3].map(|number| operator(number, Role::Owner));
    for operator in [&one, &two, &three] {
        store.create_operator(operator, &change()).await.unwrap();
    }
    let by = |maker: u32, invite: Invite| Invite { created_by: Some(id(maker)), ..invite };
    for invite in [
        by(1, join(1, Some("a@b"))),
        by(1, reset(2, 2)),
        by(1, reset(3, 3)),
        by(2, join(4, Some("c@d"))),
        by(2, reset(5, 1)),
        join(6, Some("e@f")),
    ] {
        store.create_invite(&invite, &change()).await.unwrap();
    }
    let left = async || {
        let invites = store.invites(NOW).await.unwrap();
        invites.iter().map(|invite| invite.token.0[0]).collect::<Vec<_>>()
    };
    let password = PasswordHash::from_phc("$new");
    store.update_operator(&Operator { password, ..one.clone() }, &change()).await.unwrap();
    assert_eq!(left().await, [1, 2, 3, 4, 5, 6], "an owner as before");
    let refused = Operator { role: Role::Member, ..operator(9, Role::Owner) };
    assert!(!store.update_operator(&refused, &change()).await.unwrap());
    store.update_operator(&Operator { role: Role::Member, ..one.clone() }, &change()).await.unwrap();
    assert_eq!(left().await, [4, 5, 6], "a member's own password may be set anew, with another's link");
    store.update_operator(&Operator { disabled: Some(NOW), ..one.clone() }, &change()).await.unwrap();
    assert_eq!(left().await, [4, 6]);
    store.update_operator(&one, &change()).await.unwrap();
    store.update_operator(&Operator { disabled: Some(NOW), ..two }, &change()).await.unwrap();
    store.reopen().await;
    let invites = store.invites(NOW).await.unwrap();
    assert_eq!(invites.iter().map(|invite| invite.token).collect::<Vec<_>>(), [token(6)]);
    let joins = store.accept_invite(&token(1), &operator(4, Role::Owner), &change_at(NOW)).await.unwrap();
    assert!(!joins, "nor does it come back with its maker");
}

async fn a_link_works_once_under_concurrency(store: Subject) {
    store.create_invite(&join(1, None), &change()).await.unwrap();
    let mut tasks = JoinSet::new();
    for number in 1..=20 {
        let store = store.shared();
        tasks.spawn(async move {
            store.accept_invite(&token(1), &operator(number, Role::Owner), &change_at(NOW)).await.unwrap()
        });
    }
    let accepted = tasks.join_all().await.into_iter().filter(|accepted| *accepted).count();
    assert_eq!((accepted, store.operators().await.unwrap().len()), (1, 1));
}

async fn sessions_come_with_their_operator(mut store: Subject) {
    let one = with_operator(&*store, 1, Role::Owner).await;
    let (first, second) = (sign_in(&*store, 1, 1).await, sign_in(&*store, 2, 1).await);
    store.reopen().await;
    assert_eq!(store.session(&token(1), NOW).await.unwrap(), Some((first.clone(), one)));
    assert_eq!(store.session(&token(3), NOW).await.unwrap(), None);
    assert_eq!(store.session(&token(1), later(100)).await.unwrap(), None);
    assert_eq!(store.sessions(id(1), NOW).await.unwrap(), [second, first]);
    assert_eq!(store.sessions(id(1), later(100)).await.unwrap(), []);
    assert_eq!(store.sessions(id(2), NOW).await.unwrap(), []);
}

async fn sessions_need_an_operator_who_is_as_they_were_checked(mut store: Subject) {
    let begun = async |password: &PasswordHash, second_factor| {
        store.create_session(&session(1, 1), password, second_factor, &change()).await.unwrap()
    };
    assert!(!begun(&operator(1, Role::Owner).password, false).await, "nobody is there");
    with_operator(&*store, 2, Role::Owner).await;
    let one = with_operator(&*store, 1, Role::Owner).await;
    let new = Operator { password: PasswordHash::from_phc("$new"), ..one.clone() };
    store.update_operator(&new, &change()).await.unwrap();
    assert!(!begun(&one.password, false).await, "checked with the old password");
    store.update_operator(&Operator { disabled: Some(NOW), ..new.clone() }, &change()).await.unwrap();
    assert!(!begun(&new.password, true).await, "disabled");
    store.update_operator(&new, &change()).await.unwrap();
    store.create_second_factor(one.id, &second_factor(), None, &change()).await.unwrap();
    assert!(!begun(&new.password, false).await, "without the code that is needed now");
    store.reopen().await;
    assert_eq!(store.sessions(id(1), NOW).await.unwrap(), []);
    let coded = store.create_session(&session(1, 1), &new.password, true, &change()).await;
    assert!(coded.unwrap() && signed_in(&*store, 1).await);
}

fn second_factor() -> SecondFactor {
    SecondFactor { sealed_secret: vec![1], since: NOW, last_step: 1, recovery: Vec::new() }
}

async fn sessions_outlive_no_change_that_ends_them(store: Subject) {
    for number in 1..=20 {
        let one = with_operator(&*store, number.into(), Role::Owner).await;
        let session = session(number, number.into());
        let note = change();
        let begin = store.create_session(&session, &one.password, false, &note);
        if number % 2 == 0 {
            let new = Operator { password: PasswordHash::from_phc("$new"), ..one.clone() };
            let (_, done) = tokio::join!(begin, store.update_operator(&new, &note));
            assert!(done.unwrap());
        } else {
            let factor = second_factor();
            let (_, done) = tokio::join!(begin, store.create_second_factor(one.id, &factor, None, &note));
            done.unwrap();
        }
        assert!(!signed_in(&*store, number).await, "{number}");
    }
}

async fn touched_sessions_live_on(mut store: Subject) {
    with_operator(&*store, 1, Role::Owner).await;
    sign_in(&*store, 1, 1).await;
    store.touch_session(&token(1), later(90), later(200)).await.unwrap();
    store.touch_session(&token(2), later(90), later(200)).await.unwrap();
    store.reopen().await;
    let (found, _) = store.session(&token(1), later(199)).await.unwrap().unwrap();
    assert_eq!((found.last_seen, found.expires), (later(90), later(200)));
    assert_eq!(store.sessions(id(1), NOW).await.unwrap().len(), 1);
}

async fn sessions_end_one_by_one(mut store: Subject) {
    with_operator(&*store, 1, Role::Owner).await;
    with_operator(&*store, 2, Role::Owner).await;
    sign_in(&*store, 1, 1).await;
    sign_in(&*store, 2, 1).await;
    assert!(!store.end_session(id(2), &token(1), &change()).await.unwrap(), "of somebody else");
    assert!(store.end_session(id(1), &token(1), &change()).await.unwrap());
    assert!(!store.end_session(id(1), &token(1), &change()).await.unwrap());
    store.reopen().await;
    assert!(!signed_in(&*store, 1).await && signed_in(&*store, 2).await);
}

async fn sessions_end_all_but_one(mut store: Subject) {
    with_operator(&*store, 1, Role::Owner).await;
    with_operator(&*store, 2, Role::Owner).await;
    for (number, whose) in [(1, 1), (2, 1), (3, 1), (4, 2)] {
        sign_in(&*store, number, whose).await;
    }
    assert_eq!(store.end_sessions(id(1), Some(&token(2)), &change()).await.unwrap(), 2);
    store.reopen().await;
    for (number, left) in [(1, false), (2, true), (3, false), (4, true)] {
        assert_eq!(signed_in(&*store, number).await, left, "{number}");
    }
    assert_eq!(store.end_sessions(id(1), None, &change()).await.unwrap(), 1);
    assert!(!signed_in(&*store, 2).await);
}

async fn sweep_removes_what_expired(mut store: Subject) {
    with_operator(&*store, 1, Role::Owner).await;
    sign_in(&*store, 1, 1).await;
    sign_in(&*store, 2, 1).await;
    store.touch_session(&token(2), NOW, later(500)).await.unwrap();
    store.create_invite(&join(3, None), &change()).await.unwrap();
    assert_eq!(store.sweep_sessions(later(99)).await.unwrap(), 0);
    assert_eq!(store.sweep_sessions(later(100)).await.unwrap(), 2);
    store.reopen().await;
    // Really gone, not only hidden: not there at an earlier time either.
    assert!(!signed_in(&*store, 1).await && signed_in(&*store, 2).await);
    assert_eq!(store.invites(NOW).await.unwrap(), []);
}
