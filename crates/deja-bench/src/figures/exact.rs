//! Exact hits: how much of a bare web server's speed is left when deja admits, parses, looks up and prices.
//!
//! A ratio, since requests a second say more about the machine than about deja. Both servers run all the time
//! and get the same requests from the same generator, in turns, so that what else the machine does meets both.

use anyhow::Result;

use crate::Bench;
use crate::deja::{self, Deja};
use crate::load::{self, Job, Outcome, Route};
use crate::parts::bare;
use crate::process::Server;
use crate::prompts;
use crate::report::{Row, Target};

/// More requests a second than deja answers here.
pub(super) const FASTEST: f64 = 200_000.0;

/// A round: the bare server, then deja.
struct Pair {
    bare: Outcome,
    deja: Outcome,
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let entries = bench.options.entries;
    let mut deja = Deja::with_entries(bench, entries)?;
    let bodies: Vec<String> = (0..entries).map(|index| prompts::body(&prompts::entry(index), None)).collect();
    // Every entry once: from here on each answer comes from where deja keeps what was asked lately.
    deja.all(bodies.clone())?;

    let body_bytes = deja::answer_bytes(&deja.query(), &bodies[0])?.to_string();
    let (mut bare, address) = Server::part(&bench.me, &["bare", "--query-bytes", &body_bytes])?;
    let seconds = bench.options.seconds;
    let bare_job = Job::new(Route::query(&address, bare::KEY), bodies.clone(), seconds);
    let deja_job = Job::new(deja.query(), bodies, seconds);
    let pairs = bench.rounds("exact", |_| {
        let bare = load::against(&bench.me, &mut bare, &bare_job)?;
        deja.wait_for_limit((seconds * FASTEST) as u64)?;
        let deja = deja.load(&deja_job)?;
        anyhow::ensure!(
            deja.hits == deja.requests,
            "{} of {} were no hits",
            deja.requests - deja.hits,
            deja.requests
        );
        Ok(Pair { bare, deja })
    })?;
    let each = |figure: fn(&Pair) -> f64| pairs.iter().map(figure);
    Ok(vec![
        Row::plain(
            "exact hits: requests/s, deja / bare axum",
            "",
            each(|p| p.deja.per_second() / p.bare.per_second()),
        )
        .target(Target::AtLeast(0.55)),
        Row::plain("exact hits: p99, deja / bare axum", "x", each(|p| p.deja.p99_ms / p.bare.p99_ms))
            .target(Target::AtMost(5.0)),
        Row::plain("exact hits: server CPU, deja / bare axum", "x", each(|p| p.deja.cpu_us / p.bare.cpu_us)),
        Row::plain("exact hits: deja", "requests/s", each(|p| p.deja.per_second())),
        Row::plain("exact hits: bare axum", "requests/s", each(|p| p.bare.per_second())),
        Row::plain("exact hits: deja, server CPU", "us/request", each(|p| p.deja.cpu_us)),
        Row::plain("exact hits: bare axum, server CPU", "us/request", each(|p| p.bare.cpu_us)),
        Row::plain("exact hits: deja, p50", "ms", each(|p| p.deja.p50_ms)),
        Row::plain("exact hits: deja, p99", "ms", each(|p| p.deja.p99_ms)),
        Row::plain("exact hits: bare axum, p99", "ms", each(|p| p.bare.p99_ms)),
    ])
}
