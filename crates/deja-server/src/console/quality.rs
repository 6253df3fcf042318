//! Quality: how good the hits are, and what other thresholds and guards would make of the same traffic.

use askama::Template;
use deja_core::admin::quality::{self, Figures, Labellers};
use deja_core::embedding::Threshold;
use deja_core::project::Guard;
use deja_core::quality::{ADVISED_PRECISION, Estimate, Point, Quality, Setting};
use serde::Deserialize;

use super::chart::{Chart, Kind, Label, Series, Unit};
use super::error::ConsoleError;
use super::form::{Path, Query};
use super::page::{Answer, CSV, Frame, Visit, download};
use crate::format::{self, Moment};

/// A larger share of traffic that the guard takes proof for only is worth a word.
const MUCH: f64 = 0.2;

#[derive(Template)]
#[template(path = "quality.html")]
struct QualityPage {
    frame: Frame,
    slug: String,
    /// Whether the project keeps samples.
    kept: bool,
    samples: usize,
    labels: usize,
    waiting: usize,
    since: Option<Moment>,
    figures: Vec<(&'static str, String, String)>,
    foreign: Option<String>,
    advised: Option<Row>,
    least: String,
    /// What the table takes for misses although much of it may have been hits.
    without_samples: Option<String>,
    guards: Vec<GuardLink>,
    rows: Vec<Row>,
    charts: Vec<(Chart, String)>,
}

struct GuardLink {
    name: &'static str,
    href: String,
    current: bool,
}

/// A setting in a table.
pub(super) struct Row {
    pub(super) threshold: String,
    pub(super) guard: &'static str,
    pub(super) hit_rate: String,
    pub(super) precision: String,
    pub(super) interval: String,
    pub(super) saved: String,
    apply: String,
    present: bool,
}

impl Row {
    fn of(slug: &str, point: &Point, present: Setting) -> Self {
        let (threshold, guard) = (shown(point.setting.threshold), point.setting.guard);
        Self {
            guard: guard.as_str(),
            hit_rate: format::percent(Some(point.hit_rate)),
            precision: point.precision.map_or("not known".into(), |right| format::percent(Some(right.share))),
            interval: point.precision.map_or("–".into(), interval),
            saved: format::money(point.saved),
            apply: format!("/console/p/{slug}/quality/apply?threshold={threshold}&guard={}", guard.as_str()),
            present: present.is(point.setting),
            threshold,
        }
    }
}

/// A threshold with two digits, or as many as it has.
fn shown(threshold: Threshold) -> String {
    let (short, whole) = (format!("{:.2}", threshold.get()), threshold.get().to_string());
    if whole.len() > short.len() { whole } else { short }
}

/// Where a share lies with a certainty of 95%.
pub(super) fn interval(estimate: Estimate) -> String {
    format!("{} to {}", format::percent(Some(estimate.low)), format::percent(Some(estimate.high)))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    guard: String,
}

/// `GET /console/p/{slug}/quality`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(wanted): Query<Wanted>) -> Answer {
    let project = &visit.seen()?.project;
    let known = quality::figures(&visit.acting(), &slug, Labellers::People).await?;
    let (quality, present) = (&known.quality, known.present.setting);
    let guard = wanted.guard.parse().unwrap_or(present.guard);
    let row = |point: &Point| Row::of(&slug, point, present);
    let mut points: Vec<&Point> = quality.curve.iter().collect();
    if quality.at(present).is_none() {
        points.push(&known.present);
        points.sort_by(|one, other| one.setting.threshold.get().total_cmp(&other.setting.threshold.get()));
    }
    let page = QualityPage {
        frame: visit.frame_in(project, "Quality", "Quality"),
        kept: project.settings.samples > 0,
        samples: known.samples,
        labels: known.labels,
        waiting: known.waiting,
        since: known.since.map(|since| visit.moment(since)),
        figures: figures(&known),
        foreign: foreign(quality),
        advised: quality.advised().map(row),
        least: format!("{:.0}%", ADVISED_PRECISION * 100.0),
        without_samples: without_samples(quality),
        guards: Guard::ALL
            .map(|other| GuardLink {
                name: other.as_str(),
                href: format!("/console/p/{slug}/quality?guard={}#curve", other.as_str()),
                current: other == guard,
            })
            .into(),
        rows: points.into_iter().filter(|point| point.setting.guard == guard).map(row).collect(),
        charts: charts(quality).map(|chart| (chart, format!("/console/p/{slug}/quality/curve.csv"))).into(),
        slug,
    };
    Ok(visit.page(&page))
}

