//! What was measured, as rows of one table.

use serde::Serialize;

/// The rounds of one figure. Median and extremes, because on a shared machine a mean follows the worst round.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// The spread of the rounds' values; `None` if there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let (min, max) = (*values.first()?, *values.last()?);
        let odd = values.len() % 2 == 1;
        let median = if odd { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self { median, min, max })
    }

    /// The median.
    pub(crate) const fn median(self) -> f64 {
        self.median
    }
}

/// What a figure has to reach.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    figure: String,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
    /// Why there is no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Row {
    /// A figure without a target: it explains another one. One without rounds is not shown.
    pub(crate) fn plain(
        figure: impl Into<String>,
        unit: &'static str,
        rounds: impl IntoIterator<Item = f64>,
    ) -> Self {
        let measured = Spread::of(rounds);
        Self { figure: figure.into(), unit, measured, target: None, met: None, error: None }
    }

    /// This figure with a target. The median is what counts.
    #[must_use]
    pub(crate) fn target(mut self, target: Target) -> Self {
        self.met = self.measured.map(|measured| match target {
            Target::AtLeast(least) => measured.median >= least,
            Target::AtMost(most) => measured.median <= most,
        });
        self.target = Some(target);
        self
    }

    /// A figure that could not be measured.
    pub(crate) fn failed(figure: &str, error: &str) -> Self {
        let error = Some(error.to_owned());
        Self { figure: figure.to_owned(), unit: "", measured: None, target: None, met: None, error }
    }
}

/// All rows as a markdown table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut lines = vec!["| figure | measured | target | met |".to_owned(), "|---|---|---|---|".to_owned()];
    for row in rows.iter().filter(|row| row.measured.is_some() || row.error.is_some()) {
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let measured = match (&row.measured, &row.error) {
            (Some(Spread { median, min, max }), _) if (max - min).abs() < f64::EPSILON => {
                format!("{}{unit}", number(*median))
            }
            (Some(Spread { median, min, max }), _) => {
                format!("{}{unit} ({}..{})", number(*median), number(*min), number(*max))
            }
            (None, error) => format!("not measured: {}", error.as_deref().unwrap_or("no reason given")),
        };
        let target = match row.target {
            Some(Target::AtLeast(least)) => format!(">= {}{unit}", number(least)),
            Some(Target::AtMost(most)) => format!("<= {}{unit}", number(most)),
            None => "–".to_owned(),
        };
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        lines.push(format!("| {} | {measured} | {target} | {met} |", row.figure));
    }
    lines.join("\n")
}

/// Three digits that count; more would be noise.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides() {
        let row = Row::plain("x", "ms", [3.0, 1.0, 2.0]).target(Target::AtMost(2.0));
        assert_eq!(row.met, Some(true));
        let row = Row::plain("x", "ms", [1.0, 2.0]).target(Target::AtLeast(1.6));
        assert_eq!(row.met, Some(false));
    }

    #[test]
    fn a_figure_without_rounds_meets_nothing_and_is_not_shown() {
        let none = Row::plain("nothing", "", []).target(Target::AtMost(1.0));
        assert_eq!(none.met, None);
        let shown = table(&[none, Row::plain("zero", "", [0.0]), Row::failed("broken", "why")]);
        assert!(
            !shown.contains("nothing") && shown.contains("| zero | 0 |") && shown.contains("why"),
            "{shown}"
        );
    }
}
