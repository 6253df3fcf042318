//! Options that several commands have.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use deja_core::admin::keys::Expiry;
use deja_core::clock::Timestamp;
use deja_core::money::NanoUsd;

#[derive(Debug, Args)]
pub(in crate::cli) struct Of {
    /// The project
    #[arg(long, value_name = "SLUG")]
    pub(in crate::cli) project: String,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Whose {
    /// The operator
    #[arg(long, value_name = "EMAIL")]
    pub(in crate::cli) operator: String,
}

#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct Form {
    /// Print JSON, for scripts
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// The seconds of a time such as `30d`, `12h`, `45m` or `90s`. A number alone is none: some mean days by it.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// An amount of money. JSON, which a running server is asked in, has no number for `inf` and `nan`.
pub(super) fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite());
    amount.ok_or_else(|| "use an amount of US dollars, such as 0.50".into())
}

/// An amount of money, as deja counts it.
pub(super) fn dollars(text: &str) -> Result<NanoUsd, String> {
    let amount = amount(text).ok().and_then(NanoUsd::from_dollars);
    amount.ok_or_else(|| "use an amount of US dollars from 0 to 1,000,000,000, such as 0.50".into())
}

/// A whole number. Its type says how large it may be.
pub(super) fn whole<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "use a smaller number".into(),
        _ => "use a whole number, 0 or more".into(),
    })
}

/// A time from now, or a moment.
pub(super) fn expiry(text: &str) -> Result<Expiry, String> {
    let moment = || text.parse().ok().map(Expiry::At);
    let wanted = "use a time such as 90d or 12h, or a moment such as 2030-01-31T00:00:00Z";
    seconds(text).map(Expiry::In).or_else(moment).ok_or_else(|| wanted.into())
}

/// A moment, or how long ago it was.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum PastTime {
    Ago(Duration),
    At(Timestamp),
}

impl PastTime {
    pub(in crate::cli) fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(span) => now.minus(span),
            Self::At(at) => at,
        }
    }
}

/// How long ago, or a moment.
pub(super) fn past_time(text: &str) -> Result<PastTime, String> {
    let moment = || text.parse::<jiff::Timestamp>().ok().map(|at| PastTime::At(at.into()));
    let wanted = "use a time that has gone by, such as 7d or 12h, or a moment such as 2030-01-31T00:00:00Z";
    seconds(text)
        .map(|ago| PastTime::Ago(Duration::from_secs(ago)))
        .or_else(moment)
        .ok_or_else(|| wanted.into())
}

#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct Sure {
    /// Do not ask
    #[arg(long, short)]
    pub(in crate::cli) yes: bool,
}
