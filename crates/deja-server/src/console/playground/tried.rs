//! The outcome of a trial in the playground: what would answer, what is near, or what was answered.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::cache::{Hit, Refusal, Verdict};
use deja_core::embedding::Threshold;
use deja_core::engine::{Neighbour, Preview, QueryError, Reply, Source, Trace};
use deja_core::project::Project;
use deja_core::provider::{Endpoint, Keyless, Providers as _, Route};
use deja_core::store::Admission;

use crate::api::error::RATE_LIMITED;
use crate::console::error::ConsoleError;
use crate::console::filter::{NEWEST, OFFERED};
use crate::console::form::Problem;
use crate::console::page::{Frame, Visit};
use crate::console::prices;
use crate::console::providers::{self, Models};
use crate::format;

/// Entries that are shown.
pub(super) const NEAREST: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// What is said where not all models are proposed.
const MORE_MODELS: &str = "The list has the 100 models with most of the 10,000 newest entries, and those of the project’s own providers. You can \
                           type any other.";

/// The outcome of a trial.
pub(super) struct Outcome {
    pub(super) title: &'static str,
    pub(super) hit: bool,
    pub(super) text: String,
    /// After a look-up: what a query would meet at a threshold that no entry reaches. The slider's script shows it.
    pub(super) at_others: Option<String>,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) answer: Option<String>,
    /// The entry that answered, and the text that it answered.
    pub(super) wrong: Option<(String, String)>,
}

/// The nearest entries.
pub(super) struct Nearest {
    pub(super) rows: Vec<Near>,
    /// What is said where there are none.
    pub(super) none: &'static str,
    /// Where the threshold stands on a scale to 100.
    pub(super) threshold_at: f64,
}

pub(super) struct Near {
    pub(super) id: String,
    pub(super) prompt: String,
    pub(super) answer: String,
    pub(super) similarity: String,
    /// The similarity in full: what a slider that moves is compared with.
    pub(super) exact: f32,
    pub(super) answers: bool,
    /// `Hit`, or `Miss` and why.
    pub(super) verdict: String,
    /// The least threshold at which it is similar enough and refused all the same, if there is one.
    pub(super) refused_from: Option<f64>,
    /// What is said there.
    pub(super) refused: String,
}

/// The outcome of a trial, and the nearest entries if they are looked for.
pub(super) type Tried = (Outcome, Option<Nearest>);

/// What a page shows of an attempt, or of a form that could not be read. Without an outcome its frame says what is wrong.
pub(super) async fn shown(
    mut frame: Frame,
    attempt: Result<impl Future<Output = Result<Tried, ConsoleError>>, Problem>,
) -> Result<(Frame, Option<Outcome>, Option<Nearest>), ConsoleError> {
    let problem = match attempt {
        Ok(attempt) => match attempt.await {
            Ok((outcome, nearest)) => {
                frame.begin_title(outcome.title);
                return Ok((frame, Some(outcome), nearest));
            }
            Err(ConsoleError::Refused(text)) => Problem::of("form", text),
            Err(error) => return Err(error),
        },
        Err(problem) => problem,
    };
    Ok((frame.complaining_at(Some(problem)), None, None))
}

/// A verdict in few words.
fn badge(verdict: Verdict) -> String {
    match verdict {
        Verdict::Exact | Verdict::Semantic => "Hit".into(),
        Verdict::BelowThreshold => "Miss".into(),
        Verdict::Forbidden => "Miss: marked as a wrong answer".into(),
        Verdict::Refused { reason, .. } => format!("Miss: {reason}"),
        Verdict::Uncertain { reason, .. } => format!("Uncertain: {reason}"),
    }
}

impl Nearest {
    /// The nearest entries of a preview at `threshold`; `none` is said if there are none.
    pub(super) fn of(preview: &Preview, threshold: Threshold, none: &'static str) -> Self {
        let none = match preview.trace.too_long {
            Some(_) => {
                "The prompt is too long to be searched by meaning: only the same prompt can answer it."
            }
            None => none,
        };
        let rows = preview.near.iter().map(Near::from).collect();
        Self { rows, none, threshold_at: threshold.get() * 100.0 }
    }
}

