//! The same requests through other gateways, in turns: LiteLLM's proxy, with its cache in memory, and Shepherd Model Gateway,
//! in Rust, without one. Each has a provider of its own. docs/benchmarks.md says how they are installed.

mod gateway;

use anyhow::Result;

use crate::Bench;
use crate::load::{self, Job, Route, Streams};
use crate::parts::provider::PACED;
use crate::prompts;
use crate::report::Row;
use gateway::{Gateway, KINDS, Kind};

/// What only caches can give.
const HITS: &str = "hits";
/// LiteLLM keeps 200 answers, unless told otherwise.
const ENTRIES: usize = 100;
/// Few enough that a miss waits for no processor.
const MISSES_AT_ONCE: usize = 8;
const MISSES: usize = 200;
const WARM_UP: usize = 50;

/// What one round says of a gateway: each with its unit.
type Figures = Vec<(String, &'static str, f64)>;
/// Measures a gateway that has just been started.
type Part = fn(&Bench, Gateway) -> Result<Figures>;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let tokens = (bench.options.stream_seconds / 2 + 1).to_string();
    let slow = ["--pause-ms", "1000", "--tokens", &tokens, &tokens];
    let parts: [(&str, &[&str], Part); 4] = [
        (HITS, &[], hits),
        ("plain misses", &PACED, |bench, gateway| misses(bench, gateway, "plain", false)),
        ("streamed misses", &PACED, |bench, gateway| misses(bench, gateway, "streamed", true)),
        ("streams", &slow, streams),
    ];
    let mut rows = Vec::new();
    for (name, provider, part) in parts {
        let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| kind.is_cache || name != HITS).collect();
        let rounds = bench.rounds(name, |_| {
            // A gateway that fails must not cost the figures of the others.
            let measure =
                |kind: &&Kind| (kind.start)(bench, provider).and_then(|gateway| part(bench, gateway));
            Ok(kinds.iter().map(measure).collect::<Vec<_>>())
        })?;
        for (index, kind) in kinds.iter().enumerate() {
            let figures: Result<Vec<&Figures>, _> =
                rounds.iter().map(|round| round[index].as_ref()).collect();
            match figures {
                Ok(figures) => rows.extend(in_rows(kind.name, &figures)),
                Err(error) => {
                    rows.push(Row::failed(&format!("{}, {name}", kind.name), &format!("{error:#}")));
                }
            }
        }
    }
    Ok(rows)
}

fn in_rows(name: &str, rounds: &[&Figures]) -> Vec<Row> {
    let first = rounds.first().into_iter().flat_map(|figures| figures.iter().enumerate());
    let row = |(index, (what, unit, _)): (usize, &(String, &'static str, f64))| {
        Row::plain(format!("{name}: {what}"), unit, rounds.iter().map(|round| round[index].2))
    };
    first.map(row).collect()
}

/// Questions that a gateway has answered before, at 64 connections. The provider has ended by then, so each good answer is
/// a hit.
fn hits(bench: &Bench, mut gateway: Gateway) -> Result<Figures> {
    let bodies: Vec<_> = (0..ENTRIES).map(|number| prompts::chat(&prompts::unlike(number), false)).collect();
    let fill = Job { connections: 1, ..Job::once(gateway.route.clone(), bodies.clone()) };
    load::against(&bench.me, &mut gateway.server, &fill)?;
    drop(gateway.provider);
    let job = Job::new(gateway.route, bodies, bench.options.seconds);
    let outcome = load::against(&bench.me, &mut gateway.server, &job)?;
    Ok(vec![
        ("hits".into(), "requests/s", outcome.per_second()),
        ("hits, server CPU".into(), "us/request", outcome.cpu_us),
        ("hits, p99".into(), "ms", outcome.p99_ms),
    ])
}

/// What the way through a gateway adds to the time until the provider's first byte.
fn misses(bench: &Bench, mut gateway: Gateway, name: &str, stream: bool) -> Result<Figures> {
    let job = |route: &Route, from: usize, count: usize| {
        let bodies = (from..from + count).map(|number| prompts::chat(&prompts::unlike(number), stream));
        Job { connections: MISSES_AT_ONCE, ..Job::once(route.clone(), bodies.collect()) }
    };
    let direct = Route { address: gateway.provider_address.clone(), ..gateway.route.clone() };
    load::against(&bench.me, &mut gateway.server, &job(&gateway.route, MISSES, WARM_UP))?;
    let direct = load::generate(&bench.me, &job(&direct, 0, MISSES))?;
    let through = load::against(&bench.me, &mut gateway.server, &job(&gateway.route, 0, MISSES))?;
    Ok(vec![
        (format!("{name} misses, first byte p50 - direct"), "ms", through.first_p50_ms - direct.first_p50_ms),
        (format!("{name} misses, first byte p99 - direct"), "ms", through.first_p99_ms - direct.first_p99_ms),
        (format!("{name} misses, server CPU"), "us/request", through.cpu_us),
    ])
}

/// Many streams at once, with a token a second.
fn streams(bench: &Bench, mut gateway: Gateway) -> Result<Figures> {
    let (streams, seconds) = (bench.options.streams / 2, bench.options.stream_seconds / 2);
    let came = Streams::run(&bench.me, &mut gateway.server, gateway.route, streams, WARM_UP)?;
    let name = |what: &str| format!("{streams} streams of {seconds} s, {what}");
    Ok(vec![
        (name("peak memory"), "MB", came.peak as f64 / 1e6),
        (name("peak memory - before"), "KB/stream", came.each_kb(streams)),
        (name("server CPU"), "us/token", came.outcome.cpu_us / (seconds + 1) as f64),
        (name("first byte p99"), "ms", came.outcome.first_p99_ms),
    ])
}
