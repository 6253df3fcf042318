//! Exact hits: how much of a bare web server's speed is left, beside exact hits of deja's own API; and how soon the first
//! byte of a streamed hit comes, beside that of a plain one.

use anyhow::Result;

use crate::Bench;
use crate::deja::{self, Deja};
use crate::figures::exact::FASTEST;
use crate::load::{self, Job, Outcome, Route};
use crate::parts::bare;
use crate::process::Server;
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "chat completions, exact hits";

/// One round, in this order.
struct Round {
    bare: Outcome,
    plain: Outcome,
    streamed: Outcome,
    query: Outcome,
    /// The same over one connection: nobody waits for others.
    plain_alone: Outcome,
    streamed_alone: Outcome,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (entries, seconds) = (bench.options.entries, bench.options.seconds);
    let mut deja = Deja::with_entries(bench, entries)?;
    let chat = deja.chat();
    let bodies =
        |stream| (0..entries).map(|index| prompts::chat(&prompts::entry(index), stream)).collect::<Vec<_>>();
    // Threshold 1, so that a question which is like an earlier one becomes an entry all the same.
    let to_fill = Route { headers: "X-Deja-Threshold: 1\r\n".into(), ..chat.clone() };
    let filled = deja.each(to_fill, bodies(false))?;
    anyhow::ensure!(filled.hits == 0, "{} of {entries} questions were not new", filled.hits);

    let bytes = deja::answer_bytes(&chat, &bodies(false)[0])?.to_string();
    let (mut bare, address) = Server::part(&bench.me, &["bare", "--chat-bytes", &bytes])?;
    let bare_job = Job::new(Route::chat(&address, bare::KEY), bodies(false), seconds);
    let plain = Job::new(chat.clone(), bodies(false), seconds);
    let streamed = Job::new(chat, bodies(true), seconds);
    let queries = (0..entries).map(|index| prompts::body(&prompts::entry(index), None)).collect();
    let query = Job::new(deja.query(), queries, seconds);
    let alone = |job: &Job| Job { connections: 1, ..job.clone() };
    let (plain_alone, streamed_alone) = (alone(&plain), alone(&streamed));

    let mut hits = |job: &Job| -> Result<Outcome> {
        deja.wait_for_limit((seconds * FASTEST) as u64)?;
        let outcome = deja.load(job)?;
        let misses = outcome.requests - outcome.hits;
        anyhow::ensure!(misses == 0, "{misses} of {} were no hits", outcome.requests);
        Ok(outcome)
    };
    // Every entry once: from here on each answer comes from where deja keeps what was asked lately.
    for job in [&plain, &query] {
        hits(&Job { requests: entries, ..job.clone() })?;
    }
    let rounds = bench.rounds(NAME, |_| {
        Ok(Round {
            bare: load::against(&bench.me, &mut bare, &bare_job)?,
            plain: hits(&plain)?,
            streamed: hits(&streamed)?,
            query: hits(&query)?,
            plain_alone: hits(&plain_alone)?,
            streamed_alone: hits(&streamed_alone)?,
        })
    })?;
    Ok(report(&rounds))
}

fn report(rounds: &[Round]) -> Vec<Row> {
    let row = |what: &str, unit, figure: fn(&Round) -> f64| {
        Row::plain(format!("{NAME}: {what}"), unit, rounds.iter().map(figure))
    };
    let soon = Target::AtMost(1.2);
    vec![
        row("requests/s, plain / bare axum", "", |r| r.plain.per_second() / r.bare.per_second())
            .target(Target::AtLeast(0.55)),
        row("server CPU, plain / bare axum", "x", |r| r.plain.cpu_us / r.bare.cpu_us),
        row("first byte p50, streamed / plain", "x", |r| r.streamed.first_p50_ms / r.plain.first_p50_ms)
            .target(soon),
        row("first byte p99, streamed / plain", "x", |r| r.streamed.first_p99_ms / r.plain.first_p99_ms)
            .target(soon),
        row("first byte p50, streamed / plain, one connection", "x", |r| {
            r.streamed_alone.first_p50_ms / r.plain_alone.first_p50_ms
        }),
        row("first byte p99, streamed / plain, one connection", "x", |r| {
            r.streamed_alone.first_p99_ms / r.plain_alone.first_p99_ms
        }),
        row("plain", "requests/s", |r| r.plain.per_second()),
        row("streamed", "requests/s", |r| r.streamed.per_second()),
        row("deja's own API", "requests/s", |r| r.query.per_second()),
        row("bare axum", "requests/s", |r| r.bare.per_second()),
        row("plain, server CPU", "us/request", |r| r.plain.cpu_us),
        row("streamed, server CPU", "us/request", |r| r.streamed.cpu_us),
        row("deja's own API, server CPU", "us/request", |r| r.query.cpu_us),
        row("bare axum, server CPU", "us/request", |r| r.bare.cpu_us),
        row("plain, first byte p50", "ms", |r| r.plain.first_p50_ms),
        row("plain, first byte p99", "ms", |r| r.plain.first_p99_ms),
        row("plain, first byte p50, one connection", "ms", |r| r.plain_alone.first_p50_ms),
        row("streamed, first byte p50, one connection", "ms", |r| r.streamed_alone.first_p50_ms),
    ]
}
