//! The span of time that analytics shows, and the bars it is cut into.

use std::num::NonZeroUsize;
use std::ops::Range;

use deja_core::analytics::{Dimension, Slice, Step, Totals};
use deja_core::clock::{TimeRange, Timestamp};
use deja_core::project::Project;
use serde::Deserialize;

use super::chart::Label;
use super::error::ConsoleError;
use super::form::Problem;
use super::page::Visit;
use crate::format;

/// Bars of a chart, about.
const BARS: i64 = 60;
/// A custom range of days in another time zone is read by the hour up to this many days. A longer one would take too long.
const BY_HOUR: i64 = 93;

/// A span, as the rollups' periods, and how many of them make a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// `1h`, `24h`, `7d`, `30d` or `custom`.
    pub(super) key: &'static str,
    pub(super) step: Step,
    pub(super) periods: Range<i64>,
    /// Periods a bar.
    pub(super) group: i64,
    /// Periods of the first bar that lie before the span.
    lead: i64,
    /// Whether it begins earlier or ends later than it was typed.
    pub(super) widened: bool,
}

/// Totals of slices, most requests first.
pub(super) type Counts = Vec<(Slice, Totals)>;

/// The ranges on offer, with their names.
pub(super) const OFFERED: [(&str, &str); 4] =
    [("1h", "1 hour"), ("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days")];

impl Span {
    /// The span called `key`: its whole length, up to and with the running period. Anything else is the default, 24 hours.
    pub(super) fn named(key: &str, now: Timestamp) -> Self {
        let (key, step, count, group) = match key {
            "1h" => ("1h", Step::Minute, 60, 1),
            "7d" => ("7d", Step::Hour, 7 * 24, 6),
            "30d" => ("30d", Step::Day, 30, 1),
            _ => ("24h", Step::Hour, 24, 1),
        };
        let end = step.period_of(now) + 1;
        let start = end - count;
        // Bars begin at whole multiples of their length, so that they stay the same as time goes on. The span has a part of the
        // first and of the last one.
        Self { key, step, periods: start..end, group, lead: start.rem_euclid(group), widened: false }
    }

