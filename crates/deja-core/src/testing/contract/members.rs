//! Members of projects.

use std::collections::BTreeMap;

use super::fixtures::{NOW, operator_id, project, project_id, with_operator, with_project};
use super::{Subject, register};
use crate::audit::Change;
use crate::member::{Member, Rank};
use crate::operator::Operator;
use crate::store::StoreError;
use crate::testing::change;

register!["members":
    have_one_rank_in_a_project,
    are_listed_by_address,
    need_a_project_and_an_operator,
    who_makes_a_project_owns_it,
    go_with_their_project,
    a_rank_that_is_there_is_set_once,
];

fn member(operator: &Operator, rank: Rank) -> Member {
    Member { operator: operator.id, email: operator.email.clone(), rank }
}

async fn have_one_rank_in_a_project(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let (ada, bob) = (with_operator(&*store, 1).await, with_operator(&*store, 2).await);
    assert!(store.set_rank(one, ada.id, Rank::Viewer, &change()).await.unwrap());
    assert!(store.set_rank(one, ada.id, Rank::Editor, &change()).await.unwrap());
    assert!(store.set_rank(two, ada.id, Rank::Owner, &change()).await.unwrap());
    store.reopen().await;
    assert_eq!(store.rank(one, ada.id).await.unwrap(), Some(Rank::Editor));
    assert_eq!(store.rank(two, ada.id).await.unwrap(), Some(Rank::Owner));
    assert_eq!(store.rank(one, bob.id).await.unwrap(), None);
    let ranks = BTreeMap::from([(one, Rank::Editor), (two, Rank::Owner)]);
    assert_eq!(store.ranks(ada.id).await.unwrap(), ranks);
    assert!(store.ranks(bob.id).await.unwrap().is_empty());
    assert!(store.remove_rank(one, ada.id, &change()).await.unwrap());
    assert!(!store.remove_rank(one, ada.id, &change()).await.unwrap());
    assert_eq!(store.rank(one, ada.id).await.unwrap(), None);
    assert_eq!(store.rank(two, ada.id).await.unwrap(), Some(Rank::Owner));
}

async fn are_listed_by_address(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let (bob, ada) = (with_operator(&*store, 2).await, with_operator(&*store, 1).await);
    store.set_rank(one, bob.id, Rank::Owner, &change()).await.unwrap();
    store.set_rank(one, ada.id, Rank::Viewer, &change()).await.unwrap();
    store.set_rank(two, bob.id, Rank::Editor, &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.members(one).await.unwrap(), [member(&ada, Rank::Viewer), member(&bob, Rank::Owner)]);
    assert_eq!(store.members(two).await.unwrap(), [member(&bob, Rank::Editor)]);
    assert_eq!(store.members(project_id(3)).await.unwrap(), []);
}

async fn need_a_project_and_an_operator(store: Subject) {
    let id = with_project(&*store, 1).await;
    let ada = with_operator(&*store, 1).await;
    let nobody = operator_id(9);
    for (project, operator) in [(id, nobody), (project_id(9), ada.id)] {
        let refused = store.set_rank(project, operator, Rank::Viewer, &change()).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))));
    }
    assert_eq!(store.members(id).await.unwrap(), []);
}

async fn who_makes_a_project_owns_it(mut store: Subject) {
    let ada = with_operator(&*store, 1).await;
    let by = |operator: &Operator| Change::new(NOW, operator.into(), "project.create");
    store.create_project(&project(1), &by(&ada)).await.unwrap();
    // An operator that is gone, and deja itself, own nothing.
    let nobody = Operator { id: operator_id(9), ..ada.clone() };
    store.create_project(&project(2), &by(&nobody)).await.unwrap();
    store.create_project(&project(3), &change()).await.unwrap();
    let taken = store.create_project(&project(3), &by(&ada)).await;
    assert!(matches!(taken, Err(StoreError::Conflict(_))));
    store.reopen().await;
    assert_eq!(store.members(project_id(1)).await.unwrap(), [member(&ada, Rank::Owner)]);
    assert_eq!(store.ranks(ada.id).await.unwrap(), [(project_id(1), Rank::Owner)].into());
    for number in [2, 3] {
        assert_eq!(store.members(project_id(number)).await.unwrap(), []);
    }
}

async fn go_with_their_project(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let ada = with_operator(&*store, 1).await;
    for id in [one, two] {
        store.set_rank(id, ada.id, Rank::Editor, &change()).await.unwrap();
    }
    store.delete_project(one, &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.ranks(ada.id).await.unwrap(), [(two, Rank::Editor)].into());
    assert_eq!(store.members(one).await.unwrap(), []);
}

async fn a_rank_that_is_there_is_set_once(store: Subject) {
    let id = with_project(&*store, 1).await;
    let ada = with_operator(&*store, 1).await;
    assert!(store.set_rank(id, ada.id, Rank::Viewer, &change()).await.unwrap());
    assert!(!store.set_rank(id, ada.id, Rank::Viewer, &change()).await.unwrap());
    assert_eq!(store.rank(id, ada.id).await.unwrap(), Some(Rank::Viewer));
}
