//! The second opinion: where the guard is uncertain, a model that the project names says whether one answer serves both
//! prompts. Its word is kept for the pair, so that it is asked once. Whatever goes wrong with it is a miss.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::analytics::Step;
use crate::cache::{Candidate, Hit, Judge, Judged, PairHash, PromptHash};
use crate::engine::call::Call;
use crate::engine::circuit::Circuits;
use crate::engine::{CROWD, Engine};
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::same_answer::{Mute, Question, Respondent};

/// How long the model may take.
const DEADLINE: Duration = Duration::from_millis(1500);
/// Failures in a row after which a project's model is left alone for a while.
const MOST_FAILURES: u32 = 3;
/// How long the model is left alone. Then one query asks it. If that fails too, it is left alone for as long again.
const REST: Duration = Duration::from_secs(10);

/// What the project's model said on the way to an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// The entry that it was asked about.
    pub entry: EntryId,
    /// Its word, or why there is none.
    pub said: Said,
    /// What asking it cost.
    pub cost: NanoUsd,
    /// How long it took.
    pub time: Duration,
}

/// The word of a project's model on a pair of prompts, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// One answer serves both.
    Yes,
    /// One answer does not serve both.
    No,
    /// The word that was kept from the last time the model was asked about this pair.
    Remembered(bool),
    /// Neither yes nor no.
    Unclear,
    /// Nothing in time.
    Late,
    /// Its provider failed.
    Failed,
    /// It was not asked: the day's budget is spent.
    OverBudget,
    /// It was not asked: the price of asking is not known.
    UnknownPrice,
    /// It was not asked: it failed several times in a row just now.
    Resting,
    /// It was not asked: it has no provider here, there are too many calls, or storage does not work.
    Unavailable,
}

impl Said {
    /// The name in debug objects and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Remembered(true) => "remembered yes",
            Self::Remembered(false) => "remembered no",
            Self::Unclear => "unclear",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::OverBudget => "over budget",
            Self::UnknownPrice => "unknown price",
            Self::Resting => "resting",
            Self::Unavailable => "unavailable",
        }
    }

    const fn of(same: Option<bool>) -> Self {
        match same {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unclear,
        }
    }

    const fn to_keep(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            _ => None,
        }
    }
}

