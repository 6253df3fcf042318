//! Applying a setting: what it would change, and then the change.

use askama::Template;
use deja_core::admin::quality::{self, Evidence, Labellers};
use deja_core::embedding::Threshold;
use deja_core::quality::{Judged, Sample, Setting};
use deja_core::words::UnknownWord;
use serde::Deserialize;

use super::error::ConsoleError;
use super::form::{Form, Path, Query};
use super::page::{Answer, Frame, Visit};
use super::quality::interval;
use crate::format;

/// Samples that are shown of each side.
const SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "apply.html")]
struct ApplyPage {
    frame: Frame,
    slug: String,
    threshold: String,
    guard: &'static str,
    /// What, now, then.
    changes: Vec<(&'static str, String, String)>,
    sides: [Side; 2],
}

/// The samples that change sides in one direction.
struct Side {
    id: &'static str,
    title: &'static str,
    pairs: Vec<Pair>,
    more: usize,
}

struct Pair {
    similarity: String,
    asked: String,
    prompt: String,
    label: &'static str,
}

impl Pair {
    fn of(judged: &Judged, sample: &Sample) -> Self {
        Self {
            similarity: format!("{:.3}", judged.similarity.get()),
            asked: format::excerpt(&sample.sampled.asked),
            prompt: format::excerpt(&sample.prompt),
            label: match judged.label {
                Some(true) => "right",
                Some(false) => "wrong",
                None => "–",
            },
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    threshold: String,
    guard: String,
}

impl Wanted {
    /// The setting; what is not given stays as it is.
    fn read(&self, present: Setting) -> Result<Setting, ConsoleError> {
        let wrong = || ConsoleError::Refused("The threshold must be between 0 and 1".into());
        let threshold = match self.threshold.trim() {
            "" => present.threshold,
            text => text.parse().ok().and_then(Threshold::new).ok_or_else(wrong)?,
        };
        let unknown = |word: UnknownWord| ConsoleError::Refused(word.to_string());
        let guard = match self.guard.as_str() {
            "" => present.guard,
            text => text.parse().map_err(unknown)?,
        };
        Ok(Setting { threshold, guard })
    }
}

/// `GET /console/p/{slug}/quality/apply`: the preview.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(wanted): Query<Wanted>) -> Answer {
    let evidence = quality::evidence(&visit.acting(), &slug, Labellers::People).await?;
    let present = evidence.present();
    let then = wanted.read(present)?;
    let page = ApplyPage {
        frame: visit.frame_in(&evidence.project, "Apply a setting", "Quality"),
        threshold: then.threshold.get().to_string(),
        guard: then.guard.as_str(),
        changes: changes(&evidence, present, then),
        sides: [
            side(&visit, &evidence, ("gained", "Would be hits"), (present, then)).await?,
            side(&visit, &evidence, ("lost", "Would be hits no more"), (then, present)).await?,
        ],
        slug,
    };
    Ok(visit.page(&page))
}

fn changes(evidence: &Evidence, now: Setting, then: Setting) -> Vec<(&'static str, String, String)> {
    let told = |setting: Setting| {
        let point = evidence.point(setting);
        let right = point.precision;
        [
            ("Threshold", setting.threshold.get().to_string()),
            ("Guard", setting.guard.as_str().to_owned()),
            ("Hit rate", format::percent(Some(point.hit_rate))),
            (
                "Right among hits by meaning",
                right.map_or("not known".into(), |p| format::percent(Some(p.share))),
            ),
            ("95% interval", right.map_or("–".into(), interval)),
            ("Saved", format::money(point.saved)),
        ]
    };
    told(now).into_iter().zip(told(then)).map(|((what, now), (_, then))| (what, now, then)).collect()
}

/// The samples that `then` would serve and `now` does not.
async fn side(
    visit: &Visit,
    evidence: &Evidence,
    (id, title): (&'static str, &'static str),
    (now, then): (Setting, Setting),
) -> Result<Side, ConsoleError> {
    let changed = evidence.samples.iter().filter(|judged| judged.served_by(then) && !judged.served_by(now));
    let (changed, mut pairs): (Vec<&Judged>, _) = (changed.collect(), Vec::new());
    for judged in changed.iter().take(SHOWN) {
        let sample = visit.store().sample(evidence.project.id, judged.place, visit.now()).await?;
        // One that went meanwhile is not shown.
        pairs.extend(sample.map(|sample| Pair::of(judged, &sample)));
    }
    Ok(Side { id, title, pairs, more: changed.len().saturating_sub(SHOWN) })
}

/// `POST /console/p/{slug}/quality/apply`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(wanted): Form<Wanted>) -> Answer {
    let present = Setting::of(&visit.project()?.settings);
    let then = wanted.read(present)?;
    let good = format!(
        "Threshold {}, guard {}: from the next request on.",
        then.threshold.get(),
        then.guard.as_str()
    );
    let done = quality::apply(&visit.acting(), &slug, then).await;
    visit.done(&format!("/console/p/{slug}/quality"), done, &good)
}
