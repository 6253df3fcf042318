//! Hits: the same entries and requests on the embedded store, on PostgreSQL, and on three replicas.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use deja_store::StoreSettings;

use super::FILLING;
use super::server::{self, Postgres};
use crate::Bench;
use crate::deja::{self, Place, Replica};
use crate::fill;
use crate::load::{self, Job, Outcome, Route};
use crate::process::Server;
use crate::prompts;
use crate::report::Row;

/// Few enough that no request waits for another one's turn: what is compared is the way, not the queue.
const CONNECTIONS: usize = 8;
const EXACT: usize = 2_000;
/// Longest load of a round, however few requests came through by then.
const ROUND: Duration = Duration::from_secs(20);
/// The fewest entries of a scope that PostgreSQL searches by graph.
const SCANNED: i64 = 5_001;
/// Longest wait for the graph index: it takes a minute or two for 100,000 entries.
const GRAPH: Duration = Duration::from_mins(5);

/// A load on several replicas at once, with as many connections in all.
fn load(
    bench: &Bench,
    replicas: &mut [Replica],
    connections: usize,
    bodies: &[String],
    exact: bool,
) -> Result<Vec<Outcome>> {
    let share = bodies.len() / replicas.len();
    let connections = (connections / replicas.len()).max(1);
    std::thread::scope(|scope| {
        let running: Vec<_> = replicas
            .iter_mut()
            .zip(bodies.chunks(share))
            .map(|(replica, bodies)| {
                let route = Route::query(&replica.address, &replica.key);
                let seconds = if exact { bench.options.seconds } else { ROUND.as_secs_f64() };
                let requests = if exact { usize::MAX } else { bodies.len() };
                let job = Job { connections, requests, ..Job::new(route, bodies.to_vec(), seconds) };
                scope.spawn(move || load::against(&bench.me, &mut replica.server, &job))
            })
            .collect();
        running
            .into_iter()
            .map(|running| running.join().map_err(|_| anyhow::anyhow!("a load panicked"))?)
            .collect()
    })
}

struct Round {
    embedded: Outcome,
    one: Outcome,
    three: Vec<Outcome>,
    /// Over one connection, where nobody waits for a turn.
    alone: Alone,
    /// Processor time of the database a request, in microseconds, with one replica and with three.
    database_us: [f64; 2],
}

struct Alone {
    embedded: Outcome,
    postgres: Outcome,
}

pub(super) fn run(bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
    let entries = bench.options.start_entries;
    let url = postgres.database("hits")?;
    let data = tempfile::tempdir()?;
    fill::fill_store(&StoreSettings::new(data.path()), entries, FILLING)?;
    fill::fill_store(&fill::in_database(&url), entries, FILLING)?;
    let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
    let mut embedded = [deja::replica(bench, Place::Directory(data.path().into()), &provider, None)?];
    let mut one = [deja::replica(bench, Place::database(&url)?, &provider, None)?];
    let key = one[0].key.clone();
    let mut three = (0..3)
        .map(|_| deja::replica(bench, Place::database(&url)?, &provider, Some(key.clone())))
        .collect::<Result<Vec<_>>>()?;

    // The graph is built from the filling on, and a replica that searches sees to it too. Beside the building, which takes
    // all processors there are, each request is several times as slow, and a search is a scan of all entries.
    let reworded = prompts::body(&prompts::rewording(0, prompts::ENTRIES), None);
    for replica in one.iter().chain(&three) {
        deja::status(&replica.address, &replica.key, &reworded)?;
    }
    let seconds = wait_for_graph(&url)?;
    let mut rows =
        vec![Row::plain(format!("graph index, {entries} entries: wait after filling"), "s", [seconds])];
    let exact: Vec<String> = (0..EXACT).map(|number| prompts::body(&fill::prompt(number), None)).collect();
    for (name, is_exact) in [("exact hits", true), ("hits by meaning", false)] {
        let mut next = 0;
        let mut bodies = |count: usize| -> Vec<String> {
            if is_exact {
                return exact.clone();
            }
            next += count;
            let asked = (next - count)..next;
            asked.map(|n| prompts::body(&prompts::rewording(n, prompts::ENTRIES), None)).collect()
        };
        let all = bench.options.prompts;
        let warm_up = bodies(all);
        eprintln!("{name}: warming up");
        for replicas in [&mut embedded[..], &mut one, &mut three] {
            load(bench, replicas, CONNECTIONS, &warm_up, is_exact)?;
        }
        let rounds = bench.rounds(name, |_| {
            let mut single = |replicas: &mut [Replica], connections| -> Result<Outcome> {
                // One connection alone takes a while for them.
                let bodies = bodies(all.div_ceil(if connections == 1 { 4 } else { 1 }));
                let outcome = load(bench, replicas, connections, &bodies, is_exact)?.pop();
                outcome.ok_or_else(|| anyhow::anyhow!("no outcome"))
            };
            let alone = Alone { embedded: single(&mut embedded, 1)?, postgres: single(&mut one, 1)? };
            let by_embedded = single(&mut embedded, CONNECTIONS)?;
            let before = postgres.cpu()?;
            let by_one = single(&mut one, CONNECTIONS)?;
            let between = postgres.cpu()?;
            let by_three = load(bench, &mut three, CONNECTIONS, &bodies(all), is_exact)?;
            let after = postgres.cpu()?;
            let database_us = [
                each_us(between.saturating_sub(before), std::slice::from_ref(&by_one)),
                each_us(after.saturating_sub(between), &by_three),
            ];
            Ok(Round { embedded: by_embedded, one: by_one, three: by_three, alone, database_us })
        })?;
        rows.extend(report(name, entries, &rounds));
    }
    Ok(rows)
}

