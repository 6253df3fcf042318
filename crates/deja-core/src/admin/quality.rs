//! How good a project's hits are: what its samples and labels say, and the setting to change by it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::projects::{self, ProjectPatch};
use super::{Acting, AdminError};
use crate::analytics::{Slice, Step, hour_of};
use crate::cache::{LabelSource, PromptHash, Readings};
use crate::clock::Timestamp;
use crate::id::{EntryId, ProjectId};
use crate::project::Project;
use crate::quality::{Judged, Point, Quality, Sample, SamplePlace, Setting, Traffic, to_label};

/// Hours of traffic that are looked at, at most: 30 days.
const MOST_HOURS: i64 = 30 * 24;
/// Samples that are read at a time.
pub(super) const SAMPLES_AT_ONCE: NonZeroUsize = NonZeroUsize::new(100).unwrap();
/// Labels that are read at most, the newest.
const MOST_LABELS: NonZeroUsize = NonZeroUsize::new(50_000).unwrap();

/// What traffic, samples and labels tell about a project's hits.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The project.
    pub project: Project,
    /// What the guard says of its samples, with their labels.
    pub samples: Vec<Judged>,
    /// Its traffic since the first of these samples.
    pub traffic: Traffic,
    /// The hour that this begins with; `None` without samples.
    pub since: Option<Timestamp>,
}

impl Evidence {
    /// The figures that follow from the evidence.
    pub fn quality(&self) -> Quality {
        Quality::of(self.traffic.clone(), &self.samples)
    }

    /// The figures of one setting.
    pub fn point(&self, setting: Setting) -> Point {
        Point::of(setting, &self.traffic, &self.samples)
    }

    /// Samples with a label.
    pub fn labels(&self) -> usize {
        self.samples.iter().filter(|judged| judged.label.is_some()).count()
    }

    /// The threshold and the guard that the project has set.
    pub fn present(&self) -> Setting {
        Setting::of(&self.project.settings)
    }
}

/// Whose labels count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labellers {
    /// People, at the console and through the API.
    People,
    /// Models.
    Judges,
}

impl Labellers {
    fn include(self, source: LabelSource) -> bool {
        (self == Self::Judges) == (source == LabelSource::Judge)
    }
}

/// The evidence in figures, without a text of a prompt.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The figures that follow from the evidence.
    pub quality: Quality,
    /// The figures of the threshold and the guard that the project has set.
    pub present: Point,
    /// Samples there are.
    pub samples: usize,
    /// How many samples have a label.
    pub labels: usize,
    /// How many samples are worth a label and have none.
    pub waiting: usize,
    /// The hour that the traffic begins with; `None` without samples.
    pub since: Option<Timestamp>,
}

impl From<Evidence> for Figures {
    fn from(evidence: Evidence) -> Self {
        Self {
            quality: evidence.quality(),
            present: evidence.point(evidence.present()),
            samples: evidence.samples.len(),
            labels: evidence.labels(),
            waiting: to_label(&evidence.traffic, &evidence.samples).len(),
            since: evidence.since,
        }
    }
}

/// What is known of the project's hits.
pub async fn evidence(by: &Acting<'_>, slug: &str, whose: Labellers) -> Result<Evidence, AdminError> {
    let project = by.project(slug).await?;
    gathered(by, project, whose).await
}

/// What is known of the project's hits in figures; for its viewers too.
pub async fn figures(by: &Acting<'_>, slug: &str, whose: Labellers) -> Result<Figures, AdminError> {
    let project = by.seen(slug).await?.project;
    gathered(by, project, whose).await.map(Figures::from)
}

async fn gathered(by: &Acting<'_>, project: Project, whose: Labellers) -> Result<Evidence, AdminError> {
    let said = Arc::new(said(by, project.id, whose).await?);
    let (mut samples, mut first) = (Vec::new(), None);
    let mut pages = Pages::of(project.id);
    while let Some(page) = pages.next(by).await? {
        let oldest = page.iter().map(|sample| hour_of(sample.sampled.at)).min();
        first = first.into_iter().chain(oldest).min();
        let readings = (Arc::clone(&by.admin.readings), project.id);
        samples.extend(judged(page, Arc::clone(&said), readings).await?);
    }
    let until = hour_of(by.now()) + 1;
    let hours = first.unwrap_or(until).max(until - MOST_HOURS)..until;
    let since = first.map(|_| Step::Hour.start_of(hours.start));
    let series = by.store().usage_series(project.id, &Slice::default(), Step::Hour, hours).await?;
    Ok(Evidence { project, samples, traffic: Traffic::of(series.values()), since })
}

/// A project's samples, page by page: all of them with their texts may be hundreds of megabytes.
pub(super) struct Pages {
    project: ProjectId,
    after: Option<SamplePlace>,
}

impl Pages {
    pub(super) const fn of(project: ProjectId) -> Self {
        Self { project, after: None }
    }

    /// The next page; `None` behind the last.
    pub(super) async fn next(&mut self, by: &Acting<'_>) -> Result<Option<Vec<Sample>>, AdminError> {
        let page = by.store().samples(self.project, self.after, by.now(), SAMPLES_AT_ONCE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        self.after = Some(last.sampled.place());
        Ok(Some(page))
    }
}

/// What was said last of each prompt that was asked and each entry.
type Said = HashMap<(PromptHash, EntryId), bool>;

async fn said(by: &Acting<'_>, project: ProjectId, whose: Labellers) -> Result<Said, AdminError> {
    let labels = by.store().short_labels(project, MOST_LABELS).await?;
    let mut said = Said::new();
    // Newest first.
    for label in labels.into_iter().filter(|label| whose.include(label.source)) {
        said.entry((label.asked, label.entry)).or_insert(label.answers);
    }
    Ok(said)
}

/// Has the guard judge them, off the async threads: some microseconds each, and a millisecond where the reader reads.
async fn judged(
    samples: Vec<Sample>,
    said: Arc<Said>,
    readings: (Arc<Readings>, ProjectId),
) -> Result<Vec<Judged>, AdminError> {
    let judge = move || {
        let label = |asked, entry| said.get(&(asked, entry)).copied();
        samples.iter().map(|sample| Judged::of(sample, label, (&readings.0, readings.1))).collect()
    };
    tokio::task::spawn_blocking(judge).await.map_err(|error| AdminError::Failed(error.to_string()))
}

/// Makes `setting` the project's: its default threshold, and its guard.
pub async fn apply(by: &Acting<'_>, slug: &str, setting: Setting) -> Result<Project, AdminError> {
    let minimum = by.project(slug).await?.settings.minimum_threshold;
    if let Some(least) = minimum.filter(|least| setting.threshold < *least) {
        return Err(AdminError::Invalid(format!(
            "the project's minimum threshold is {}: lower that first, in its settings",
            least.get()
        )));
    }
    let default_threshold = Some(Some(setting.threshold).into());
    let patch = ProjectPatch { default_threshold, guard: Some(setting.guard), ..ProjectPatch::default() };
    projects::set(by, slug, patch).await
}
