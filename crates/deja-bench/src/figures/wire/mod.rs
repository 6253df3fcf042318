//! Requests in the format of OpenAI's chat completions: hits, plain and streamed; what a miss adds to its provider's time;
//! what many streams at once take.

mod hits;
mod misses;
mod streams;

use anyhow::Result;

use crate::Bench;
use crate::report::Row;

type Part = fn(&Bench) -> Result<Vec<Row>>;

const PARTS: [Part; 3] = [hits::run, misses::run, streams::run];

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for part in PARTS {
        rows.extend(part(bench)?);
    }
    Ok(rows)
}