/// Of this processor time, how much a request took, in microseconds.
pub(super) fn each_us(cpu: Duration, outcomes: &[Outcome]) -> f64 {
    cpu.as_secs_f64() * 1e6 / outcomes.iter().map(|outcome| outcome.requests).sum::<usize>() as f64
}

/// Waits until the graph index is built, if the entries are enough for one. For how many seconds.
#[tokio::main]
async fn wait_for_graph(url: &str) -> Result<f64> {
    let (client, _driver) = server::client(url).await?;
    let state = "SELECT count(*), count(*) FILTER (WHERE indisvalid), (SELECT count(*) FROM vectors)
                 FROM pg_index WHERE indexrelid::regclass::text LIKE 'vectors_graph_%'";
    let began = Instant::now();
    loop {
        let row = client.query_one(state, &[]).await.context("asking for the graph")?;
        let (begun, built, vectors): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        let seconds = began.elapsed().as_secs();
        // Small scopes have none: it would have begun by then.
        if built > 0 || (begun == 0 && vectors < SCANNED) {
            eprintln!("graph index: {} after {seconds} s", if built > 0 { "built" } else { "none" });
            return Ok(began.elapsed().as_secs_f64());
        }
        anyhow::ensure!(began.elapsed() < GRAPH, "the graph index is not built after {GRAPH:?}");
        if seconds.is_multiple_of(10) {
            eprintln!("graph index: {seconds} s");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn report(name: &str, entries: usize, rounds: &[Round]) -> Vec<Row> {
    let row = |what: &str, unit, figure: &dyn Fn(&Round) -> f64| {
        Row::plain(format!("{name}, {entries} entries: {what}"), unit, rounds.iter().map(figure))
    };
    let sum = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::per_second).sum::<f64>();
    let share = |outcome: &Outcome| outcome.hit_share();
    vec![
        row("CPU of deja, PostgreSQL / embedded", "x", &|r| r.one.cpu_us / r.embedded.cpu_us),
        row("p50, PostgreSQL / embedded", "x", &|r| r.one.p50_ms / r.embedded.p50_ms),
        row("p50, embedded", "ms", &|r| r.embedded.p50_ms),
        row("p50, PostgreSQL", "ms", &|r| r.one.p50_ms),
        row("p99, PostgreSQL", "ms", &|r| r.one.p99_ms),
        row("embedded", "requests/s", &|r| r.embedded.per_second()),
        row("PostgreSQL, one replica", "requests/s", &|r| r.one.per_second()),
        row("PostgreSQL, three replicas together", "requests/s", &|r| sum(&r.three)),
        row("CPU of the database, one replica", "us/request", &|r| r.database_us[0]),
        row("CPU of the database, three replicas", "us/request", &|r| r.database_us[1]),
        row("CPU of the database, three replicas / one", "x", &|r| r.database_us[1] / r.database_us[0]),
        row("p50, one connection, embedded", "ms", &|r| r.alone.embedded.p50_ms),
        row("p50, one connection, PostgreSQL", "ms", &|r| r.alone.postgres.p50_ms),
        row("p50, one connection, PostgreSQL / embedded", "x", &|r| {
            r.alone.postgres.p50_ms / r.alone.embedded.p50_ms
        }),
        row("share of hits, PostgreSQL - embedded", "", &|r| share(&r.one) - share(&r.embedded)),
    ]
}
