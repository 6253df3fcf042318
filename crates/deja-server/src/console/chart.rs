//! Charts made on the server: the shapes are SVG without any text or style, stretched to the width there is; the
//! words around them are HTML, so that they stay readable on a phone. Each chart has a table twin, from the same
//! numbers, which is what a screen reader reads and a CSV file holds.

use std::fmt::Write as _;
use std::iter;

use deja_core::admin::AdminError;

use super::file;
use crate::format;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 200.0;
/// Between bars that stand on each other.
const GAP: f64 = 1.5;

/// How the values of a chart are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bars, the series on top of each other.
    Stack,
    /// One line a series.
    Lines,
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Percent,
    Dollars,
    Millis,
}

impl Unit {
    /// A value in the table.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Count => format::count(value as u64),
            Self::Percent => format::percent(Some(value)),
            Self::Dollars => format::dollars(value),
            Self::Millis => format::millis(value),
        }
    }

    /// A value at the axis.
    fn tick(self, value: f64) -> String {
        match self {
            Self::Count => format::short(value),
            Self::Percent => format!("{:.0}%", value * 100.0),
            Self::Dollars if value < 1000.0 => cents(&format::dollars(value)).to_owned(),
            Self::Dollars => format!("${}", format::short(value)),
            Self::Millis => format!("{} ms", format::short(value)),
        }
    }
}

/// A row of values; `None` where there is nothing to tell.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: &'static str,
    /// Which of the four colours, 1 to 4.
    pub(super) colour: u8,
    pub(super) values: Vec<Option<f64>>,
}

impl Series {
    pub(super) fn new(name: &'static str, colour: u8, values: impl Iterator<Item = f64>) -> Self {
        Self { name, colour, values: values.map(Some).collect() }
    }

    pub(super) fn gaps(name: &'static str, colour: u8, values: impl Iterator<Item = Option<f64>>) -> Self {
        Self { name, colour, values: values.collect() }
    }
}

/// A place of the axis, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Below the chart, where there is room for little.
    pub(super) short: String,
    /// For people, without anything left out.
    pub(super) full: String,
    /// For machines.
    pub(super) exact: String,
}

impl Label {
    /// A label that is short and says all.
    pub(super) fn plain(text: String) -> Self {
        Self { short: text.clone(), full: text.clone(), exact: text }
    }
}

/// A chart. All series are as long as `labels`.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// In the page's and the CSV file's address: `a-z` and `-`.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What the labels are, for the table's first column.
    pub(super) by: &'static str,
    /// Whether they are moments, oldest first.
    pub(super) timed: bool,
    pub(super) kind: Kind,
    pub(super) unit: Unit,
    pub(super) labels: Vec<Label>,
    pub(super) series: Vec<Series>,
    /// A vertical line at this part (0 to 1) of the width, and what it is.
    pub(super) mark: Option<(f64, String)>,
    /// What is said where there is nothing to draw.
    pub(super) none: &'static str,
}

