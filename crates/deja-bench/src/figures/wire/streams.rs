//! Many streams at once, each of a minute with a token a second: what one of them takes of memory and processor, and that
//! none is cut. The generator ends the run at the first answer that is not whole.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::load::Streams;
use crate::report::{Row, Target};

const NAME: &str = "streams";
/// Asked before, so that what the first request takes for good is not counted as a stream's.
const WARM_UP: usize = 200;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (streams, seconds) = (bench.options.streams, bench.options.stream_seconds);
    let rounds = bench.rounds(NAME, |_| {
        let tokens = (seconds + 1).to_string();
        let mut deja = Deja::behind(bench, &["--pause-ms", "1000", "--tokens", &tokens, &tokens])?;
        let route = deja.chat();
        Streams::run(&bench.me, &mut deja.server, route, streams, WARM_UP)
    })?;
    let row = |what: &str, unit, figure: &dyn Fn(&Streams) -> f64| {
        Row::plain(format!("{streams} {NAME} of {seconds} s: {what}"), unit, rounds.iter().map(figure))
    };
    // The generator counts only streams that ended whole.
    Ok(vec![
        row("ended whole", "", &|r| r.outcome.requests as f64).target(Target::AtLeast(streams as f64)),
        row("peak memory", "KB/stream", &|r| r.each_kb(streams)).target(Target::AtMost(64.0)),
        row("server CPU", "us/token", &|r| r.outcome.cpu_us / (seconds + 1) as f64),
        row("server CPU", "% of a core", &|r| {
            r.outcome.cpu_us * r.outcome.requests as f64 / 1e4 / r.outcome.seconds
        }),
        row("first byte p50", "ms", &|r| r.outcome.first_p50_ms),
        row("first byte p99", "ms", &|r| r.outcome.first_p99_ms),
        row("memory before", "MB", &Streams::before_mb),
    ])
}