fn figures(known: &Figures) -> Vec<(&'static str, String, String)> {
    let quality = &known.quality;
    let answered = quality.traffic.answered();
    let wrong = match quality.wrong {
        Some(wrong) => {
            (format::percent(Some(wrong.share)), format!("{}, with 95% certainty", interval(wrong)))
        }
        None => ("not known".into(), "nobody has labelled a hit yet".into()),
    };
    vec![
        (
            "Hit rate",
            format::percent((answered > 0).then_some(quality.hit_rate)),
            format!("of {} answered requests", format::count(answered)),
        ),
        ("Wrong among hits", wrong.0, wrong.1),
        (
            "Samples",
            format::count(known.samples as u64),
            format!("{} with a label", format::count(known.labels as u64)),
        ),
        (
            "Hard to judge",
            format::percent((known.samples > 0).then_some(quality.proof_only)),
            "of what came near: not English, code, or long".into(),
        ),
    ]
}

/// What to know of traffic in other languages.
fn foreign(quality: &Quality) -> Option<String> {
    (quality.proof_only >= MUCH).then(|| {
        format!(
            "{} of what came near is not English, is code, or is long. The built-in embedder knows English, and the \
             guard lets such prompts pass only if they are nearly the same: right answers are lost.",
            format::percent(Some(quality.proof_only))
        )
    })
}

/// What the table leaves out, if anything.
fn without_samples(quality: &Quality) -> Option<String> {
    let queries = quality.without_samples;
    (queries > 0).then(|| {
        format!(
            "Of {} no sample is left that is as similar: a sample goes with its entry. The table and the charts count {} \
             as no hit, in every row, also where deja did answer from the cache. The hit rate above is what really \
             happened.",
            if queries == 1 { "1 query".to_owned() } else { format!("{} queries", format::count(queries)) },
            if queries == 1 { "it" } else { "them" }
        )
    })
}

/// Hit rate and precision over the threshold, a line for each guard.
fn charts(quality: &Quality) -> [Chart; 2] {
    let of = |guard: Guard| quality.curve.iter().filter(move |point| point.setting.guard == guard);
    let labels: Vec<Label> =
        of(Guard::Off).map(|point| Label::plain(format!("{:.2}", point.setting.threshold.get()))).collect();
    let lines = |value: fn(&Point) -> Option<f64>| {
        let colours = [(Guard::Off, 4), (Guard::Standard, 1), (Guard::Strict, 2), (Guard::Thorough, 3)];
        colours.map(|(guard, colour)| Series::gaps(guard.as_str(), colour, of(guard).map(value))).to_vec()
    };
    let chart = |id, title, series, none| Chart {
        id,
        title,
        by: "Threshold",
        timed: false,
        kind: Kind::Lines,
        unit: Unit::Percent,
        labels: labels.clone(),
        series,
        mark: None,
        none,
    };
    [
        chart("hits", "Hit rate by guard", lines(|point| Some(point.hit_rate)), "There is no hit yet."),
        chart(
            "precision",
            "Right among hits by meaning, by guard",
            lines(|point| point.precision.map(|p| p.share)),
            "Not known yet: it takes labels of samples.",
        ),
    ]
}

/// `GET /console/p/{slug}/quality/{chart}`.
pub(super) async fn csv(visit: Visit, Path((slug, file)): Path<(String, String)>) -> Answer {
    if file != "curve.csv" {
        return Err(ConsoleError::NotFound);
    }
    let quality = quality::figures(&visit.acting(), &slug, Labellers::People).await?.quality;
    let bytes = curve(&quality).map_err(ConsoleError::failed)?;
    Ok(download(CSV, &format!("{slug}-curve.csv"), bytes))
}

fn curve(quality: &Quality) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "threshold", "guard", "hit_rate", "precision", "low", "high", "labels", "saved_usd",
    ])?;
    for Point { setting, hit_rate, precision, saved } in &quality.curve {
        let known = |value: fn(&Estimate) -> f64| precision.as_ref().map(|p| format!("{:.4}", value(p)));
        writer.write_record([
            format!("{:.2}", setting.threshold.get()),
            setting.guard.as_str().to_owned(),
            format!("{hit_rate:.4}"),
            known(|p| p.share).unwrap_or_default(),
            known(|p| p.low).unwrap_or_default(),
            known(|p| p.high).unwrap_or_default(),
            precision.map_or(0, |p| p.labels).to_string(),
            saved.as_dollars().to_string(),
        ])?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}
