//! Judging one candidate: its record is computed anew, the asked prompt's is there.

use criterion::{Criterion, criterion_group, criterion_main};
use deja_guard::{Prompt, Strictness, judge};
use std::hint::black_box;

fn bench(c: &mut Criterion) {
    let pairs = [
        ("short", "How do I enable two-factor authentication on GitHub?", "How can I turn on 2FA on GitHub?"),
        (
            "numbers",
            "is a 1,500 MB data plan enough for 7 days of maps",
            "Is a 1.5 GB data plan enough for a week of maps?",
        ),
        (
            "long",
            "My tenant has not paid rent for three months and does not answer my calls or letters. What are the legal steps I can take to evict him in Ohio?",
            "My tenant hasn't paid the rent for 3 months and isn't answering my calls or letters. Which legal steps can I take to evict him in Ohio?",
        ),
        ("spanish", "¿Qué pasó en España el 23/2/1981?", "¿Qué pasó en España el 23 de febrero de 1981?"),
    ];
    for (name, a, b) in pairs {
        let asked = Prompt::read(a);
        c.bench_function(&format!("read {name}"), |bench| bench.iter(|| Prompt::read(black_box(b))));
        c.bench_function(&format!("candidate {name}"), |bench| {
            bench.iter(|| judge(&asked, &Prompt::read(black_box(b)), 0.9, 0.85, Strictness::Standard));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