impl Engine {
    /// Decides the pairs that the guard was uncertain of by what the model said of them before. The others stay uncertain.
    pub(super) async fn recall(
        &self,
        project: ProjectId,
        prompt: PromptHash,
        judge: &Judge<'_>,
        judged: Judged,
    ) -> (Judged, Option<Opinion>) {
        let Some(model) = judge.model().filter(|_| !judged.uncertain.is_empty()) else {
            return (judged, None);
        };
        let pair =
            |candidate: &Candidate| PairHash::of(model, &prompt, &PromptHash::of(&candidate.entry.prompt));
        let pairs: Vec<_> = judged.uncertain.iter().map(pair).collect();
        let known = self.parts.store.opinions(project, &pairs).await.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "what the model said of pairs of prompts before cannot be read");
            vec![None; pairs.len()]
        });
        let (mut unknown, mut told) = (Vec::new(), None);
        for (candidate, same) in judged.uncertain.into_iter().zip(known) {
            let Some(same) = same else {
                unknown.push(candidate);
                continue;
            };
            let (entry, said) = (candidate.entry.id, Said::Remembered(same));
            let opinion = Opinion { entry, said, cost: NanoUsd::ZERO, time: Duration::ZERO };
            if let Ok(hit) = judge.settle(candidate, same) {
                return (Judged { hit: Some(hit), ..Judged::default() }, Some(opinion));
            }
            told = told.or(Some(opinion));
        }
        (Judged { uncertain: unknown, ..judged }, told)
    }

    /// Asks about the nearest of the entries that the guard was uncertain of and nobody said anything of.
    pub(super) async fn second_opinion(&self, call: &Call) -> (Option<Hit>, Option<Opinion>) {
        let model = call.caller.project.settings.guard_model.as_deref();
        let Some((model, candidate)) = model.zip(call.uncertain.first()) else {
            return (None, call.near.opinion);
        };
        let began = Instant::now();
        let (said, cost) = self.ask_model(call, model, &candidate.entry.prompt).await;
        let opinion = Opinion { entry: candidate.entry.id, said, cost, time: began.elapsed() };
        let hit = if said == Said::Yes { self.settled(call, candidate.entry.id).await } else { None };
        (hit, Some(opinion))
    }

    /// The entry that the model let pass, if it still answers: it may have been found wrong or deleted meanwhile. An entry that
    /// cannot be read is a miss.
    async fn settled(&self, call: &Call, entry: EntryId) -> Option<Hit> {
        let (judge, prompt) = (self.judge_of(call), PromptHash::of(&call.query.prompt));
        let (vector, floor) = (call.vector.as_ref()?, judge.threshold());
        let now = self.parts.clock.now();
        let candidates = self.candidates(&call.scope, vector, prompt, floor, CROWD, now).await.ok()?;
        let candidate = candidates.into_iter().find(|candidate| candidate.entry.id == entry)?;
        call.query.takes(&candidate.entry, now).then_some(())?;
        judge.settle(candidate, true).ok()
    }

    /// What `model` says of the asked prompt and `other`, and what that cost.
    async fn ask_model(&self, call: &Call, model: &str, other: &str) -> (Said, NanoUsd) {
        let (project, free) = (&call.caller.project, NanoUsd::ZERO);
        let (providers, prices) = (&*self.parts.providers, self.parts.prices.current());
        let respondent = match Respondent::find(providers, &prices, &call.caller, model).await {
            Ok(Ok(respondent)) => respondent,
            Ok(Err(Mute::UnknownPrice)) => return (Said::UnknownPrice, free),
            Ok(Err(Mute::NoCredentials(_) | Mute::NoProvider)) | Err(_) => return (Said::Unavailable, free),
        };
        let (now, place) = (self.parts.clock.now(), respondent.base_url());
        let day = Step::Day.period_of(now);
        match self.parts.store.questions(project.id, day..day + 1).await {
            Ok(questions) if questions.cost < project.settings.guard_budget => {}
            Ok(_) => return (Said::OverBudget, free),
            Err(_) => return (Said::Unavailable, free),
        }
        let Some(_slot) = self.slots.one(project.id) else { return (Said::Unavailable, free) };
        if self.models_down.admit(project.id, model, place, now).is_err() {
            return (Said::Resting, free);
        }
        let question = Question::of(&call.query.prompt, other);
        let (said, cost) = match timeout(DEADLINE, respondent.ask_briefly(&question)).await {
            Ok(Ok(word)) => (Said::of(word.same), word.cost),
            Ok(Err(error)) => {
                let class = error.class.code();
                tracing::debug!(class, "the model that decides on similar prompts failed");
                // What came of its answer is paid for.
                let part = error.part.as_ref();
                (Said::Failed, part.map_or(free, |part| respondent.cost(&question, &part.0)))
            }
            Err(_) => (Said::Late, respondent.estimate(&question)),
        };
        let failed = matches!(said, Said::Failed | Said::Late);
        self.models_down.heard(project.id, model, place, now, failed, self.parts.clock.now());
        let pair = PairHash::of(model, &PromptHash::of(&call.query.prompt), &PromptHash::of(other));
        if let Err(error) = self.parts.store.keep_opinion(project.id, &pair, said.to_keep(), day, cost).await
        {
            tracing::warn!(error = %error, "what the model said of a pair of prompts could not be stored");
        }
        (said, cost)
    }
}

/// Circuits of the models that projects name, so that not every uncertain miss waits for one that is down.
pub(super) fn circuits() -> Circuits {
    Circuits::new(MOST_FAILURES, (REST, REST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_word_is_asked_again() {
        let kept =
            [Said::Yes, Said::No, Said::Unclear, Said::Late, Said::Remembered(true)].map(Said::to_keep);
        assert_eq!(kept, [Some(true), Some(false), None, None, None]);
    }
}