    /// From `from` to `until`, both as a form's `datetime-local` says them, in UTC; what is wrong with them, for people.
    pub(super) fn custom(from: &str, until: &str, now: Timestamp) -> Result<Self, &'static str> {
        let ends = typed(from).zip(typed(until)).filter(|(from, until)| from < until);
        let ends = ends.ok_or("A custom range goes from one moment to a later one.")?;
        // What the type holds, and no more than is needed.
        if ends.0 < 0 || ends.1 >= 7_258_118_400 {
            return Err("A custom range lies between 1970 and 2199 (UTC).");
        }
        let (from, until) = (Timestamp::from_secs(ends.0), Timestamp::from_secs(ends.1));
        let minutes_reach = Step::Minute.period_of(from) > Step::Minute.period_of(now) - Step::Minute.kept();
        let is_midnight = |at: Timestamp| at.as_secs() % Step::Day.seconds() == 0;
        let whole_days = is_midnight(from) && (until >= now || is_midnight(until));
        // Nothing lies ahead of now.
        let step = match until.min(now).as_secs() - from.as_secs() {
            seconds if minutes_reach && seconds <= 4 * 3600 => Step::Minute,
            // A chart has about as many bars as this has days.
            seconds if seconds >= 30 * 86_400 && (whole_days || seconds > BY_HOUR * 86_400) => Step::Day,
            _ => Step::Hour,
        };
        let last = step.period_of(now) + 1;
        let first = step.period_of(from).max(last - step.kept());
        // The period that `until` lies in is shown, unless it begins just then.
        let end = (step.period_of(Timestamp::from_nanos(until.as_nanos() - 1)) + 1).min(last);
        if now < from || end <= first {
            return Err("Nothing is kept of the custom range’s time.");
        }
        let group = groups(step).into_iter().find(|group| end - first <= BARS * group).unwrap_or(7);
        let span = Self { key: "custom", step, periods: first..end, group, lead: 0, widened: false };
        let widened = span.from() < from || until < span.until().min(now);
        Ok(Self { widened, ..span })
    }

    /// The same span of time just before; `None` if that is not kept any more.
    pub(super) fn before(&self, now: Timestamp) -> Option<Self> {
        let first = self.periods.start - (self.periods.end - self.periods.start);
        (first >= self.step.oldest(now)).then(|| Self { periods: first..self.periods.start, ..self.clone() })
    }

    /// From when until when.
    pub(super) fn ends(&self) -> [Label; 2] {
        let label = |at| {
            let at = format::to_second(at);
            Label {
                short: String::new(),
                full: at.strftime("%Y-%m-%d %H:%M").to_string(),
                exact: at.to_string(),
            }
        };
        [label(self.from()), label(self.until())]
    }

    /// Number of bars.
    pub(super) fn bars(&self) -> usize {
        let all = self.lead + self.periods.end - self.periods.start;
        usize::try_from((all + self.group - 1) / self.group).unwrap_or(0)
    }

    /// The bar that a period falls into.
    pub(super) fn bar_of(&self, period: i64) -> Option<usize> {
        let inside = self.periods.contains(&period);
        usize::try_from((self.lead + period - self.periods.start) / self.group).ok().filter(|_| inside)
    }

    /// When it begins.
    pub(super) fn from(&self) -> Timestamp {
        self.step.start_of(self.periods.start)
    }

    /// When it ends.
    pub(super) fn until(&self) -> Timestamp {
        self.step.start_of(self.periods.end)
    }

    /// The requests of a slice in this span, told apart by a dimension.
    pub(super) async fn counts(
        &self,
        visit: &Visit,
        project: &Project,
        slice: &Slice,
        by: Dimension,
        limit: NonZeroUsize,
    ) -> Result<Counts, ConsoleError> {
        Ok(visit.store().usage_by(project.id, slice, by, self.step, self.periods.clone(), limit).await?)
    }

    /// What stands below each bar: when it begins.
    pub(super) fn labels(&self) -> Vec<Label> {
        let length = self.step.seconds() * self.group;
        let short = match length {
            ..86_400 if self.bars() as i64 * length <= 86_400 => "%H:%M",
            ..86_400 => "%b %-d %H:%M",
            _ => "%b %-d",
        };
        let full = if self.step == Step::Day { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" };
        let bars = i64::try_from(self.bars()).unwrap_or(0);
        let begins =
            |bar: i64| self.step.start_of(self.periods.start + (bar * self.group - self.lead).max(0));
        let label = |bar| {
            let begin = format::to_second(begins(bar));
            let text = |form| begin.strftime(form).to_string();
            Label { short: text(short), full: text(full), exact: begin.to_string() }
        };
        (0..bars).map(label).collect()
    }
}

fn groups(step: Step) -> Vec<i64> {
    match step {
        Step::Minute => vec![1, 5, 15],
        Step::Hour => vec![1, 2, 6, 12, 24, 48],
        Step::Day => vec![1, 2, 7],
    }
}

/// The ends of a time, as a form's two `datetime-local` fields say them, in UTC. Each may be empty.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ends {
    from: String,
    until: String,
}

impl Ends {
    /// The time; or what is wrong with one of the fields.
    pub(super) fn read(&self) -> Result<TimeRange, Problem> {
        let moment = |field: &'static str, name: &str, text: &str| match moment(text) {
            None if !text.trim().is_empty() => {
                Err(Problem::of(field, format!("{name} must be a moment such as 2026-07-31 14:30, in UTC")))
            }
            moment => Ok(moment),
        };
        Ok(TimeRange {
            from: moment("from", "From", &self.from)?,
            until: moment("until", "Until", &self.until)?,
        })
    }

    /// As they stand in an address.
    pub(super) fn pairs(&self) -> [(&str, &str); 2] {
        [("from", &self.from), ("until", &self.until)]
    }

    /// As fields take them: what is no moment is left out.
    pub(super) fn inputs(&self) -> [String; 2] {
        [&self.from, &self.until].map(|text| moment(text).map(input).unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty() && self.until.is_empty()
    }
}

/// A moment as `datetime-local` inputs send it, taken as UTC.
fn moment(text: &str) -> Option<Timestamp> {
    typed(text).map(Timestamp::from_secs)
}

