//! Misses: what the way through deja adds to the time until the provider's first byte, with 64 requests under way.
//!
//! The provider is that of both ways, and takes its time as a model does, so neither way is a queue for processors. The
//! requests go in turns, directly and through deja.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::load::{self, Job, Outcome, Route};
use crate::parts::provider::PACED;
use crate::prompts;
use crate::report::{Row, Target};

/// Prompts that open the connections to the provider.
const WARM_UP: usize = 200;
/// The first requests come one after the other, in seconds: 64 at the same instant would be a queue for the embedder, which
/// is most of what the 99th percentile of 2,000 then sees.
const BEGIN_WITHIN: f64 = 0.5;
/// At most this share may be hits by chance.
const HITS: f64 = 0.01;

/// One round, in this order.
struct Pair {
    direct: Outcome,
    deja: Outcome,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut deja = Deja::behind(bench, &PACED)?;
    let direct = Route { address: deja.provider.clone(), ..deja.chat() };
    let mut next = 0;
    let mut bodies = |count: usize, stream: bool| -> Vec<String> {
        next += count;
        (next - count..next).map(|number| prompts::chat(&prompts::unlike(number), stream)).collect()
    };
    deja.each(deja.chat(), bodies(WARM_UP, true))?;
    let mut rows = Vec::new();
    for (name, stream) in [("streamed", true), ("plain", false)] {
        let name = format!("chat completions, {name} misses");
        let pairs = bench.rounds(&name, |_| {
            let bodies = bodies(bench.options.prompts, stream);
            let job = |route, bodies| Job { begin_within: BEGIN_WITHIN, ..Job::once(route, bodies) };
            let direct = load::generate(&bench.me, &job(direct.clone(), bodies.clone()))?;
            let deja = deja.load(&job(deja.chat(), bodies))?;
            let share = deja.hit_share();
            anyhow::ensure!(share <= HITS, "{:.1} % of the prompts were hits", share * 100.0);
            Ok(Pair { direct, deja })
        })?;
        rows.extend(report(&name, &pairs));
    }
    Ok(rows)
}

fn report(name: &str, pairs: &[Pair]) -> Vec<Row> {
    let row = |what: &str, unit, figure: fn(&Pair) -> f64| {
        Row::plain(format!("{name}: {what}"), unit, pairs.iter().map(figure))
    };
    vec![
        row("first byte p50, deja - direct", "ms", |p| p.deja.first_p50_ms - p.direct.first_p50_ms)
            .target(Target::AtMost(1.0)),
        row("first byte p99, deja - direct", "ms", |p| p.deja.first_p99_ms - p.direct.first_p99_ms)
            .target(Target::AtMost(5.0)),
        row("last byte p50, deja - direct", "ms", |p| p.deja.p50_ms - p.direct.p50_ms),
        row("first byte p50, direct", "ms", |p| p.direct.first_p50_ms),
        row("first byte p99, direct", "ms", |p| p.direct.first_p99_ms),
        row("deja, server CPU", "us/request", |p| p.deja.cpu_us),
        row("deja", "requests/s", |p| p.deja.per_second()),
    ]
}
