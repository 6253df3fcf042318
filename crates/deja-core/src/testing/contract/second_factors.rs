//! Second factors of operators.

use super::fixtures::{NOW, later, operator_id, with_operator};
use super::{Subject, register};
use crate::operator::{Session, TokenHash};
use crate::second_factor::SecondFactor;
use crate::store::StoreError;
use crate::testing::change;

register!["second_factors":
    come_back_as_they_were,
    need_an_operator_and_are_one_each,
    end_all_sessions_but_one,
    use_a_step_once_and_none_before_it,
    use_a_recovery_code_once,
    are_used_once_however_many_try,
    are_removed_and_made_again,
];

fn factor() -> SecondFactor {
    let recovery = (1..=3).map(|n| TokenHash([n; 32])).collect();
    SecondFactor { sealed_secret: vec![0, 255, 7], since: later(5), last_step: 10, recovery }
}

async fn come_back_as_they_were(mut store: Subject) {
    let (one, two) = (with_operator(&*store, 1).await.id, with_operator(&*store, 2).await.id);
    assert_eq!(store.with_second_factor().await.unwrap(), []);
    store.create_second_factor(one, &factor(), None, &change()).await.unwrap();
    let without = SecondFactor { recovery: Vec::new(), ..factor() };
    store.create_second_factor(two, &without, None, &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.second_factor(one).await.unwrap(), Some(factor()));
    assert_eq!(store.second_factor(two).await.unwrap(), Some(without));
    assert_eq!(store.second_factor(operator_id(3)).await.unwrap(), None);
    let mut holders = store.with_second_factor().await.unwrap();
    holders.sort_unstable();
    assert_eq!(holders, [one, two]);
}

async fn need_an_operator_and_are_one_each(store: Subject) {
    let refused = store.create_second_factor(operator_id(1), &factor(), None, &change()).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    let one = with_operator(&*store, 1).await.id;
    store.create_second_factor(one, &factor(), None, &change()).await.unwrap();
    let other = SecondFactor { sealed_secret: vec![1], ..factor() };
    let twice = store.create_second_factor(one, &other, None, &change()).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    assert_eq!(store.second_factor(one).await.unwrap(), Some(factor()));
}

async fn end_all_sessions_but_one(mut store: Subject) {
    let [first, second] = [with_operator(&*store, 1).await, with_operator(&*store, 2).await];
    let (one, two) = (first.id, second.id);
    let session = |number: u8, operator| Session {
        token: TokenHash([number; 32]),
        operator,
        created: NOW,
        last_seen: NOW,
        expires: later(1000),
        user_agent: String::new(),
    };
    for (number, operator) in [(1, &first), (2, &first), (3, &second)] {
        let session = session(number, operator.id);
        assert!(store.create_session(&session, &operator.password, false, &change()).await.unwrap());
    }
    store.create_second_factor(one, &factor(), Some(&TokenHash([2; 32])), &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.sessions(one, NOW).await.unwrap(), [session(2, one)]);
    assert_eq!(store.sessions(two, NOW).await.unwrap(), [session(3, two)]);
    store.create_second_factor(two, &factor(), None, &change()).await.unwrap();
    assert_eq!(store.sessions(two, NOW).await.unwrap(), []);
}

async fn use_a_step_once_and_none_before_it(mut store: Subject) {
    let [one, two] = [with_operator(&*store, 1).await.id, with_operator(&*store, 2).await.id];
    assert!(!store.use_code(one, 12).await.unwrap(), "there is none");
    for operator in [one, two] {
        store.create_second_factor(operator, &factor(), None, &change()).await.unwrap();
    }
    assert!(!store.use_code(one, 10).await.unwrap());
    assert!(store.use_code(one, 12).await.unwrap());
    store.reopen().await;
    for used_up in [12, 11] {
        assert!(!store.use_code(one, used_up).await.unwrap(), "{used_up}");
    }
    assert!(store.use_code(one, 13).await.unwrap());
    assert_eq!(store.second_factor(one).await.unwrap(), Some(SecondFactor { last_step: 13, ..factor() }));
    assert_eq!(store.second_factor(two).await.unwrap(), Some(factor()));
}

async fn use_a_recovery_code_once(mut store: Subject) {
    let (one, two) = (with_operator(&*store, 1).await.id, with_operator(&*store, 2).await.id);
    store.create_second_factor(one, &factor(), None, &change()).await.unwrap();
    let code = TokenHash([2; 32]);
    assert!(!store.use_recovery_code(two, &code, &change()).await.unwrap(), "another's");
    assert!(!store.use_recovery_code(one, &TokenHash([9; 32]), &change()).await.unwrap());
    assert!(store.use_recovery_code(one, &code, &change()).await.unwrap());
    store.reopen().await;
    assert!(!store.use_recovery_code(one, &code, &change()).await.unwrap());
    let left = store.second_factor(one).await.unwrap().unwrap().recovery;
    assert_eq!(left, [TokenHash([1; 32]), TokenHash([3; 32])]);
}

async fn are_used_once_however_many_try(store: Subject) {
    let one = with_operator(&*store, 1).await.id;
    store.create_second_factor(one, &factor(), None, &change()).await.unwrap();
    let tries = (0..8).map(|_| async {
        let code = store.use_code(one, 20).await.unwrap();
        (code, store.use_recovery_code(one, &TokenHash([1; 32]), &change()).await.unwrap())
    });
    let tries = futures::future::join_all(tries).await;
    let codes = tries.iter().filter(|(code, _)| *code).count();
    let recoveries = tries.iter().filter(|(_, recovery)| *recovery).count();
    assert_eq!((codes, recoveries), (1, 1));
}

async fn are_removed_and_made_again(mut store: Subject) {
    let [one, two] = [with_operator(&*store, 1).await.id, with_operator(&*store, 2).await.id];
    assert!(!store.remove_second_factor(one, &change()).await.unwrap());
    for operator in [one, two] {
        store.create_second_factor(operator, &factor(), None, &change()).await.unwrap();
    }
    assert!(store.remove_second_factor(one, &change()).await.unwrap());
    store.reopen().await;
    assert_eq!(store.second_factor(one).await.unwrap(), None);
    assert_eq!(store.second_factor(two).await.unwrap(), Some(factor()));
    let again = SecondFactor { recovery: vec![TokenHash([7; 32])], last_step: 1, ..factor() };
    store.create_second_factor(one, &again, None, &change()).await.unwrap();
    assert_eq!(store.second_factor(one).await.unwrap(), Some(again));
}