impl From<&Neighbour> for Near {
    fn from(Neighbour { candidate, verdict, objection_from }: &Neighbour) -> Self {
        let (entry, similarity) = (&candidate.entry, candidate.similarity.get());
        let refused_from = if candidate.forbidden {
            Some((0.0, Verdict::Forbidden))
        } else {
            objection_from.map(|(from, verdict)| (from.get(), verdict))
        };
        Self {
            id: entry.id.to_string(),
            prompt: format::excerpt(&entry.prompt),
            answer: format::excerpt(&entry.answer.text),
            similarity: format!("{similarity:.3}"),
            exact: similarity,
            answers: verdict.answers(),
            verdict: badge(*verdict),
            refused_from: refused_from.map(|(from, _)| from),
            refused: refused_from.map(|(_, verdict)| badge(verdict)).unwrap_or_default(),
        }
    }
}

/// The threshold of a form. One below the project's minimum is raised to it, in the form too.
pub(super) fn threshold(project: &Project, text: &mut String) -> Result<Threshold, Problem> {
    let asked = text.parse().ok().and_then(Threshold::new);
    let asked = asked.ok_or_else(|| Problem::of("threshold", "The threshold must be between 0 and 1."))?;
    let threshold = project.settings.threshold(Some(asked));
    if threshold != asked {
        *text = threshold.get().to_string();
    }
    Ok(threshold)
}

/// Who asks what the cache does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// A query of deja's own API.
    Query,
    /// A request in a wire format, of this endpoint.
    Request(Endpoint),
}

/// What is there beyond the cache.
enum There {
    /// Nothing: the project is suspended, and refuses hits too.
    Suspended,
    /// A provider.
    Provider,
    /// Nobody: the model is unknown, or its provider has no such endpoint.
    Nobody,
    /// A provider, but the server has no key for it.
    NoKey(Keyless),
}

/// What a query or a request meets that the cache does not answer.
pub(super) struct Beyond {
    asks: Asks,
    there: There,
}

impl Beyond {
    /// What is there for `model`.
    pub(super) async fn of(
        visit: &Visit,
        project: &Project,
        model: &str,
        asks: Asks,
    ) -> Result<Self, ConsoleError> {
        if project.suspended {
            return Ok(Self { asks, there: There::Suspended });
        }
        let caller = Admission::of_console(Arc::new(project.clone()));
        let endpoint = match asks {
            Asks::Query => None,
            Asks::Request(endpoint) => Some(endpoint),
        };
        let there = match visit.console.app.providers().route(&caller, model, endpoint).await? {
            Route::To(provider) if endpoint.is_none_or(|at| provider.serves(at)) => There::Provider,
            Route::NoCredentials(keyless) => There::NoKey(keyless),
            Route::To(_) | Route::Unsupported => There::Nobody,
        };
        Ok(Self { asks, there })
    }

    /// Whether it is refused before anything similar is looked for; where the very same `is_stored`, it may answer.
    pub(super) const fn refuses(&self, is_stored: bool) -> bool {
        match self.there {
            There::Suspended => true,
            There::Nobody => !is_stored,
            There::Provider | There::NoKey(_) => false,
        }
    }

    /// What comes of it.
    pub(super) fn would(&self) -> String {
        match (&self.there, self.asks) {
            (There::Suspended, _) => "it would get 403, as the project is suspended".into(),
            (There::Provider, Asks::Query) => "a query would ask the provider".into(),
            (There::Provider, Asks::Request(_)) => "a request would go to the provider".into(),
            (There::Nobody, Asks::Query) => {
                "a query would be refused with 400, as nobody serves this model".into()
            }
            (There::Nobody, Asks::Request(_)) => {
                "a request would be refused with 404, as nobody serves this model in this format".into()
            }
            (There::NoKey(keyless), Asks::Query) => format!("a query would get 500, as {keyless}"),
            (There::NoKey(keyless), Asks::Request(_)) => format!("a request would fail, as {keyless}"),
        }
    }

    /// What is said where it is refused.
    pub(super) const fn refused(&self) -> (&'static str, &'static str) {
        match (&self.there, self.asks) {
            (There::Suspended, _) => (
                "The project is suspended",
                "Every request gets 403, whatever is in the cache. An owner can resume it under Settings.",
            ),
            (_, Asks::Query) => (
                "A query would be refused",
                "Nobody serves this model: a query gets 400, unless the very same prompt is in the cache. Providers says \
                 which models there are.",
            ),
            (_, Asks::Request(_)) => (
                "A request would be refused",
                "Nobody serves this model in this format: a request gets 404, unless the very same one is in the cache. \
                 Providers says which models there are.",
            ),
        }
    }
}

