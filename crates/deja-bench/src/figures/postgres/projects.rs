//! Replicas that serve a project each: what the database takes for a request, and whether a project waits for another one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::hits::each_us;
use super::server::{self, Postgres};
use crate::Bench;
use crate::deja::{self, Place, Replica};
use crate::load::{self, Job, Outcome, Route};
use crate::process::Server;
use crate::prompts;
use crate::report::Row;

const REPLICAS: usize = 3;
/// Of each replica: with one, no request waits for another one of its own project.
const CONNECTIONS: usize = 1;
/// Time between two looks for waits.
const LOOK: Duration = Duration::from_millis(5);

/// What a load did to the database.
struct Measured {
    /// Processor time for a request, in microseconds.
    each_us: f64,
    per_second: f64,
    /// Statements that were seen to wait for a lock, and of how many looks.
    waits: i64,
    looks: usize,
}

/// By one replica, and by all of them.
struct Round {
    misses: [Measured; 2],
    hits: [Measured; 2],
}

pub(super) fn run(bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
    let url = postgres.database("projects")?;
    let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
    let mut replicas = (0..REPLICAS)
        .map(|number| {
            deja::replica_for(bench, Place::database(&url)?, &provider, &format!("project-{number}"))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut asked = 0;
    // Prompts that nobody asked, for each replica its own.
    let mut new = || -> Vec<Vec<String>> {
        let each = bench.options.prompts / REPLICAS;
        let firsts = (0..REPLICAS).map(|number| asked + number * each);
        let of = |first| (first..first + each).map(|n| prompts::body(&prompts::unlike(n), None)).collect();
        let bodies = firsts.map(of).collect();
        asked += REPLICAS * each;
        bodies
    };
    let mut round = || -> Result<Round> {
        let mut measured = |count: usize, bodies: &[Vec<String>], seconds| -> Result<Measured> {
            let before = postgres.cpu()?;
            let (outcomes, waits, looks) = load(bench, &url, &mut replicas[..count], bodies, seconds)?;
            let each_us = each_us(postgres.cpu()?.saturating_sub(before), &outcomes);
            let per_second = outcomes.iter().map(Outcome::per_second).sum();
            Ok(Measured { each_us, per_second, waits, looks })
        };
        let (alone, together) = (new(), new());
        let misses = [measured(1, &alone, None)?, measured(REPLICAS, &together, None)?];
        let seconds = Some(bench.options.seconds);
        let hits = [measured(1, &together, seconds)?, measured(REPLICAS, &together, seconds)?];
        Ok(Round { misses, hits })
    };
    eprintln!("projects: warming up");
    round()?;
    let rounds = bench.rounds("projects", |_| round())?;
    let mut rows = report("misses", &rounds.iter().map(|round| &round.misses));
    rows.extend(report("exact hits", &rounds.iter().map(|round| &round.hits)));
    Ok(rows)
}

/// A load on each of these replicas, each body once or for so many seconds; how many statements were seen to wait for a
/// lock, and in how many looks.
fn load(
    bench: &Bench,
    url: &str,
    replicas: &mut [Replica],
    bodies: &[Vec<String>],
    seconds: Option<f64>,
) -> Result<(Vec<Outcome>, i64, usize)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let looking = scope.spawn(|| look(url, &over));
        let running: Vec<_> = replicas
            .iter_mut()
            .zip(bodies)
            .map(|(replica, bodies)| {
                let route = Route::query(&replica.address, &replica.key);
                let job = match seconds {
                    Some(seconds) => Job::new(route, bodies.clone(), seconds),
                    None => Job::once(route, bodies.clone()),
                };
                let job = Job { connections: CONNECTIONS, ..job };
                scope.spawn(move || load::against(&bench.me, &mut replica.server, &job))
            })
            .collect();
        let outcomes: Vec<_> = running.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        let (waits, looks) = looking.join().ok().context("the look-out panicked")??;
        let outcomes = outcomes.into_iter().map(|outcome| outcome.ok().context("a load panicked")?);
        Ok((outcomes.collect::<Result<_>>()?, waits, looks))
    })
}

/// Counts who waits for a lock of a row, a table or the like, until it is `over`.
#[tokio::main(flavor = "current_thread")]
async fn look(url: &str, over: &AtomicBool) -> Result<(i64, usize)> {
    let (client, _driver) = server::client(url).await?;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let waiting = client.prepare(waiting).await?;
    let (mut waits, mut looks) = (0, 0);
    while !over.load(Ordering::Relaxed) {
        waits += client.query_one(&waiting, &[]).await?.get::<_, i64>(0);
        looks += 1;
        tokio::time::sleep(LOOK).await;
    }
    Ok((waits, looks))
}

fn report<'a>(name: &str, rounds: &(impl Iterator<Item = &'a [Measured; 2]> + Clone)) -> Vec<Row> {
    let row = |what: &str, unit, figure: fn(&[Measured; 2]) -> f64| {
        Row::plain(format!("{name}, a project a replica: {what}"), unit, rounds.clone().map(figure))
    };
    vec![
        row("CPU of the database, one replica", "us/request", |[one, _]| one.each_us),
        row("CPU of the database, three replicas", "us/request", |[_, three]| three.each_us),
        row("CPU of the database, three replicas / one", "x", |[one, three]| three.each_us / one.each_us),
        row("one replica", "requests/s", |[one, _]| one.per_second),
        row("three replicas", "requests/s", |[_, three]| three.per_second),
        row("three replicas: statements seen to wait for a lock", "", |[_, three]| three.waits as f64),
        row("three replicas: looks for them", "", |[_, three]| three.looks as f64),
    ]
}
