//! Numbers, money, moments and texts as people read them.

use std::time::Duration;

use deja_core::clock::Timestamp;
use deja_core::money::NanoUsd;

/// `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first of these names, and how many more there are; `None` without any.
pub(crate) fn listed(names: &[String]) -> Option<String> {
    const LISTED: usize = 5;
    let more = names.len().saturating_sub(LISTED);
    let first = names[..names.len() - more].join(", ");
    match more {
        0 => (!names.is_empty()).then_some(first),
        more => Some(format!("{first} and {} more", count(more as u64))),
    }
}

/// As [`count`], short where space is: `12.3k`, `4.5M`.
pub(crate) fn short(number: f64) -> String {
    let scaled = |by: f64, unit: &str| {
        let text = format!("{:.1}", number / by);
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match number {
        n if n >= 999_950_000.0 => scaled(1e9, "B"),
        n if n >= 999_950.0 => scaled(1e6, "M"),
        n if n >= 10_000.0 => scaled(1e3, "k"),
        n if n >= 10.0 || n.fract() == 0.0 => count(n.round() as u64),
        n if n >= 0.01 => format!("{n:.2}"),
        n => format!("{n:.1e}"),
    }
}

/// Dollars, with as many decimals as an amount of its size needs.
pub(crate) fn amount(dollars: f64) -> String {
    match dollars {
        0.0 => "0.00".into(),
        // The smallest amount that is kept is a thousand-millionth.
        a if a < 0.000_001 => format!("{a:.9}"),
        a if a < 0.0001 => format!("{a:.7}"),
        a if a < 0.1 => format!("{a:.5}"),
        a if a < 100.0 => format!("{a:.2}"),
        a => count(a.round() as u64),
    }
}

/// As [`amount`], with the sign.
pub(crate) fn dollars(dollars: f64) -> String {
    format!("${}", amount(dollars))
}

/// As [`dollars`], of an amount as it is kept.
pub(crate) fn money(amount: NanoUsd) -> String {
    dollars(amount.as_dollars())
}

/// As [`money`], for requests of which `unpriced` had no known price. If some had none, zero is not known to be zero.
pub(crate) fn money_known(amount: NanoUsd, unpriced: u64) -> String {
    if amount == NanoUsd::ZERO && unpriced > 0 { "no price".into() } else { money(amount) }
}

/// `72.4%`; a dash where there is nothing to divide by. Only none is `0.0%`, and only all is `100.0%`.
pub(crate) fn percent(rate: Option<f64>) -> String {
    // What computing a bound may be off by.
    const NOISE: f64 = 1e-9;
    match rate {
        None => "–".into(),
        Some(few) if (NOISE..0.0005).contains(&few) => "<0.1%".into(),
        Some(most) if (0.9995..1.0 - NOISE).contains(&most) => ">99.9%".into(),
        Some(rate) => format!("{:.1}%", rate * 100.0),
    }
}

/// Milliseconds, `0.42 ms` or `1.3 s`.
pub(crate) fn millis(ms: f64) -> String {
    match ms {
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

/// A span in words, one unit: `3 minutes`.
pub(crate) fn span(span: Duration) -> String {
    let (seconds, name) = unit(span);
    let number = span.as_secs() / seconds;
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

/// How long to wait, in words: rounded up, so that who waits so long is not too early.
pub(crate) fn wait(wait: Duration) -> String {
    span(Duration::from_secs(wait.as_secs().next_multiple_of(unit(wait).0)))
}

/// The unit that [`span`] counts, in seconds, and its name.
fn unit(span: Duration) -> (u64, &'static str) {
    match span.as_secs() {
        0..60 => (1, "second"),
        60..3600 => (60, "minute"),
        3600..172_800 => (3600, "hour"),
        _ => (86_400, "day"),
    }
}

/// A span to the nearest of the units that [`span`] counts: 30 days less a moment are 30 days.
fn rounded(span: Duration) -> Duration {
    span + Duration::from_secs(unit(span).0 / 2)
}

/// A moment, to the second.
pub(crate) fn to_second(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(at.as_secs()).unwrap_or_default()
}

/// A moment, ready for a template: exact for machines, UTC for titles, relative for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// RFC 3339.
    pub(crate) exact: String,
    /// `2026-08-01 12:34:56 UTC`.
    pub(crate) utc: String,
    /// `3 minutes ago`, `in 2 days`.
    pub(crate) relative: String,
}

impl Moment {
    pub(crate) fn of(at: Timestamp, now: Timestamp) -> Self {
        let whole = to_second(at);
        let relative = match () {
            () if at > now => format!("in {}", span(rounded(at.since(now)))),
            () if now.since(at) < Duration::from_secs(10) => "just now".into(),
            () => format!("{} ago", span(now.since(at))),
        };
        Self { exact: whole.to_string(), utc: whole.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(), relative }
    }
}

/// The beginning of a text in a line, cut for a table.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text, 120)
}

/// A text in a line, whole unless it is very long: the page cuts it where it has to, and its title has all.
pub(crate) fn line(text: &str) -> String {
    cut(text, 1000)
}

fn cut(text: &str, length: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= length {
        return line;
    }
    line.chars().take(length - 1).chain(['…']).collect()
}

/// What was said in passing, as a sentence. What begins with a name or an address stays as it is.
pub(crate) fn sentence(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or_default();
    let is_name = word == "deja" || !word.bytes().all(|b| b.is_ascii_lowercase());
    let begin = if is_name { 0 } else { word.len().min(1) };
    let (first, rest) = text.split_at(begin);
    let end = if text.is_empty() || text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{}{rest}{end}", first.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_becomes_a_sentence() {
        for (said, told) in [
            ("the name is taken: choose another", "The name is taken: choose another."),
            ("a limit", "A limit."),
            ("Done.", "Done."),
            ("It is so (now 7)", "It is so (now 7)."),
            ("ada@example.com has no token", "ada@example.com has no token."),
            ("'x' is none", "'x' is none."),
            ("deja cannot open it", "deja cannot open it."),
            ("", ""),
        ] {
            assert_eq!(sentence(said), told);
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 7.0, 9999.0, 12_345.0, 2e6, 0.25].map(short),
            ["0", "7", "9,999", "12.3k", "2M", "0.25"]
        );
        assert_eq!(
            [0.0, 0.000_000_02, 0.00001, 0.0123, 1.5, 1234.4].map(dollars),
            ["$0.00", "$0.000000020", "$0.0000100", "$0.01230", "$1.50", "$1,234"]
        );
        assert_eq!([Some(0.724), Some(1.0), None].map(percent), ["72.4%", "100.0%", "–"]);
        let almost = [0.0, 0.0004, 0.0005, 0.9994, 0.9996];
        assert_eq!(
            almost.map(|rate| percent(Some(rate))),
            ["0.0%", "<0.1%", "0.1%", "99.9%", ">99.9%"],
            "few are not none, and most are not all"
        );
        assert_eq!(
            [0.423, 9.999, 12.6, 999.6, 1300.0].map(millis),
            ["0.42 ms", "10 ms", "13 ms", "1.0 s", "1.3 s"]
        );
    }

    #[test]
    fn moments_are_told_from_now() {
        let now = Timestamp::from_secs(1_785_500_000);
        let told = |seconds: i64| Moment::of(Timestamp::from_secs(1_785_500_000 + seconds), now).relative;
        assert_eq!(told(-3), "just now");
        assert_eq!(told(-60), "1 minute ago");
        assert_eq!(told(-7200), "2 hours ago");
        assert_eq!(told(864_000), "in 10 days");
        assert_eq!(
            [89, 3599, 863_999, 3 * 86_400 - 1].map(told),
            ["in 1 minute", "in 1 hour", "in 10 days", "in 3 days"]
        );
        assert_eq!(Moment::of(now, now).utc, "2026-07-31 12:13:20 UTC");
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let told = [59, 60, 61, 840, 841, 899, 3541].map(|seconds| wait(Duration::from_secs(seconds)));
        assert_eq!(
            told,
            ["59 seconds", "1 minute", "2 minutes", "14 minutes", "15 minutes", "15 minutes", "1 hour"]
        );
    }

    #[test]
    fn an_excerpt_is_one_line() {
        assert_eq!(excerpt("a\n b\t c"), "a b c");
        let long = excerpt(&"é".repeat(500));
        assert_eq!(long.chars().count(), 120);
        assert!(long.ends_with('…'));
    }
}