/// What would come of asking.
pub(super) fn expected(preview: &Preview, prompt: &str, beyond: &Beyond) -> Outcome {
    let hit = preview.hit.as_ref().filter(|hit| !beyond.refuses(hit.is_exact()));
    let would = beyond.would();
    let (title, text) = match (hit, preview.near.first()) {
        (None, _) if beyond.refuses(false) => {
            let (title, text) = beyond.refused();
            (title, text.into())
        }
        (Some(hit), _) if hit.is_exact() => {
            ("The same prompt is in the cache", "A query would get its answer, without any embedding.".into())
        }
        (Some(hit), _) => (
            "A similar prompt is in the cache",
            format!(
                "Its similarity {:.3} reaches the threshold: a query would get its answer.",
                hit.similarity().get()
            ),
        ),
        (None, Some(nearest)) => match &preview.trace.refused {
            Some(refusal) if preview.undecided > 0 => (
                "The guard is uncertain",
                format!("{} A query would have the project’s model decide.", said(refusal)),
            ),
            Some(refusal) => {
                ("What is similar asks something else", format!("{} So {would}.", said(refusal)))
            }
            None => (
                "Nothing is similar enough",
                format!(
                    "The nearest entry has a similarity of {:.3}: {would}.",
                    nearest.candidate.similarity.get()
                ),
            ),
        },
        (None, None) => match preview.trace.too_long {
            Some((_, window)) => (
                "The prompt is too long to be found by its meaning",
                format!(
                    "The embedding model reads {window} tokens. The very same prompt is not in the cache: {would}."
                ),
            ),
            None => ("Nothing is near", format!("So {would}.")),
        },
    };
    Outcome {
        title,
        hit: hit.is_some(),
        text,
        // The same prompt answers at every threshold, and so does nobody.
        at_others: (!hit.is_some_and(Hit::is_exact) && !beyond.refuses(false)).then_some(would),
        facts: timings(&preview.trace),
        answer: hit.map(|hit| hit.entry().answer.text.clone()),
        wrong: hit.map(|hit| (hit.entry().id.to_string(), prompt.to_owned())),
    }
}

/// What the guard says of an entry.
fn said(refusal: &Refusal) -> String {
    let Refusal { similarity, reason, score, .. } = refusal;
    format!(
        "The guard did not let an entry pass with a similarity of {:.3}: {reason} (score {score:.2}).",
        similarity.get()
    )
}

/// What was answered.
pub(super) fn asked(reply: &Reply, prompt: &str) -> Outcome {
    let (title, mut text) = match reply.source {
        Source::Exact => ("Answered from the cache", "By the same prompt.".to_owned()),
        Source::Semantic(similarity) => {
            ("Answered from the cache", format!("By a prompt with a similarity of {:.3}.", similarity.get()))
        }
        Source::Provider(Ok(())) => {
            ("Answered by the provider", "The answer is stored: the next such query is a hit.".into())
        }
        Source::Provider(Err(reason)) => (
            "Answered by the provider",
            format!("The answer is not stored: {}.", reason.code().replace('_', " ")),
        ),
    };
    if let Some(refusal) = reply.refused() {
        text = format!("{text} {}", said(&refusal));
    }
    let cost = &reply.cost;
    let amount = if reply.is_hit() { reply.saved() } else { reply.spent() };
    let estimated = if cost.estimated { " (estimated)" } else { "" };
    let mut facts = vec![
        ("Provider", reply.entry.answer.provider.clone()),
        (
            "Tokens",
            format!(
                "{} in, {} out{estimated}",
                format::count(cost.input_tokens),
                format::count(cost.output_tokens)
            ),
        ),
        (
            if reply.is_hit() { "Saved" } else { "Cost" },
            if cost.price.is_some() { format::money(amount) } else { prices::UNKNOWN.into() },
        ),
    ];
    facts.extend(timings(&reply.trace));
    Outcome {
        title,
        hit: reply.is_hit(),
        text,
        at_others: None,
        facts,
        answer: Some(reply.entry.answer.text.clone()),
        wrong: reply.is_hit().then(|| (reply.entry.id.to_string(), prompt.to_owned())),
    }
}