impl Chart {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        !self.series.iter().flat_map(|series| &series.values).any(|value| value.is_some_and(|v| v > 0.0))
    }

    /// Whether a series is a line, which its dashes tell from others.
    pub(super) fn has_lines(&self) -> bool {
        self.kind == Kind::Lines
    }

    /// The axis, from its top to its foot.
    pub(super) fn ticks(&self) -> [String; 3] {
        let top = self.top();
        [top, top / 2.0, 0.0].map(|value| self.unit.tick(value))
    }

    /// Three labels below: the first, the middle and the last.
    pub(super) fn marks(&self) -> Vec<&str> {
        let last = self.labels.len().saturating_sub(1);
        let mut places = vec![0, last / 2, last];
        places.dedup();
        places
            .into_iter()
            .filter_map(|place| self.labels.get(place))
            .map(|label| label.short.as_str())
            .collect()
    }

    /// The name of each series with its value at a place of the axis.
    fn at(&self, slot: usize) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        self.series.iter().map(move |series| (series.name, series.values.get(slot).copied().flatten()))
    }

    /// Whether there is something at this place.
    fn has(&self, slot: usize) -> bool {
        self.at(slot).any(|(_, value)| value.is_some_and(|value| value > 0.0))
    }

    /// The table twin: a label, and of each series its name and a text. Places where there is nothing are left out, and of
    /// moments the newest comes first.
    pub(super) fn rows(&self) -> Vec<(&Label, Vec<(&'static str, String)>)> {
        let cell = |value: Option<f64>| value.map_or("–".into(), |value| self.unit.show(value));
        let cells = |slot| self.at(slot).map(|(name, value)| (name, cell(value))).collect();
        let told = self.labels.iter().enumerate().filter(|(slot, _)| self.has(*slot));
        let mut rows: Vec<_> = told.map(|(slot, label)| (label, cells(slot))).collect();
        if self.timed {
            rows.reverse();
        }
        rows
    }

    /// The same numbers as a CSV file.
    pub(super) fn csv(&self) -> Result<Vec<u8>, AdminError> {
        let names = self.series.iter().map(|series| series.name.to_owned());
        let head = iter::once(self.by.to_owned()).chain(names).collect::<Vec<_>>();
        let row = |(place, label): (usize, &Label)| {
            let values = self.series.iter().map(|series| series.values.get(place).copied().flatten());
            let values = values.map(|value| value.map(|v| v.to_string()).unwrap_or_default());
            iter::once(label.exact.clone()).chain(values).collect()
        };
        file::lines(iter::once(head).chain(self.labels.iter().enumerate().map(row)))
    }

    /// The shapes.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::with_capacity(4096);
        for part in [0.0, 0.5, 1.0] {
            let y = HEIGHT * part;
            let _infallible = write!(svg, r#"<line x1="0" x2="{WIDTH}" y1="{y}" y2="{y}"/>"#);
        }
        match self.kind {
            Kind::Stack => self.bars(&mut svg),
            Kind::Lines => self.lines(&mut svg),
        }
        self.tooltips(&mut svg);
        if let Some((mark, _)) = self.mark {
            let x = place(mark * WIDTH);
            let _infallible = write!(svg, r#"<line class="mark" x1="{x}" x2="{x}" y1="0" y2="{HEIGHT}"/>"#);
        }
        svg
    }

    fn bars(&self, svg: &mut String) {
        let (top, step) = (self.top(), WIDTH / self.labels.len().max(1) as f64);
        for slot in 0..self.labels.len() {
            let mut foot = HEIGHT;
            for series in &self.series {
                let value = series.values.get(slot).copied().flatten().unwrap_or(0.0);
                if value <= 0.0 {
                    continue;
                }
                // A bar that is there can be seen, however small.
                let height = (value / top * HEIGHT).max(1.0);
                // Where one stands on another there is a gap, which tells them apart without their colours.
                let gap = if foot < HEIGHT && height > 2.0 * GAP { GAP } else { 0.0 };
                foot -= height;
                let _infallible = write!(
                    svg,
                    r#"<rect class="c{}" x="{}" y="{}" width="{}" height="{}"/>"#,
                    series.colour,
                    place(slot as f64 * step + step * 0.1),
                    place(foot),
                    place(step * 0.8),
                    place(height - gap),
                );
            }
        }
    }

    /// Above each place of the axis its numbers, for the pointer.
    fn tooltips(&self, svg: &mut String) {
        let (step, zone) = (WIDTH / self.labels.len().max(1) as f64, if self.timed { " UTC" } else { "" });
        for (slot, label) in self.labels.iter().enumerate().filter(|(slot, _)| self.has(*slot)) {
            let _infallible = write!(
                svg,
                r#"<rect class="told" x="{}" y="0" width="{}" height="{HEIGHT}"><title>{}{zone}"#,
                place(slot as f64 * step),
                place(step),
                escape(&label.full),
            );
            for (name, value) in self.at(slot).filter_map(|(name, value)| Some((name, value?))) {
                let _infallible = write!(svg, "\n{name}: {}", escape(&self.unit.show(value)));
            }
            svg.push_str("</title></rect>");
        }
    }

    fn lines(&self, svg: &mut String) {
        let (top, step) = (self.top(), WIDTH / self.labels.len().max(1) as f64);
        for series in &self.series {
            let mut path = String::new();
            let mut drawing = false;
            for (slot, value) in series.values.iter().enumerate() {
                let Some(value) = value else {
                    drawing = false;
                    continue;
                };
                let (x, y) = (place((slot as f64 + 0.5) * step), place(HEIGHT - value / top * HEIGHT));
                // A point alone is a stroke as wide as a bar: a path of one point draws nothing.
                let alone = !drawing && series.values.get(slot + 1).copied().flatten().is_none();
                let _infallible = match (drawing, alone) {
                    (true, _) => write!(path, "L{x} {y}"),
                    (false, false) => write!(path, "M{x} {y}"),
                    (false, true) => {
                        write!(path, "M{} {y}L{} {y}", place(x - step * 0.4), place(x + step * 0.4))
                    }
                };
                drawing = true;
            }
            let _infallible = write!(svg, r#"<path class="line c{}" d="{path}"/>"#, series.colour);
        }
    }

    /// The top of the axis: a round number at or above every value.
    fn top(&self) -> f64 {
        let slot = |slot: usize| {
            self.series.iter().map(move |s| s.values.get(slot).copied().flatten().unwrap_or(0.0))
        };
        let highest = |slot_values: &mut dyn Iterator<Item = f64>| match self.kind {
            Kind::Stack => slot_values.sum(),
            Kind::Lines => slot_values.fold(0.0, f64::max),
        };
        let top = (0..self.labels.len()).map(|n| highest(&mut slot(n))).fold(0.0, f64::max);
        if self.unit == Unit::Percent { 1.0 } else { round_up(top, self.unit == Unit::Count) }
    }
}

/// The shapes of a small chart without axes: one bar a value.
pub(super) fn sparkline(values: &[f64]) -> String {
    let top = values.iter().copied().fold(0.0, f64::max);
    let step = 100.0 / values.len().max(1) as f64;
    let mut svg = String::new();
    for (slot, value) in values.iter().enumerate() {
        let height = if top > 0.0 { (value / top * 28.0).max(1.0) } else { 1.0 };
        let _infallible = write!(
            svg,
            r#"<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>"#,
            if *value > 0.0 { "c1" } else { "c3" },
            place(slot as f64 * step),
            place(28.0 - height),
            place(step * 0.8),
            place(height),
        );
    }
    svg
}

/// 1, 2 or 5 times a power of ten, at or above `value`; even counts, so that the middle tick is whole.
fn round_up(value: f64, whole: bool) -> f64 {
    let least = if whole { 2.0 } else { 1e-9 };
    let value = value.max(least);
    let power = 10f64.powf(value.log10().floor());
    let steps: &[f64] = if whole && power < 10.0 {
        &[1.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    } else {
        &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]
    };
    steps.iter().map(|step| step * power).find(|top| *top >= value * 0.999_999).unwrap_or(power * 10.0)
}

/// An amount without zeros behind its cents.
fn cents(dollars: &str) -> &str {
    let least = dollars.find('.').map_or(dollars.len(), |point| (point + 3).min(dollars.len()));
    &dollars[..dollars.trim_end_matches('0').len().max(least)]
}

/// A coordinate, short.
fn place(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn escape(text: &str) -> String {
    askama::filters::escape(text, askama::filters::Html).map(|safe| safe.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(n: usize) -> Label {
        Label { short: format!("{n}"), full: format!("<{n}>"), exact: format!("00{n}") }
    }

    fn chart(kind: Kind, values: &[Option<f64>]) -> Chart {
        Chart {
            id: "test",
            title: "Test",
            by: "hour",
            timed: true,
            kind,
            unit: Unit::Count,
            labels: (0..values.len()).map(label).collect(),
            series: vec![
                Series::gaps("hits", 1, values.iter().copied()),
                Series::new("misses", 2, values.iter().map(|_| 1.0)),
            ],
            mark: None,
            none: "Nothing.",
        }
    }

    #[test]
    fn bars_stand_on_each_other_and_labels_are_escaped() {
        let svg = chart(Kind::Stack, &[Some(3.0), None]).svg();
        assert_eq!(svg.matches("<rect class=\"c").count(), 3);
        assert!(svg.contains("<title>&#60;0&#62; UTC\nhits: 3\nmisses: 1</title>"), "{svg}");
        assert!(svg.contains("<title>&#60;1&#62; UTC\nmisses: 1</title>"), "{svg}");
        assert!(svg.contains(r#"y="50" width="400" height="150""#), "{svg}");
        assert!(svg.contains(r#"y="0" width="400" height="48.5""#), "there is a gap: {svg}");
        assert!(!svg.contains("style="));
    }

    #[test]
    fn lines_break_at_gaps() {
        let svg = chart(Kind::Lines, &[Some(1.0), None, Some(2.0), Some(2.0)]).svg();
        let first = svg.split("<path").nth(1).unwrap();
        assert_eq!(first.matches('M').count(), 2, "{first}");
        assert!(svg.contains("<title>&#60;3&#62; UTC\nhits: 2\nmisses: 1</title>"), "{svg}");
    }

    #[test]
    fn the_top_of_an_axis_is_round() {
        for (value, top) in
            [(0.0, 2.0), (1.0, 2.0), (3.0, 4.0), (9.0, 10.0), (11.0, 20.0), (101.0, 200.0), (250.0, 300.0)]
        {
            assert!((round_up(value, true) - top).abs() < 1e-9, "{value}: {}", round_up(value, true));
        }
        assert!((round_up(0.0021, false) - 0.003).abs() < 1e-12);
    }

    #[test]
    fn dollars_at_an_axis_have_no_zeros_behind_their_cents() {
        for (value, tick) in
            [(0.05, "$0.05"), (0.005, "$0.005"), (0.0, "$0.00"), (0.00004, "$0.00004"), (150.0, "$150")]
        {
            assert_eq!(Unit::Dollars.tick(value), tick);
        }
    }

    #[test]
    fn the_table_twin_has_every_number_newest_first_and_no_row_of_nothing() {
        let mut chart = chart(Kind::Stack, &[Some(1234.0), None]);
        let row = |label, hits: &str| (label, vec![("hits", hits.to_owned()), ("misses", "1".to_owned())]);
        let (first, second) = (label(0), label(1));
        assert_eq!(chart.rows(), [row(&second, "–"), row(&first, "1,234")]);
        chart.timed = false;
        assert_eq!(chart.rows(), [row(&first, "1,234"), row(&second, "–")]);
        let mut quiet = chart.clone();
        quiet.series = vec![Series::gaps("hits", 1, [Some(0.0), None].into_iter())];
        assert_eq!(quiet.rows(), []);
        assert_eq!(
            String::from_utf8(chart.csv().unwrap()).unwrap(),
            "hour,hits,misses\n000,1234,1\n001,,1\n"
        );
        assert_eq!(chart.marks(), ["0", "1"]);
    }

    #[test]
    fn a_sparkline_has_a_bar_a_value() {
        assert_eq!(sparkline(&[0.0, 2.0, 1.0]).matches("<rect").count(), 3);
        assert!(sparkline(&[0.0]).contains(r#"height="1""#));
    }
}
