//! Nearest neighbours: threshold, order, limit.

use super::fixtures::{
    NOW, at_angle, embedder, entry, entry_id, ids, near, near_by, put, scope, turned, with_project,
};
use super::{Subject, register};
use crate::embedding::{Embedding, Similarity};

register!["nearest":
    best_come_first_and_equal_ones_by_id,
    limit_is_respected,
    threshold_is_inclusive,
    threshold_zero_takes_everything,
    threshold_one_takes_equal_vectors_only,
    embedders_are_never_compared,
    wide_vectors_are_found,
    similarity_is_that_of_the_stored_vector,
];

async fn best_come_first_and_equal_ones_by_id(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for (number, degrees) in [(5, 10.0), (4, 20.0), (2, 10.0), (3, 0.0), (1, 30.0), (6, -10.0)] {
        put(&*store, turned(entry(number, &scope, &number.to_string()), degrees)).await;
    }
    store.reopen().await;
    let found = near(&*store, &scope, 0.0, 0.5, NOW).await;
    assert_eq!(ids(&found), [3, 2, 5, 6, 4, 1].map(entry_id));
    assert!(found.is_sorted_by(|a, b| a.similarity >= b.similarity));
}

async fn limit_is_respected(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in [7, 3, 5, 1, 6, 2, 4] {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    store.reopen().await;
    for limit in [1usize, 3, 7, 100] {
        let found = near_by(&*store, &scope, "e", &at_angle(0.0), 0.5, limit, NOW).await;
        let expected: Vec<_> = (1..=7).take(limit).map(entry_id).collect();
        assert_eq!(ids(&found), expected, "the lowest ids among equals");
    }
}

async fn threshold_is_inclusive(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, turned(entry(1, &scope, "hello"), 31.0)).await;
    let similarity = near(&*store, &scope, 0.0, 0.0, NOW).await[0].similarity.get();
    assert!((similarity - 0.857).abs() < 0.001);
    assert_eq!(near(&*store, &scope, 0.0, f64::from(similarity), NOW).await.len(), 1);
    let above = f64::from(similarity.next_up());
    assert_eq!(near(&*store, &scope, 0.0, above, NOW).await.len(), 0);
}

async fn threshold_zero_takes_everything(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for (number, degrees) in [(3, 180.0), (1, 120.0), (2, 45.0)] {
        put(&*store, turned(entry(number, &scope, &number.to_string()), degrees)).await;
    }
    let found = near(&*store, &scope, 0.0, 0.0, NOW).await;
    assert_eq!(ids(&found), [2, 1, 3].map(entry_id), "opposite ones count as 0, and are equal");
    assert_eq!(found[2].similarity, Similarity::ZERO);
    assert_eq!(ids(&near(&*store, &scope, 0.0, 1e-6, NOW).await), [entry_id(2)]);
}

/// A vector with components of all sizes, and the same with one of them changed.
fn wide(dimension: u32, seed: u32) -> Embedding {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0 - 0.5
    };
    Embedding::new((0..dimension).map(|_| next()).collect::<Vec<_>>()).unwrap()
}

async fn threshold_one_takes_equal_vectors_only(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 0..20u32 {
        let mut new = entry(number, &scope, &number.to_string());
        new.vectors = vec![(embedder("e"), wide(384, number))];
        put(&*store, new).await;
    }
    store.reopen().await;
    for number in 0..20u32 {
        let probe = wide(384, number);
        let found = near_by(&*store, &scope, "e", &probe, 1.0, 5, NOW).await;
        assert_eq!(ids(&found), [entry_id(number)]);
        assert_eq!(found[0].similarity, Similarity::ONE);
        let mut close = probe.as_slice().to_vec();
        close[3] += 0.01;
        let close = Embedding::new(close).unwrap();
        assert!(near_by(&*store, &scope, "e", &close, 1.0, 5, NOW).await.is_empty(), "0.99995 is not 1");
        assert_eq!(near_by(&*store, &scope, "e", &close, 0.9999, 5, NOW).await.len(), 1);
    }
}

async fn embedders_are_never_compared(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "hello")).await;
    let mut other = entry(2, &scope, "hello again");
    other.vectors = vec![(embedder("f"), at_angle(0.0))];
    put(&*store, other).await;
    for (by, expected) in [("e", vec![entry_id(1)]), ("f", vec![entry_id(2)]), ("g", vec![])] {
        store.reopen_for(by).await;
        let found = near_by(&*store, &scope, by, &at_angle(0.0), 0.0, 10, NOW).await;
        assert_eq!(ids(&found), expected, "{by}");
    }
}

async fn wide_vectors_are_found(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for (by, dimension) in [("a", 3), ("b", 100), ("c", 384), ("d", 1536)] {
        for number in 0..5u32 {
            let id = dimension * 10 + number;
            let mut new = entry(id, &scope, &id.to_string());
            new.vectors = vec![(embedder(by), wide(dimension, number))];
            put(&*store, new).await;
        }
    }
    for (by, dimension) in [("a", 3), ("b", 100), ("c", 384), ("d", 1536)] {
        store.reopen_for(by).await;
        for number in 0..5 {
            let found = near_by(&*store, &scope, by, &wide(dimension, number), 0.99, 1, NOW).await;
            assert_eq!(ids(&found), [entry_id(dimension * 10 + number)]);
        }
    }
}

async fn similarity_is_that_of_the_stored_vector(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let (stored, probe) = (wide(384, 1), wide(384, 2));
    let mut between: Vec<f32> = stored.as_slice().to_vec();
    for (value, other) in between.iter_mut().zip(probe.as_slice()) {
        *value += 0.5 * other;
    }
    let between = Embedding::new(between).unwrap();
    let mut new = entry(1, &scope, "hello");
    new.vectors = vec![(embedder("e"), stored.clone())];
    put(&*store, new).await;
    let found = near_by(&*store, &scope, "e", &between, 0.5, 1, NOW).await;
    let exact = between.similarity(&stored).get();
    assert!((found[0].similarity.get() - exact).abs() < 5e-4, "f16 costs less than 5e-4");
}