pub(super) fn timings(trace: &Trace) -> Vec<(&'static str, String)> {
    let ms = |span: Duration| format::millis(span.as_secs_f64() * 1e3);
    let mut facts = vec![("Embedding", ms(trace.embedding)), ("Search", ms(trace.search))];
    facts.extend(trace.provider.map(|span| ("Provider’s time", ms(span))));
    facts.push(("Total", ms(trace.total)));
    facts.extend(trace.too_long.map(|(tokens, window)| {
        ("By meaning", format!("not searched: {tokens} tokens or more, the embedding model reads {window}"))
    }));
    facts
}

/// The caller of a trial that asks as the API does: the limit of the project counts.
pub(super) async fn caller(
    visit: &Visit,
    project: &Project,
    request: Option<&str>,
) -> Result<Admission, ConsoleError> {
    let engine = visit.console.app.engine();
    let admitted = engine.admit_from_console(Arc::new(project.clone()), request).await?;
    admitted.ok_or_else(|| ConsoleError::Refused(RATE_LIMITED.into()))
}

/// What a failed query says to a person; what is a bug or an outage is none of it.
pub(super) fn refusal(error: QueryError) -> ConsoleError {
    ConsoleError::Refused(match error {
        QueryError::Forbidden(_) => "The project is suspended. An owner can resume it under Settings.".into(),
        QueryError::ModelNotSupported { model } => {
            format!("No provider is known for the model “{model}”. Add one under Providers.")
        }
        QueryError::WrongEndpoint { model } => {
            format!("The provider of the model “{model}” has no endpoint of this format.")
        }
        QueryError::NoCredentials(keyless) => providers::unusable(&keyless),
        QueryError::Provider(error) => {
            format!("The provider {} gave no answer: {}.", error.provider, error.class.code())
        }
        other => return other.into(),
    })
}

/// The models that a field proposes.
pub(super) struct Proposed {
    pub(super) models: Vec<String>,
    /// What is said if the cache has more of them.
    pub(super) note: Option<&'static str>,
}

impl Proposed {
    /// The models that the cache has entries of and those of own providers.
    pub(super) async fn of(visit: &Visit, project: &Project, usable: &Models) -> Result<Self, ConsoleError> {
        // One more, to know whether there are more.
        const READ: NonZeroUsize = OFFERED.saturating_add(1);
        let stored = visit.store().models_of(project.id, NEWEST, READ).await?;
        let all =
            stored.len() <= OFFERED.get() && visit.store().count(project.id).await? <= NEWEST.get() as u64;
        let stored = stored.into_iter().take(OFFERED.get());
        let mut models: Vec<String> = stored.map(|(model, _)| model).collect();
        for model in usable.own() {
            if !models.contains(model) {
                models.push(model.clone());
            }
        }
        Ok(Self { models, note: (!all).then_some(MORE_MODELS) })
    }
}

#[cfg(test)]
mod tests {
    use deja_core::clock::Timestamp;
    use deja_core::embedding::Similarity;
    use deja_core::engine::{Cost, Opinion, Said};
    use deja_core::id::EntryId;
    use deja_core::money::NanoUsd;
    use deja_core::pricing::PriceOrigin;
    use deja_core::testing::entry;

    use super::*;

    #[test]
    fn what_the_guards_model_cost_is_taken_off_the_saving_and_is_spent_on_a_miss() {
        let id = EntryId::from_bytes([1; 16]);
        let cents = |cents: u64| NanoUsd::from_nanos(cents * 10_000_000);
        let opinion = Opinion { entry: id, said: Said::Yes, cost: cents(2), time: Duration::ZERO };
        let told = |source, name: &str| {
            let reply = Reply {
                entry: Arc::new(entry(id, "Why?", Timestamp::default())),
                source,
                cost: Cost {
                    input_tokens: 100,
                    output_tokens: 10,
                    estimated: false,
                    price: Some(PriceOrigin::Table),
                    amount: cents(5),
                },
                trace: Trace { opinion: Some(opinion), ..Trace::default() },
            };
            asked(&reply, "Why?").facts.into_iter().find(|(fact, _)| *fact == name).unwrap().1
        };
        let similar = Source::Semantic(Similarity::from_cosine(0.9));
        assert_eq!(told(similar, "Saved"), format::money(cents(3)));
        assert_eq!(told(Source::Provider(Ok(())), "Cost"), format::money(cents(7)));
    }
}
