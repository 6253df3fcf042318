//! A model as judge of samples: it is asked whether two prompts have the same answer. What it says is kept apart from
//! what people say, and changes nothing that is answered.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::names::shown;
use super::quality::{Labellers, Pages, evidence};
use super::{Acting, AdminError};
use crate::cache::LabelSource;
use crate::money::NanoUsd;
use crate::project::Project;
use crate::provider::Providers;
use crate::quality::{Sample, SamplePlace, to_label};
use crate::same_answer::{Mute, Question, Respondent};
use crate::store::{Admission, NewLabel};

/// Failures in a row after which no more is asked.
const MOST_FAILURES: u64 = 3;

/// The work and the cost of judging all samples that have no label of a judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Pairs of prompts.
    pub pairs: usize,
    /// The estimated cost of the calls.
    pub cost: NanoUsd,
}

/// Bounds of one round of judging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The most that the round may cost.
    pub budget: NanoUsd,
    /// Pairs at most.
    pub pairs: usize,
    /// Pairs to pass over: those that were unclear before.
    pub skip: usize,
}

/// The outcome of one round of judging.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// Pairs that were asked about.
    pub asked: u64,
    /// How many of these pairs the model gave no clear word on: neither yes nor no, or nothing.
    pub unclear: u64,
    /// What the calls cost.
    pub spent: NanoUsd,
    /// Whether there are more, and money for them.
    pub more: bool,
    /// Why the round ended early, if it failed: what is told above was paid all the same.
    pub failed: Option<String>,
}

/// The model called `name`, and why not if it cannot be asked.
async fn respondent(by: &Acting<'_>, project: &Project, name: &str) -> Result<Respondent, AdminError> {
    let nobody = || AdminError::Invalid("a model is asked by the running server: start it first".into());
    let providers: &dyn Providers = by.admin.providers.as_deref().ok_or_else(nobody)?;
    let caller = Admission::of_console(Arc::new(project.clone()));
    let found = Respondent::find(providers, &by.admin.prices.current(), &caller, name).await?;
    found.map_err(|mute| {
        let name = shown(name);
        AdminError::Invalid(match mute {
            Mute::NoCredentials(keyless) => keyless.to_string(),
            Mute::NoProvider => format!("no provider answers the model '{name}'"),
            Mute::UnknownPrice => format!("the price of '{name}' is unknown: set it with deja price set"),
        })
    })
}

/// Why `model` cannot be asked in a project; `None` if it can.
pub async fn mute(by: &Acting<'_>, project: &Project, model: &str) -> Result<Option<String>, AdminError> {
    match respondent(by, project, model).await {
        Ok(_) => Ok(None),
        Err(AdminError::Invalid(why)) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// What it would take to have `model` judge the project's samples.
pub async fn plan(by: &Acting<'_>, slug: &str, model: &str) -> Result<Plan, AdminError> {
    let evidence = evidence(by, slug, Labellers::Judges).await?;
    let respondent = respondent(by, &evidence.project, model).await?;
    let order = to_label(&evidence.traffic, &evidence.samples);
    let places: HashSet<SamplePlace> = order.iter().map(|judged| judged.place).collect();
    let (mut plan, mut pages) = (Plan::default(), Pages::of(evidence.project.id));
    while let Some(page) = pages.next(by).await? {
        for sample in page.iter().filter(|sample| places.contains(&sample.sampled.place())) {
            plan.pairs += 1;
            plan.cost = plan.cost.plus(respondent.estimate(&question(sample)));
        }
    }
    Ok(plan)
}

/// Has `model` judge samples within these limits, those first that tell most. What fails after a call of the model is told with what
/// the calls cost.
pub async fn judge(by: &Acting<'_>, slug: &str, model: &str, limits: Limits) -> Result<Judging, AdminError> {
    let evidence = evidence(by, slug, Labellers::Judges).await?;
    let project = evidence.project.id;
    let respondent = respondent(by, &evidence.project, model).await?;
    let change = by.change("quality.judge").within(project).of(slug).how(shown(model));
    by.store().note(&change).await?;
    let order = to_label(&evidence.traffic, &evidence.samples);
    let (mut done, mut failures) = (Judging::default(), 0);
    for judged in order.iter().skip(limits.skip).take(limits.pairs) {
        let sample = match by.store().sample(project, judged.place, by.now()).await {
            Ok(Some(sample)) => sample,
            Ok(None) => continue,
            Err(error) => return Ok(Judging { failed: Some(error.to_string()), ..done }),
        };
        let question = question(&sample);
        if done.spent.plus(respondent.estimate(&question)) > limits.budget {
            return Ok(done);
        }
        done.asked += 1;
        match respondent.ask(&question).await {
            Ok(word) => {
                failures = 0;
                done.spent = done.spent.plus(word.cost);
                done.unclear += u64::from(word.same.is_none());
                if let Some(answers) = word.same
                    && let Err(error) = keep(by, &sample, answers, model).await
                {
                    done.failed = Some(error.to_string());
                }
            }
            Err(error) => {
                failures += 1;
                done.unclear += 1;
                if failures == MOST_FAILURES {
                    done.failed = Some(format!("the model failed {failures} times in a row: {error}"));
                }
            }
        }
        if done.failed.is_some() {
            return Ok(done);
        }
    }
    done.more = order.len() > limits.skip + limits.pairs;
    Ok(done)
}

async fn keep(by: &Acting<'_>, sample: &Sample, answers: bool, model: &str) -> Result<(), AdminError> {
    let sampled = &sample.sampled;
    let label = NewLabel {
        entry: sampled.entry,
        asked: &sampled.asked,
        vector: None,
        similarity: sampled.similarity,
        met: sampled.met,
        answers,
        source: LabelSource::Judge,
        note: Some(model),
    };
    // An entry that went meanwhile needs no label.
    by.store().label(sampled.project, label, &by.change("quality.judge")).await?;
    Ok(())
}

fn question(sample: &Sample) -> Question {
    Question::of(&sample.sampled.asked, &sample.prompt)
}
