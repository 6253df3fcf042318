//! The scan of one scope alone, without a database: `cargo bench -p deja-store --bench index`.
//!
//! DEJA_BENCH_ENTRIES=10000000 takes other sizes than 100,000 and 1,000,000 (a million take 0.6 GB). The data:
//! `synthetic/mod.rs`.
#![expect(clippy::expect_used, reason = "a bench that cannot run panics")]

#[path = "../src/sqlite"]
mod sqlite {
    #[expect(dead_code, unused_imports, reason = "the store and its tests use the rest")]
    mod index;

    use std::num::NonZeroUsize;

    use deja_core::cache::ScopeKey;
    use deja_core::embedding::{Embedding, Threshold};
    use deja_core::id::EntryId;

    const SCOPE: ScopeKey = ScopeKey([1; 32]);

    /// An index of one scope.
    #[derive(Default)]
    pub(super) struct Scan(index::Index);

    impl Scan {
        pub(super) fn add(&self, number: usize, embedding: &Embedding) {
            let vector = index::Vector::new(embedding).expect("it has a direction");
            let id = EntryId::from_bytes((number as u128).to_be_bytes());
            self.0.add_vector(SCOPE, vector, number as i64, id, i64::MAX);
        }

        /// The rows of the best five, for each of some probes in one scan.
        pub(super) fn nearest(&self, probes: &[&Embedding], threshold: f64) -> Vec<Vec<i64>> {
            let search = |probe: &&Embedding| index::Search {
                probe: probe.as_slice().into(),
                threshold: Threshold::new(threshold).expect("a threshold"),
                limit: NonZeroUsize::new(5).expect("a limit"),
                now: super::synthetic::NOW,
            };
            let searches: Vec<_> = probes.iter().map(search).collect();
            let target = self.0.target(SCOPE, probes[0].dimension()).expect("it has vectors");
            let found = target.nearest(&searches.iter().collect::<Vec<_>>());
            found.iter().map(|found| found.iter().map(|found| found.row).collect()).collect()
        }
    }
}
#[expect(dead_code, reason = "a report uses the rest")]
mod synthetic;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use sqlite::Scan;
use synthetic::{Noise, Sentences};

fn nearest(criterion: &mut Criterion) {
    let sizes = match std::env::var("DEJA_BENCH_ENTRIES") {
        Ok(entries) => vec![entries.parse().expect("a number of entries")],
        Err(_) => vec![100_000, 1_000_000],
    };
    for entries in sizes {
        let (scan, sentences, mut noise) = (Scan::default(), Sentences::new(entries), Noise(42));
        for number in 0..entries {
            scan.add(number, &sentences.draw(&mut noise));
        }
        let probes: Vec<_> = (0..64).map(|_| sentences.draw(&mut noise)).collect();
        let mut group = criterion.benchmark_group("scan");
        for (threshold, together) in
            [0.75, 0.85, 0.95].into_iter().flat_map(|threshold| [(threshold, 1), (threshold, 8)])
        {
            let mut next = 0;
            // The time of all of them.
            let name = if together == 1 {
                threshold.to_string()
            } else {
                format!("{threshold}, {together} at once")
            };
            group.bench_function(BenchmarkId::new(name, entries), |bencher| {
                bencher.iter(|| {
                    next = (next + together) % probes.len();
                    let some: Vec<_> = probes.iter().cycle().skip(next).take(together).collect();
                    black_box(scan.nearest(&some, threshold))
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, nearest);
criterion_main!(benches);
