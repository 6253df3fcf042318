//! Latency of the encoder on one thread by prompt length, of a batch, and of loading.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use deja_core::cache::ReadsPairs;
use deja_embed::{Model, PairReader};

fn embed(criterion: &mut Criterion) {
    let Ok(model) = Model::builtin() else { return };
    let mut session = model.session();
    let mut group = criterion.benchmark_group("embed");
    for count in [8_u32, 16, 32, 64, 128, 256] {
        let ids: Vec<u32> = (0..count).map(|i| 2000 + i * 37).collect();
        group.bench_function(format!("{count} tokens"), |b| b.iter(|| black_box(session.encode(&[&ids]))));
    }
    let ids: Vec<u32> = (0..16).map(|i| 2000 + i * 37).collect();
    let batch = vec![ids.as_slice(); 32];
    group.bench_function("batch of 32 x 16 tokens", |b| b.iter(|| black_box(session.encode(&batch))));
    let text = "How do I activate my new credit card before travelling to Spain next week?";
    group.bench_function("tokenizer, 16 tokens", |b| b.iter(|| black_box(session.tokenize(text))));
    let (reader, other) =
        (PairReader::default(), "What do I do to make a new card work before a journey to Spain?");
    group.bench_function("pair, 34 tokens", |b| b.iter(|| black_box(reader.same(text, other))));
    group.bench_function("load", |b| b.iter(|| black_box(Model::builtin().is_ok())));
    group.finish();
}

criterion_group!(benches, embed);
criterion_main!(benches);
