//! Labelling: two prompts side by side, and the question whether one answer serves both.

use askama::Template;
use deja_core::admin::cache;
use deja_core::admin::quality::{self, Labellers};
use deja_core::cache::{LabelSource, Labelled as Became, Met};
use deja_core::quality::{Sample, SampleId, to_label};
use deja_core::store::NewLabel;
use serde::Deserialize;

use super::diff::{Piece, pieces};
use super::filter::query;
use super::flash::Flash;
use super::form::{Form, Path, Query};
use super::page::{Answer, Frame, Visit};
use crate::format;

#[derive(Template)]
#[template(path = "labelling.html")]
struct LabelPage {
    frame: Frame,
    slug: String,
    labels: usize,
    waiting: usize,
    pair: Option<Pair>,
    skipped: Skipped,
    /// With this one, too.
    skip: String,
}

/// A sample to label.
struct Pair {
    sample: i64,
    entry: String,
    asked: Vec<Piece>,
    prompt: Vec<Piece>,
    facts: Vec<(&'static str, String)>,
    /// Whether the entry answered, so that "no" forbids the pair.
    served: bool,
}

impl Pair {
    fn of(sample: &Sample) -> Self {
        let sampled = &sample.sampled;
        let [asked, prompt] = pieces(&sampled.asked, &sample.prompt);
        let mut facts = vec![
            ("Similarity", format!("{:.3}", sampled.similarity.get())),
            ("What happened", happened(sampled.met, sampled.reason.as_deref())),
            ("Model", sample.model.clone()),
        ];
        facts.extend(sample.context.as_deref().map(|context| ("Context", format::excerpt(context))));
        let (sample, entry) = (sampled.id.get(), sampled.entry.to_string());
        Self { sample, entry, asked, prompt, facts, served: sampled.met == Met::Served }
    }
}

pub(super) fn happened(met: Met, reason: Option<&str>) -> String {
    match (met, reason) {
        (Met::Served, _) => "the stored answer was served".into(),
        (Met::NearMiss, _) => "not similar enough: the provider was asked".into(),
        (Met::Refused, Some(reason)) => format!("refused: {reason}"),
        (Met::Refused, None) => "refused".into(),
    }
}

/// The samples that were passed over, by their numbers: the order of all changes with each label.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Skipped {
    /// Separated by commas.
    skip: String,
}

/// How many of them an address has, the last ones: proxies take no long addresses.
const SKIPPED: usize = 200;

impl Skipped {
    fn has(&self, sample: SampleId) -> bool {
        self.skip.split(',').any(|number| number.parse() == Ok(sample.get()))
    }

    /// With one more.
    fn and(&self, sample: i64) -> String {
        let mut all: Vec<&str> = self.skip.split(',').filter(|number| !number.is_empty()).collect();
        let sample = sample.to_string();
        all.push(&sample);
        all[all.len().saturating_sub(SKIPPED)..].join(",")
    }

    fn place(&self, slug: &str) -> String {
        format!("/console/p/{slug}/quality/label{}", query(&[("skip", &self.skip)]))
    }
}

/// `GET /console/p/{slug}/quality/label`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(skipped): Query<Skipped>) -> Answer {
    let evidence = quality::evidence(&visit.acting(), &slug, Labellers::People).await?;
    let order = to_label(&evidence.traffic, &evidence.samples);
    let mut pair = None;
    for judged in order.iter().filter(|judged| !skipped.has(judged.place.id)) {
        let sample = visit.store().sample(evidence.project.id, judged.place, visit.now()).await?;
        pair = sample.as_ref().map(Pair::of);
        // One that went meanwhile is passed over.
        if pair.is_some() {
            break;
        }
    }
    let page = LabelPage {
        frame: visit.frame_in(&evidence.project, "Label samples", "Quality"),
        labels: evidence.labels(),
        waiting: order.len(),
        skip: pair.as_ref().map(|pair| skipped.and(pair.sample)).unwrap_or_default(),
        pair,
        skipped,
        slug,
    };
    Ok(visit.page(&page))
}

#[derive(Deserialize)]
pub(super) struct Labelled {
    sample: i64,
    answers: Answers,
    #[serde(flatten)]
    skipped: Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answers {
    Yes,
    No,
}

/// `POST /console/p/{slug}/quality/label`.
pub(super) async fn post(visit: Visit, Path(slug): Path<String>, Form(form): Form<Labelled>) -> Answer {
    let project = visit.project()?;
    let place = form.skipped.place(&slug);
    let (store, now) = (visit.store(), visit.now());
    let places = store.sample_places(project.id, now).await?;
    let found = match places.into_iter().find(|place| place.id.get() == form.sample) {
        Some(place) => store.sample(project.id, place, now).await?,
        None => None,
    };
    let Some(sampled) = found.map(|sample| sample.sampled) else {
        return visit.to(&place, &Flash::bad("This sample is gone, with its entry or at its time."));
    };
    let (engine, answers) = (visit.console.app.engine(), form.answers == Answers::Yes);
    // Only a pair that is forbidden with it needs one.
    let vector = if answers { None } else { engine.vector_of(project.id, &sampled.asked).await? };
    let label = NewLabel {
        entry: sampled.entry,
        asked: &sampled.asked,
        vector: vector.as_ref().map(|vector| (engine.embedder(), vector)),
        similarity: sampled.similarity,
        met: sampled.met,
        answers,
        source: LabelSource::Console,
        note: None,
    };
    match cache::label(&visit.acting(), engine, project.id, label).await {
        Ok(labelled) => visit.to(&place, &Flash::good(told(labelled))),
        Err(error) => visit.done::<()>(&place, Err(error), ""),
    }
}

/// What to tell after an answer was labelled.
const fn told(became: Became) -> &'static str {
    match became {
        Became::Kept => "Kept.",
        Became::Forbidden => "Kept. These two prompts no longer answer each other.",
        Became::Quarantined => {
            "Kept. The entry was wrong for several prompts today: it answers its own prompt only, until it is released."
        }
        Became::Allowed => "Kept. These two prompts may answer each other again.",
    }
}