/// The same, as seconds since 1970.
fn typed(text: &str) -> Option<i64> {
    let civil: jiff::civil::DateTime = text.trim().parse().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

/// A moment as `datetime-local` inputs take it.
pub(super) fn input(at: Timestamp) -> String {
    format::to_second(at).strftime("%Y-%m-%dT%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-07-31 12:13:20 UTC.
    const NOW: Timestamp = Timestamp::from_secs(1_785_500_000);

    #[test]
    fn each_end_of_a_time_may_be_open() {
        let ends = |from: &str, until: &str| Ends { from: from.into(), until: until.into() };
        let at = |seconds| Some(Timestamp::from_secs(seconds));
        for (from, until, range) in [
            ("2026-07-31T12:13", "2026-07-31 12:13:20", (at(1_785_499_980), at(1_785_500_000))),
            ("2026-07-31", "", (at(1_785_456_000), None)),
            (" ", " 1969-12-31T23:59 ", (None, at(-60))),
        ] {
            assert_eq!(ends(from, until).read(), Ok(TimeRange { from: range.0, until: range.1 }), "{from}");
        }
        for (from, until, field) in
            [("x", "2026-07-31", "from"), ("", "2026-02-30", "until"), ("12:00", "", "from")]
        {
            let problem = ends(from, until).read().unwrap_err();
            assert_eq!((problem.field, problem.text.ends_with("2026-07-31 14:30, in UTC.")), (field, true));
        }
        assert_eq!(ends("x", "9999-01-01T00:00").inputs(), ["", "2262-04-11T23:47"]);
    }

    #[test]
    fn named_ranges_have_their_whole_length_and_end_with_the_running_period() {
        for (key, bars, first, last, whole) in [
            ("1h", 60, "11:14", "12:13", ("2026-07-31 11:14", "2026-07-31T11:14:00Z")),
            ("24h", 24, "13:00", "12:00", ("2026-07-30 13:00", "2026-07-30T13:00:00Z")),
            ("7d", 29, "Jul 24 13:00", "Jul 31 12:00", ("2026-07-24 13:00", "2026-07-24T13:00:00Z")),
            ("30d", 30, "Jul 2", "Jul 31", ("2026-07-02", "2026-07-02T00:00:00Z")),
            ("nonsense", 24, "13:00", "12:00", ("2026-07-30 13:00", "2026-07-30T13:00:00Z")),
        ] {
            let span = Span::named(key, NOW);
            let labels = span.labels();
            assert_eq!((labels.len(), span.bars()), (bars, bars), "{key}");
            assert_eq!((labels[0].short.as_str(), labels[bars - 1].short.as_str()), (first, last), "{key}");
            assert_eq!((labels[0].full.as_str(), labels[0].exact.as_str()), whole, "{key}");
            assert_eq!(span.bar_of(span.step.period_of(NOW)), Some(bars - 1), "{key}");
            assert_eq!(span.bar_of(span.periods.end), None);
            assert_eq!(span.bar_of(span.periods.start), Some(0), "{key}");
        }
    }

    #[test]
    fn bars_begin_at_multiples_of_their_length() {
        let span = Span::named("7d", NOW);
        let hour = |text: &str| Step::Hour.period_of(Timestamp::from_secs(typed(text).unwrap()));
        let bars = ["2026-07-24T17:00", "2026-07-24T18:00", "2026-07-31T11:00", "2026-07-31T12:00"];
        assert_eq!(bars.map(|at| span.bar_of(hour(at))), [Some(0), Some(1), Some(27), Some(28)]);
        let second = &span.labels()[1];
        assert_eq!((second.short.as_str(), second.full.as_str()), ("Jul 24 18:00", "2026-07-24 18:00"));
    }

    #[test]
    fn the_span_before_ends_where_this_one_begins_if_it_is_kept() {
        for (key, _) in OFFERED {
            let span = Span::named(key, NOW);
            let before = span.before(NOW).unwrap();
            assert_eq!((before.until(), before.bars()), (span.from(), span.bars()), "{key}");
        }
        let all = Span::custom("1970-01-01T00:00", "2199-01-01T00:00", NOW).unwrap();
        assert_eq!(all.before(NOW), None);
    }

    #[test]
    fn a_range_that_is_not_as_it_was_typed_says_so() {
        for (from, until, ends) in [
            ("2026-07-20T16:00", "2026-07-20T16:01", ["2026-07-20 16:00", "2026-07-20 17:00"]),
            ("2026-07-20T15:30", "2026-07-20T17:00", ["2026-07-20 15:00", "2026-07-20 17:00"]),
            ("2026-07-20T15:00", "2026-07-31T12:05", ["2026-07-20 15:00", "2026-07-31 13:00"]),
            ("2026-01-01T05:00", "2026-07-30T00:00", ["2026-01-01 00:00", "2026-07-30 00:00"]),
        ] {
            let span = Span::custom(from, until, NOW).unwrap();
            assert!(span.widened, "{from}");
            assert_eq!(span.ends().map(|end| end.full), ends);
        }
        for (from, until) in [
            ("2026-07-20T15:00", "2026-07-20T17:00"),
            ("2026-07-20T15:00", "2026-07-31T12:30"),
            ("1970-01-01T00:00", "2199-01-01T00:00"),
        ] {
            assert!(!Span::custom(from, until, NOW).unwrap().widened, "{from}");
        }
    }

    #[test]
    fn custom_ranges_are_bounded_by_what_is_kept() {
        let span = Span::custom("2026-07-31T10:00", "2026-07-31T11:00", NOW).unwrap();
        assert_eq!((span.step, span.bars()), (Step::Minute, 60));
        let span = Span::custom("2026-07-01T00:00", "2026-07-11T00:00", NOW).unwrap();
        assert_eq!((span.step, span.group, span.bars()), (Step::Hour, 6, 40));
        let span = Span::custom("2026-06-30T22:00", "2026-07-30T22:00", NOW).unwrap();
        assert_eq!((span.step, span.group, span.bars()), (Step::Hour, 12, 60), "no month of UTC");
        assert_eq!((span.labels()[0].full.as_str(), span.widened), ("2026-06-30 22:00", false));
        let span = Span::custom("2026-04-29T22:00", "2026-07-31T22:00", NOW).unwrap();
        assert_eq!((span.step, span.group, span.bars(), span.widened), (Step::Hour, 48, 47, false));
        assert_eq!(span.labels()[0].full, "2026-04-29 22:00");
        for (from, until) in
            [("2026-07-01T00:00", "2026-07-31T00:00"), ("2026-06-01T00:00", "2026-08-01T00:00")]
        {
            let span = Span::custom(from, until, NOW).unwrap();
            assert_eq!((span.step, span.widened), (Step::Day, false), "{from}");
        }
        let span = Span::custom("2026-07-31T10:00", "2199-01-01T00:00", NOW).unwrap();
        assert_eq!((span.step, span.bars()), (Step::Minute, 27), "134 minutes, in bars of 5");
        for (from, until) in
            [("1969-12-31T23:59", "2199-01-01T00:00"), ("2026-07-01T00:00", "2200-01-01T00:00")]
        {
            assert!(Span::custom(from, until, NOW).unwrap_err().contains("between 1970 and 2199"), "{from}");
        }
        let span = Span::custom("1970-01-01T00:00", "2199-01-01T00:00", NOW).unwrap();
        assert_eq!((span.step, span.periods.end - span.periods.start), (Step::Day, Step::Day.kept()));
        assert!(span.bars() <= 60);
        for (from, until) in [("", ""), ("2026-07-31T11:00", "2026-07-31T10:00"), ("x", "2026-07-31T10:00")] {
            assert!(Span::custom(from, until, NOW).unwrap_err().contains("a later one"));
        }
        for (from, until) in [
            ("2020-01-01T00:00", "2020-01-02T00:00"),
            ("2020-01-01T00:00", "2021-01-01T00:00"),
            ("2026-07-31T12:14", "2026-07-31T13:00"),
            ("2190-01-01T00:00", "2199-01-01T00:00"),
        ] {
            assert!(Span::custom(from, until, NOW).unwrap_err().contains("Nothing is kept"), "{from}");
        }
        assert_eq!(Span::custom("2026-07-31T12:13", "2026-07-31T13:00", NOW).unwrap().bars(), 1);
    }
}
