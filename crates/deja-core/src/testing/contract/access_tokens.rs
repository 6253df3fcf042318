//! Personal access tokens.

use super::fixtures::{NOW, later, operator_id, with_operator};
use super::{Subject, register};
use crate::access_token::AccessToken;
use crate::operator::{Operator, TokenHash};
use crate::store::StoreError;
use crate::testing::change;

register!["access_tokens":
    come_with_their_operator,
    need_an_operator,
    are_listed_by_operator_and_age,
    are_touched,
    revoked_are_gone_at_once,
];

fn token(number: u8, operator: u32) -> AccessToken {
    AccessToken {
        hash: TokenHash([number; 32]),
        operator: operator_id(operator),
        name: format!("Müller's {number}"),
        shown: format!("djt_{number:04}"),
        created: later(i64::from(number)),
        expires: later(100),
        last_used: None,
    }
}

async fn come_with_their_operator(mut store: Subject) {
    let one = with_operator(&*store, 1).await;
    with_operator(&*store, 2).await;
    let token = token(1, 1);
    store.create_access_token(&token, &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.access_token(&token.hash).await.unwrap(), Some((token.clone(), one.clone())));
    assert_eq!(store.access_token(&TokenHash([9; 32])).await.unwrap(), None);
    let disabled = Operator { disabled: Some(NOW), ..one.clone() };
    store.update_operator(&disabled, &change()).await.unwrap();
    assert_eq!(store.access_token(&token.hash).await.unwrap(), None);
    store.update_operator(&one, &change()).await.unwrap();
    assert_eq!(store.access_token(&token.hash).await.unwrap(), Some((token, one)), "enabled again");
}

async fn need_an_operator(store: Subject) {
    let refused = store.create_access_token(&token(1, 1), &change()).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))));
    with_operator(&*store, 1).await;
    store.create_access_token(&token(1, 1), &change()).await.unwrap();
    let twice = store.create_access_token(&token(1, 1), &change()).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));
}

async fn are_listed_by_operator_and_age(mut store: Subject) {
    let one = with_operator(&*store, 1).await;
    let two = with_operator(&*store, 2).await;
    for (number, whose) in [(3, 1), (1, 1), (2, 2)] {
        store.create_access_token(&token(number, whose), &change()).await.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.access_tokens(one.id).await.unwrap(), [token(1, 1), token(3, 1)]);
    assert_eq!(store.access_tokens(two.id).await.unwrap(), [token(2, 2)]);
}

async fn are_touched(mut store: Subject) {
    let one = with_operator(&*store, 1).await;
    for number in [1, 2] {
        store.create_access_token(&token(number, 1), &change()).await.unwrap();
    }
    store.touch_access_token(&token(1, 1).hash, later(7)).await.unwrap();
    store.touch_access_token(&token(9, 1).hash, later(7)).await.unwrap();
    store.reopen().await;
    let used = AccessToken { last_used: Some(later(7)), ..token(1, 1) };
    assert_eq!(store.access_tokens(one.id).await.unwrap(), [used, token(2, 1)]);
}

async fn revoked_are_gone_at_once(mut store: Subject) {
    let one = with_operator(&*store, 1).await;
    let two = with_operator(&*store, 2).await;
    store.create_access_token(&token(1, 1), &change()).await.unwrap();
    let hash = token(1, 1).hash;
    assert!(!store.revoke_access_token(two.id, &hash, &change()).await.unwrap(), "of another operator");
    assert!(store.access_token(&hash).await.unwrap().is_some());
    assert!(store.revoke_access_token(one.id, &hash, &change()).await.unwrap());
    assert!(!store.revoke_access_token(one.id, &hash, &change()).await.unwrap());
    store.reopen().await;
    assert!(store.access_token(&hash).await.unwrap().is_none());
    assert_eq!(store.access_tokens(one.id).await.unwrap(), []);
}
