//! The curves of precision over recall as an SVG file.

use std::fmt::Write;

use deja_core::embedding::Threshold;

use super::measure::Point;
use super::report::{Ranking, digits};

const SIDE: f64 = 400.0;
const MARGIN: f64 = 50.0;
/// Colours that stand apart for the colour-blind too (Okabe and Ito), on white.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

fn x(recall: f64) -> f64 {
    MARGIN + recall * SIDE
}

fn y(precision: f64) -> f64 {
    MARGIN + (1.0 - precision) * SIDE
}

/// One line a guard; a dot for each threshold.
pub(super) fn svg(rankings: &[Ranking], thresholds: &[Threshold]) -> String {
    let size = SIDE + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size} {size}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\" aria-label=\"Precision over recall\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#fff\"/>\n"
    );
    let mut line = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for step in 0..=5 {
        let value = f64::from(step) / 5.0;
        let (left, right, low, high) = (x(0.0), x(1.0), y(0.0), y(1.0));
        line(format!(
            "<path d=\"M{left} {0:.1}H{right}M{1:.1} {low}V{high}\" stroke=\"#ddd\"/><text x=\"{2}\" y=\"{3:.1}\" \
             text-anchor=\"end\">{value:.1}</text><text x=\"{1:.1}\" y=\"{4}\" text-anchor=\"middle\">{value:.1}</text>",
            y(value),
            x(value),
            left - 8.0,
            y(value) + 4.0,
            low + 18.0,
        ));
    }
    line(format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">recall</text><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">\
         precision</text>",
        x(0.5),
        y(0.0) + 38.0,
        MARGIN,
        MARGIN - 14.0,
    ));
    for (at, (ranking, colour)) in rankings.iter().zip(COLOURS).enumerate() {
        let served = || ranking.curve.iter().filter(|point| point.rank >= 0.0);
        let mut path = String::new();
        let mut drawn = f64::NEG_INFINITY;
        for point in served() {
            if point.recall - drawn >= 0.002 {
                drawn = point.recall;
                let command = if path.is_empty() { 'M' } else { 'L' };
                // Writing to a string cannot fail.
                let _infallible = write!(path, "{command}{:.1} {:.1}", x(point.recall), y(point.precision));
            }
        }
        line(format!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
        for threshold in thresholds {
            if let Some(point) = reached(served(), *threshold) {
                line(format!(
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"><title>{} at {}: precision {:.3}, \
                     recall {:.3}</title></circle>",
                    x(point.recall),
                    y(point.precision),
                    ranking.guard,
                    digits(threshold.get()),
                    point.precision,
                    point.recall,
                ));
            }
        }
        let row = y(0.0) - 12.0 - 18.0 * at as f64;
        line(format!(
            "<text x=\"{}\" y=\"{row}\" fill=\"{colour}\">guard {}</text>",
            x(0.0) + 10.0,
            ranking.guard
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The last point that reaches the threshold.
fn reached<'a>(points: impl Iterator<Item = &'a Point>, threshold: Threshold) -> Option<&'a Point> {
    points.take_while(|point| point.rank >= threshold.get() as f32).last()
}
